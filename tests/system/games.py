"""Games of bots through a stack's gateway, and what must be true of their logs."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import NamedTuple

from omnipoly.client import Client, Play, Session, TableReplica, exports, verify
from omnipoly.rules import actions as act
from omnipoly.rules.state import Phase, State
from omnipoly.wire.gen.game.v1 import commit_pb2

from .stack import START_S

GAME_S = 100.0
"""A game's time; it only guards."""


class Followed(NamedTuple):
    """A game that is followed by somebody who opened it and does not play."""

    session: Session
    play: Play
    table: str
    replica: TableReplica

    async def reach(self, version: int) -> None:
        """Returns once the table is at that version. Fails when the game ends before."""
        await self._until(lambda: self.replica.version >= version or self.over)
        assert self.replica.version >= version, f"the game was over at {self.replica.version}"

    async def end(self) -> None:
        """Returns once the game is over."""
        await self._until(lambda: self.over)

    @property
    def over(self) -> bool:
        return self.replica.state.phase is Phase.OVER

    async def _until(self, condition: object) -> None:
        assert callable(condition)
        async with asyncio.timeout(GAME_S):
            feed = aiter(self.play)
            while not condition():
                await anext(feed)


@asynccontextmanager
async def client(gateway: str) -> AsyncIterator[Client]:
    """A connection to a gateway."""
    async with await Client.connect(gateway, timeout_s=START_S) as connected:
        yield connected


@asynccontextmanager
async def game(gateway: str, *, bots: int = 4, rounds: int = 12, edition: str = "tubbypoly") -> AsyncIterator[Followed]:
    """A game of bots that has just been started."""
    async with client(gateway) as connected:
        session = await connected.sign_in_guest("Onlooker")
        table = await session.lobby.create(edition, options=act.SetOptions(round_limit=rounds), unseated=True)
        async with session.play() as play:
            replica = await play.follow(table, timeout_s=START_S)
            for _ in range(bots):
                await session.lobby.add_bot(table)
            await session.lobby.start(table)
            yield Followed(session, play, table, replica)


async def history(session: Session, table: str) -> list[commit_pb2.Commit]:
    """A table's whole log."""
    return [commit async for commit in session.games.history(table)]


def require_whole(log: list[commit_pb2.Commit]) -> None:
    """Versions without gaps, and nothing done twice."""
    assert [commit.version for commit in log] == list(range(1, len(log) + 1))
    named = Counter((commit.actor, commit.command_id) for commit in log if commit.command_id)
    assert [key for key, times in named.items() if times > 1] == []


def differences(one: State, other: State) -> dict[str, tuple[object, object]]:
    """What two states differ in, by attribute; each has compiled the edition's rules for itself."""
    pairs = ((name, getattr(one, name), getattr(other, name)) for name in one.__struct_fields__ if name != "rules")
    return {name: (here, there) for name, here, there in pairs if here != there}


async def require_fair_and_whole(followed: Followed) -> None:
    """The log of a finished game is whole, replays from nothing, its dice are the seed's, the follower saw it all."""
    log = await history(followed.session, followed.table)
    require_whole(log)
    exported = exports.read(await followed.session.games.export(followed.table))
    verdict = verify.check(exported.game, exported.log)
    assert verdict.holds, verdict.problems
    assert verdict.commits == len(log) == followed.replica.version
    found = differences(verdict.state, followed.replica.state)
    assert not found, found
