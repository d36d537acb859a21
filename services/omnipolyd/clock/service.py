"""The clock service: no store, no leader; each replica knows every deadline and takes its turn."""

from __future__ import annotations

import gc
import heapq
import time
from typing import ClassVar

from omnipoly.runtime import app, logging, unary
from omnipoly.runtime.bus import Message
from omnipoly.runtime.table_client import COMMITS, DEADLINE, EPOCH, VERSION, TableClient, table_of

from . import servicer
from .agenda import Agenda, Entry
from .config import ClockSettings
from .heads import Heads
from .standing import Standing
from .waking import Waker

log = logging.get(__name__)


class ClockService(app.Service):
    """Deadlines of all tables, from commits and heads, and the wake-ups."""

    settings: ClockSettings
    uses_bus: ClassVar[bool] = True

    async def start(self, running: app.App) -> None:
        """Begins to hear commits and to read heads."""
        settings = self.settings
        self.replica = running.instance[:64]
        tables = TableClient(await running.peers(settings.table_addr), key=running.instance)
        self.standing = Standing(await running.peers(settings.clock_addr), running, settings.clock_self)
        self.agenda = Agenda(self.standing.delay_ms)
        self.waker = Waker(
            tables, self.agenda, overdue_per_s=settings.overdue_per_second, at_once=settings.wakes_at_once
        )
        self.heads = Heads(tables, self.agenda, self.waker.changed)
        await running.bus.subscribe(COMMITS, self._hear)
        running.bus.on_reconnect(self._reconnected)
        running.tasks.spawn("clock-standing", self.standing.keep)
        running.tasks.spawn("clock-heads", self.heads.keep)
        running.tasks.spawn("clock-memory", self._keep_for_good)
        unary.serve(running, servicer.NAME, servicer.methods(self))

    async def drain(self) -> None:
        """Wake-ups under way are answered; the other replicas take over a second later."""
        await self.waker.stop()

    async def stop(self) -> None:
        """Nothing has to be kept."""
        await self.waker.stop()

    async def _reconnected(self) -> None:
        self.heads.hurry()

    async def _keep_for_good(self) -> None:
        """Takes what the start has made out of the garbage collector's sight: it stays anyway, and a full collection of
        it stops the process for 100 ms, every few seconds under load, in which no table is woken.
        """
        await self.heads.complete.wait()
        gc.collect()
        gc.freeze()

    async def _hear(self, message: Message) -> None:
        """A published commit: its headers say all that is needed."""
        headers = message.headers
        try:
            epoch, version, due_ms = int(headers[EPOCH]), int(headers[VERSION]), int(headers[DEADLINE])
        except (KeyError, ValueError):
            log.warning("commit_without_headers", subject=message.subject)
            return
        if self.agenda.set(table_of(message.subject), epoch, version, due_ms):
            self.waker.changed()

    # --- what is asked

    def deadlines(self, before_ms: int, after: tuple[int, str], most: int) -> list[Entry]:
        """At most so many entries behind (due, table), the earliest first; before_ms 0: whenever they are due."""
        found = (
            entry
            for entry in self.agenda
            if (not before_ms or entry.due_ms < before_ms) and (entry.due_ms, entry.table) > after
        )
        return heapq.nsmallest(most, found, key=lambda entry: (entry.due_ms, entry.table))

    def overdue(self) -> int:
        """Tables whose deadline has passed and that have not been woken, or not with success."""
        now_ms = time.time_ns() // 1_000_000
        return sum(entry.due_ms <= now_ms for entry in self.agenda)
