"""The group commit: everything that waits goes into the log with one statement, the next the moment it returns.

A commit that has rows of its own beside it (credits, a door) is a transaction of its own, which waits for nobody in the
group and has nobody of it wait.

An append that ends in anything but an answer is unknown, not failed: whoever waits for it has to look it up. A batch
that the server refuses for another reason is tried again row by row, so that one bad row hurts one table.
"""

from __future__ import annotations

import asyncio
import enum
from collections.abc import Callable
from typing import TYPE_CHECKING

import asyncpg  # type: ignore[import-untyped]
from prometheus_client import Counter, Histogram

from omnipoly.runtime import logging
from omnipoly.runtime.database import FAULTS, outcome_unknown
from omnipoly.runtime.failures import Failure

if TYPE_CHECKING:
    from omnipoly.runtime.database import Database

    from .store import Entry, Store

log = logging.get(__name__)

BATCH = Histogram(
    "omnipoly_commit_batch_size", "Commits in one append.", buckets=(1, 2, 4, 8, 16, 32, 64, 128, 256, 512)
)
SECONDS = Histogram(
    "omnipoly_commit_seconds",
    "Time of one append.",
    buckets=(0.0005, 0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.064, 0.128, 0.256, 0.512, 1, 2, 5, 10),
)
OUTCOMES = Counter("omnipoly_commits_total", "Appends by outcome.", ("outcome",))


class Outcome(enum.Enum):
    """What became of an entry."""

    MOVED = "moved"
    """It is in the log."""
    BEHIND = "behind"
    """The head had moved already: load the table and decide anew."""
    UNKNOWN = "unknown"
    """Nobody knows: load the table and look the command up."""
    REPEATED = "repeated"
    """The actor's command id is in the log already: look the command up."""
    REFUSED = "refused"
    """The server did not take this row."""
    DENIED = "denied"
    """What belongs beside it says no, and nothing was written: the entry's ``denied`` says why."""


_NOT_NOW = (asyncpg.InsufficientResourcesError, asyncpg.ReadOnlySQLTransactionError)
"""The server took nothing, of any table: a full disk, a server that only reads since it became a standby. The commands
wait as they do for one that is away."""

ALONE = 3
"""Commits with rows of their own that are written at once: the others' connections are not to be used up."""

Done = Callable[[Outcome], None]

_COUNTED = {outcome: OUTCOMES.labels(outcome.value) for outcome in Outcome}


class Log:
    """The writer of one process. ``append`` never waits; ``done`` is called in the event loop."""

    def __init__(self, database: Database, store: Store, *, batch: int) -> None:
        self._database = database
        self._store = store
        self._batch = batch
        self._waiting: list[tuple[Entry, Done]] = []
        self._wake = asyncio.Event()
        self._pending = 0
        """Entries without an outcome."""
        self._idle = asyncio.Event()
        self._idle.set()
        self._gate = asyncio.Semaphore(ALONE)
        self._alone: set[asyncio.Task[None]] = set()

    @property
    def waiting(self) -> int:
        """Entries that no append has taken yet."""
        return len(self._waiting)

    def append(self, entry: Entry, done: Done) -> None:
        """Hand an entry over; at most one of a table at a time."""
        self._pending += 1
        self._idle.clear()
        if entry.beside is not None:
            task = asyncio.get_running_loop().create_task(self._write_alone(entry, done))
            self._alone.add(task)
            task.add_done_callback(self._alone.discard)
            return
        self._waiting.append((entry, done))
        self._wake.set()

    async def drained(self) -> None:
        """Return when nothing waits and nothing is being written."""
        await self._idle.wait()

    async def run(self) -> None:
        """Write until cancelled; a statement on its way is finished first."""
        while True:
            if not self._waiting:
                self._wake.clear()
                await self._wake.wait()
            batch, self._waiting = self._waiting[: self._batch], self._waiting[self._batch :]
            # a cancelled writer does not cancel its append: what is sent is sent
            writing = asyncio.ensure_future(self._write(batch))
            try:
                await asyncio.shield(writing)
            except asyncio.CancelledError:
                await writing
                raise

    async def _write(self, batch: list[tuple[Entry, Done]]) -> None:
        batch.sort(key=_table_id)
        try:
            outcomes = await self._outcomes([entry for entry, _ in batch])
        except Exception as error:  # whatever this is, it is no answer: nobody's table may wait for one for ever
            log.exception("append_failed", commits=len(batch), error=repr(error))
            outcomes = {entry.table_id: Outcome.UNKNOWN for entry, _ in batch}
        for entry, done in batch:
            self._tell(entry, done, outcomes[entry.table_id])

    async def _write_alone(self, entry: Entry, done: Done) -> None:
        outcome = Outcome.UNKNOWN  # for one that is cut short
        try:
            async with self._gate:
                outcome = (await self._outcomes([entry]))[entry.table_id]
        except Failure as failure:
            entry.denied, outcome = failure, Outcome.DENIED
        except Exception as error:  # the transaction was rolled back
            log.exception("append_refused", table=entry.table_id, version=entry.version, error=repr(error))
            outcome = Outcome.REFUSED
        finally:
            self._tell(entry, done, outcome)

    def _tell(self, entry: Entry, done: Done, outcome: Outcome) -> None:
        _COUNTED[outcome].inc()
        try:
            done(outcome)
        except Exception as error:  # one table's fault is not the others'
            log.exception("commit_callback_failed", table=entry.table_id, error=repr(error))
        self._pending -= 1
        if not self._pending:
            self._idle.set()

    async def _outcomes(self, entries: list[Entry]) -> dict[str, Outcome]:
        BATCH.observe(len(entries))
        try:
            async with self._database.acquire() as connection:
                # a connection made just now may have found another epoch: what was decided in the old one is void
                epoch = self._database.epoch
                current = [entry for entry in entries if entry.epoch == epoch]
                outcomes = {entry.table_id: Outcome.BEHIND for entry in entries}
                if current:
                    with SECONDS.time():
                        moved = await self._store.append(connection, current)
                    for table_id in moved:
                        outcomes[table_id] = Outcome.MOVED
                return outcomes
        except FAULTS as error:
            if outcome_unknown(error) or isinstance(error, _NOT_NOW):
                log.warning("append_unknown", commits=len(entries), error=repr(error))
                return {entry.table_id: Outcome.UNKNOWN for entry in entries}
            if len(entries) > 1:
                outcomes = {}
                for entry in entries:
                    outcomes.update(await self._outcomes([entry]))
                return outcomes
            return {entries[0].table_id: self._refused(entries[0], error)}

    def _refused(self, entry: Entry, error: Exception) -> Outcome:
        if isinstance(error, asyncpg.UniqueViolationError):
            if error.constraint_name == "commits_by_command":
                return Outcome.REPEATED
            return Outcome.BEHIND
        if isinstance(error, asyncpg.TransactionRollbackError | asyncpg.QueryCanceledError):
            return Outcome.BEHIND
        log.error("append_refused", table=entry.table_id, version=entry.version, error=repr(error))
        return Outcome.REFUSED


def _table_id(waiting: tuple[Entry, Done]) -> str:
    return waiting[0].table_id
