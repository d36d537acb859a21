"""Table services over real Postgres and NATS: one for a module's ordinary tests, and as many of one's own as needed."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack

import pytest

from omnipoly.editions import loader
from omnipoly.rules.ring import Game
from omnipoly.runtime.bus import Bus
from tests.services.conftest import MakeDatabase
from tests.services.proxy import Proxy
from tests.services.table.calling import Caller
from tests.services.table.hearing import Ear
from tests.services.table.replicas import Replica, serving

PACKAGE = "omnipolyd.table.migrations"

Serve = Callable[..., Awaitable[Replica]]


@pytest.fixture(scope="session")
def game() -> Game:
    return Game(loader.edition("tubbypoly"))


@pytest.fixture(scope="module")
async def replica(make_module_database: MakeDatabase, nats_url: str) -> AsyncIterator[Replica]:
    """The service that a module's tests share, each with tables of its own."""
    async with serving(await make_module_database(PACKAGE), nats_url) as replica:
        yield replica


@pytest.fixture(scope="module")
def caller(replica: Replica) -> Caller:
    """A link to it."""
    return replica.caller


@pytest.fixture
async def log_url(make_database: MakeDatabase) -> str:
    """An empty log of this test."""
    return await make_database(PACKAGE)


@pytest.fixture
async def serve(log_url: str, nats_url: str) -> AsyncIterator[Serve]:
    """`await serve()`: one more replica over this test's log; settings as keywords. Stopped with the test."""
    async with AsyncExitStack() as stack:

        async def start(database_url: str = "", **settings: object) -> Replica:
            return await stack.enter_async_context(serving(database_url or log_url, nats_url, **settings))

        yield start


@pytest.fixture
async def proxy(log_url: str) -> AsyncIterator[Proxy]:
    """A proxy in front of this test's log."""
    async with Proxy(log_url) as proxy:
        yield proxy


@pytest.fixture
async def ear(nats_url: str) -> AsyncIterator[Ear]:
    """Hears everything that tables publish."""
    bus = Bus(nats_url, name="ear")
    await bus.start()
    ear = Ear(bus)
    await ear.listen()
    yield ear
    await bus.close()
