"""What is asked of persons and sessions, as constant SQL."""

from __future__ import annotations

UPSERT = """
INSERT INTO persons (person, issuer, subject, name, guest) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (person) DO UPDATE SET name = EXCLUDED.name
RETURNING person, name, guest, roles, created_at, banned_until, ban_reason, stamp, xmax = 0 AS created
"""
PERSON = """
SELECT person, name, guest, roles, created_at, banned_until, ban_reason, stamp FROM persons WHERE person = $1
"""

# Whoever opens a session is looked at and locked, so that no ban is given between the look and the opening.
LOCK_PERSON = """
SELECT person, name, guest, roles, created_at, banned_until, ban_reason, stamp FROM persons WHERE person = $1
FOR SHARE
"""
OPEN = """
INSERT INTO sessions (session, person, salt, hash, opened_by, sign_in, expires_at) VALUES ($1, $2, $3, $4, $5, $6, $7)
ON CONFLICT DO NOTHING
RETURNING session
"""
OPENED = "SELECT session, salt FROM sessions WHERE opened_by = $1 AND person = $2"

# The person first, as in an opening and in a ban: locks are taken in one order.
LOCK_SESSION = """
SELECT p.person, p.name, p.guest, p.roles, p.created_at, p.banned_until, p.ban_reason, p.stamp,
       s.session, s.salt, s.hash, s.generation, s.renewed_by, s.renewed_at, s.expires_at, s.ended_at,
       clock_timestamp() AS now
FROM persons p JOIN sessions s USING (person)
WHERE s.session = $1
FOR SHARE OF p FOR NO KEY UPDATE OF s
"""
RENEW = """
UPDATE sessions
SET generation = $2, hash = $3, renewed_by = $4, renewed_at = clock_timestamp(), expires_at = $5
WHERE session = $1
"""
END = """
UPDATE sessions SET ended_at = clock_timestamp(), ended_why = $2
WHERE session = $1 AND ended_at IS NULL
RETURNING session, person, ended_at
"""
END_ALL = """
UPDATE sessions SET ended_at = clock_timestamp(), ended_why = $2
WHERE person = $1 AND ended_at IS NULL AND expires_at > clock_timestamp()
RETURNING session, person, ended_at
"""

BAN = """
UPDATE persons SET banned_until = $2, ban_reason = $3, changed_at = clock_timestamp()
WHERE person = $1
RETURNING person, name, guest, roles, created_at, banned_until, ban_reason, stamp, changed_at
"""
SET_ROLES = """
UPDATE persons SET roles = $2, stamp = stamp + 1, changed_at = clock_timestamp()
WHERE person = $1 AND roles IS DISTINCT FROM $2
RETURNING person, name, guest, roles, created_at, banned_until, ban_reason, stamp, changed_at
"""

# Every row is told with the time of its change; who asks again from a little earlier misses none that was on its way.
REVOCATIONS = """
SELECT person, session, at, banned_until, stamp
FROM (
    SELECT person, session, ended_at AS at, NULL::timestamptz AS banned_until, 0::bigint AS stamp
    FROM sessions WHERE ended_at >= $1
    UNION ALL
    SELECT person, '', changed_at, CASE WHEN banned_until > clock_timestamp() THEN banned_until END, stamp
    FROM persons WHERE changed_at >= $1 OR ($2 AND banned_until > clock_timestamp())
) AS r
WHERE (at, person || ' ' || session) > ($3, $4)
ORDER BY at, person || ' ' || session
LIMIT $5
"""

# A few at a time: nothing waits for it.
OLD_SESSIONS = """
WITH gone AS (
    DELETE FROM sessions WHERE session IN (
        SELECT session FROM sessions WHERE expires_at < clock_timestamp() - $1::interval LIMIT $2
    ) RETURNING 1
) SELECT count(*) FROM gone
"""
OLD_GUESTS = """
WITH gone AS (
    DELETE FROM persons WHERE person IN (
        SELECT p.person FROM persons p
        WHERE p.guest AND p.created_at < clock_timestamp() - $1::interval
          AND (p.banned_until IS NULL OR p.banned_until < clock_timestamp()) AND p.roles = '{}'
          AND NOT EXISTS (SELECT FROM sessions s WHERE s.person = p.person)
        LIMIT $2
    ) RETURNING 1
) SELECT count(*) FROM gone
"""
