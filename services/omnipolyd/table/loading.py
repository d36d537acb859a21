"""Bringing a table into memory, finding a command in the log, and taking a table out of play."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeVar

from prometheus_client import Counter

from omnipoly.rules import engine
from omnipoly.rules.codes import Code
from omnipoly.runtime import logging
from omnipoly.runtime.database import FAULTS
from omnipoly.runtime.refusals import failure
from omnipoly.wire.malformed import Malformed

from .table import rebuild

if TYPE_CHECKING:
    from .catalogue import Catalogue
    from .commands import Command
    from .outages import Outages
    from .store import Found, Store
    from .table import Table

log = logging.get(__name__)

T = TypeVar("T")

RETRY_S = 0.1
"""Pause before the database is asked again."""

QUARANTINED = Counter("omnipoly_tables_quarantined_total", "Tables taken out of play.")
LOADS = Counter("omnipoly_table_loads_total", "Tables loaded from the log.")


class Loader:
    """Reads what the log says. Every method waits for the database for as long as its caller lets it."""

    def __init__(self, store: Store, catalogue: Catalogue, outages: Outages) -> None:
        self._store = store
        self._catalogue = catalogue
        self._outages = outages

    async def load(self, table: Table) -> None:
        """Bring a table up to what the log says.

        Raises ``Failure``: ``unknown_table``, or ``table_broken`` for one that is out of play or cannot be read.
        """
        if table.quarantined:
            raise failure(Code.TABLE_BROKEN)
        loaded = await ask(lambda: self._store.load(table.table_id))
        if loaded is None:
            raise failure(Code.UNKNOWN_TABLE)
        if loaded.quarantined:
            table.quarantined = loaded.quarantined
            raise failure(Code.TABLE_BROKEN)
        try:
            game = await ask(lambda: self._catalogue.by_digest(loaded.digest, loaded.edition))
            state = rebuild(loaded, game)
        except (Malformed, engine.Broken, ValueError, LookupError) as error:
            await self.quarantine(table, f"it cannot be loaded: {error}")
            raise failure(Code.TABLE_BROKEN) from error
        last_ms = state.now_ms - state.offset_ms
        catch_up_ms = 0
        if self._outages.missed_ms(last_ms) is None:
            catch_up_ms = await ask(lambda: self._outages.missed_long_ago_ms(last_ms))
        table.take(loaded, state)
        table.catch_up_ms = catch_up_ms
        LOADS.inc()

    async def find(self, table: Table, command: Command) -> Found | None:
        """The commit that a command led to, if it is in the log."""
        return await ask(lambda: self._store.command(table.table_id, command.actor, command.command_id))

    async def quarantine(self, table: Table, reason: str) -> None:
        """Take a table out of play: it answers ``table_broken`` until an operator has looked at it."""
        table.quarantined = reason
        table.forget()
        QUARANTINED.inc()
        log.error("table_quarantined", table=table.table_id, reason=reason)
        try:
            await self._store.quarantine(table.table_id, reason)
        except FAULTS as error:
            log.warning("quarantine_not_kept", table=table.table_id, error=repr(error))


async def ask(query: Callable[[], Awaitable[T]]) -> T:
    """The answer of a query, asked again for as long as the database is away; the caller bounds it."""
    while True:
        try:
            return await query()
        except FAULTS as error:
            log.warning("query_failed", error=repr(error))
            await asyncio.sleep(RETRY_S)
