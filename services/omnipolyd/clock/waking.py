"""Waking tables: what is due at once, what is overdue at a bounded rate, what failed again after a pause."""

from __future__ import annotations

import asyncio
import random
import time

import grpc
from prometheus_client import Counter, Gauge, Histogram

from omnipoly.runtime import logging
from omnipoly.runtime.failures import Failure
from omnipoly.runtime.table_client import TableClient
from omnipoly.wire.gen.table.v1 import table_pb2

from .agenda import Agenda, Entry
from .timer import Timer

log = logging.get(__name__)

WAKE_S = 10.0
TOGETHER_MS = 5
"""What falls due within so long leaves together, in one frame and one append: nobody sees 5 ms, and a busy platform
plays several times as many deadlines."""
SET_MS = 1000
"""By less than this a wall clock is brought in line, not set."""
FIRST_PAUSE_MS = 100
LONGEST_PAUSE_MS = 60_000
AWAY_PAUSE_MS = 2000
"""The longest pause while the table service is away or busy: it is to be found soon when it is back."""
AWAY = (
    grpc.StatusCode.UNAVAILABLE,
    grpc.StatusCode.DEADLINE_EXCEEDED,
    grpc.StatusCode.RESOURCE_EXHAUSTED,
)

LATENESS = Histogram(
    "omnipoly_timer_lateness_seconds",
    "How long after its deadline a wake-up left: due (this replica is first for the table), standby (another did not),"
    " overdue (found late, after a start or an outage), retry.",
    ("kind",),
    buckets=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60, 600, 3600),
)
WAKES = Counter("omnipoly_timer_wakes_total", "Wake-ups by outcome: played, nothing (was due), failed.", ("outcome",))
DEADLINES = Gauge("omnipoly_timer_deadlines", "Tables with a deadline ahead or overdue.")
OVERDUE = Gauge("omnipoly_timer_overdue", "Tables overdue, waiting for their turn.")


class Waker:
    """Wakes the tables of an agenda, by one timer."""

    def __init__(self, tables: TableClient, agenda: Agenda, *, overdue_per_s: float, at_once: int) -> None:
        """overdue_per_s: the rate for what is overdue. at_once: wake-ups under way."""
        self._tables = tables
        self._agenda = agenda
        self._overdue_ms = 1000 / overdue_per_s
        self._overdue_at_ms = 0.0
        """When the next overdue one may leave."""
        self._ticked_ms = 0
        self._at_once = at_once
        self._under_way: set[asyncio.Task[None]] = set()
        self._timer = Timer(self._tick)
        self._stopped = False
        self.latest_ms = 0
        """How late the latest wake-up left."""

    def changed(self) -> None:
        """The agenda may have something earlier than before."""
        next_ms = self._agenda.next_ms()
        if next_ms is not None and not self._stopped:
            self._timer.at(-(-next_ms // TOGETHER_MS) * TOGETHER_MS)

    async def stop(self) -> None:
        """Wakes nobody any more, and waits for those under way."""
        self._stopped = True
        self._timer.cancel()
        await asyncio.gather(*self._under_way, return_exceptions=True)

    def _tick(self) -> None:
        if self._stopped:
            return
        now_ms = time.time_ns() // 1_000_000
        if now_ms < self._ticked_ms - SET_MS:
            self._overdue_at_ms = min(self._overdue_at_ms, now_ms + self._overdue_ms)
            self._agenda.set_back(now_ms, self._ticked_ms - now_ms)
        self._ticked_ms = now_ms
        room = self._at_once - len(self._under_way)
        if room > 0:
            for entry in self._agenda.due(now_ms):
                self._begin(entry, "")
                room -= 1
            while room > 0 and self._overdue_at_ms <= now_ms and (late := self._agenda.overdue()) is not None:
                self._begin(late, "overdue")
                self._overdue_at_ms = max(self._overdue_at_ms, now_ms - 1000) + self._overdue_ms
                room -= 1
        waiting = self._agenda.overdue_waiting
        DEADLINES.set(len(self._agenda))
        OVERDUE.set(waiting)
        if len(self._under_way) >= self._at_once:
            return  # the next one that is done comes here
        if waiting:
            self._timer.at(round(max(self._overdue_at_ms, now_ms)))
        self.changed()

    def _begin(self, entry: Entry, kind: str) -> None:
        task = asyncio.create_task(self._wake(entry, kind), name="wake")
        self._under_way.add(task)
        task.add_done_callback(self._done)

    def _done(self, task: asyncio.Task[None]) -> None:
        full = len(self._under_way) >= self._at_once
        self._under_way.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("wake_crashed", exc_info=error)
        if full:
            self._timer.soon()

    async def _wake(self, entry: Entry, kind: str) -> None:
        version, due_ms = entry.version, entry.due_ms
        late_ms = time.time_ns() // 1_000_000 - due_ms
        self.latest_ms = late_ms
        if not kind:
            kind = "retry" if entry.tries else "due" if entry.at_ms == due_ms else "standby"
        LATENESS.labels(kind).observe(max(late_ms, 0) / 1000)
        request = table_pb2.WakeRequest(table=entry.table, at_least=version)
        request.due.FromMilliseconds(due_ms)
        try:
            answer = await self._tables.wake(request, WAKE_S)
        except Failure as error:
            self._failed(entry, error)
        else:
            self._woken(entry, version, answer)
        self.changed()

    def _woken(self, entry: Entry, version: int, answer: table_pb2.WakeResponse) -> None:
        WAKES.labels("played" if answer.commits else "nothing").inc()
        next_ms = answer.next_deadline.ToMilliseconds() if answer.HasField("next_deadline") else 0
        if answer.version > version:
            self._agenda.set(entry.table, entry.epoch, answer.version, next_ms)
        elif not next_ms:
            self._agenda.drop(entry.table)
        elif not entry.place:
            entry.due_ms = next_ms
        # Where nothing newer is known, the table says it is not due (yet): its word counts, but not for ever.
        now_ms = time.time_ns() // 1_000_000
        self._agenda.postpone(entry, max(next_ms, now_ms + self._pause_ms(entry)))

    def _failed(self, entry: Entry, error: Failure) -> None:
        WAKES.labels("failed").inc()
        if error.status is grpc.StatusCode.NOT_FOUND:
            log.warning("wake_unknown_table", table=entry.table)
            self._agenda.drop(entry.table)
            return
        pause_ms = self._pause_ms(entry, AWAY_PAUSE_MS if error.status in AWAY else LONGEST_PAUSE_MS)
        if error.retry_after_s is not None:
            pause_ms = max(round(error.retry_after_s * 1000), pause_ms if entry.tries else 1)
        log.info("wake_failed", table=entry.table, error=str(error), tries=entry.tries, again_in_ms=pause_ms)
        self._agenda.postpone(entry, time.time_ns() // 1_000_000 + pause_ms)

    def _pause_ms(self, entry: Entry, longest_ms: int = LONGEST_PAUSE_MS) -> int:
        """A pause that grows with each try; never the same for two that failed together."""
        return round(min(FIRST_PAUSE_MS << min(entry.tries, 16), longest_ms) * random.uniform(0.5, 1))
