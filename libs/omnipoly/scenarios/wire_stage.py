"""The stage that is a table of a running stack: scenarios over the wire, through the public calls alone.

A table is opened with ``dev`` and set up from the position's picture. Each player is a guest with a session and, once
they act, a stream of their own; chance is the step's script, ``wait`` is ``Dev.Advance``. What the stage tells of the
table is read from a follower's replica, with the players' names in the place of the persons' ids.

Steps by bots and by an admin need an access token with these roles; ``omnipoly scenario run`` reads OMNIPOLY_TOKEN.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import grpc

from omnipoly.client import Client, Play, Refused, Session, TableReplica
from omnipoly.client.happenings import Happened, Pictured
from omnipoly.rules import actions as act
from omnipoly.rules import engine, events, listing
from omnipoly.rules.codes import Code
from omnipoly.rules.seats import ADMIN, BOT, is_admin
from omnipoly.wire import views
from omnipoly.wire.gen.game.v1 import script_pb2

from . import position as positions
from .errors import Unscripted
from .persons import Persons
from .stage import EPOCH_MS

if TYPE_CHECKING:
    from omnipoly.client.feed import Feed
    from omnipoly.rules.actions import Action
    from omnipoly.rules.state import State

    from .model import Position, Throw
    from .script import Script
    from .stage import MakeStage

TOKEN = "OMNIPOLY_TOKEN"
"""The environment variable with the token of somebody who may act as bots and as an admin."""
REACHED_S = 20.0
"""How long a commit may take to be shown."""
PRESENCE_S = 10.0
"""How long it may take until the table knows that somebody came or went."""
DOUBLES_BEFORE_THE_THIRD = 2


class Unplayable(Exception):
    """A step that this stack cannot play; the text says what it lacks."""


@asynccontextmanager
async def stages(gateway: str, token: str | None = None) -> AsyncIterator[MakeStage]:
    """Stages on a stack under ``--dev``; ``token``: of somebody with the roles ``bots`` and ``admin``.

    Raises ``OSError`` when nobody answers, or when the stack does not run under ``--dev``.
    """
    try:
        client = await Client.connect(gateway)
    except Refused as refused:
        raise OSError(refused.sentence) from refused
    async with client:
        if not client.server.dev:
            raise OSError("this stack does not run under --dev")
        roles = token if token is not None else os.environ.get(TOKEN, "")
        yield lambda: WireStage(client, roles)


class WireStage:
    """One table of a stack."""

    def __init__(self, client: Client, token: str = "") -> None:
        self._client = client
        self._token = token
        self._streams: list[Play] = []
        self._persons = Persons()
        self._sessions: dict[str, Session] = {}
        self._plays: dict[str, Play] = {}
        self._present: dict[str, Play] = {}
        """Streams that stand for somebody's presence, by person."""
        self._replica: TableReplica | None = None
        self._feed: Feed | None = None
        self._seen = 0
        """The version of the last commit heard."""
        self._host: Session | None = None
        self._log: tuple[str, ...] = ()

    # --- the protocol of ``stage.Stage``

    async def set_up(self, position: Position, script: Script) -> None:
        """Open a table and set it up. Raises ``Unreachable``, ``Unscripted``, ``Refused``."""
        draft = positions.draft(position, now_ms=EPOCH_MS, entropy=script)
        if self._replica is None:
            await self._begin(position.edition)
        for name in draft.state.holder:
            if not name.startswith(BOT):
                await self._session(name)
        view = views.to_view(self._persons.to_ids(draft.state), 0, 0)
        assert self._host is not None
        answer = await self._host.dev.set_up(self._at.table, view)
        await self._reached(answer.version)
        # What Start did happened before the table was set up; in a position nothing has.
        happened = draft.events if position.given is None else ()
        self._log = tuple(events.kind_of(event) for event in happened)

    async def do(self, by: str, action: Action, script: Script) -> Code | None:
        """Somebody acts. Raises ``Unscripted`` for what the script lacks, ``Unplayable`` for what the stack does."""
        if isinstance(action, act.Connect | act.Disconnect):
            return await self._presence(by, action)
        if isinstance(action, act.CloseTable) or (isinstance(action, act.Remove) and by.startswith(ADMIN)):
            return await self._as_admin(by, action)
        return await self._scripted(by, action, script, list(script.throws))

    async def wait(self, by_ms: int, script: Script) -> None:
        """The table's clock moves forward. Raises ``Unscripted``."""
        assert self._host is not None
        before = self._at.version
        throws = list(script.throws)
        while True:
            try:
                answer = await self._host.dev.advance(self._at.table, by_ms, _script(throws))
            except Refused as refused:
                throws = _fewer(refused, throws)
                continue
            break
        await self._moved_on(before, answer.version, script)

    async def state(self) -> State:
        """The state as the table shows it, with the scenario's names."""
        return self._persons.to_names(self._at.state)

    async def can(self, seat: int) -> frozenset[str]:
        """The kinds of action that the table lists for a person's seat; for a bot's, those of the replica."""
        s = self._at.state
        if s.bot[seat] or is_admin(s.holder[seat]):
            return frozenset(legal.do for legal in listing.legal_actions(s, seat, s.now_ms))
        play = await self._play(self._persons.name(s.holder[seat]))
        _, listed = await play.legal(self._at.table)
        return frozenset(legal.do for legal in listed)

    async def log(self) -> tuple[str, ...]:
        """The kinds of events of the last step."""
        return self._log

    async def check(self) -> None:
        """Raise ``engine.Broken`` when an invariant does not hold of the replica."""
        engine.check(self._at.state)

    async def close(self) -> None:
        """Close every stream."""
        await asyncio.gather(*(play.close() for play in self._streams))

    # --- the table

    @property
    def _at(self) -> TableReplica:
        if self._replica is None:
            raise RuntimeError("the table is not set up")
        return self._replica

    async def _begin(self, edition: str) -> None:
        """Open a table and follow it as its host, who has no seat."""
        self._host = host = await self._client.sign_in_guest("Scenario")
        table = await host.lobby.create(edition, unseated=True, dev=True)
        play = await self._opened(host)
        self._feed = aiter(play)
        self._replica = await play.follow(table)
        self._seen = self._replica.version

    async def _reached(self, version: int) -> list[str]:
        """The kinds of events up to a version, which is waited for."""
        kinds: list[str] = []
        async with asyncio.timeout(REACHED_S):
            while self._seen < version:
                kinds += await self._next()
        return kinds

    async def _next(self) -> list[str]:
        """The kinds of events of the next thing heard."""
        assert self._feed is not None
        happening = await anext(self._feed)
        if isinstance(happening, Pictured):
            self._seen = max(self._seen, happening.replica.version)
        if not isinstance(happening, Happened) or happening.commit.version <= self._seen:
            return []
        self._seen = happening.commit.version
        return [events.kind_of(event) for event in happening.commit.events]

    async def _moved_on(self, before: int, version: int, script: Script) -> None:
        """A step is done: its log, and which of its throws were used."""
        kinds = await self._reached(version) if version > before else []
        self._log = tuple(kinds)
        script.take(kinds.count("dice_thrown"))

    # --- acting

    async def _scripted(self, by: str, action: Action, script: Script, throws: list[Throw]) -> Code | None:
        """An action with the script's throws; those that nothing takes are left out, so that the runner finds them."""
        before = self._at.version
        if self._at.state.doubles == DOUBLES_BEFORE_THE_THIRD:
            throws = _third_double(throws)
        while True:
            try:
                answer = await self._act(by, action, _script(throws))
            except Refused as refused:
                if refused.known is Code.BAD_REQUEST and "script" in refused.sentence:
                    throws = _fewer(refused, throws)
                    continue
                return self._refused(refused)
            break
        await self._moved_on(before, answer, script)
        return None

    def _refused(self, refused: Refused) -> Code:
        """The code of a refusal by the rules. Raises every other one."""
        if refused.known is Code.SIGN_IN_REQUIRED:
            raise Unplayable("guests who are viewers: let them watch (OMNIPOLY_GUESTS_WATCH)") from refused
        if refused.known is None or refused.passing:
            raise refused
        self._log = ()
        return refused.known

    async def _act(self, by: str, action: Action, script: script_pb2.Script) -> int:
        table = self._at.table
        if by.startswith(BOT):
            play = await self._privileged_play("a bot")
            return (await play.act(table, action, script=script, as_bot=by)).version
        if by.startswith(ADMIN):
            play = await self._privileged_play("an admin")
        else:
            play = await self._play(by)
        return (await play.act(table, action, script=script)).version

    async def _session(self, name: str) -> Session:
        session = self._sessions.get(name)
        if session is None:
            session = self._sessions[name] = await self._client.sign_in_guest(name)
            self._persons.add(name, session.person)
        return session

    async def _play(self, name: str) -> Play:
        """Somebody's stream to act on; it follows nothing, so that it says nothing of where they are."""
        play = self._plays.get(name)
        if play is None:
            play = self._plays[name] = await self._opened(await self._session(name))
        return play

    def _session_with_roles(self, whom: str) -> Session:
        if not self._token:
            raise Unplayable(f"a token to act as {whom}: set {TOKEN} to one with the roles bots and admin")
        return self._client.with_token(self._token)

    async def _privileged_play(self, whom: str) -> Play:
        play = self._plays.get("")
        if play is None:
            play = self._plays[""] = await self._opened(self._session_with_roles(whom))
        return play

    async def _opened(self, session: Session) -> Play:
        """A stream that ends with the stage."""
        play = session.play()
        await play.__aenter__()
        self._streams.append(play)
        return play

    async def _as_admin(self, by: str, action: act.CloseTable | act.Remove) -> Code | None:
        """A call of its own, for admins: whoever is none is refused it there."""
        session = self._session_with_roles("an admin") if by.startswith(ADMIN) else await self._session(by)
        table, reason = self._at.table, "a scenario"
        try:
            if isinstance(action, act.CloseTable):
                answer = await session.admin.close(table, reason=reason)
            else:
                answer = await session.admin.remove(table, action.seat, reason=reason)
        except Refused as refused:
            if refused.status is grpc.StatusCode.UNIMPLEMENTED:
                raise Unplayable("the admins' calls") from refused
            return self._refused(refused)
        self._log = tuple(await self._reached(answer.version))
        return None

    # --- presence

    async def _presence(self, by: str, action: act.Connect | act.Disconnect) -> Code | None:
        """Somebody opens a stream at the table, or closes it; what the table makes of it is waited for."""
        wanted = isinstance(action, act.Connect)
        session = await self._session(by)
        replica = self._at
        seat = replica.seat_of(session.person)
        if seat < 0:
            return Code.NOT_SEATED
        connected = replica.state.connected[seat]
        kinds: list[str] = []
        play = self._present.pop(by, None)
        if play is None:
            play = await self._opened(session)
            await play.follow(replica.table)
        if wanted:
            self._present[by] = play
        else:
            await play.close()
        if connected is not wanted:
            kinds = await self._until(lambda: replica.state.connected[seat] is wanted)
        self._log = (*kinds, *await self._reached(replica.version))
        return None

    async def _until(self, holds: Callable[[], bool]) -> list[str]:
        """The kinds of events until the table knows who is there."""
        kinds: list[str] = []
        try:
            async with asyncio.timeout(PRESENCE_S):
                while not holds():
                    kinds += await self._next()
            return kinds
        except TimeoutError:
            raise Unplayable("a presence service: the table was not told who came or went") from None


# --- scripts ----------------------------------------------------------------------------------------------------------


def _script(throws: list[Throw]) -> script_pb2.Script:
    """The throws as they travel; an empty script leaves nothing to chance."""
    script = script_pb2.Script()
    for throw in throws:
        script.throws.add(dice=(throw.first, throw.second), speed=throw.speed)
    return script


def _third_double(throws: list[Throw]) -> list[Throw]:
    """A third double goes to jail whatever its speed die shows: a scenario may leave that out (``script.Script``)."""
    if not throws or throws[0].speed or throws[0].first != throws[0].second:
        return throws
    first = throws[0]
    return [type(first)(first.first, first.second, "1"), *throws[1:]]


def _fewer(refused: Refused, throws: list[Throw]) -> list[Throw]:
    """The throws without those that nothing took. Raises ``Unscripted`` for what is missing, and what else was said."""
    words = refused.sentence.split()
    if "left over" in refused.sentence and words[0].isdecimal() and 0 < int(words[0]) <= len(throws):
        return throws[: len(throws) - int(words[0])]
    if "script" in refused.sentence:
        raise Unscripted(refused.sentence.rstrip("."))
    raise refused
