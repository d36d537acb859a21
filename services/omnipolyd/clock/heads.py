"""The heads in Postgres, by way of the table service: all at the start, changed and overdue ones every 5 s after it.

What published commits say is only faster: a deadline that no message told of is found here.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from prometheus_client import Counter

from omnipoly.runtime import logging
from omnipoly.runtime.failures import Failure
from omnipoly.runtime.table_client import TableClient
from omnipoly.wire.gen.table.v1 import table_pb2

from .agenda import Agenda

log = logging.get(__name__)

EVERY_S = 5.0
RETRY_S = 1.0
MARGIN_MS = 5000
"""How far clocks of table replicas may be apart, and how long a commit may be on its way into the store."""
FORGOTTEN_MS = 2000
"""A deadline so long ago should have been played, whoever's turn it was."""
EVER_MS = 366 * 86_400_000

READ = Counter("omnipoly_clock_heads_total", "Heads read, by what was asked for.", ("what",))
NEWS = Counter("omnipoly_clock_heads_news_total", "Heads that told of a deadline which no message had told of.")


class Heads:
    """Reads heads into the agenda."""

    def __init__(self, tables: TableClient, agenda: Agenda, changed: Callable[[], None]) -> None:
        """changed: called when the agenda may have something new."""
        self._tables = tables
        self._agenda = agenda
        self._changed = changed
        self._hurry = asyncio.Event()
        self._since_ms = 0
        self.complete = asyncio.Event()
        """Set once every head has been read."""

    def hurry(self) -> None:
        """Messages may have been missed: looks at once."""
        self._hurry.set()

    async def keep(self) -> None:
        """For ever; to be spawned."""
        while True:
            self._hurry.clear()
            try:
                await self._look()
                pause_s = EVERY_S
            except Failure as error:
                log.info("heads_unread", error=str(error))
                pause_s = RETRY_S
            try:
                async with asyncio.timeout(pause_s):
                    await self._hurry.wait()
            except TimeoutError:
                continue

    async def _look(self) -> None:
        if not self._since_ms:
            everything = table_pb2.ListHeadsRequest()
            everything.due_before.FromMilliseconds(_now_ms() + EVER_MS)
            self._since_ms = await self._read(everything, "all")
            self.complete.set()
            return
        changed = table_pb2.ListHeadsRequest()
        changed.changed_since.FromMilliseconds(self._since_ms - MARGIN_MS)
        since_ms = await self._read(changed, "changed")
        forgotten = table_pb2.ListHeadsRequest()
        forgotten.due_before.FromMilliseconds(since_ms - FORGOTTEN_MS)
        await self._read(forgotten, "overdue")
        self._since_ms = since_ms

    async def _read(self, request: table_pb2.ListHeadsRequest, what: str) -> int:
        """Takes in every page; the platform's time when the first was read."""
        began_ms = 0
        while True:
            page = await self._tables.list_heads(request)
            began_ms = began_ms or page.server_time.ToMilliseconds()
            READ.labels(what).inc(len(page.heads))
            for head in page.heads:
                due_ms = head.next_deadline.ToMilliseconds() if head.HasField("next_deadline") else 0
                if self._agenda.set(head.table, head.epoch, head.version, due_ms):
                    NEWS.inc()
            self._changed()
            if not page.next_page_token:
                return began_ms
            request.page_token = page.next_page_token


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
