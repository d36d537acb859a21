from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from omnipoly.runtime import app
from omnipoly.wire.gen.trade.v1 import trade_pb2
from omnipolyd.trade.config import TradeSettings
from omnipolyd.trade.service import TradeService
from tests.services.playing import MIGRATIONS, Asking, Tables, table_service

MakeDatabase = Callable[..., Awaitable[str]]


@pytest.fixture(scope="module")
async def tables(make_module_database: MakeDatabase, nats_url: str) -> AsyncIterator[Tables]:
    async with table_service(await make_module_database(MIGRATIONS), nats_url) as tables:
        yield tables


class Trades:
    """A trade service, asked over a link."""

    def __init__(self, running: app.App, service: TradeService) -> None:
        self.app = running
        self.service = service
        self.ask = Asking(running.address, "omnipoly.trade.v1.TradeService", trade_pb2)


@pytest.fixture
async def trades(tables: Tables, nats_url: str) -> AsyncIterator[Trades]:
    """A service that believes in repeats for no time, so that quotas are refused from the start."""
    settings = TradeSettings(port=0, nats_url=nats_url, table_addr=tables.address, repeats_for_s=0)
    service = TradeService(settings)
    async with app.running(service) as running:
        service.books._keep_s = 600
        await running.bus.wait_connected(20)
        await running.bus.flush()
        trades = Trades(running, service)
        yield trades
        await trades.ask.close()
