"""Persons who play from outside."""

from __future__ import annotations

from omnipoly.rules.state import Phase
from tests.client import playing


async def play_to_the_end(players: list[playing.Player]) -> None:
    """Has the host start the game, and everybody do what they would until it is over."""
    host = players[0]
    await host.session.lobby.start(host.replica.state.table)
    while host.replica.state.phase is not Phase.OVER:
        if not await playing.step(players):
            await anext(aiter(host.play))
