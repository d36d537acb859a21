"""Bots at real tables, through a real gateway."""

from __future__ import annotations

import pytest

from omnipoly.client import Client
from omnipoly.client.happenings import Happened
from omnipoly.editions import loader
from omnipoly.rules import actions as act
from omnipoly.rules.state import Phase
from omnipoly.runtime.app import running
from tests.services.bots.stack import bots, stack
from tests.services.conftest import MakeDatabase


@pytest.mark.parametrize("edition", loader.shipped())
async def test_four_bots_play_a_game_to_its_end(make_database: MakeDatabase, nats_url: str, edition: str) -> None:
    url = await make_database("omnipolyd.table.migrations")
    async with stack(url, nats_url) as up, running(bots(up)), await Client.connect(up.gateway.address) as client:
        session = await client.sign_in_guest("Host")
        table = await session.lobby.create(edition, options=act.SetOptions(round_limit=3), unseated=True)
        async with session.play() as play:
            feed = aiter(play)
            replica = await play.follow(table)
            for _ in range(4):
                await session.lobby.add_bot(table)
            await session.lobby.start(table)
            async for happening in feed:
                if isinstance(happening, Happened) and replica.state.phase is Phase.OVER:
                    break
        assert replica.state.places
