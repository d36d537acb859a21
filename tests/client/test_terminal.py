"""The drawn table in a real terminal of 80 by 24: played and watched with the keyboard alone."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from omnipoly.client import Client
from omnipoly.rules import actions as act
from omnipoly.runtime.app import running
from omnipolyd.gateway.tokens import issue
from tests.client.tmux import terminal
from tests.services.bots.stack import KEY, Stack, bots

pytestmark = pytest.mark.needs("tmux")


@pytest.fixture
async def gateway(platform: Stack) -> AsyncIterator[str]:
    """The address of a gateway whose tables have bots that play."""
    async with running(bots(platform)):
        yield platform.gateway.address


async def test_a_turn_is_played(gateway: str) -> None:
    at_table = ("play", "--gateway", gateway, "--edition", "rugpull", "--bots", "2", "--name", "Ann")
    async with terminal(*at_table) as screen:
        # Board, players with their money, choices with a clock that ticks.
        first = await screen.shows("Your choice", "A Ann", "B Bot 1", "C Bot 2", " 1 roll")
        assert all(len(line) <= 80 for line in first.splitlines())
        await screen.until(lambda now: "Your choice" in now and "Your choice 60 s" not in now)
        await screen.press("Down", "Up", "Enter")  # the first again
        await screen.shows("Ann throws")
        await screen.type("card 1")
        await screen.shows("the whole set: ")
        await screen.type("help")
        await screen.shows("more: all that may be done")
        await screen.type("help")
        await screen.until(lambda now: "more: all that" not in now)
        await screen.type("fly")
        await screen.shows("'fly' is nothing one can do here")
        await screen.type("say hello all")
        await screen.shows("Ann: hello all")
        await screen.type("quit")
        await screen.shows("it ended with 0")


async def test_bots_are_watched_to_the_end(platform: Stack, gateway: str) -> None:
    async with await Client.connect(gateway) as client:
        host = await client.sign_in_guest("Host")
        table = await host.lobby.create("globopoly", options=act.SetOptions(round_limit=2), unseated=True)
        for _ in range(3):
            await host.lobby.add_bot(table)
        viewer = issue(KEY.get_secret_value(), "oidc:vic", "Vic", lifetime_s=600)
        async with terminal("watch", table, "--gateway", gateway, "--token", viewer, lines=30) as screen:
            await screen.shows("before the start", "A Bot 1", "you watch")
            await host.lobby.start(table)
            await screen.shows("The game is over", "place 1", " 1 ")
            await screen.press("Enter")
            await screen.shows("net worth", "it ended with 0")
