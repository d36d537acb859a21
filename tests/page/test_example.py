"""The example client in a browser watches a whole game over gRPC-Web, across a stream that breaks."""

from __future__ import annotations

import json
from typing import Any

import pytest

from omnipoly.client import Client
from tests.page.browsing import browser
from tests.services.bots.stack import Stack

pytestmark = pytest.mark.needs("chromium")


async def test_a_whole_game_is_watched(platform: Stack, example: str) -> None:
    async with browser() as page:
        page.set_default_timeout(60_000)
        await page.goto(f"{example}?edition=rugpull&rounds=4")
        await page.wait_for_selector("body[data-done=yes]")
        seen: dict[str, Any] = json.loads(await page.inner_text("#seen"))
    assert "error" not in seen, seen
    assert seen["streams"] == 2, seen
    async with await Client.connect(platform.gateway.address) as client:
        session = await client.sign_in_guest("Looks")
        (result,) = [result async for result in session.games.results(table=seen["table"])]
        commits = [commit async for commit in session.games.history(seen["table"])]
    assert result.version == seen["version"] == commits[-1].version
    assert seen["kinds"]["gameEnded"] == 1
    assert len(seen["cash"]) == len(result.seats) == 3
    assert all(
        0 <= cash <= seat.net_worth or not seat.net_worth for cash, seat in zip(seen["cash"], result.seats, strict=True)
    )
