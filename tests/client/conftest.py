"""A whole small platform for the tests of a module: real servers, real sockets."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from omnipoly.client import Client
from tests.services.bots.stack import Stack, stack
from tests.services.conftest import (  # noqa: F401 - fixtures
    MakeDatabase,
    _databases,
    _environment,
    _logs,
    make_database,
    make_module_database,
    nats_url,
    postgres_url,
)


@pytest.fixture(scope="module")
async def platform(make_module_database: MakeDatabase, nats_url: str) -> AsyncIterator[Stack]:  # noqa: F811
    """Table, clock and gateway."""
    url = await make_module_database("omnipolyd.table.migrations")
    async with stack(url, nats_url) as up:
        yield up


@pytest.fixture
async def client(platform: Stack) -> AsyncIterator[Client]:
    """A client of that platform."""
    async with await Client.connect(platform.gateway.address) as connected:
        yield connected
