"""What upkeep asks of the log, as constant SQL."""

from __future__ import annotations

OVER = 4
"""TABLE_STATUS_OVER."""

# --- archive

# Of tables that are over nothing moves any more: the head's time is when they ended.
FINISHED = """
SELECT table_id, version, changed_at FROM heads
WHERE status = 4 AND changed_at < now() - $1::interval AND table_id > $2
ORDER BY table_id LIMIT $3
"""
EDITION = "SELECT e.edition, e.digest, e.body FROM heads h JOIN editions e USING (digest) WHERE h.table_id = $1"
LOG = "SELECT body FROM commits WHERE table_id = $1 ORDER BY version"
LOCK = "SELECT version, status FROM heads WHERE table_id = $1 FOR UPDATE"
# The head goes last: whoever finds it finds the log. Results, standings, the ledger and the audit log stay.
REMOVE = tuple(
    f"DELETE FROM {table} WHERE table_id = $1"  # noqa: S608 - our names
    for table in (
        "admissions",
        "asides",
        "barred",
        "chat_lines",
        "chats",
        "doors",
        "muted",
        "pin_tries",
        "quarantined",
        "snapshots",
        "secrets",
        "commits",
        "heads",
    )
)

# --- erase

KNOWN = """
SELECT EXISTS (SELECT FROM persons WHERE person = $1) OR EXISTS (SELECT FROM results_of_persons WHERE person = $1)
    OR EXISTS (SELECT FROM heads WHERE opener = $1 OR persons @> ARRAY[$1])
    OR EXISTS (SELECT FROM commits WHERE actor = $1)
"""
# Whoever had a seat once took it by a command of their own: their id is an actor's. There is no index for it; this is
# asked seldom, and reads the whole log.
TABLES = """
SELECT h.table_id, h.status FROM heads h
WHERE h.opener = $1 OR h.host = $1 OR h.persons @> ARRAY[$1]
   OR h.table_id IN (SELECT table_id FROM results_of_persons WHERE person = $1)
   OR h.table_id IN (SELECT DISTINCT table_id FROM commits WHERE actor = $1)
ORDER BY h.table_id
"""
BODIES = "SELECT version, body FROM commits WHERE table_id = $1 ORDER BY version"
REWRITE = "UPDATE commits SET body = $3 WHERE table_id = $1 AND version = $2"
SUMMARY = "SELECT summary FROM heads WHERE table_id = $1"
RESUMMARIZE = "UPDATE heads SET summary = $2 WHERE table_id = $1"
NO_SNAPSHOTS = "DELETE FROM snapshots WHERE table_id = $1"

RESULTS = """
SELECT r.table_id, r.body FROM results r JOIN results_of_persons p USING (table_id) WHERE p.person = $1
UNION
SELECT r.table_id, r.body FROM results r WHERE r.table_id = ANY ($2::text[])
"""
RETELL = "UPDATE results SET body = $2 WHERE table_id = $1"
STANDINGS = "UPDATE standings SET name = $2 WHERE person = $1"
LINES = "UPDATE chat_lines SET name = $2, text = $3 WHERE person = $1"
WRITER = "DELETE FROM chat_writers WHERE person = $1"
TRIES = "DELETE FROM pin_tries WHERE person = $1"
SESSIONS = """
UPDATE sessions SET ended_at = clock_timestamp(), ended_why = 'erased' WHERE person = $1 AND ended_at IS NULL
"""
# The row stays, without anything that says who it is: a ban goes on, and gateways hear of the sessions' end.
PERSON = """
UPDATE persons SET issuer = '', subject = '', name = '', roles = '{}', stamp = stamp + 1, changed_at = clock_timestamp()
WHERE person = $1
"""
