"""Whole states, stored beside the way of a command: a load reads the last one and the commits behind it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from omnipoly.runtime import logging
from omnipoly.runtime.database import FAULTS
from omnipoly.wire import views

if TYPE_CHECKING:
    from omnipoly.rules.state import State

    from .store import Store

log = logging.get(__name__)


class Snapshots:
    """Takes snapshots. One that fails costs a load that reads more commits, nothing else."""

    def __init__(self, store: Store, *, every: int) -> None:
        self._store = store
        self.every = every
        """Commits between two of a table."""
        self._tasks: set[asyncio.Task[None]] = set()

    def take(self, table_id: str, s: State, version: int, epoch: int) -> None:
        """Store a state, soon; it does not change any more."""
        task = asyncio.get_running_loop().create_task(self._take(table_id, s, version, epoch))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def done(self) -> None:
        """Return when nothing is being stored."""
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _take(self, table_id: str, s: State, version: int, epoch: int) -> None:
        try:
            await self._store.keep_snapshot(table_id, version, epoch, views.encode(s, version, epoch))
        except FAULTS as error:
            log.warning("snapshot_failed", table=table_id, version=version, error=repr(error))
