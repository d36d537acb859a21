"""The other side of a client under test: takes what comes in, one after another, and answers as a gateway would.

A trial calls what it needs: ``command`` is the client's next command, ``accept`` does it, ``resumed`` breaks the stream
and looks at how the client comes back. All the rest is answered meanwhile.
"""

from __future__ import annotations

import asyncio
import secrets
from typing import TYPE_CHECKING

import grpc

from omnipoly.rules import actions as act
from omnipoly.rules.codes import Code
from omnipoly.runtime import refusals
from omnipoly.wire import actions as wire_actions
from omnipoly.wire.failures import Failure, to_status
from omnipoly.wire.gen.game.v1 import commit_pb2
from omnipoly.wire.gen.gateway.v1 import play_pb2, stream_pb2
from omnipoly.wire.malformed import Malformed

from .services import Asked, Called, Ended, Event, Opened, Services, Stream
from .table import Table

if TYPE_CHECKING:
    from omnipoly.rules.ring import Game

HOST = "guest:host"
Reply = play_pb2.PlayResponse
LONGEST_ID = 64
FEWEST_MS = 50
"""By how much a client may be early where it was told to wait."""


class Wrong(Exception):
    """What the client did wrong, as a sentence."""


class Gone(Exception):
    """The client's game has ended: nothing further can be tried."""


class Fallen(Gone):
    """The client's program has ended."""


class Peer:
    """One client's peer."""

    def __init__(
        self, game: Game, *, seed: str = "0", patience_s: float = 10.0, slow_s: float = 2.0, retry_s: float = 0.4
    ) -> None:
        """patience_s: how long the client may take for anything. slow_s: how long a slow answer takes. retry_s: how
        long it is told to wait, where it is; one that takes longer for anything is found to have waited."""
        self.game = game
        self.patience_s = patience_s
        self.slow_s = slow_s
        self.retry_s = retry_s
        self.services = Services(self)
        self.opened: dict[str, Table] = {}
        self.wrongs: list[str] = []
        """What was wrong without any trial's asking."""
        self.left = asyncio.Event()
        """The client's program has ended."""
        self._seed = seed
        self._inbox: asyncio.Queue[Event] = asyncio.Queue()
        self._tables: dict[str, Table] = {}
        self._sat: tuple[Table, str] | None = None
        self._held: play_pb2.Act | None = None
        self._told: dict[int, int] = {}
        """The version at which each prompt was told."""
        self.stream: Stream | None = None
        self.streams = 0
        self.proven = 0
        """The version that the client is known to have seen."""
        self.table = self.open_table(game, HOST, "")
        """The one that is offered; the client's own from when it opens one."""

    # --- what the services tell

    def heard(self, event: Event) -> None:
        """Something came in."""
        self._inbox.put_nowait(event)

    def wrong(self, sentence: str) -> None:
        """The client did something that is always wrong."""
        if sentence not in self.wrongs:
            self.wrongs.append(sentence)

    def open_table(self, game: Game, host: str, name: str) -> Table:
        """One more table."""
        table = Table(secrets.token_hex(8), game, host, name, self._seed)
        self._tables[table.id] = table
        return table

    def table_of(self, table: str) -> Table:
        """A table by its id. Raises ``Failure``."""
        if table not in self._tables:
            raise refusals.failure(Code.UNKNOWN_TABLE)
        return self._tables[table]

    def sat(self, table: Table, person: str) -> None:
        """Somebody may have sat down: the client's table is known, and one of ours begins."""
        if person not in table.state.holder:
            return
        self.table, self._sat = table, (table, person)
        if table.state.host == HOST and not table.begun:
            for action in (act.AddBot(), act.Start()):
                table.act(HOST, action)
        if table.begun:
            table.play_bots()

    def commits(self, after: int, up_to: int = 0) -> list[commit_pb2.Commit]:
        """Commits of the client's table beyond a version."""
        return [commit_pb2.Commit.FromString(data) for data in self.table.log[after : up_to or None]]

    @property
    def person(self) -> str:
        """Who the client is at its table."""
        return self._sat[1] if self._sat is not None else ""

    # --- what comes in

    async def next(self, within_s: float | None = None) -> Event:
        """The next thing that comes in. Raises ``TimeoutError``, ``Gone`` when the program has ended."""
        waiting = asyncio.ensure_future(self._inbox.get())
        left = asyncio.ensure_future(self.left.wait())
        try:
            async with asyncio.timeout(self.patience_s if within_s is None else within_s):
                await asyncio.wait((waiting, left), return_when=asyncio.FIRST_COMPLETED)
            if waiting.done():
                return waiting.result()
            raise Fallen("the client's program has ended")
        finally:
            waiting.cancel()
            left.cancel()

    async def until_seen(self) -> None:
        """Until a client opens its first stream."""
        while self.stream is None:
            self.usual(await self._inbox.get())

    def usual(self, event: Event) -> None:
        """Answers what any gateway would; a command is not answered here."""
        if isinstance(event, Opened):
            if self.stream is not None and not self.stream.over.is_set():
                self.stream.end()
            self.stream = event.stream
            self.streams += 1
        elif isinstance(event, Ended):
            if event.stream is self.stream:
                self.stream = None
        elif isinstance(event, Asked) and event.stream is self.stream:
            self._answer(event.stream, event.request)

    def _answer(self, stream: Stream, request: play_pb2.PlayRequest) -> None:
        kind = request.WhichOneof("request")
        try:
            if kind == "follow":
                self.show(request.follow)
            elif kind == "unfollow":
                left = stream_pb2.Left(table=request.unfollow.table, reason=stream_pb2.Left.REASON_UNFOLLOWED)
                stream.send(Reply(left=left))
            elif kind == "ask_legal":
                stream.send(Reply(legal=self.table_of(request.ask_legal.table).legal(stream.person)))
            elif kind == "say":
                accepted = play_pb2.Accepted(command_id=request.say.command_id, table=request.say.table, version=1)
                stream.send(Reply(accepted=accepted))
            elif kind == "renew":
                stream.token = request.renew.access_token
                stream.send(Reply(renewed=play_pb2.Renewed()))
            elif kind is None:
                raise refusals.failure(Code.BAD_REQUEST, "The request is empty.")
        except Failure as failure:
            body = getattr(request, kind) if kind else None
            self.refuse_named("", getattr(body, "table", ""), failure)

    async def command(self, within_s: float | None = None, wanted: str = "acts") -> play_pb2.Act:
        """The client's next command that its table would take. Raises ``Wrong`` when none comes, ``Gone``."""
        refused = 0
        while True:
            try:
                event = await self.next(within_s)
            except TimeoutError:
                raise Wrong(
                    f"nothing came within {within_s or self.patience_s:g} s: expected is that it {wanted}"
                ) from None
            request = event.request if isinstance(event, Asked) and event.stream is self.stream else None
            if request is None or request.WhichOneof("request") != "act":
                self.usual(event)
                continue
            if self._takes(request.act):
                self._held = request.act
                self.proven = max(self.proven, self._told.get(request.act.prompt_id, 0))
                return request.act
            refused += 1
            if refused > 20:
                raise Wrong("20 of its commands were refused, one after another")
        raise AssertionError  # pragma: no cover

    def _takes(self, request: play_pb2.Act) -> bool:
        """Whether a command is to be answered by a trial; one that was done before, or cannot be, is answered here."""
        if not 1 <= len(request.command_id) <= LONGEST_ID:
            self.wrong(f"a command's id has 1 to {LONGEST_ID} characters; it sent {request.command_id!r}")
        try:
            table = self.table_of(request.table)
            done = table.known(self.person, request.command_id, content(request))
            if done is not None:
                self.answered(request.command_id, done.version, duplicate=True)
                return False
            action = wire_actions.from_proto(request.action)
        except Failure as failure:
            if failure.reason == Code.KEY_REUSED:
                self.wrong(f"the command id {request.command_id!r} was used for two different commands")
            self.refuse(request, failure)
            return False
        except Malformed as malformed:
            self.refuse(request, refusals.failure(Code.BAD_REQUEST, malformed.sentence))
            return False
        if self.table.over:
            raise Gone("the game is over")
        code = table.why_not(self.person, action, request.prompt_id)
        if code is not None:
            self.refuse(request, refusals.failure(code))
        return code is None

    async def quiet(self, for_s: float, then: str, prompt: int) -> None:
        """For so long the client must not answer a decision again, under another id than the command that is held."""
        loop = asyncio.get_running_loop()
        until = loop.time() + for_s
        while (left_s := until - loop.time()) > 0:
            try:
                event = await self.next(left_s)
            except TimeoutError:
                return
            request = event.request if isinstance(event, Asked) else None
            if request is None or request.WhichOneof("request") != "act":
                self.usual(event)
            elif self._held is None or request.act.command_id != self._held.command_id:
                if request.act.prompt_id in (0, prompt):
                    self.refuse(request.act, refusals.failure(Code.STALE_PROMPT))
                    raise Wrong(then)
                self._takes(request.act)

    # --- what goes out

    def send(self, *responses: play_pb2.PlayResponse) -> None:
        """To the stream there is, at one moment."""
        if self.stream is not None and not self.stream.over.is_set():
            self.stream.send(*responses)

    def show(self, follow: play_pb2.Follow, *, picture: bool = False, prompt: bool = True) -> None:
        """Brings the client to where its table is: by what it has missed, or by a picture."""
        try:
            table = self.table_of(follow.table)
        except Failure as failure:
            self.refuse_named("", follow.table, failure)
            return
        person = self.stream.person if self.stream is not None else ""
        if person in table.state.holder and not table.state.connected[table.state.holder.index(person)]:
            table.act(person, act.Connect())
            table.play_bots()
        resume = follow.resume
        known = follow.HasField("resume") and 0 < resume.version <= table.version and resume.epoch == table.epoch
        if known and not picture:
            for commit in self.commits(resume.version):
                self.send(Reply(commit=commit))
        else:
            self.picture()
        progress = stream_pb2.Progress(table=table.id, version=table.version, resume=self.standing())
        progress.server_time.GetCurrentTime()
        self.send(Reply(progress=progress))
        if prompt:
            self.prompt()

    def standing(self) -> stream_pb2.Resume:
        """Where a client stands that has seen everything."""
        return stream_pb2.Resume(epoch=self.table.epoch, version=self.table.version)

    def picture(self) -> None:
        """The whole table, in place of all before."""
        self.proven = 0
        self.send(Reply(snapshot=stream_pb2.Snapshot(view=self.table.view(), resume=self.standing())))

    def prompt(self) -> None:
        """The client's open decision, where there is one."""
        prompt = self.table.prompt(self.person)
        if prompt is not None:
            self._told[prompt.prompt_id] = self.table.version
            self.send(Reply(prompt=prompt))

    def decide(self, request: play_pb2.Act) -> int:
        """Does a command and lets the bots go on, and shows nothing of it; the version after it."""
        action = wire_actions.from_proto(request.action)
        done = self.table.act(
            self.person, action, command_id=request.command_id, content=content(request), prompt=request.prompt_id
        )
        self.table.play_bots()
        self._held = None
        return done.version

    def accept(self, request: play_pb2.Act, *, prompt: bool = True) -> None:
        """Does a command, and shows what it led to."""
        before = self.table.version
        version = self.decide(request)
        for commit in self.commits(before, version):
            self.send(Reply(commit=commit))
        self.answered(request.command_id, version)
        for commit in self.commits(version):
            self.send(Reply(commit=commit))
        if prompt:
            self.prompt()

    def answered(self, command_id: str, version: int, *, duplicate: bool = False) -> None:
        """Says that a command was accepted."""
        accepted = play_pb2.Accepted(command_id=command_id, table=self.table.id, version=version, duplicate=duplicate)
        self.send(Reply(accepted=accepted))

    def refuse(self, request: play_pb2.Act, failure: Failure) -> None:
        """Says no to a command."""
        if self._held is not None and self._held.command_id == request.command_id:
            self._held = None
        self.refuse_named(request.command_id, request.table, failure)

    def refuse_named(self, command_id: str, table: str, failure: Failure) -> None:
        """Says no."""
        self.send(Reply(refused=play_pb2.Refused(command_id=command_id, table=table, status=to_status(failure))))

    def pass_time(self, *more: bytes) -> None:
        """A commit that changes nothing but the clocks is made and shown, with further bytes of a commit."""
        data = self.table.pass_time()
        self.send(Reply(commit=commit_pb2.Commit.FromString(data + b"".join(more))))

    # --- ends and beginnings

    def cut(self, failure: Failure | None = None) -> None:
        """Ends the stream: as a lost connection does, unless a failure is given."""
        if self.stream is not None:
            self.stream.end(failure or Failure(grpc.StatusCode.UNAVAILABLE, "unavailable", "The connection was cut."))
        self.stream = None

    def close(self) -> None:
        """Ends the stream in order, everything sent."""
        if self.stream is not None:
            self.stream.end()
        self.stream = None

    async def followed(self) -> play_pb2.Follow:
        """The client's next wish to follow its table, not answered yet. Raises ``Wrong``, ``Gone``."""
        while True:
            try:
                event = await self.next()
            except TimeoutError:
                raise Wrong(f"it did not come back within {self.patience_s:g} s") from None
            if isinstance(event, Asked) and event.stream is self.stream and event.request.HasField("follow"):
                return event.request.follow
            self.usual(event)

    async def resumed(self, least: int | None = None) -> play_pb2.Follow:
        """How the client comes back: it resumes where it stands, at ``least`` or beyond. Raises ``Wrong``, ``Gone``."""
        epoch, shown = self.table.epoch, self.table.version
        least = shown if least is None else least
        follow = await self.followed()
        at = follow.resume
        wrong = ""
        if not follow.HasField("resume") or not at.version:
            wrong = "it came back without saying where it stands: follow.resume was not set"
        elif at.epoch != epoch:
            wrong = f"it resumed in epoch {at.epoch}; that of what it was shown last is {epoch}"
        elif not least <= at.version <= shown:
            wrong = f"it resumed at version {at.version}; it had been shown {shown}"
        if wrong:
            self.show(follow)
            raise Wrong(wrong)
        return follow

    async def until(self, kind: type[Event], what: str, within_s: float | None = None) -> Event:
        """The next thing of a kind, and what comes before it answered. Raises ``Wrong``, ``Gone``."""
        while True:
            try:
                event = await self.next(within_s)
            except TimeoutError:
                raise Wrong(f"within {within_s or self.patience_s:g} s {what}") from None
            self.usual(event)
            if isinstance(event, kind):
                return event

    def settle(self) -> None:
        """After a trial that went wrong: what is open is answered, and the client can go on."""
        if self._held is not None and not self.table.over:
            request, self._held = self._held, None
            if self.table.why_not(self.person, wire_actions.from_proto(request.action), request.prompt_id) is None:
                self.accept(request, prompt=False)
        self.prompt()


def content(request: play_pb2.Act) -> bytes:
    """What must be the same when a command comes again."""
    same = play_pb2.Act(table=request.table, prompt_id=request.prompt_id, if_version=request.if_version)
    same.action.CopyFrom(request.action)
    return same.SerializeToString(deterministic=True)


def token_expired() -> Failure:
    """How a stream ends with its token."""
    return refusals.failure(Code.TOKEN_EXPIRED)


def new_refusal() -> Failure:
    """A refusal with a reason that no client of today knows."""
    return Failure(grpc.StatusCode.FAILED_PRECONDITION, "something_new", "The rules have changed since your client.")


__all__ = [
    "Asked",
    "Called",
    "Ended",
    "Fallen",
    "Gone",
    "Opened",
    "Peer",
    "Reply",
    "Wrong",
    "new_refusal",
    "token_expired",
]
