"""The tables of a replica: what is in memory, and the queues, from which each table is given one command at a time."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from typing import TYPE_CHECKING

from prometheus_client import Counter, Gauge

from omnipoly.rules.codes import Code
from omnipoly.runtime import failures, tracing
from omnipoly.runtime.refusals import failure

from .playing import Player
from .table import QUEUE, Table

if TYPE_CHECKING:
    from .commands import Command
    from .freshness import Freshness
    from .loading import Epoch, Loader
    from .log import Log
    from .outages import Outages
    from .publishing import Publisher
    from .snapshots import Snapshots
    from .store import Store

IN_FLIGHT = 4096
"""Commands that may wait in one replica."""
EVICT_EVERY_S = 5.0

COMMANDS = Counter(
    "omnipoly_commands_total", "Commands by edition, action and outcome.", ("edition", "action", "outcome")
)
IN_MEMORY = Gauge("omnipoly_tables_in_memory", "Tables in this replica's memory.")


class Tables:
    """The cache and the queues. ``submit`` is the only way in."""

    def __init__(
        self,
        store: Store,
        writer: Log,
        loader: Loader,
        freshness: Freshness,
        outages: Outages,
        publisher: Publisher,
        snapshots: Snapshots,
        epoch: Epoch,
        *,
        cached: int,
        evict_after_s: float,
    ) -> None:
        self._log = writer
        self._snapshots = snapshots
        self._player = Player(store, writer, loader, freshness, outages, publisher, snapshots, epoch, ended=self._ended)
        self._cached = cached
        self._evict_after_s = evict_after_s
        self._tables: OrderedDict[str, Table] = OrderedDict()
        """The one that had no command for longest comes first."""
        self._waiting = 0
        self._idle = asyncio.Event()
        self._idle.set()
        self._counters: dict[tuple[str, str, str], Counter] = {}
        self._loop = asyncio.get_running_loop()

    def submit(self, table_id: str, command: Command) -> asyncio.Future[bytes]:
        """Queue a command; its future ends with the reply or a ``Failure``. Raises ``Failure`` when a queue is full."""
        table = self._tables.get(table_id)
        if self._waiting >= IN_FLIGHT or (table is not None and len(table.queue) >= QUEUE):
            raise failure(Code.RATE_LIMITED, "Too many commands wait here.", retry_after_s=0.2)
        if table is None:
            table = self._tables[table_id] = Table(table_id)
        else:
            self._tables.move_to_end(table_id)
        table.used = self._loop.time()
        if tracing.enabled():
            command.trace(table_id)
        self._waiting += 1
        self._idle.clear()
        table.queue.append(command)
        if not table.busy:
            self._pump(table)
        return command.future

    def memory(self, table_id: str) -> tuple[bool, int]:
        """Whether a table is in memory, and how many commands wait for it."""
        table = self._tables.get(table_id)
        return (False, 0) if table is None else (table.state is not None, len(table.queue))

    async def drained(self) -> None:
        """Return when every command that came has been answered and is in the log."""
        await self._idle.wait()
        await self._log.drained()
        await self._snapshots.done()

    async def close(self) -> None:
        """End what has not been answered by now; the log may know more of it than whoever asked is told."""
        await self._player.close()

    def epoch_changed(self, old: int, new: int) -> None:
        """The log has another history: nothing known of it holds any more."""
        for table in self._tables.values():
            table.forget()

    async def evict(self) -> None:
        """Drop tables that had no command for a while, until cancelled."""
        while True:
            await asyncio.sleep(min(self._evict_after_s, EVICT_EVERY_S))
            before = self._loop.time() - self._evict_after_s
            too_many = len(self._tables) - self._cached
            leaving: list[str] = []
            for table in self._tables.values():  # no further than the first that may stay
                if table.used > before and len(leaving) >= too_many:
                    break
                if not table.busy and not table.queue:
                    leaving.append(table.table_id)
            for table_id in leaving:
                del self._tables[table_id]
            IN_MEMORY.set(len(self._tables))

    def _pump(self, table: Table) -> None:
        while table.queue and not table.busy:
            command = table.queue.popleft()
            table.busy = True
            if self._loop.time() < command.deadline:
                self._player.play(table, command)
            else:
                error = failures.deadline_passed()
                command.fail(error)
                self._ended(table, command, error.reason)

    def _ended(self, table: Table, command: Command, outcome: str) -> None:
        """A command was answered: it is counted, and the next one's turn has come."""
        self._waiting -= 1
        if not self._waiting:
            self._idle.set()
        edition = table.state.rules.edition.id if table.state is not None else ""
        key = (edition, command.name, outcome)
        counter = self._counters.get(key)
        if counter is None:
            counter = self._counters[key] = COMMANDS.labels(*key)
        counter.inc()
        if command.span is not None:
            tracing.end(command.span, outcome=outcome, version=table.version)
        table.busy = False
        if table.queue:
            self._loop.call_soon(self._pump, table)
