"""What is asked of the chat, as constant SQL."""

from __future__ import annotations

KNOWN = """
SELECT number, at, person, name, seat, text FROM chat_lines WHERE table_id = $1 AND person = $2 AND command_id = $3
"""
# A person's lines come one after the other, wherever they write: the row is theirs until the transaction ends.
TURN = """
INSERT INTO chat_writers (person, at) VALUES ($1, clock_timestamp())
ON CONFLICT (person) DO UPDATE SET at = EXCLUDED.at WHERE chat_writers.at <= EXCLUDED.at - $2::interval
RETURNING true
"""
WAIT = "SELECT at + $2::interval - clock_timestamp() FROM chat_writers WHERE person = $1"
# So do a table's: nobody reads a number before the one below it.
NUMBER = """
INSERT INTO chats (table_id, last) VALUES ($1, 1)
ON CONFLICT (table_id) DO UPDATE SET last = chats.last + 1
RETURNING last
"""
WRITE = """
INSERT INTO chat_lines (table_id, number, at, person, name, seat, text, command_id)
VALUES ($1, $2, clock_timestamp(), $3, $4, $5, $6, $7)
RETURNING number, at, person, name, seat, text
"""
FORGET = "DELETE FROM chat_lines WHERE table_id = $1 AND number <= $2"

LINES = """
SELECT number, at, person, name, seat, text FROM chat_lines
WHERE table_id = $1 AND number > $2
ORDER BY number LIMIT $3
"""
LAST = "SELECT last FROM chats WHERE table_id = $1"

MUTED = "SELECT until FROM muted WHERE table_id = $1 AND person = $2 AND until > clock_timestamp()"
MUTE = """
INSERT INTO muted (table_id, person, until) VALUES ($1, $2, $3)
ON CONFLICT (table_id, person) DO UPDATE SET until = EXCLUDED.until
"""
LIFT = "DELETE FROM muted WHERE table_id = $1 AND person = $2"
MUTED_NOW = "SELECT count(*) FROM muted WHERE table_id = $1 AND until > clock_timestamp()"
