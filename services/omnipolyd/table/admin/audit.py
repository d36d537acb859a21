"""The audit log: a row before anything is done, its outcome afterwards.

A call whose row cannot be written is not carried out. A row without an outcome is of a call that nobody saw the end of.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from ..statements import Statements

BEGIN = """
INSERT INTO audit (by, roles, what, table_id, person, note, request_id) VALUES ($1, $2, $3, $4, $5, $6, $7)
RETURNING number
"""
END = "UPDATE audit SET outcome = $2 WHERE number = $1 AND outcome = ''"

_COLUMNS = "SELECT number, at, by, roles, what, table_id, person, note, request_id, outcome FROM audit"
_ORDER = "ORDER BY number DESC LIMIT $2"
PAGE = f"{_COLUMNS} WHERE number < $1 {_ORDER}"
# The first one named has an index by which the page is read; of the others every row has to fit.
OF_TABLE = (
    f"{_COLUMNS} WHERE table_id = $3 AND number < $1 AND ($4 = '' OR person = $4) AND ($5 = '' OR by = $5) {_ORDER}"
)
OF_PERSON = f"{_COLUMNS} WHERE person = $3 AND number < $1 AND ($4 = '' OR by = $4) {_ORDER}"
OF_OPERATOR = f"{_COLUMNS} WHERE by = $3 AND number < $1 {_ORDER}"


class Row(NamedTuple):
    """A call."""

    number: int
    at: datetime
    by: str
    roles: list[str]
    what: str
    """The public method's name."""
    table_id: str
    person: str
    note: str
    request_id: str
    outcome: str
    """"ok", or the reason of the refusal; "": nobody knows."""


class Call(NamedTuple):
    """What a row says of a call before it is done."""

    what: str
    table_id: str = ""
    person: str = ""
    note: str = ""
    request_id: str = ""


class Audit(Statements):
    """The rows. Each method raises one of ``database.FAULTS``."""

    async def begin(self, by: str, roles: Sequence[str], call: Call) -> int:
        """Write that somebody calls; the row's number."""
        number: int = await self._value(BEGIN, by, list(roles), *call)
        return number

    async def end(self, number: int, outcome: str) -> None:
        """Write what became of it."""
        await self._execute(END, number, outcome)

    async def page(self, table_id: str, person: str, by: str, before: int, limit: int) -> list[Row]:
        """Rows, the latest first, before a number; "" for any table, person, operator."""
        if table_id:
            rows = await self._rows(OF_TABLE, before, limit, table_id, person, by)
        elif person:
            rows = await self._rows(OF_PERSON, before, limit, person, by)
        elif by:
            rows = await self._rows(OF_OPERATOR, before, limit, by)
        else:
            rows = await self._rows(PAGE, before, limit)
        return [Row(*row) for row in rows]
