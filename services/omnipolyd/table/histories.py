"""A new history of the log: every head says so, also of tables that nobody moves.

After a failover the log may lack its last commits. Readers that had seen them know by the epoch that what they have is
void, and a table's epoch is that of its head. So a replica that finds a new epoch raises all heads to it, page by page;
each replica does, and whoever is later finds nothing left to do. From then on nothing is appended in the old one.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from prometheus_client import Counter

from omnipoly.runtime import logging
from omnipoly.runtime.database import FAULTS

if TYPE_CHECKING:
    from .loading import Epoch
    from .store import Store

log = logging.get(__name__)

PAGE = 5000
RETRY_S = 0.5

RAISED = Counter("omnipoly_heads_raised_total", "Heads that this replica raised to a new epoch.")


class Histories:
    """Raises heads: once at the start, and whenever the epoch has changed."""

    def __init__(self, store: Store, database: Epoch) -> None:
        self._store = store
        self._database = database
        self._changed = asyncio.Event()
        self._changed.set()

    def changed(self) -> None:
        """The epoch is another."""
        self._changed.set()

    async def run(self) -> None:
        """For ever; to be spawned."""
        while True:
            await self._changed.wait()
            self._changed.clear()
            try:
                raised = await self.raise_heads()
            except FAULTS as error:
                log.warning("heads_not_raised", error=repr(error))
                self._changed.set()
                await asyncio.sleep(RETRY_S)
            else:
                if raised:
                    log.warning("heads_raised", heads=raised, epoch=self._database.epoch)

    async def raise_heads(self) -> int:
        """Raises every head that is of an older epoch; how many. Raises one of ``database.FAULTS``."""
        raised, after = 0, ""
        while True:
            count, after = await self._store.raise_heads(self._database.epoch, after, PAGE)
            if not count:
                return raised
            raised += count
            RAISED.inc(count)
