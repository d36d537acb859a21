"""One table: players who answer every decision they are shown, and watchers who are shown what came of it.

All on streams of bytes, as any client has them, with nothing of the platform's own client.
"""

from __future__ import annotations

import asyncio
import itertools
import secrets
from collections.abc import Sequence
from typing import Any, NamedTuple

import grpc
import grpc.aio
from google.rpc import error_details_pb2, status_pb2

from omnipoly.wire.gen.game.v1 import legal_pb2
from omnipoly.wire.gen.gateway.v1 import lobby_pb2, play_pb2, watch_pb2

from .figures import Counts
from .pacing import Pace

EDITION = "tubbypoly"
PACKAGE = "/omnipoly.gateway.v1."
RATHER = ("roll", "decline", "pass", "end_turn", "pay", "raise", "pay_bail", "give_up", "choose_steps")
"""What a player answers, the first that is listed: lots stay with the bank, so that a game goes on for long."""
AGAIN_S = 0.5
FINAL = {
    grpc.StatusCode.INVALID_ARGUMENT,
    grpc.StatusCode.UNAUTHENTICATED,
    grpc.StatusCode.PERMISSION_DENIED,
    grpc.StatusCode.UNIMPLEMENTED,
}
"""Refusals that another try would get again."""
EOF: Any = grpc.aio.EOF  # type: ignore[attr-defined]  # missing in the stubs
_run = secrets.token_hex(4)
_numbers = itertools.count(1)


class NotLetIn(Exception):
    """A refusal before anything is measured that no other try would mend; says which."""


class Person(NamedTuple):
    """A connection, and the token that says who calls on it."""

    channel: Any
    token: str

    @property
    def metadata(self) -> tuple[tuple[str, str], ...]:
        """What goes with each call."""
        return (("authorization", f"Bearer {self.token}"),)


class Table:
    """Its persons, the game they are at, and the clock of each of its commits."""

    def __init__(self, players: Sequence[Person], watchers: Sequence[Person], counts: Counts, pace: Pace) -> None:
        self.id = ""
        self._players = players
        self._watchers = watchers
        self.counts = counts
        self.pace = pace
        self.sent: dict[int, float] = {}
        """When the command that led to a version was sent."""
        self.seen: dict[int, list[float]] = {}
        """When watchers were shown versions of which the answer is not here yet."""

    async def play(self, ready: asyncio.Event) -> None:
        """Game after game, until cancelled. ready: set once everybody is there for the first time.

        Raises ``NotLetIn``.
        """
        while True:
            try:
                await self._open()
                async with asyncio.TaskGroup() as group:
                    over = asyncio.Event()
                    tasks = [group.create_task(Seat(self, player, over).follow()) for player in self._players]
                    tasks += [group.create_task(_watch(self, watcher)) for watcher in self._watchers]
                    ready.set()
                    await over.wait()
                    for task in tasks:
                        task.cancel()
                self.counts.games += 1
            except grpc.aio.AioRpcError as error:
                self.counts.error(reason(error) if ready.is_set() else refused(error))
                await asyncio.sleep(AGAIN_S)

    async def _open(self) -> None:
        host, *others = self._players
        request = lobby_pb2.CreateTableRequest(request_id=f"{_run}-{next(_numbers)}", edition=EDITION)
        self.id = (await call(host, "LobbyService/CreateTable", request, lobby_pb2.CreateTableResponse)).table
        self.sent.clear()
        self.seen.clear()
        for other in others:
            join = lobby_pb2.JoinRequest(table=self.id, command_id="join")
            await call(other, "LobbyService/Join", join, lobby_pb2.JoinResponse)
        start = lobby_pb2.StartRequest(table=self.id, command_id="start")
        await call(host, "LobbyService/Start", start, lobby_pb2.StartResponse)

    def answered(self, version: int, sent_at: float) -> None:
        """A command led to a version; watchers may have been shown it already."""
        self.sent[version] = sent_at
        for at in self.seen.pop(version, ()):
            self.counts.record("shown", at - sent_at)
        if len(self.sent) > 64:
            del self.sent[next(iter(self.sent))]

    def shown(self, version: int) -> None:
        """A watcher was shown a version."""
        now = asyncio.get_running_loop().time()
        self.counts.shown += 1
        if version in self.sent:
            self.counts.record("shown", now - self.sent[version])
        else:
            self.seen.setdefault(version, []).append(now)
            if len(self.seen) > 64:
                del self.seen[next(iter(self.seen))]


class Seat:
    """One player on one stream, which comes back when it breaks."""

    def __init__(self, table: Table, person: Person, over: asyncio.Event) -> None:
        self._table = table
        self._person = person
        self._over = over
        self._stream: Any = None
        self._on_way: dict[str, tuple[float, float]] = {}
        """Commands without an answer: when they were sent, and when they were due."""
        self._answered = 0
        """The last decision that was answered: in an auction it is shown again with each bid and pass."""

    async def follow(self) -> None:
        """Until cancelled."""
        while True:
            try:
                await self._once()
            except grpc.aio.AioRpcError as error:
                self._table.counts.error(reason(error))
            except asyncio.InvalidStateError:
                self._table.counts.error("stream_broken")
            self._on_way.clear()
            self._answered = 0
            await asyncio.sleep(AGAIN_S)

    async def _once(self) -> None:
        call = self._person.channel.stream_stream(f"{PACKAGE}PlayService/Play")(metadata=self._person.metadata)
        self._stream = call
        try:
            follow = play_pb2.PlayRequest(follow=play_pb2.Follow(table=self._table.id))
            await call.write(follow.SerializeToString())
            while (data := await call.read()) is not EOF:
                response = play_pb2.PlayResponse.FromString(data)
                for each in (response, *response.along):
                    await self._take(each)
        finally:
            call.cancel()

    async def _take(self, response: play_pb2.PlayResponse) -> None:
        kind = response.WhichOneof("response")
        if kind == "prompt":
            if response.prompt.prompt_id != self._answered:
                self._consider(response.prompt)
        elif kind == "legal":
            self._consider(response.legal)
        elif kind == "accepted":
            if (times := self._on_way.pop(response.accepted.command_id, None)) is not None:
                self._was_answered(response.accepted.version, *times)
        elif kind == "refused":
            self._table.counts.error(_code(response.refused.status.details) or "refused")
            self._on_way.pop(response.refused.command_id, None)
            ask = play_pb2.PlayRequest(ask_legal=play_pb2.AskLegal(table=self._table.id))
            await self._stream.write(ask.SerializeToString())
        elif kind == "commit":
            if any(event.WhichOneof("kind") == "game_ended" for event in response.commit.events):
                self._over.set()
        elif kind == "left":
            self._table.counts.error("left")

    def _was_answered(self, version: int, sent_at: float, due_at: float) -> None:
        now, table = asyncio.get_running_loop().time(), self._table
        table.counts.accepted += 1
        table.counts.record("answer", now - sent_at)
        table.counts.record("due", now - due_at)
        table.answered(version, sent_at)

    def _consider(self, prompt: legal_pb2.Prompt) -> None:
        listed = {action.kind: action for action in prompt.actions}
        kind = next((name for name in RATHER if name in listed), "")
        if not prompt.prompt_id or not kind:
            return
        self._answered = prompt.prompt_id
        act = play_pb2.Act(table=self._table.id, prompt_id=prompt.prompt_id, command_id=f"c{next(_numbers)}")
        body = getattr(act.action, kind)
        body.SetInParent()
        if kind == "pass":
            body.auction = listed[kind].auction
        if kind == "choose_steps":
            body.steps = listed[kind].amounts[0]
        stream = self._stream

        async def send(due_at: float) -> None:
            self._on_way[act.command_id] = (asyncio.get_running_loop().time(), due_at)
            self._table.counts.sent += 1
            try:
                await stream.write(play_pb2.PlayRequest(act=act).SerializeToString())
            except (grpc.aio.AioRpcError, grpc.aio.UsageError, asyncio.InvalidStateError):
                self._table.counts.error("stream_broken")  # and whoever reads it opens another

        self._table.pace.ready(send)


async def _watch(table: Table, person: Person) -> None:
    """A watcher, who comes back when the stream breaks; until cancelled."""
    request = watch_pb2.WatchRequest(table=table.id).SerializeToString()
    while True:
        call = person.channel.unary_stream(f"{PACKAGE}WatchService/Watch")(request, metadata=person.metadata)
        try:
            while (data := await call.read()) is not EOF:
                response = watch_pb2.WatchResponse.FromString(data)
                for each in (response, *response.along):
                    if each.WhichOneof("response") == "commit":
                        table.shown(each.commit.version)
        except grpc.aio.AioRpcError as error:
            table.counts.error(f"watch: {reason(error)}")
        except asyncio.InvalidStateError:
            table.counts.error("watch: stream_broken")
        finally:
            call.cancel()
        await asyncio.sleep(AGAIN_S)


async def call(person: Person, method: str, request: Any, response: Any) -> Any:
    """One plain call of somebody's. Raises ``AioRpcError``."""
    rpc = person.channel.unary_unary(PACKAGE + method)
    return response.FromString(await rpc(request.SerializeToString(), metadata=person.metadata, timeout=30))


def reason(error: grpc.aio.AioRpcError) -> str:
    """What a refusal is counted under: its code, else gRPC's."""
    given = dict(error.trailing_metadata() or ()).get("grpc-status-details-bin", b"")
    if isinstance(given, bytes) and (code := _code(status_pb2.Status.FromString(given).details)):
        return code
    return error.code().name.lower()


def refused(error: grpc.aio.AioRpcError) -> str:
    """The same of who comes in. Raises ``NotLetIn`` when they never will."""
    if error.code() in FINAL:
        raise NotLetIn(f"{reason(error)}: {error.details()}") from None
    return reason(error)


def _code(details: Any) -> str:
    info = error_details_pb2.ErrorInfo()
    return next((info.reason.lower() for detail in details if detail.Unpack(info)), "")
