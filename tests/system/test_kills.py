"""Any process may be killed at any moment, under a running game: nothing is lost, nothing is done twice."""

from __future__ import annotations

import pytest

from tests.system import games
from tests.system.conftest import MakeStack


@pytest.mark.parametrize(
    "name", ["table", "gateway", "bots", "auction", "trade", "clock", "presence", "nats-server", "postgres", "fork"]
)
async def test_a_game_goes_on_without(make_stack: MakeStack, name: str) -> None:
    stack = make_stack()
    async with games.game(stack.gateway) as followed:
        await followed.reach(25)
        await stack.kill(name)
        await followed.end()
        await games.require_fair_and_whole(followed)


async def test_the_table_killed_again_and_again(make_stack: MakeStack) -> None:
    stack = make_stack()
    async with games.game(stack.gateway, rounds=20) as followed:
        for version in (20, 40, 60):
            await followed.reach(version)
            await stack.kill("table")
        await followed.end()
        await games.require_fair_and_whole(followed)
