"""Bringing a table into memory, finding a command in the log, and taking a table out of play."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from prometheus_client import Counter

from omnipoly.editions.problems import EditionError
from omnipoly.rules import engine
from omnipoly.rules.codes import Code
from omnipoly.rules.entropy import commitment
from omnipoly.runtime import failures, logging
from omnipoly.runtime.database import FAULTS
from omnipoly.runtime.refusals import failure
from omnipoly.wire.malformed import Malformed, Newer

from .asking import ask
from .table import rebuild

if TYPE_CHECKING:
    from omnipoly.rules.ring import Game
    from omnipoly.rules.state import State

    from .catalogue import Catalogue
    from .commands import Command
    from .outages import Outages
    from .store import Found, Loaded, Store
    from .table import Table

log = logging.get(__name__)

QUARANTINED = Counter("omnipoly_tables_quarantined_total", "Tables taken out of play.")
NEWER = Counter(
    "omnipoly_tables_newer_total", "Times that a table was not loaded because a later version has written it."
)
LOADS = Counter("omnipoly_table_loads_total", "Tables loaded from the log.")

_UNREADABLE = (
    ArithmeticError,
    AttributeError,
    EditionError,
    LookupError,
    Malformed,
    TypeError,
    ValueError,
    engine.Broken,
)
"""What a log that is not whole makes of ``rebuild``: an event may meet a state that it does not fit."""


class Epoch(Protocol):
    """What knows the log's epoch (the ``Database``)."""

    @property
    def epoch(self) -> int:
        """The log's epoch as last read."""

    async def read_epoch(self) -> int:
        """Read it now; whoever wants to know of a new one is told."""


class Loader:
    """Reads what the log says. Every method waits for the database for as long as its caller lets it."""

    def __init__(self, store: Store, catalogue: Catalogue, outages: Outages, epoch: Epoch) -> None:
        self._store = store
        self._catalogue = catalogue
        self._outages = outages
        self._epoch = epoch

    async def load(self, table: Table) -> bytes | None:
        """Bring a table up to what the log says; the commit of an append of unknown outcome, if it has one.

        Raises ``Failure``: ``unknown_table``; ``table_broken`` for one that is out of play or cannot be read;
        ``unavailable`` for one that a later version of this program has written: it is for that one to read it.
        """
        if table.broken:
            await self.quarantine(table, table.broken)
            raise failure(Code.TABLE_BROKEN)
        while True:
            epoch = self._epoch.epoch
            loaded, state, unpublished = await self._read(table)
            if self._epoch.epoch == epoch:
                break  # else what was read may be of a history that is void
        if unpublished is not None:
            table.unsure_after = loaded.version
        table.take(loaded, state)
        LOADS.inc()
        return unpublished

    async def _read(self, table: Table) -> tuple[Loaded, State, bytes | None]:
        """What the log says of a table, its state, and the commit of an append of unknown outcome."""
        loaded = await ask(lambda: self._store.load(table.table_id))
        if loaded is None:
            raise failure(Code.UNKNOWN_TABLE)
        if loaded.quarantined:
            raise failure(Code.TABLE_BROKEN)
        if loaded.epoch > self._epoch.epoch:
            # another replica has seen the new epoch first: what this one appends would be refused
            await ask(self._epoch.read_epoch)
        try:
            loaded, state = await self._rebuild(table, loaded)
        except Newer as newer:
            NEWER.inc()
            log.warning("table_is_newer", table=table.table_id, reason=str(newer))
            raise failures.unavailable("This server is older than what was played here; try again.") from newer
        except _UNREADABLE as error:
            await self.quarantine(table, f"it cannot be loaded: {error}")
            raise failure(Code.TABLE_BROKEN) from error
        if not (state.dev and not state.commitment):
            last_ms = state.now_ms - state.offset_ms
            while not self._outages.covers(last_ms):
                await ask(lambda: self._outages.cover(last_ms))
        unpublished = None
        if 0 < table.unsure_after < loaded.version:
            found = await ask(lambda: self._store.commits(table.table_id, table.unsure_after, 1))
            unpublished = found[0] if found else None  # the log may have gone back meanwhile
        return loaded, state, unpublished

    async def _rebuild(self, table: Table, loaded: Loaded) -> tuple[Loaded, State]:
        """The state, without the snapshot where that is what is wrong: it can be made again, the log cannot."""
        game = await ask(lambda: self._catalogue.by_digest(loaded.digest, loaded.edition))
        try:
            return loaded, _checked(loaded, game)
        except Newer:
            raise
        except _UNREADABLE as error:
            if loaded.snapshot is None:
                raise
            log.error("snapshot_unreadable", table=table.table_id, version=loaded.snapshot_version, error=repr(error))  # noqa: TRY400 - the log is whole, or says so itself
        whole = await ask(lambda: self._store.load(table.table_id, snapshots=False))
        if whole is None:
            raise LookupError("its head is gone")
        state = _checked(whole, game)
        await ask(lambda: self._store.drop_snapshots(table.table_id))
        return whole, state

    async def find(self, table: Table, command: Command) -> Found | None:
        """The commit that a command led to, if it is in the log."""
        return await ask(lambda: self._store.command(table.table_id, command.actor, command.command_id))

    async def quarantine(self, table: Table, reason: str) -> None:
        """Take a table out of play: it answers ``table_broken`` until an operator has looked at it."""
        if not table.broken:
            QUARANTINED.inc()
            log.error("table_quarantined", table=table.table_id, reason=reason)
        table.broken = reason
        table.forget()
        try:
            await self._store.quarantine(table.table_id, reason)
        except FAULTS as error:
            # this replica knows; the next command for it tries to write it down again
            log.warning("quarantine_not_kept", table=table.table_id, error=repr(error))
        else:
            table.broken = ""


def _checked(loaded: Loaded, game: Game) -> State:
    state = rebuild(loaded, game)
    if state.commitment and commitment(loaded.seed) != state.commitment:
        raise ValueError("its seed is not the one that was committed to")
    return state
