"""Time in which the platform could not commit does not count (CORE-CLOCK).

Every replica moves one heartbeat row each second; who finds it more than 3 s old writes the outage down, once. A table
that was last moved before the end of an outage first has its clocks moved by it. A replica whose own pulse is not fresh
decides nothing: it cannot know whether time stood still.

The heartbeat is by the clock of the database's machine, commits by that of their replica. Nothing is decided at a time
before the end of the last outage, so that none is made up for twice where the clocks differ a little.
"""

from __future__ import annotations

import asyncio
import contextlib
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
"""Outages known from the start; for a table that was last moved earlier, older ones are read when it is loaded."""

OUTAGES = Counter("omnipoly_outages_total", "Outages found since this replica started; each replica counts each one.")
OUTAGE_SECONDS = Counter("omnipoly_outages_seconds_total", "How long those outages lasted together, seconds.")
MISSED = Counter("omnipoly_heartbeats_missed_total", "Heartbeats that could not be written.")


class Outages:
    """The pulse of this replica and the outages that tables have to make up for."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._beaten = self._beaten_wall = float("-inf")
        """When the last heartbeat was sent: by a clock that only moves on, and by the one that is decided by."""
        self._fresh = asyncio.Event()
        self._hurry = asyncio.Event()
        self._known: list[tuple[int, int]] = []
        """(from, to) in milliseconds, the oldest first; they do not overlap."""
        self._since_ms = _ms(datetime.now(UTC) - REMEMBERED)
        """Every outage that ended later is known."""
        self._histories = 0
        self._begun_ms = _ms(datetime.now(UTC))

    @property
    def fresh(self) -> bool:
        """Whether this replica's pulse is fresh enough to decide by. By both clocks: a machine that was put to sleep
        finds the one standing still and the other far ahead."""
        return time.monotonic() - self._beaten < GAP_S and abs(time.time() - self._beaten_wall) < GAP_S

    @property
    def ended_ms(self) -> int:
        """When the last outage ended; 0 when none is known."""
        return self._known[-1][1] if self._known else 0

    async def wait_fresh(self) -> None:
        """Return when the pulse is fresh again."""
        while not self.fresh:
            self._fresh.clear()
            await self._fresh.wait()

    def forget(self) -> None:
        """The log has another history, with outages of its own; nothing is decided before the next heartbeat."""
        self._histories += 1
        self._hurry.set()
        self._beaten = self._beaten_wall = float("-inf")
        self._known = []
        self._since_ms = _ms(datetime.now(UTC) - REMEMBERED)

    async def beat(self) -> None:
        """One heartbeat, and the outages it shows. Raises one of ``database.FAULTS``."""
        while True:
            history = self._histories
            begun, begun_wall = time.monotonic(), time.time()
            await self._store.pulse(GAP_S)
            self._learn(await self._store.outages(_moment(max(self.ended_ms, self._since_ms))))
            if history == self._histories:
                break
        self._beaten, self._beaten_wall = begun, begun_wall
        self._fresh.set()

    async def run(self) -> None:
        """Beat until cancelled."""
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(PULSE_S):
                    await self._hurry.wait()
            self._hurry.clear()
            try:
                await self.beat()
            except FAULTS as error:
                MISSED.inc()
                log.warning("heartbeat_missed", error=repr(error))

    def missed_ms(self, since_ms: int) -> int:
        """How long outages lasted after a time, in milliseconds; ``covers`` must have it."""
        missed = 0
        for start, end in reversed(self._known):
            if end <= since_ms:
                break
            missed += end - max(start, since_ms)
        return missed

    def covers(self, since_ms: int) -> bool:
        """Whether all outages after that time are known."""
        return since_ms >= self._since_ms

    async def cover(self, since_ms: int) -> None:
        """Know all outages after that time. Raises one of ``database.FAULTS``."""
        if not self.covers(since_ms):
            history = self._histories
            outages = await self._store.outages(_moment(since_ms))
            if history == self._histories:
                self._learn(outages)
                self._since_ms = min(self._since_ms, since_ms)

    def _learn(self, outages: list[tuple[datetime, datetime]]) -> None:
        found = {(_ms(start), _ms(end)) for start, end in outages} - set(self._known)
        if found:
            self._known = sorted(found.union(self._known))
            for start, end in sorted(found):
                if end >= self._begun_ms:
                    OUTAGES.inc()
                    OUTAGE_SECONDS.inc((end - start) / 1000)
                log.warning("outage", begun=_moment(start).isoformat(), seconds=(end - start) / 1000)


def _moment(at_ms: int) -> datetime:
    return datetime.fromtimestamp(at_ms / 1000, UTC)


def _ms(at: datetime) -> int:
    return round(at.timestamp() * 1000)
