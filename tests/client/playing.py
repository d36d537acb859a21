"""What the tests of playing share: a table of persons, and a game driven by what the server lists."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import NamedTuple

from omnipoly.bots.strategy import Bot
from omnipoly.client import Client, Play, Session, TableReplica
from omnipoly.rules import actions as act
from omnipoly.rules.state import Out, Phase


class Player(NamedTuple):
    """Somebody with a seat and a stream."""

    session: Session
    play: Play
    replica: TableReplica
    seat: int


@asynccontextmanager
async def seated(client: Client, edition: str, names: list[str], rounds: int = 2) -> AsyncIterator[list[Player]]:
    """A table of persons, not started; each follows it."""
    async with AsyncExitStack() as up:
        sessions = [await client.sign_in_guest(name) for name in names]
        table = await sessions[0].lobby.create(edition, options=act.SetOptions(round_limit=rounds))
        for session in sessions[1:]:
            await session.lobby.join(table)
        players = []
        for seat, session in enumerate(sessions):
            play = await up.enter_async_context(session.play(tell=True))
            players.append(Player(session, play, await play.follow(table), seat))
        yield players


async def step(players: list[Player]) -> bool:
    """One action of whoever has something to do, as a bot would; whether anybody had."""
    for player in players:
        s = player.replica.state
        if s.phase in (Phase.LOBBY, Phase.OVER) or s.out[player.seat] != Out.IN:
            continue
        action = Bot(player.seat).decide(s, player.seat, player.replica.now_ms())
        if action is not None:
            prompt = s.prompt[player.seat] if action.__struct_config__.tag in PROMPTED else 0
            answer = await player.play.act(s.table, action, prompt=prompt)
            for other in players:
                await reached(other, answer.version)
            return True
    return False


PROMPTED = frozenset(("roll", "buy", "decline", "end_turn", "pay", "pass"))


async def reached(player: Player, version: int) -> None:
    """Until a player's replica is at a version."""
    if player.replica.version >= version:
        return
    async with asyncio.timeout(20):
        async for _ in player.play:
            if player.replica.version >= version:
                return
