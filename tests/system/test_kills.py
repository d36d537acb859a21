"""Any process may be killed at any moment, under a running game: nothing is lost, nothing is done twice."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.services.conftest import roomy_folder
from tests.system import games
from tests.system.conftest import MakeStack
from tests.system.stack import Stack, running


@pytest.fixture(scope="module")
def battered() -> Iterator[Stack]:
    """One platform, of which every process is killed in turn."""
    folder = Path(tempfile.mkdtemp(prefix="omnipoly-errors-"))
    with running("--ephemeral", "--data", str(roomy_folder()), errors=folder / "up") as made:
        yield made
    shutil.rmtree(folder)


@pytest.mark.parametrize(
    "name", ["table", "gateway", "bots", "auction", "trade", "clock", "presence", "nats-server", "postgres", "fork"]
)
async def test_a_game_goes_on_without(battered: Stack, name: str) -> None:
    async with games.game(battered.gateway) as followed:
        await followed.reach(25)
        await battered.kill(name)
        await followed.end()
        await games.require_fair_and_whole(followed)


async def test_the_table_killed_again_and_again(battered: Stack) -> None:
    async with games.game(battered.gateway, rounds=20) as followed:
        for version in (20, 40, 60):
            await followed.reach(version)
            await battered.kill("table")
        await followed.end()
        await games.require_fair_and_whole(followed)


async def test_one_of_two_tables_killed_in_turn(make_stack: MakeStack) -> None:
    stack = make_stack("--replicas", "table=2")
    async with games.game(stack.gateway, rounds=20) as followed:
        for version, name in ((20, "table"), (40, "table-2"), (60, "table")):
            await followed.reach(version)
            await stack.kill(name)
        await followed.end()
        await games.require_fair_and_whole(followed)
