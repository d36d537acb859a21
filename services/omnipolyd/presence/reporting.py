"""Reports to tables: what is due leaves, at each table one at a time, until it is taken in or no longer so."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import grpc
from prometheus_client import Counter, Gauge

from omnipoly.runtime import logging
from omnipoly.runtime.failures import Failure
from omnipoly.runtime.table_client import TableClient
from omnipoly.wire.gen.table.v1 import table_pb2

from .clock import Clock
from .picture import BROKEN, CLOSED, CONNECTED
from .revisions import Revisions
from .telling import Telling, Told

log = logging.get(__name__)

REPORT_S = 5.0
STATUS: dict[int, Any] = {
    CONNECTED: table_pb2.PersonPresence.STATUS_CONNECTED,
    CLOSED: table_pb2.PersonPresence.STATUS_CLOSED,
    BROKEN: table_pb2.PersonPresence.STATUS_BROKEN,
}
HOPELESS = (grpc.StatusCode.NOT_FOUND, grpc.StatusCode.INVALID_ARGUMENT)

REPORTS = Counter(
    "omnipoly_presence_reports_total", "Reports to tables by outcome: changed, same, overtaken, failed.", ("outcome",)
)
TELLING = Gauge("omnipoly_presence_reports_under_way", "Reports to tables under way.")


class Reporting:
    """Tells the tables that are this replica's to tell."""

    def __init__(
        self,
        tables: TableClient,
        telling: Telling,
        revisions: Revisions,
        clock: Clock,
        mine: Callable[[str], bool],
        *,
        at_once: int,
        wake: Callable[[], None],
    ) -> None:
        """mine: whether this replica tells a table. wake: called when there may be something to do again."""
        self._tables = tables
        self._telling = telling
        self._revisions = revisions
        self._clock = clock
        self._mine = mine
        self._at_once = at_once
        self._wake = wake
        self._under_way: set[asyncio.Task[None]] = set()
        self._stopped = False

    def next_ms(self) -> int | None:
        """When `go` has to be called next."""
        return None if self._full else self._telling.next_ms()

    @property
    def _full(self) -> bool:
        return self._stopped or len(self._under_way) >= self._at_once

    def go(self) -> None:
        """Begins the reports that are due."""
        now_ms = self._clock.now_ms()
        if self._full:
            return
        for told in self._telling.due(now_ms):
            batch = self._telling.begin(told, now_ms)
            if not batch or not self._mine(told.table):
                self._telling.took(told, batch)
                continue
            task = asyncio.create_task(self._report(told, batch), name="presence-report")
            self._under_way.add(task)
            task.add_done_callback(self._done)
        TELLING.set(len(self._under_way))

    async def stop(self) -> None:
        """Ends what is under way, and begins nothing more: another replica, or the next start, tells it again."""
        self._stopped = True
        for task in self._under_way:
            task.cancel()
        await asyncio.gather(*self._under_way, return_exceptions=True)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._under_way.discard(task)
        TELLING.set(len(self._under_way))
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("report_crashed", exc_info=error)
        self._wake()

    async def _report(self, told: Told, batch: dict[str, int]) -> None:
        request = table_pb2.ReportRequest(table=told.table, revision=self._revisions.next())
        for person, status in batch.items():
            row = request.persons.add(person=person, status=STATUS[status])
            if status == BROKEN and (since_ms := self._telling.since_ms(told, person)):
                row.since.FromMilliseconds(since_ms)
        try:
            answer = await self._tables.report(request, REPORT_S)
        except Failure as error:
            REPORTS.labels("failed").inc()
            log.info("report_failed", table=told.table, error=str(error), failures=told.failures)
            if error.status in HOPELESS:
                self._telling.drop(told)
            else:
                pause_ms = round((error.retry_after_s or 0) * 1000)
                self._telling.failed(told, batch, self._clock.now_ms(), pause_ms)
        except BaseException:
            self._telling.failed(told, batch, self._clock.now_ms())
            raise
        else:
            if answer.revision > request.revision:
                # Others have used revisions that were not heard of here; whether they said the same, nobody knows.
                REPORTS.labels("overtaken").inc()
                self._revisions.heard(answer.revision)
                self._telling.failed(told, batch, self._clock.now_ms())
                return
            REPORTS.labels("changed" if answer.commits else "same").inc()
            again_ms = answer.again_in.ToMilliseconds() if answer.HasField("again_in") else 0
            self._telling.took(told, batch, self._clock.now_ms() + again_ms if again_ms else 0)
