"""Time in which the platform could not commit does not count (CORE-CLOCK).

Every replica moves one heartbeat row each second; who finds it more than 3 s old writes the outage down, once. A table
that was last moved before the end of an outage first has its clocks moved by it. A replica whose own pulse is not fresh
decides nothing: it cannot know whether time stood still.
"""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from prometheus_client import Counter

from omnipoly.runtime import logging
from omnipoly.runtime.database import FAULTS

if TYPE_CHECKING:
    from .store import Store

log = logging.get(__name__)

PULSE_S = 1.0
GAP_S = 3.0
REMEMBERED = timedelta(hours=2)
"""Outages kept in memory; a table that was not moved for longer asks the store."""

MISSED = Counter("omnipoly_heartbeats_missed_total", "Heartbeats that could not be written.")


class Outages:
    """The pulse of this replica and the outages that tables have to make up for."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._beaten = 0.0
        self._fresh = asyncio.Event()
        self._known: list[tuple[int, int]] = []
        """(from, to) in milliseconds, by end."""
        self._known_since_ms = 0

    @property
    def fresh(self) -> bool:
        """Whether this replica's pulse is fresh enough to decide by."""
        return time.monotonic() - self._beaten < GAP_S

    async def wait_fresh(self) -> None:
        """Return when the pulse is fresh again."""
        while not self.fresh:
            self._fresh.clear()
            await self._fresh.wait()

    async def beat(self) -> None:
        """One heartbeat, and the outages it shows. Raises one of ``database.FAULTS``."""
        begun = time.monotonic()
        await self._store.pulse(GAP_S)
        since = datetime.now(UTC) - REMEMBERED
        outages = await self._store.outages(since)
        known = [(_ms(start), _ms(end)) for start, end in outages]
        for start, end in known:
            if (start, end) not in self._known:
                log.warning("outage", seconds=(end - start) / 1000)
        self._known, self._known_since_ms = known, _ms(since)
        self._beaten = begun
        self._fresh.set()

    async def run(self) -> None:
        """Beat until cancelled."""
        while True:
            await asyncio.sleep(PULSE_S)
            try:
                await self.beat()
            except FAULTS as error:
                MISSED.inc()
                log.warning("heartbeat_missed", error=repr(error))

    def missed_ms(self, since_ms: int) -> int | None:
        """How long outages lasted after a time, in milliseconds; ``None`` when that is longer ago than remembered."""
        if since_ms < self._known_since_ms:
            return None
        return _overlap(self._known, since_ms)

    async def missed_long_ago_ms(self, since_ms: int) -> int:
        """Likewise, asked of the store."""
        since = datetime.fromtimestamp(since_ms / 1000, UTC)
        return _overlap([(_ms(start), _ms(end)) for start, end in await self._store.outages(since)], since_ms)


def _overlap(outages: list[tuple[int, int]], since_ms: int) -> int:
    return sum(end - max(start, since_ms) for start, end in outages if end > since_ms)


def _ms(at: datetime) -> int:
    return round(at.timestamp() * 1000)
