"""Scenarios of life at the table and of trades over the wire: they end as on the engine, through every service that has
a hand in it, with people who come and go on real streams and clocks that are driven.
"""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from omnipoly.runtime import app
from omnipoly.scenarios import reader, runner, wire_stage
from omnipoly.scenarios.model import Scenario
from omnipoly.scenarios.stage import MakeStage
from omnipolyd.auction.config import AuctionSettings
from omnipolyd.auction.service import AuctionService
from omnipolyd.presence.config import PresenceSettings
from omnipolyd.presence.service import PresenceService
from omnipolyd.table.config import TableSettings
from omnipolyd.table.service import TableService
from omnipolyd.trade.config import TradeSettings
from omnipolyd.trade.service import TradeService
from tests.services.conftest import MakeDatabase
from tests.services.gateway.calling import gateway

SCENARIOS = Path("tests/scenarios")
TRADES = {"CORE-TRADE", "TUB-TRADE", "RUG-TRADE", "GLO-TRADE", "LAS-SWAP"}
LIFE = {
    "CORE-HOST",
    "CORE-LEAVE",
    "CORE-SEAT",
    "TUB-AFK",
    "TUB-CLOSE",
    "TUB-END-COOLDOWN",
    "TUB-END-VOTE",
    "TUB-LEAVE",
    "TUB-PAUSE",
    "TUB-REMOVE",
    "TUB-SUBSTITUTE",
    "TUB-TAKEOVER",
}


AT_ONCE = 12
"""Scenarios that are played at the same time: most of them wait for presence most of the time."""


def scenarios(rules: set[str]) -> list[Scenario]:
    """Those that show one of the rules."""
    files = sorted(SCENARIOS.rglob("*.yaml"))
    return [one for file in files for one in reader.read(str(file)) if set(one.rules) & rules]


@pytest.fixture(scope="module")
async def make_stage(make_module_database: MakeDatabase, nats_url: str) -> AsyncIterator[MakeStage]:
    """A whole platform, without bots and clocks: time passes when the scenario says so."""
    url = await make_module_database("omnipolyd.table.migrations")
    tables = TableSettings(database_url=url, nats_url=nats_url, port=0, reflection=False, dev=True, open_tables=10_000)
    async with AsyncExitStack() as up:
        table = await up.enter_async_context(app.running(TableService(tables)))
        shared = {"port": 0, "nats_url": nats_url, "reflection": False, "table_addr": table.address}
        presence = PresenceService(PresenceSettings(presence_bucket=f"presence_{uuid.uuid4().hex}", **shared))
        others = {
            "presence_addr": presence,
            "trade_addr": TradeService(TradeSettings(repeats_for_s=0, **shared)),
            "auction_addr": AuctionService(AuctionSettings(**shared)),
        }
        known = {name: (await up.enter_async_context(app.running(one))).address for name, one in others.items()}
        small = await up.enter_async_context(
            gateway(table, nats_url, guests_watch=True, sign_ins_burst=100_000, **known)
        )
        token = small.token("service:scenarios", "Scenarios", roles=["bots", "admin"])
        async with wire_stage.stages(small.gateway.address, token) as make:
            yield make


@pytest.mark.parametrize("rules", [TRADES, LIFE], ids=["trades", "life at the table"])
async def test_they_end_as_on_the_engine(make_stage: MakeStage, rules: set[str]) -> None:
    """Row 28 and Row 42 of the known faults."""
    gate = asyncio.Semaphore(AT_ONCE)

    async def run(scenario: Scenario) -> str:
        async with gate:
            result = await runner.run(scenario, make_stage)
        return "" if result.holds else f"{result.path}:{result.line} {result.differences} {result.error}"

    chosen = scenarios(rules)
    assert {rule for one in chosen for rule in one.rules} >= rules
    assert [found for found in await asyncio.gather(*map(run, chosen)) if found] == []
