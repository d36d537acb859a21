from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from omnipoly.runtime import app
from omnipoly.wire.gen.auction.v1 import auction_pb2
from omnipolyd.auction.config import AuctionSettings
from omnipolyd.auction.service import AuctionService
from tests.services.playing import MIGRATIONS, Asking, Tables, table_service

MakeDatabase = Callable[..., Awaitable[str]]


@pytest.fixture(scope="module")
async def tables(make_module_database: MakeDatabase, nats_url: str) -> AsyncIterator[Tables]:
    async with table_service(await make_module_database(MIGRATIONS), nats_url) as tables:
        yield tables


class Auctions:
    """An auction service, asked over a link."""

    def __init__(self, running: app.App, service: AuctionService) -> None:
        self.app = running
        self.service = service
        self.ask = Asking(running.address, "omnipoly.auction.v1.AuctionService", auction_pb2)


@pytest.fixture
async def auctions(tables: Tables, nats_url: str) -> AsyncIterator[Auctions]:
    service = AuctionService(AuctionSettings(port=0, nats_url=nats_url, table_addr=tables.address, bids_burst=1000))
    async with app.running(service) as running:
        await running.bus.wait_connected(20)
        await running.bus.flush()
        auctions = Auctions(running, service)
        yield auctions
        await auctions.ask.close()
