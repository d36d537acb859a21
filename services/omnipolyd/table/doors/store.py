"""Doors in Postgres: each statement as a method."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, NamedTuple

from ..asides import Asides
from . import sql
from .pins import Pin

if TYPE_CHECKING:
    from omnipoly.runtime.database import Connection

    from ..asides import Done

TRIES = 5
"""Wrong PINs of one person, wherever, and of everybody at one table with its present PIN …"""
WINDOW = timedelta(minutes=10)
"""… within this time."""


class Entry(NamedTuple):
    """How the door stands for somebody."""

    pin_number: int
    """Which PIN it is: rises with each that is set or cleared."""
    pin: Pin | None
    """``None``: everybody is let in."""
    barred: bool
    """They were sent away."""
    admitted: bool
    """They have shown this PIN."""

    @property
    def open(self) -> bool:
        """They may come in without a word."""
        return not self.barred and (self.pin is None or self.admitted)


class Rechecked(NamedTuple):
    """Somebody who follows a table without a seat."""

    person: str
    barred: bool
    unadmitted: bool
    """The table has a PIN that they have not shown."""


class DoorStore(Asides):
    """The statements."""

    async def entry(self, table_id: str, person: str) -> Entry:
        """How a table's door stands for somebody."""
        row = await self._row(sql.ENTRY, table_id, person)
        assert row is not None
        pin = None if row["pin_hash"] is None else Pin(row["pin_salt"], row["pin_hash"])
        return Entry(row["pin_number"], pin, row["barred"], row["admitted"])

    async def begin_try(self, table_id: str, pin_number: int, person: str) -> int | timedelta:
        """Count a try before the PIN is compared: its number, or how long to wait for the next one."""
        async with self._connection() as connection, connection.transaction():
            await connection.execute(sql.LOCK_TABLE, table_id)
            await connection.execute(sql.LOCK_PERSON, person)
            await connection.execute(sql.FORGET_TRIES, WINDOW)
            number = await connection.fetchval(sql.TRY, table_id, pin_number, person, TRIES, WINDOW)
            if number is None:
                wait = await connection.fetchval(sql.WAIT, table_id, pin_number, person, TRIES, WINDOW)
                return max(wait or timedelta(), timedelta(seconds=1))
        return int(number)

    async def let_in(self, table_id: str, person: str, pin_number: int, number: int) -> bool:
        """Remember who has shown the PIN, and forget the try; false when there is another PIN by now."""
        return bool(await self._value(sql.LET_IN, table_id, person, pin_number, number))

    async def recheck(self, table_id: str, persons: Sequence[str]) -> tuple[int, list[Rechecked]]:
        """(revision of the door, those of the persons who have no seat), the revision read first."""
        revision = await self.revision(table_id)
        rows = await self._rows(sql.RECHECK, table_id, list(persons))
        return revision, [Rechecked(*row) for row in rows]

    async def revision(self, table_id: str) -> int:
        """The revision of a table's door; 0 for one that never moved."""
        return int(await self._value(sql.REVISION, table_id) or 0)

    async def bar(self, table_id: str, actor: str, command_id: str, digest: bytes, person: str, *, lift: bool) -> Done:
        """Send somebody away, or let them come back, once for each command; the answer: how many are sent away."""

        async def change(connection: Connection) -> int:
            await connection.execute(sql.LIFT if lift else sql.BAR, table_id, person)
            if not lift:
                await connection.fetchval(sql.MOVE, table_id)
            return int(await connection.fetchval(sql.BARRED, table_id))

        return await self.once(table_id, actor, command_id, digest, change)


async def set_pin(connection: Connection, table_id: str, pin: Pin | None) -> None:
    """Set or clear a PIN, in the transaction of the commit that says that there is one: whoever was let in by the one
    before is asked again."""
    salt, hash_ = (None, None) if pin is None else pin
    await connection.execute(sql.SET_PIN, table_id, salt, hash_)
    await connection.execute(sql.FORGET_ADMISSIONS, table_id)


async def move(connection: Connection, table_id: str) -> None:
    """Have everybody who shows the table look again at who may follow it, in the transaction of a commit."""
    await connection.execute(sql.MOVE, table_id)
