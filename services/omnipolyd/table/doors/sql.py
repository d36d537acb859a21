"""What is asked of doors, as constant SQL."""

from __future__ import annotations

ENTRY = """
SELECT coalesce(d.pin_number, 0) AS pin_number, d.pin_salt, d.pin_hash,
       EXISTS (SELECT FROM barred b WHERE b.table_id = $1 AND b.person = $2) AS barred,
       EXISTS (
           SELECT FROM admissions a WHERE a.table_id = $1 AND a.person = $2 AND a.pin_number = d.pin_number
       ) AS admitted
FROM (SELECT) AS one LEFT JOIN doors d ON d.table_id = $1
"""

# Tries at one table, and those of one person, come one after the other, so that none of them miscounts. Everybody locks
# the table first.
LOCK_TABLE = "SELECT pg_advisory_xact_lock(hashtextextended($1, 1))"
LOCK_PERSON = "SELECT pg_advisory_xact_lock(hashtextextended($1, 2))"
FORGET_TRIES = """
DELETE FROM pin_tries WHERE try IN (
    SELECT try FROM pin_tries WHERE at < clock_timestamp() - $1::interval LIMIT 100 FOR UPDATE SKIP LOCKED
)
"""
# A table's tries are those of its present PIN: those of an older one say nothing about it.
TRY = """
INSERT INTO pin_tries (table_id, pin_number, person)
SELECT $1, $2, $3
WHERE (
    SELECT count(*) FROM pin_tries
    WHERE table_id = $1 AND pin_number = $2 AND at >= clock_timestamp() - $5::interval
) < $4 AND (
    SELECT count(*) FROM pin_tries WHERE person = $3 AND at >= clock_timestamp() - $5::interval
) < $4
RETURNING try
"""
WAIT = """
SELECT greatest(
    (SELECT at FROM pin_tries WHERE table_id = $1 AND pin_number = $2 ORDER BY at DESC OFFSET $4 - 1 LIMIT 1),
    (SELECT at FROM pin_tries WHERE person = $3 ORDER BY at DESC OFFSET $4 - 1 LIMIT 1)
) + $5::interval - clock_timestamp()
"""
LET_IN = """
WITH right_one AS (DELETE FROM pin_tries WHERE try = $4)
INSERT INTO admissions (table_id, person, pin_number)
SELECT table_id, $2, pin_number FROM doors WHERE table_id = $1 AND pin_number = $3
ON CONFLICT (table_id, person) DO UPDATE SET pin_number = EXCLUDED.pin_number
RETURNING true
"""

SET_PIN = """
INSERT INTO doors (table_id, revision, pin_number, pin_salt, pin_hash) VALUES ($1, 1, 1, $2, $3)
ON CONFLICT (table_id) DO UPDATE
SET revision = doors.revision + 1, pin_number = doors.pin_number + 1,
    pin_salt = EXCLUDED.pin_salt, pin_hash = EXCLUDED.pin_hash
"""
FORGET_ADMISSIONS = "DELETE FROM admissions WHERE table_id = $1"
MOVE = """
INSERT INTO doors (table_id, revision) VALUES ($1, 1)
ON CONFLICT (table_id) DO UPDATE SET revision = doors.revision + 1
RETURNING revision
"""
REVISION = "SELECT revision FROM doors WHERE table_id = $1"

BAR = "INSERT INTO barred (table_id, person) VALUES ($1, $2) ON CONFLICT DO NOTHING"
LIFT = "DELETE FROM barred WHERE table_id = $1 AND person = $2"
BARRED = "SELECT count(*) FROM barred WHERE table_id = $1"

# Whoever has a seat, or may take theirs back, and the host need nobody's leave.
RECHECK = """
SELECT p.person, b.person IS NOT NULL AS barred, d.pin_hash IS NOT NULL AND a.person IS NULL AS unadmitted
FROM unnest($2::text[]) AS p (person)
JOIN heads h ON h.table_id = $1
LEFT JOIN doors d ON d.table_id = $1
LEFT JOIN barred b ON b.table_id = $1 AND b.person = p.person
LEFT JOIN admissions a ON a.table_id = $1 AND a.person = p.person AND a.pin_number = d.pin_number
WHERE p.person <> h.host AND NOT p.person = ANY (h.persons)
"""
