"""What only operators ask of the log."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from ..statements import Statements

INSPECT = """
SELECT h.version, h.epoch, h.status, h.due_at, coalesce(q.reason, '') AS reason,
       coalesce((SELECT max(s.version) FROM snapshots s WHERE s.table_id = h.table_id), 0) AS snapshot_version,
       (SELECT count(*) FROM commits c WHERE c.table_id = h.table_id) AS commits
FROM heads h LEFT JOIN quarantined q USING (table_id)
WHERE h.table_id = $1
"""
RELEASE = "DELETE FROM quarantined WHERE table_id = $1"
# A commit that came meanwhile has set the state itself.
RELEASED = "UPDATE heads SET status = $3 WHERE table_id = $1 AND version = $2"


class Inspected(NamedTuple):
    """What the log has of a table."""

    version: int
    epoch: int
    status: int
    due_at: datetime | None
    broken: str
    """Why it is out of play; "": it is not."""
    snapshot_version: int
    commits: int


class AdminStore(Statements):
    """The statements. Each raises one of ``database.FAULTS``."""

    async def inspect(self, table_id: str) -> Inspected | None:
        """What there is of a table; ``None`` for an unknown one."""
        row = await self._row(INSPECT, table_id)
        return None if row is None else Inspected(*row)

    async def release(self, table_id: str) -> None:
        """Put a table into play again; whoever finds that it cannot be takes it out once more."""
        await self._execute(RELEASE, table_id)

    async def released(self, table_id: str, version: int, status: int) -> None:
        """Say what state it is in, now that it could be read."""
        await self._execute(RELEASED, table_id, version, status)
