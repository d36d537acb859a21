"""A scripted person: signs in, follows a table on one stream or two, and acts there by what they are asked."""

from __future__ import annotations

import asyncio
import contextlib
from random import Random
from typing import Any, NamedTuple

from google.protobuf.message_factory import GetMessageClass

from omnipoly.wire.gen.game.v1 import actions_pb2, commit_pb2, legal_pb2
from omnipoly.wire.gen.gateway.v1 import lobby_pb2, play_pb2, sessions_pb2

from . import choosing
from .checker.ends import moves
from .journal import Journal, now_ms
from .line import Line, Said, said
from .tab import Tab, money

WAIT_MS = 10_000
"""How long a try may take."""
GIVE_UP_S = 60.0
_SERVICES = (play_pb2.DESCRIPTOR.services_by_name["PlayService"], lobby_pb2.DESCRIPTOR.services_by_name["LobbyService"])


class Account(NamedTuple):
    """Of somebody who has one."""

    who: str
    token: str


class Accepted(int):
    """The version that a command led to."""


class Person:
    """Somebody at one table at a time."""

    def __init__(
        self, number: int, gateways: list[str], journal: Journal, random: Random, *, tabs: int, account: Account | None
    ) -> None:
        """account: of somebody who has one; without it they sign in as a guest."""
        self.name = f"Person {number}"
        self.who = ""
        self.table = ""
        self.over = asyncio.Event()
        """The game at the table has ended."""
        self.version = 0
        """The latest version seen."""
        self.moved_ms = 0
        """When the game last went on, by the table's clock: milliseconds since 1970."""
        self.vote = ""
        """Who has proposed to end the game and waits for answers; empty: nobody."""
        self._number = number
        self._journal = journal
        self._random = random
        self._line = Line(gateways)
        if account is not None:
            self.who, self._line.token = account
        self._tabs = [Tab(tab, self._line, journal, random, self._heard) for tab in range(tabs)]
        self._commands = 0
        self._answers: dict[str, asyncio.Queue[Accepted | Said]] = {}
        self._on: dict[str, int] = {}
        """Commands that wait for an answer on a stream, and on which."""
        self._first: dict[tuple[str, int], int] = {}
        """By command and stream: its first try on that stream."""
        self._prompt: legal_pb2.Prompt | None = None
        self._prompted = asyncio.Event()

    async def sign_in(self) -> None:
        """Returns with a session, however long that takes."""
        request = sessions_pb2.SignInGuestRequest(name=self.name, request_id=f"in-{self._number}")
        while not self.who:
            try:
                answer = await self._line.call(
                    self._any(), "SessionsService/SignInGuest", request, sessions_pb2.SignInGuestResponse, 10
                )
            except Said:
                await asyncio.sleep(self._random.uniform(0.2, 1))
            else:
                self._line.token, self.who = answer.session.access_token, answer.session.person
        self._journal.write("person", who=self.who, name=self.name)

    async def close(self) -> None:
        """Goes home."""
        await asyncio.gather(*(tab.leave() for tab in self._tabs))
        await self._line.close()
        self._journal.close()

    # --- the table

    def go_to(self, table: str) -> None:
        """From now on acts at this table."""
        self.table, self.version, self.moved_ms, self.vote, self._prompt = table, 0, 0, "", None
        self.over.clear()

    def sit(self) -> None:
        """Begins to follow it."""
        for tab in self._tabs:
            tab.follow(self.table)

    async def leave(self) -> None:
        """Follows it no more."""
        await asyncio.gather(*(tab.leave() for tab in self._tabs))

    async def open(self, edition: str, **options: Any) -> str:
        """Opens a table; its id, empty when nobody would."""
        name = self._next_id()
        request = lobby_pb2.CreateTableRequest(request_id=name, edition=edition)
        for option, value in options.items():
            field = getattr(request.options, option)
            field.FromSeconds(value) if hasattr(field, "FromSeconds") else setattr(request.options, option, value)
        for number in range(1, 30):
            self._journal.write("opened", id=name, table="", n=number, wait_ms=WAIT_MS)
            try:
                answer = await self._line.call(
                    self._any(), "LobbyService/CreateTable", request, lobby_pb2.CreateTableResponse, WAIT_MS / 1000
                )
            except Said as no:
                self._journal.write("refused", id=name, table="", n=number, code=no.code, status=no.status, way="call")
                if not no.again:
                    return ""
                await asyncio.sleep(self._random.uniform(0.2, 1.5))
            else:
                self._journal.write("accepted", id=name, table=answer.table, version=answer.version, way="call")
                return str(answer.table)
        return ""

    async def act(self, action: actions_pb2.Action, *, prompt: int = 0, if_version: int = 0) -> Accepted | Said:
        """Acts at the table, again and again under the same id until there is an answer that says something."""
        name = self._next_id()
        act = play_pb2.Act(table=self.table, command_id=name, action=action, prompt_id=prompt, if_version=if_version)
        act.timeout.FromMilliseconds(WAIT_MS)
        answers = self._answers[name] = asyncio.Queue()
        calls: set[asyncio.Task[None]] = set()
        until = asyncio.get_running_loop().time() + GIVE_UP_S
        number, answer = 0, Said(0, "")
        try:
            while asyncio.get_running_loop().time() < until and not self.over.is_set():
                both = self._random.random() < 0.05  # as somebody with two windows does
                by_stream = self._random.random() < 0.7
                for way in {"stream", "call"} if both else {"stream" if by_stream else "call"}:
                    number += 1
                    await self._try(act, number, way, calls)
                try:
                    # most wait for the answer, some lose patience and ask again before it is there
                    patience_s = 2.0 if self._random.random() < 0.1 else WAIT_MS / 1000 + 1
                    async with asyncio.timeout(patience_s):
                        found = await answers.get()
                except TimeoutError:
                    continue
                if isinstance(found, Accepted) or not found.again:
                    return found
                answer = found
                await asyncio.sleep(self._random.uniform(0.1, 1))
            return answer
        finally:
            del self._answers[name]
            self._on.pop(name, None)
            for call in calls:  # let them end by themselves: their answers count, too
                call.add_done_callback(calls.discard)

    async def look(self) -> None:
        """Asks for a picture of the table, and writes down what came."""
        began = now_ms()
        request = lobby_pb2.GetTableRequest(table=self.table)
        try:
            answer = await self._line.call(self._any(), "LobbyService/GetTable", request, lobby_pb2.GetTableResponse, 5)
        except Said:
            return
        view = answer.view
        self._journal.write(
            "look", table=view.table, version=view.version, epoch=view.epoch, began=began, **money(view)
        )

    async def play(self, calm: asyncio.Event) -> None:
        """Does what one is asked until the game is over; once it is calm, without mischief."""
        while not self.over.is_set():
            prompt = await self._asked(self._random.uniform(1.5, 4))
            if prompt is None:
                await self._ask()
                continue
            if not calm.is_set():
                await self._mischief(calm)
            action = choosing.choose(prompt, self._random)
            await asyncio.sleep(self._random.uniform(0.02, 0.5))
            if action is None or self._prompt is not prompt:
                continue
            named = prompt.prompt_id if self._random.random() < 0.8 else 0
            if isinstance(await self.act(action, prompt=named), Said):
                await self._ask()  # what was refused may have left the decision open, and nobody asks for it again

    # --- within

    async def _mischief(self, calm: asyncio.Event) -> None:
        """Now and then a stream is dropped, a picture asked for, or a prompt let pass, at the longest until it is
        calm.
        """
        what = self._random.random()
        if what < 0.03:
            self._random.choice(self._tabs).drop(
                self._random.choice((0.0, 0.0, 0.5, 4.0)), forget=self._random.random() < 0.2
            )
        elif what < 0.07:
            await self.look()
        elif what < 0.075:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._random.uniform(5, 25)):
                    await calm.wait()

    async def _asked(self, within_s: float) -> legal_pb2.Prompt | None:
        try:
            async with asyncio.timeout(within_s):
                await self._prompted.wait()
        except TimeoutError:
            return None
        self._prompted.clear()
        return self._prompt

    async def _ask(self) -> None:
        await self._tabs[0].send(play_pb2.PlayRequest(ask_legal=play_pb2.AskLegal(table=self.table)))

    async def _try(self, act: play_pb2.Act, number: int, way: str, calls: set[asyncio.Task[None]]) -> None:
        name, kind = act.command_id, act.action.WhichOneof("kind")
        self._journal.write("try", id=name, table=act.table, act=kind, way=way, n=number, wait_ms=WAIT_MS)
        if way == "call":
            call = asyncio.create_task(self._call(act, str(kind), number), name="call")
            calls.add(call)
            return
        tab = self._tabs[0]
        self._on[name] = tab.stream
        self._first.setdefault((name, tab.stream), number)
        if not await tab.send(play_pb2.PlayRequest(act=act)):
            self._journal.write("lost", id=name, table=act.table, n=number, how="no stream")
            self._tell(name, Said(14, "no stream"))

    async def _call(self, act: play_pb2.Act, kind: str, number: int) -> None:
        service, method = _method(kind)
        request = GetMessageClass(method.input_type)()
        for field in act.DESCRIPTOR.fields:
            if field.name in {"table", "command_id", "prompt_id", "if_version"}:
                setattr(request, field.name, getattr(act, field.name))
        for field, value in getattr(act.action, kind).ListFields():
            if field.message_type is not None:
                getattr(request, field.name).CopyFrom(value)
            else:
                setattr(request, field.name, value)
        try:
            answer: Any = await self._line.call(
                self._any(),
                f"{service}/{method.name}",
                request,
                GetMessageClass(method.output_type),
                WAIT_MS / 1000,
            )
        except Said as no:
            self._answered(act.command_id, act.table, no, "call", number)
        else:
            self._answered(act.command_id, act.table, Accepted(answer.version), "call", number)

    def _heard(self, response: Any, stream: int) -> None:
        if response is None:
            for name in [name for name, on in self._on.items() if on == stream]:
                self._journal.write("lost", id=name, table=self.table, n=0, how="the stream has ended")
                del self._on[name]
                self._tell(name, Said(14, "the stream has ended"))
            return
        kind = response.WhichOneof("response")
        if kind == "commit":
            self._happened(response.commit)
        elif kind == "snapshot":
            self.version = max(self.version, response.snapshot.view.version)
            if response.snapshot.view.ended:
                self.over.set()
        elif kind in {"prompt", "legal"}:
            self._prompt = getattr(response, kind)
            self._prompted.set()
        elif kind == "accepted":
            accepted = response.accepted
            name = accepted.command_id
            self._answered(name, accepted.table, Accepted(accepted.version), "stream", self._surely(name, stream))
        elif kind == "refused" and response.refused.command_id:
            refused = response.refused
            name = refused.command_id
            self._answered(name, refused.table, said(refused.status), "stream", self._surely(name, stream))

    def _surely(self, name: str, stream: int) -> int:
        """The try that an answer on a stream is to, or to a later one: it does not say which, but a stream answers only
        what was sent on it. 0: to none.
        """
        return self._first.get((name, stream), 0)

    def _happened(self, commit: commit_pb2.Commit) -> None:
        self.version = max(self.version, commit.version)
        if moves(commit):
            self.moved_ms = max(self.moved_ms, commit.at.ToMilliseconds())
        for event in commit.events:
            kind = event.WhichOneof("kind")
            if kind == "game_ended":
                self.over.set()
                self._prompted.set()
            elif kind == "vote_opened":
                self.vote = event.vote_opened.person
            elif kind == "vote_closed":
                self.vote = ""

    def _answered(self, name: str, table: str, answer: Accepted | Said, way: str, number: int) -> None:
        if isinstance(answer, Accepted):
            self._journal.write("accepted", id=name, table=table, version=int(answer), way=way)
        else:
            code, status = answer.code, answer.status
            self._journal.write("refused", id=name, table=table, n=number, code=code, status=status, way=way)
        self._tell(name, answer)

    def _tell(self, name: str, answer: Accepted | Said) -> None:
        waiting = self._answers.get(name)
        if waiting is not None:
            waiting.put_nowait(answer)

    def _any(self) -> str:
        return self._random.choice(self._line.gateways)

    def _next_id(self) -> str:
        self._commands += 1
        return f"chaos-{self._number}-{self._commands}"


def _method(kind: str) -> tuple[str, Any]:
    """The plain call of a kind of action: its service and method."""
    name = "".join(part.capitalize() for part in kind.split("_"))
    for service in _SERVICES:
        method = service.methods_by_name.get(name)
        if method is not None:
            return service.name, method
    raise LookupError(kind)
