"""The log in Postgres: each statement as a method, and the rows that come and go as things with names."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

import asyncpg  # type: ignore[import-untyped]
import msgspec

from omnipoly.wire.gen.game.v1 import table_pb2

from . import sql
from .results import store as results
from .statements import ANSWER_S, PULSE_S, Statements, answered

if TYPE_CHECKING:
    from omnipoly.runtime.database import Connection, Record
    from omnipoly.runtime.failures import Failure

    from .results.making import Ended

EARLIEST = datetime(1970, 1, 1, tzinfo=UTC)
LATEST = datetime(9999, 1, 1, tzinfo=UTC)


Beside = Callable[[Any], Awaitable[None]]
"""Writes rows on a connection, in the transaction of their commit; a ``Failure`` that it raises refuses the commit."""


class Entry(msgspec.Struct):
    """One commit on its way into the log, with what it makes of the table's head."""

    table_id: str
    version: int
    epoch: int
    actor: str
    command_id: str
    digest: bytes
    at: datetime
    traceparent: str
    body: bytes
    status: int
    due_at: datetime | None
    presence_revision: int
    """Of a presence report, which has to be newer than the last one; 0 for everything else."""
    summary: bytes | None = None
    """``None``: as it was; likewise the next three."""
    host: str | None = None
    persons: str | None = None
    """Person ids with a blank between."""
    free_seats: bool | None = None
    listed: bool | None = None
    """Whether lists show the table; ``None``: as it was."""
    beside: Beside | None = None
    """Rows that belong to this commit: written with it, or not at all."""
    ended: Ended | None = None
    """The result of the game that ends with this commit."""
    denied: Failure | None = None
    """Why ``beside`` refused it."""


_COLUMNS = Entry.__struct_fields__.index("beside")
"""Attributes that are columns of the append."""


class Head(NamedTuple):
    """Where a table stands."""

    table_id: str
    version: int
    epoch: int
    status: int
    due_at: datetime | None
    door: int = 0
    """The revision of its door, and its chat's last line: read by ``heads`` alone."""
    chat: int = 0


class LoadedCommit(NamedTuple):
    """A commit as a load reads it."""

    version: int
    actor: str
    command_id: str
    digest: bytes
    body: bytes


class Loaded(NamedTuple):
    """All that a load reads of a table, in one query."""

    version: int
    epoch: int
    digest: str
    edition: str
    presence_revision: int
    opened_at: datetime
    seed: bytes
    quarantined: str
    """Why the table is out of play; "" when it is not."""
    snapshot: bytes | None
    snapshot_version: int
    commits: list[LoadedCommit]


class Found(NamedTuple):
    """A commit found by its command id."""

    version: int
    digest: bytes
    body: bytes


class Store(Statements):
    """The log's statements."""

    # --- writing ------------------------------------------------------------------------------------------------------

    async def append(self, connection: Connection, entries: Sequence[Entry]) -> set[str]:
        """Move heads and insert commits in one statement; the ids of the tables that moved. Sorted by the caller.

        What belongs to some of them (results of games that end, rows beside) is written in one transaction with all.
        Raises whatever ``beside`` raises, and has written nothing then.
        """
        if all(entry.ended is None and entry.beside is None for entry in entries):
            return await self._append(connection, entries)
        async with connection.transaction():
            moved = await self._append(connection, entries)
            with answered(connection, ANSWER_S):
                games = [(one.table_id, one.ended) for one in entries if one.ended and one.table_id in moved]
                if games:
                    await results.keep(connection, games)
                for entry in entries:
                    if entry.beside is not None and entry.table_id in moved:
                        await entry.beside(connection)
        return moved

    async def _append(self, connection: Connection, entries: Sequence[Entry]) -> set[str]:
        columns: list[list[Any]] = [list(column) for column in zip(*map(msgspec.structs.astuple, entries), strict=True)]
        with answered(connection, ANSWER_S):
            try:
                rows = await connection.fetch(sql.APPEND, *columns[:_COLUMNS])
            except asyncpg.ReadOnlySQLTransactionError:
                connection.terminate()  # of a server that has become a standby: the next one is the primary's
                raise
        return {row[0] for row in rows}

    async def open(
        self,
        entry: Entry,
        *,
        edition: str,
        digest: str,
        text: str,
        seed: bytes,
        persons: list[str],
        open_statuses: Sequence[int],
        most_open: int,
        beside: Beside | None = None,
    ) -> bool:
        """Insert a table's head, secret, first commit and the rows that belong to it.

        False when its id is there already, or its opener has ``most_open`` tables in ``open_statuses``.
        """
        async with self._connection() as connection, connection.transaction():
            await connection.execute(sql.KEEP_EDITION, digest, edition, text)
            await connection.execute(sql.OPEN_IN_TURN, entry.actor)
            opened = await connection.fetchval(
                sql.OPEN,
                entry.table_id,
                entry.epoch,
                entry.status,
                entry.due_at,
                edition,
                digest,
                entry.actor,
                entry.at,
                persons,
                entry.summary,
                seed,
                entry.command_id,
                entry.digest,
                entry.traceparent,
                entry.body,
                list(open_statuses),
                most_open,
                entry.free_seats,
            )
            if opened is not None and beside is not None:
                await beside(connection)
        return opened is not None

    async def note_presence(self, table_id: str, version: int, epoch: int, revision: int) -> bool:
        """Keep the revision of a report that changed nothing; false when the head has moved on, or past it."""
        return bool(await self._value(sql.NOTE_PRESENCE, table_id, version, epoch, revision))

    async def keep_snapshot(self, table_id: str, version: int, epoch: int, body: bytes) -> None:
        """Store a snapshot and drop those before the last one."""
        await self._execute(sql.SNAPSHOT, table_id, version, epoch, body)
        await self._execute(sql.OLD_SNAPSHOTS, table_id, version)

    async def drop_snapshots(self, table_id: str) -> None:
        """Drop snapshots that cannot be read."""
        await self._execute(sql.NO_SNAPSHOTS, table_id)

    async def quarantine(self, table_id: str, reason: str) -> None:
        """Mark a table as out of play."""
        await self._execute(sql.QUARANTINE, table_id, reason, table_pb2.TABLE_STATUS_BROKEN)

    async def pulse(self, gap_s: float) -> None:
        """Move the platform's heartbeat; a gap longer than ``gap_s`` is written down once as an outage."""
        async with self._connection(PULSE_S) as connection:
            await connection.execute(sql.PULSE, timedelta(seconds=gap_s))

    # --- reading ------------------------------------------------------------------------------------------------------

    async def edition(self, digest: str) -> tuple[str, str] | None:
        """(id with mode, text) of an edition by its digest."""
        row = await self._row(sql.EDITION, digest)
        return None if row is None else (row[0], row[1])

    async def edition_of(self, table_id: str) -> tuple[str, str, str] | None:
        """(id with mode, digest, text) of a table's edition; ``None`` for an unknown table."""
        row = await self._row(sql.KEPT_EDITION, table_id)
        return None if row is None else (row[0], row[1], row[2])

    async def load(self, table_id: str, *, snapshots: bool = True) -> Loaded | None:
        """A table's head, its last snapshot (unless without) and the commits behind it; ``None`` for an unknown table.

        The commits of a quarantined table are left out.
        """
        rows = await self._rows(sql.LOAD, table_id, snapshots)
        if not rows:
            return None
        head = rows[0]
        snapshot, snapshot_version = None, 0
        commits = []
        for row in rows[1:]:
            if row["kind"] == 1:
                snapshot, snapshot_version = row["body"], row["version"]
            else:
                commits.append(
                    LoadedCommit(row["version"], row["actor"], row["command_id"], row["content"], row["body"])
                )
        return Loaded(
            version=head["version"],
            epoch=head["epoch"],
            digest=head["digest"],
            edition=head["edition"],
            presence_revision=head["presence_revision"],
            opened_at=head["opened_at"],
            seed=head["seed"] or b"",
            quarantined=head["reason"] or "",
            snapshot=snapshot,
            snapshot_version=snapshot_version,
            commits=commits,
        )

    async def command(self, table_id: str, actor: str, command_id: str) -> Found | None:
        """The commit that a command led to, if it was ever accepted."""
        row = await self._row(sql.COMMAND, table_id, actor, command_id)
        return None if row is None else Found(row[0], row[1], row[2])

    async def commits(self, table_id: str, after: int, limit: int) -> list[bytes]:
        """Bodies of commits after a version, in order."""
        return [row[0] for row in await self._rows(sql.COMMITS, table_id, after, limit)]

    async def versions(self, table_ids: Sequence[str]) -> dict[str, tuple[int, int]]:
        """(version, epoch) of tables; unknown ones are absent."""
        return {row[0]: (row[1], row[2]) for row in await self._rows(sql.VERSIONS, list(table_ids))}

    async def heads(self, table_ids: Sequence[str]) -> list[Head]:
        """Heads of tables; unknown ones are absent."""
        return [Head(*row) for row in await self._rows(sql.HEADS, list(table_ids))]

    async def raise_heads(self, epoch: int, after: str, limit: int) -> tuple[int, str]:
        """Raises heads of older epochs, of tables behind one by id: (how many, the last one)."""
        row = await self._row(sql.RAISE_HEADS, epoch, after, limit)
        assert row is not None
        return row[0], row[1]

    async def heads_due(self, before: datetime | None, after: tuple[datetime, str], limit: int) -> list[Head]:
        """Heads with something due, by what falls due first, after (due, table)."""
        return [Head(*row) for row in await self._rows(sql.HEADS_DUE, before, *after, limit)]

    async def heads_changed(
        self, since: datetime, before: datetime | None, after: tuple[datetime, str], limit: int
    ) -> list[Head]:
        """Heads of tables with a commit stored since, by what falls due first (nothing: at ``LATEST``), after (due,
        table)."""
        rows = await self._rows(sql.HEADS_CHANGED, since, before, *after, limit, LATEST)
        return [Head(*row) for row in rows]

    async def list_tables(
        self,
        statuses: Sequence[int] | None,
        edition: str,
        person: str,
        opener: str,
        open_only: bool,
        before: tuple[datetime, str],
        limit: int,
    ) -> list[Record]:
        """(table_id, version, opened_at, status, summary), the latest opened first."""
        wanted = None if statuses is None else list(statuses)
        return await self._rows(sql.LIST, wanted, edition, person, opener, open_only, *before, limit)

    async def outages(self, since: datetime) -> list[tuple[datetime, datetime]]:
        """Outages that ended after a time: (from, to)."""
        return [(row[0], row[1]) for row in await self._rows(sql.OUTAGES, since)]
