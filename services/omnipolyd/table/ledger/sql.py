"""What is asked of the ledger, as constant SQL. Accounts come sorted and are locked in that order, whoever asks."""

from __future__ import annotations

KNOW = """
INSERT INTO ledger_accounts (account) SELECT account FROM unnest($1::text[]) AS g (account) ORDER BY account
ON CONFLICT DO NOTHING
"""
LOCK = (
    "SELECT account, balance FROM ledger_accounts WHERE account = ANY ($1::text[]) ORDER BY account FOR NO KEY UPDATE"
)
TRANSACTION = """
INSERT INTO ledger_transactions (reason, table_id, actor, request_id, digest, note)
VALUES ($1, $2, $3, $4, $5, $6) RETURNING number, at
"""
ENTRIES = """
WITH given AS (
    SELECT * FROM unnest($4::text[], $5::bigint[], $6::bigint[]) AS g (account, amount, balance)
), moved AS (
    UPDATE ledger_accounts a SET balance = g.balance FROM given g
    WHERE a.account = g.account AND a.balance = g.balance - g.amount
    RETURNING a.account
)
INSERT INTO ledger_entries (account, transaction, reason, table_id, amount, balance)
SELECT g.account, $1, $2, $3, g.amount, g.balance FROM given g JOIN moved USING (account)
ORDER BY g.account
RETURNING account
"""

LOCK_TABLE = "SELECT FROM heads WHERE table_id = $1 FOR NO KEY UPDATE"
FEES = "SELECT account, -amount AS fee FROM ledger_entries WHERE table_id = $1 AND reason = $2 AND amount < 0"
REQUEST = """
SELECT t.number, t.digest, t.at, t.reason, t.table_id, t.note, e.account, e.amount, e.balance
FROM ledger_transactions t JOIN ledger_entries e ON e.transaction = t.number
WHERE t.actor = $1 AND t.request_id = $2 AND e.account = $3
"""
KNOWN_REQUEST = "SELECT digest FROM ledger_transactions WHERE actor = $1 AND request_id = $2"

BALANCE = "SELECT balance FROM ledger_accounts WHERE account = $1"
PAGE = """
SELECT e.number, t.number AS transaction, t.at, e.amount, e.balance, t.reason, t.table_id, t.note
FROM ledger_entries e JOIN ledger_transactions t ON t.number = e.transaction
WHERE e.account = $1 AND e.number < $2
ORDER BY e.number DESC LIMIT $3
"""

# The books, a page of accounts and of transactions at a time: each page is one statement, and so of one moment.
WRONG_ACCOUNTS = """
WITH page AS (
    SELECT account, balance FROM ledger_accounts WHERE account > $1 ORDER BY account LIMIT $2
), booked AS (
    SELECT p.account, p.balance, coalesce(sum(e.amount), 0) AS total,
           coalesce((SELECT l.balance FROM ledger_entries l WHERE l.account = p.account
                     ORDER BY l.number DESC LIMIT 1), 0) AS last
    FROM page p LEFT JOIN ledger_entries e USING (account)
    GROUP BY p.account, p.balance
)
SELECT account, balance, total, last, balance <> total OR balance <> last AS wrong
FROM booked ORDER BY account
"""
WRONG_TRANSACTIONS = """
WITH page AS (
    SELECT number FROM ledger_transactions WHERE number > $1 ORDER BY number LIMIT $2
)
SELECT p.number, coalesce(sum(e.amount), 0) AS total, coalesce(sum(e.amount), 0) <> 0 OR count(e.*) < 2 AS wrong
FROM page p LEFT JOIN ledger_entries e ON e.transaction = p.number
GROUP BY p.number ORDER BY p.number
"""
