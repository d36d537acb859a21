"""What is asked of results and standings, as constant SQL.

``ENDED`` is run right behind the append that has the games' last commits, in its transaction, for those that moved.
Rows of standings are counted up in one order, so that two such appends wait for each other instead of deadlocking: the
heads are locked before any of them.
"""

from __future__ import annotations

ENDED = """
WITH result AS (
    INSERT INTO results (table_id, edition, finished_at, body)
    SELECT * FROM unnest($1::text[], $2::text[], $3::timestamptz[], $4::bytea[])
    ON CONFLICT (table_id) DO UPDATE
    SET edition = EXCLUDED.edition, finished_at = EXCLUDED.finished_at, body = EXCLUDED.body
), played AS (
    INSERT INTO results_of_persons (person, table_id, edition, finished_at)
    SELECT * FROM unnest($5::text[], $6::text[], $7::text[], $8::timestamptz[])
    ON CONFLICT (person, table_id) DO UPDATE
    SET edition = EXCLUDED.edition, finished_at = EXCLUDED.finished_at
)
INSERT INTO standings AS s (edition, month, person, name, games, wins, points)
SELECT edition, month, person, max(name), count(*), sum(wins), sum(points)
FROM unnest($9::text[], $10::text[], $11::text[], $12::text[], $13::integer[], $14::bigint[])
     AS g (edition, month, person, name, wins, points)
GROUP BY edition, month, person
ORDER BY edition, month, person
ON CONFLICT (edition, month, person) DO UPDATE
SET name = EXCLUDED.name,
    games = s.games + EXCLUDED.games,
    wins = s.wins + EXCLUDED.wins,
    points = s.points + EXCLUDED.points
"""

RESULT = "SELECT finished_at, table_id, body FROM results WHERE table_id = $1"
RESULTS = """
SELECT finished_at, table_id, body FROM results
WHERE (finished_at, table_id) < ($1, $2)
ORDER BY finished_at DESC, table_id DESC LIMIT $3
"""
RESULTS_OF_EDITION = """
SELECT finished_at, table_id, body FROM results
WHERE edition = $4 AND (finished_at, table_id) < ($1, $2)
ORDER BY finished_at DESC, table_id DESC LIMIT $3
"""
# A page is chosen by the person's own rows, before the results are looked up.
RESULTS_OF_PERSON = """
SELECT p.finished_at, p.table_id, r.body
FROM (
    SELECT finished_at, table_id FROM results_of_persons
    WHERE person = $4 AND (finished_at, table_id) < ($1, $2)
    ORDER BY finished_at DESC, table_id DESC LIMIT $3
) p JOIN results r USING (table_id)
ORDER BY p.finished_at DESC, p.table_id DESC
"""
RESULTS_OF_PERSON_AND_EDITION = """
SELECT p.finished_at, p.table_id, r.body
FROM (
    SELECT finished_at, table_id FROM results_of_persons
    WHERE person = $4 AND edition = $5 AND (finished_at, table_id) < ($1, $2)
    ORDER BY finished_at DESC, table_id DESC LIMIT $3
) p JOIN results r USING (table_id)
ORDER BY p.finished_at DESC, p.table_id DESC
"""

# The last row of the page before comes along: it says which place the first one of this page shares, or follows.
STANDINGS = """
SELECT person, name, games, wins, points FROM standings
WHERE edition = $1 AND month = $2 AND (points, wins) <= ($3, $4)
  AND (points < $3 OR points = $3 AND wins < $4 OR points = $3 AND wins = $4 AND person > $5)
ORDER BY points DESC, wins DESC, person LIMIT $6
"""
