"""Clients that know nothing but the contracts play a whole game with the platform's bots, across a lost answer."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from omnipoly.client import Client
from omnipoly.rules.state import Phase
from omnipolyd.gateway.tokens import issue
from tests.clients import running
from tests.services.bots.stack import KEY, Stack
from tests.services.proxy import Cut, Proxy

LOST = b"-0009"
"""Ends the id of the client's ninth command: that one is done, and its answer is lost with the connection."""


async def played(platform: Stack, command: list[str], environment: dict[str, str]) -> None:
    """A game by way of a proxy that cuts the connection once, and what the server keeps of it."""
    async with Proxy(f"tcp://{platform.gateway.address}") as proxy:
        cut = proxy.cut_at(LOST, Cut.AFTER)
        ended = await running.run([part.format(proxy.address) for part in command], environment)
    seen = ended.seen
    assert cut.done.is_set()
    assert seen["streams"] == 2
    async with await Client.connect(platform.gateway.address) as client:
        # not a guest: those see no tables where they have no seat
        token = issue(KEY.get_secret_value(), "oidc:looks", "Looks", lifetime_s=3600)
        session = client.with_token(token)
        view = await session.lobby.view(seen["table"])
        assert (view.state.phase, view.version, view.state.cash) == (Phase.OVER, seen["version"], seen["cash"])
        commits = [commit async for commit in session.games.history(seen["table"])]
    assert len([commit for commit in commits if commit.command_id.endswith(LOST.decode())]) == 1


async def test_python_with_stubs_alone(platform: Stack, stubs: Path) -> None:
    await played(platform, *running.python_stubs(stubs, "{}"))


@pytest.mark.needs("node")
async def test_node(platform: Stack) -> None:
    await played(platform, *running.node("{}"))


async def test_core_alone_plays_a_game(platform: Stack) -> None:
    program = [sys.executable, str(running.HERE / "core.py"), str(running.HERE / "twenty.py"), platform.gateway.address]
    ended = await running.run(program, {})
    assert ended.code == 0, ended.err
    assert sorted(int(place) for place in ended.out.strip(" []\n").split(",")) == [1, 2, 3]
