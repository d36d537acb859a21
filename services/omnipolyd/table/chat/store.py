"""The chat in Postgres: each statement as a method."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple

import asyncpg  # type: ignore[import-untyped]

from ..asides import Asides
from . import sql

if TYPE_CHECKING:
    from omnipoly.runtime.database import Connection

    from ..asides import Done

KEPT = 200
"""Lines of a table."""


class Line(NamedTuple):
    """A line as it stands."""

    number: int
    at: datetime
    person: str
    name: str
    seat: int
    text: str


class ChatStore(Asides):
    """The statements."""

    async def known(self, table_id: str, person: str, command_id: str) -> Line | None:
        """The line that a command wrote, if it did and the line is still kept."""
        row = await self._row(sql.KNOWN, table_id, person, command_id)
        return None if row is None else Line(*row)

    async def muted_until(self, table_id: str, person: str) -> datetime | None:
        """Until when somebody may not write; ``None``: they may."""
        until: datetime | None = await self._value(sql.MUTED, table_id, person)
        return until

    async def write(
        self, table_id: str, command_id: str, person: str, name: str, seat: int, text: str, pause: timedelta
    ) -> Line | timedelta | None:
        """Write a line and forget those that are too many; or how long its writer has to wait; or ``None``: another
        call wrote it meanwhile."""
        try:
            async with self._connection() as connection, connection.transaction():
                if not await connection.fetchval(sql.TURN, person, pause):
                    wait: timedelta | None = await connection.fetchval(sql.WAIT, person, pause)
                    return max(wait or timedelta(), timedelta())
                number = await connection.fetchval(sql.NUMBER, table_id)
                row = await connection.fetchrow(sql.WRITE, table_id, number, person, name, seat, text, command_id)
                await connection.execute(sql.FORGET, table_id, number - KEPT)
        except asyncpg.UniqueViolationError:
            return None
        return Line(*row)

    async def lines(self, table_id: str, after: int, limit: int) -> tuple[list[Line], int]:
        """(lines after a number, the oldest first; the number of the last line there is)."""
        rows = await self._rows(sql.LINES, table_id, after, limit)
        lines = [Line(*row) for row in rows]
        last = int(await self._value(sql.LAST, table_id) or 0)
        return lines, last

    async def mute(
        self, table_id: str, actor: str, command_id: str, digest: bytes, person: str, until: datetime | None
    ) -> Done:
        """Take from somebody the right to write until a time, or give it back (``None``), once for each command; the
        answer: how many are muted."""

        async def change(connection: Connection) -> int:
            if until is None:
                await connection.execute(sql.LIFT, table_id, person)
            else:
                await connection.execute(sql.MUTE, table_id, person, until)
            return int(await connection.fetchval(sql.MUTED_NOW, table_id))

        return await self.once(table_id, actor, command_id, digest, change)
