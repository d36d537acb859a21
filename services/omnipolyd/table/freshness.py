"""Whether what this replica knows of a table is still what the log says: one query shared by all that ask.

Before a refusal leaves, or a picture, its table's head is read. A replica that is behind loads the table and decides
anew: nobody is told "no" because of a state that another replica has moved on from.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from omnipoly.runtime import failures, logging
from omnipoly.runtime.database import FAULTS

if TYPE_CHECKING:
    from .store import Store

log = logging.get(__name__)

Head = tuple[int, int] | None
"""(version, epoch) of a table's head; ``None`` for an unknown table."""


class Freshness:
    """Reads heads in batches; each answer holds for the time after it was asked for."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._asked: dict[str, list[asyncio.Future[Head]]] = {}
        self._wake = asyncio.Event()

    def ask(self, table_id: str) -> asyncio.Future[Head]:
        """A table's head, read after this call.

        Ends with one of ``database.FAULTS`` when the database cannot be asked, with a ``Failure`` at the end of all.
        """
        future: asyncio.Future[Head] = asyncio.get_running_loop().create_future()
        self._asked.setdefault(table_id, []).append(future)
        self._wake.set()
        return future

    async def run(self) -> None:
        """Answer until cancelled."""
        while True:
            await self._wake.wait()
            self._wake.clear()
            asked, self._asked = self._asked, {}
            try:
                versions = await self._store.versions(list(asked))
            except FAULTS as error:
                _end(asked, error)
            except BaseException:
                _end(asked, failures.unavailable("this replica is stopping"))
                raise
            else:
                for table_id, futures in asked.items():
                    for future in futures:
                        if not future.done():
                            future.set_result(versions.get(table_id))


def _end(asked: dict[str, list[asyncio.Future[Head]]], error: Exception) -> None:
    for futures in asked.values():
        for future in futures:
            if not future.done():
                future.set_exception(error)
                future.exception()  # whoever waited may be gone: nobody has to look
