"""What is asked of the log, as constant SQL.

Rows of one append are sorted by table id, and the heads are locked in that order before they are moved: two replicas
that append the same tables then wait for each other instead of deadlocking.
"""

from __future__ import annotations

# A row goes through unchanged, from `given` over `locked` and `moved` into the log: nothing is joined a second time.
# A report moves a head only when it is newer than the last one that the head took in.
APPEND = """
WITH given AS (
    SELECT * FROM unnest(
        $1::text[], $2::bigint[], $3::bigint[], $4::text[], $5::text[], $6::bytea[], $7::timestamptz[], $8::text[],
        $9::bytea[], $10::smallint[], $11::timestamptz[], $12::bigint[], $13::bytea[], $14::text[], $15::text[],
        $16::boolean[], $17::boolean[]
    ) AS g (
        table_id, version, epoch, actor, command_id, digest, at, traceparent,
        body, status, due_at, presence_revision, summary, host, persons, free_seats, listed
    )
), locked AS MATERIALIZED (
    SELECT g.*
    FROM heads h JOIN given g ON h.table_id = g.table_id
    WHERE h.version = g.version - 1 AND h.epoch <= g.epoch
      AND (g.presence_revision = 0 OR h.presence_revision < g.presence_revision)
    ORDER BY h.table_id
    FOR NO KEY UPDATE OF h
), moved AS (
    UPDATE heads h
    SET version = l.version,
        epoch = l.epoch,
        status = l.status,
        due_at = l.due_at,
        presence_revision = greatest(h.presence_revision, l.presence_revision),
        summary = coalesce(l.summary, h.summary),
        host = coalesce(l.host, h.host),
        persons = CASE WHEN l.persons IS NULL THEN h.persons ELSE string_to_array(l.persons, ' ') END,
        free_seats = coalesce(l.free_seats, h.free_seats),
        listed = coalesce(l.listed, h.listed),
        changed_at = now()
    FROM locked l
    WHERE h.table_id = l.table_id AND h.version = l.version - 1
    RETURNING l.table_id, l.version, l.epoch, l.actor, l.command_id, l.digest, l.at, l.traceparent, l.body
)
INSERT INTO commits (table_id, version, epoch, actor, command_id, digest, at, traceparent, body)
SELECT table_id, version, epoch, actor, command_id, digest, at, traceparent, body FROM moved
RETURNING table_id
"""

# Openings of one person come one after the other, so that none of them miscounts what is open.
OPEN_IN_TURN = "SELECT pg_advisory_xact_lock(hashtextextended($1, 0))"
KEEP_EDITION = "INSERT INTO editions (digest, edition, body) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING"
OPEN = """
WITH opened AS (
    INSERT INTO heads (
        table_id, version, epoch, status, due_at, edition, digest, opener, opened_at, host, persons, free_seats, summary
    )
    SELECT $1, 1, $2, $3, $4, $5, $6, $7, $8, $7, $9, coalesce($18, true), $10
    WHERE (SELECT count(*) FROM heads WHERE opener = $7 AND status = ANY ($16::smallint[])) < $17
    ON CONFLICT (table_id) DO NOTHING
    RETURNING table_id
), secret AS (
    INSERT INTO secrets (table_id, seed) SELECT table_id, $11 FROM opened
)
INSERT INTO commits (table_id, version, epoch, actor, command_id, digest, at, traceparent, body)
SELECT table_id, 1, $2, $7, $12, $13, $8, $14, $15 FROM opened
RETURNING table_id
"""
EDITION = "SELECT edition, body FROM editions WHERE digest = $1"

# A snapshot counts only together with the commit it was made of: what a replica writes late, after the log went back in
# time, belongs to nothing. Commits beyond the head are read too, so that such a log is found out.
LOAD = """
WITH head AS (
    SELECT h.version, h.epoch, h.digest, h.edition, h.presence_revision, h.opened_at, s.seed, q.reason
    FROM heads h
    LEFT JOIN secrets s USING (table_id)
    LEFT JOIN quarantined q USING (table_id)
    WHERE h.table_id = $1
), snapshot AS (
    SELECT s.version, s.epoch, s.body
    FROM snapshots s JOIN commits c USING (table_id, version, epoch)
    WHERE s.table_id = $1 AND $2
    ORDER BY s.version DESC LIMIT 1
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
  AND (SELECT reason FROM head) IS NULL
ORDER BY 1, 2
"""

COMMAND = """
SELECT version, digest, body FROM commits WHERE table_id = $1 AND actor = $2 AND command_id = $3 AND command_id <> ''
"""
COMMITS = "SELECT body FROM commits WHERE table_id = $1 AND version > $2 ORDER BY version LIMIT $3"
KEPT_EDITION = "SELECT e.edition, e.digest, e.body FROM heads h JOIN editions e USING (digest) WHERE h.table_id = $1"

VERSIONS = "SELECT table_id, version, epoch FROM heads WHERE table_id = ANY ($1::text[])"
HEADS = """
SELECT h.table_id, h.version, h.epoch, h.status, h.due_at, coalesce(d.revision, 0), coalesce(c.last, 0)
FROM heads h LEFT JOIN doors d USING (table_id) LEFT JOIN chats c USING (table_id)
WHERE h.table_id = ANY ($1::text[])
"""
# Locked in the order in which an append locks them. How many, and the last of them.
RAISE_HEADS = """
WITH old AS MATERIALIZED (
    SELECT table_id FROM heads WHERE table_id > $2 AND epoch < $1 ORDER BY table_id LIMIT $3 FOR NO KEY UPDATE
), raised AS (
    UPDATE heads h SET epoch = $1 FROM old WHERE h.table_id = old.table_id
)
SELECT count(*), coalesce(max(table_id), '') FROM old
"""
HEADS_DUE = """
SELECT table_id, version, epoch, status, due_at FROM heads
WHERE due_at IS NOT NULL AND ($1::timestamptz IS NULL OR due_at < $1) AND (due_at, table_id) > ($2, $3)
ORDER BY due_at, table_id LIMIT $4
"""
# Heads without anything due come last, under the time $6 that also stands in their page token.
HEADS_CHANGED = """
SELECT h.table_id, h.version, h.epoch, h.status, h.due_at
FROM heads h
WHERE h.table_id IN (SELECT c.table_id FROM commits c WHERE c.stored_at >= $1)
  AND ($2::timestamptz IS NULL OR h.due_at < $2)
  AND (coalesce(h.due_at, $6), h.table_id) > ($3, $4)
ORDER BY coalesce(h.due_at, $6), h.table_id LIMIT $5
"""
LIST = """
SELECT table_id, version, opened_at, status, summary FROM heads
WHERE listed
  AND ($1::smallint[] IS NULL OR status = ANY ($1))
  AND ($2 = '' OR edition = $2)
  AND ($3 = '' OR persons @> ARRAY[$3])
  AND ($4 = '' OR opener = $4)
  AND (NOT $5 OR free_seats)
  AND (opened_at, table_id) < ($6, $7)
ORDER BY opened_at DESC, table_id DESC LIMIT $8
"""

NOTE_PRESENCE = """
UPDATE heads SET presence_revision = $4
WHERE table_id = $1 AND version = $2 AND epoch = $3 AND presence_revision < $4
RETURNING true
"""

SNAPSHOT = """
INSERT INTO snapshots (table_id, version, epoch, body)
SELECT $1, $2, $3, $4 WHERE EXISTS (SELECT FROM commits WHERE table_id = $1 AND version = $2 AND epoch = $3)
ON CONFLICT (table_id, version) DO UPDATE SET epoch = EXCLUDED.epoch, body = EXCLUDED.body
"""
OLD_SNAPSHOTS = "DELETE FROM snapshots WHERE table_id = $1 AND version < $2"
NO_SNAPSHOTS = "DELETE FROM snapshots WHERE table_id = $1"
QUARANTINE = """
WITH out AS (
    INSERT INTO quarantined (table_id, reason) VALUES ($1, $2) ON CONFLICT DO NOTHING
)
UPDATE heads SET status = $3 WHERE table_id = $1
"""

# The row is read and locked before it is moved: the move asks `old` for the time. (An INSERT inside WITH that nothing
# asks for runs last, and would find the row moved already.)
PULSE = """
WITH old AS MATERIALIZED (
    SELECT at, clock_timestamp() AS now FROM heartbeat FOR NO KEY UPDATE
), gap AS (
    INSERT INTO outages (from_at, to_at)
    SELECT at, now FROM old WHERE at < now - $1::interval
    ON CONFLICT DO NOTHING
)
INSERT INTO heartbeat (at) SELECT coalesce((SELECT now FROM old), clock_timestamp())
ON CONFLICT (one) DO UPDATE SET at = greatest(heartbeat.at, EXCLUDED.at)
"""
OUTAGES = "SELECT from_at, to_at FROM outages WHERE to_at > $1 ORDER BY to_at"
