"""What every test of presence has."""

from __future__ import annotations

import pytest

from omnipoly.runtime import bus_watch


@pytest.fixture(autouse=True)
def nats_speaks_often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Departures wait until it has: the clock of a test runs faster than it."""
    monkeypatch.setattr(bus_watch, "HEARTBEAT_S", 0.1)
