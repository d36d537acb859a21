"""The log in Postgres: what is asked of it, as constant SQL, and the rows that come and go.

Rows of one append are sorted by table id, and the heads are locked in that order before they are moved: two replicas
that append the same tables then wait for each other instead of deadlocking.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

if TYPE_CHECKING:
    from omnipoly.runtime.database import Connection, Database, Record

APPEND = """
WITH given AS (
    SELECT * FROM unnest(
        $1::text[], $2::bigint[], $3::bigint[], $4::text[], $5::text[], $6::bytea[], $7::timestamptz[], $8::text[],
        $9::bytea[], $10::smallint[], $11::timestamptz[], $12::bigint[], $13::bytea[], $14::text[], $15::text[],
        $16::boolean[]
    ) AS g (
        table_id, version, epoch, actor, command_id, digest, at, traceparent,
        body, status, due_at, presence_revision, summary, host, persons, free_seats
    )
), locked AS MATERIALIZED (
    SELECT h.table_id
    FROM heads h JOIN given g ON h.table_id = g.table_id
    WHERE h.version = g.version - 1 AND h.epoch <= g.epoch
    ORDER BY h.table_id
    FOR NO KEY UPDATE OF h
), moved AS (
    UPDATE heads h
    SET version = g.version,
        epoch = g.epoch,
        status = g.status,
        due_at = g.due_at,
        presence_revision = g.presence_revision,
        summary = coalesce(g.summary, h.summary),
        host = coalesce(g.host, h.host),
        persons = CASE WHEN g.persons IS NULL THEN h.persons ELSE string_to_array(g.persons, ' ') END,
        free_seats = coalesce(g.free_seats, h.free_seats),
        changed_at = now()
    FROM given g JOIN locked l ON l.table_id = g.table_id
    WHERE h.table_id = g.table_id AND h.version = g.version - 1
    RETURNING h.table_id
)
INSERT INTO commits (table_id, version, epoch, actor, command_id, digest, at, traceparent, body)
SELECT g.table_id, g.version, g.epoch, g.actor, g.command_id, g.digest, g.at, g.traceparent, g.body
FROM given g JOIN moved m ON m.table_id = g.table_id
RETURNING table_id
"""

OPEN = """
WITH opened AS (
    INSERT INTO heads (
        table_id, version, epoch, status, due_at, edition, digest, opener, opened_at, host, persons, free_seats, summary
    )
    VALUES ($1, 1, $2, $3, $4, $5, $6, $7, $8, $7, $9, true, $10)
    ON CONFLICT (table_id) DO NOTHING
    RETURNING table_id
), secret AS (
    INSERT INTO secrets (table_id, seed) SELECT table_id, $11 FROM opened
)
INSERT INTO commits (table_id, version, epoch, actor, command_id, digest, at, traceparent, body)
SELECT table_id, 1, $2, $7, $12, $13, $8, $14, $15 FROM opened
RETURNING table_id
"""

KEEP_EDITION = "INSERT INTO editions (digest, edition, body) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING"
EDITION = "SELECT edition, body FROM editions WHERE digest = $1"
OPEN_TABLES = "SELECT count(*) FROM heads WHERE opener = $1 AND status = ANY ($2::smallint[])"

LOAD = """
WITH head AS (
    SELECT h.version, h.epoch, h.digest, h.edition, h.presence_revision, h.opened_at, s.seed, q.reason
    FROM heads h
    LEFT JOIN secrets s USING (table_id)
    LEFT JOIN quarantined q USING (table_id)
    WHERE h.table_id = $1
), snapshot AS (
    SELECT version, epoch, body FROM snapshots
    WHERE table_id = $1 AND version <= (SELECT version FROM head)
    ORDER BY version DESC LIMIT 1
)
SELECT 0 AS kind, h.version, h.epoch, h.digest, h.edition, h.presence_revision, h.opened_at, h.seed, h.reason,
       '' AS actor, '' AS command_id, NULL::bytea AS content, NULL::bytea AS body
FROM head h
UNION ALL
SELECT 1, version, epoch, '', '', 0, NULL, NULL, NULL, '', '', NULL, body FROM snapshot
UNION ALL
SELECT 2, c.version, c.epoch, '', '', 0, NULL, NULL, NULL, c.actor, c.command_id, c.digest, c.body
FROM commits c
WHERE c.table_id = $1
  AND c.version > coalesce((SELECT version FROM snapshot), 0)
  AND c.version <= (SELECT version FROM head)
ORDER BY 1, 2
"""

COMMAND = """
SELECT version, digest, body FROM commits WHERE table_id = $1 AND actor = $2 AND command_id = $3 AND command_id <> ''
"""
COMMITS = """
SELECT body FROM commits WHERE table_id = $1 AND version > $2 ORDER BY version LIMIT $3
"""
VERSIONS = "SELECT table_id, version, epoch FROM heads WHERE table_id = ANY ($1::text[])"
HEADS = "SELECT table_id, version, epoch, status, due_at FROM heads WHERE table_id = ANY ($1::text[])"
HEADS_DUE = """
SELECT table_id, version, epoch, status, due_at FROM heads
WHERE due_at IS NOT NULL AND ($1::timestamptz IS NULL OR due_at < $1) AND (due_at, table_id) > ($2, $3)
ORDER BY due_at, table_id LIMIT $4
"""
HEADS_CHANGED = """
SELECT h.table_id, h.version, h.epoch, h.status, h.due_at
FROM heads h
WHERE h.table_id IN (SELECT c.table_id FROM commits c WHERE c.stored_at >= $1)
  AND ($2::timestamptz IS NULL OR h.due_at < $2)
  AND (coalesce(h.due_at, 'infinity'), h.table_id) > ($3, $4)
ORDER BY coalesce(h.due_at, 'infinity'), h.table_id LIMIT $5
"""
LIST = """
SELECT table_id, version, opened_at, summary FROM heads
WHERE ($1::smallint[] IS NULL OR status = ANY ($1))
  AND ($2 = '' OR edition = $2)
  AND ($3 = '' OR persons @> ARRAY[$3])
  AND ($4 = '' OR opener = $4)
  AND (NOT $5 OR free_seats)
  AND (opened_at, table_id) < ($6, $7)
ORDER BY opened_at DESC, table_id DESC LIMIT $8
"""
SNAPSHOT = """
INSERT INTO snapshots (table_id, version, epoch, body) VALUES ($1, $2, $3, $4)
ON CONFLICT (table_id, version) DO UPDATE SET epoch = EXCLUDED.epoch, body = EXCLUDED.body
"""
OLD_SNAPSHOTS = "DELETE FROM snapshots WHERE table_id = $1 AND version < $2"
QUARANTINE = "INSERT INTO quarantined (table_id, reason) VALUES ($1, $2) ON CONFLICT DO NOTHING"

PULSE = """
WITH old AS (
    SELECT at FROM heartbeat FOR UPDATE
), gap AS (
    INSERT INTO outages (from_at, to_at)
    SELECT at, clock_timestamp() FROM old WHERE at < clock_timestamp() - $1::interval
    ON CONFLICT DO NOTHING
)
INSERT INTO heartbeat (at) VALUES (clock_timestamp())
ON CONFLICT (one) DO UPDATE SET at = greatest(heartbeat.at, EXCLUDED.at)
"""
OUTAGES = "SELECT from_at, to_at FROM outages WHERE to_at > $1 ORDER BY to_at"

EARLIEST = datetime(1970, 1, 1, tzinfo=UTC)
LATEST = datetime(9999, 1, 1, tzinfo=UTC)


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
    summary: bytes | None = None
    """``None``: as it was; likewise the next three."""
    host: str | None = None
    persons: str | None = None
    """Person ids with a blank between."""
    free_seats: bool | None = None


class Head(NamedTuple):
    """Where a table stands."""

    table_id: str
    version: int
    epoch: int
    status: int
    due_at: datetime | None


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


class Store:
    """The statements, each with its rows made into something with names."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def append(self, connection: Connection, entries: Sequence[Entry]) -> set[str]:
        """Move heads and insert commits in one statement; the ids of the tables that moved. Sorted by the caller."""
        columns: list[list[Any]] = [list(column) for column in zip(*map(msgspec.structs.astuple, entries), strict=True)]
        rows = await connection.fetch(APPEND, *columns)
        return {row[0] for row in rows}

    async def open(
        self, entry: Entry, *, edition: str, digest: str, text: str, seed: bytes, persons: list[str]
    ) -> bool:
        """Insert a table's head, secret and first commit; false when its id is there already."""
        async with self._database.acquire() as connection, connection.transaction():
            await connection.execute(KEEP_EDITION, digest, edition, text)
            opened = await connection.fetchval(
                OPEN,
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
            )
        return opened is not None

    async def edition(self, digest: str) -> tuple[str, str] | None:
        """(id with mode, text) of an edition by its digest."""
        row = await self._database.fetchrow(EDITION, digest)
        return None if row is None else (row[0], row[1])

    async def open_tables(self, opener: str, statuses: Sequence[int]) -> int:
        """How many tables in these states a person has opened."""
        return int(await self._database.fetchval(OPEN_TABLES, opener, list(statuses)))

    async def load(self, table_id: str) -> Loaded | None:
        """A table's head, its last snapshot and the commits behind it; ``None`` for an unknown table."""
        rows = await self._database.fetch(LOAD, table_id)
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
        row = await self._database.fetchrow(COMMAND, table_id, actor, command_id)
        return None if row is None else Found(row[0], row[1], row[2])

    async def commits(self, table_id: str, after: int, limit: int) -> list[bytes]:
        """Bodies of commits after a version, in order."""
        return [row[0] for row in await self._database.fetch(COMMITS, table_id, after, limit)]

    async def versions(self, table_ids: Sequence[str]) -> dict[str, tuple[int, int]]:
        """(version, epoch) of tables; unknown ones are absent."""
        return {row[0]: (row[1], row[2]) for row in await self._database.fetch(VERSIONS, list(table_ids))}

    async def heads(self, table_ids: Sequence[str]) -> list[Head]:
        """Heads of tables; unknown ones are absent."""
        return [Head(*row) for row in await self._database.fetch(HEADS, list(table_ids))]

    async def heads_due(self, before: datetime | None, after: tuple[datetime, str], limit: int) -> list[Head]:
        """Heads with something due, by what falls due first, after (due, table)."""
        return [Head(*row) for row in await self._database.fetch(HEADS_DUE, before, *after, limit)]

    async def heads_changed(
        self, since: datetime, before: datetime | None, after: tuple[datetime, str], limit: int
    ) -> list[Head]:
        """Heads of tables with a commit stored since, by what falls due first, after (due, table)."""
        rows = await self._database.fetch(HEADS_CHANGED, since, before, *after, limit)
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
        """(table_id, version, opened_at, summary), the latest opened first."""
        wanted = None if statuses is None else list(statuses)
        return await self._database.fetch(LIST, wanted, edition, person, opener, open_only, *before, limit)

    async def keep_snapshot(self, table_id: str, version: int, epoch: int, body: bytes) -> None:
        """Store a snapshot and drop those before the last one."""
        await self._database.execute(SNAPSHOT, table_id, version, epoch, body)
        await self._database.execute(OLD_SNAPSHOTS, table_id, version)

    async def quarantine(self, table_id: str, reason: str) -> None:
        """Mark a table as out of play."""
        await self._database.execute(QUARANTINE, table_id, reason)

    async def pulse(self, gap_s: float) -> None:
        """Move the platform's heartbeat; a gap longer than ``gap_s`` is written down once as an outage."""
        await self._database.execute(PULSE, timedelta(seconds=gap_s))

    async def outages(self, since: datetime) -> list[tuple[datetime, datetime]]:
        """Outages that ended after a time: (from, to)."""
        return [(row[0], row[1]) for row in await self._database.fetch(OUTAGES, since)]
