"""What every test of presence has."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable

import pytest

from omnipoly.runtime import bus_watch
from tests.services.playing import MIGRATIONS, Tables, table_service
from tests.services.presence.driving import DrivenClock


@pytest.fixture(autouse=True)
def nats_speaks_often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Departures wait until it has: the clock of a test runs faster than it."""
    monkeypatch.setattr(bus_watch, "HEARTBEAT_S", 0.1)


@pytest.fixture(scope="module")
async def tables(make_module_database: Callable[..., Awaitable[str]], nats_url: str) -> AsyncIterator[Tables]:
    """A table service."""
    async with table_service(await make_module_database(MIGRATIONS), nats_url) as tables:
        yield tables


@pytest.fixture
def clock() -> DrivenClock:
    """Of the presence services of a test."""
    return DrivenClock()
