"""A dump of the log: the rows that the checker looks at, a line of JSON each; bytes in base64, times in ms."""

from __future__ import annotations

import base64
import json
from datetime import datetime
from pathlib import Path
from typing import Any

import asyncpg

TABLES = {
    "heads": "SELECT table_id, version, epoch, status, opener FROM heads ORDER BY table_id",
    "commits": """
        SELECT table_id, version, epoch, actor, command_id, at, stored_at, body FROM commits ORDER BY table_id, version
    """,
    "editions": "SELECT digest, edition, body FROM editions ORDER BY digest",
    "snapshots": "SELECT table_id, version, epoch, body FROM snapshots ORDER BY table_id, version",
    "outages": "SELECT from_at, to_at FROM outages ORDER BY from_at",
    "quarantined": "SELECT table_id, reason FROM quarantined",
    "ledger_accounts": "SELECT account, balance FROM ledger_accounts",
    "ledger_transactions": "SELECT number, reason, table_id, actor, request_id FROM ledger_transactions",
    "ledger_entries": """
        SELECT account, number, transaction, reason, table_id, amount, balance FROM ledger_entries
        ORDER BY account, number
    """,
}


async def dump(url: str, path: Path) -> int:
    """Writes the dump; the number of rows. Tables that the schema has not (yet) are left out."""
    rows = 0
    connection = await asyncpg.connect(url)
    try:
        with path.open("w", encoding="utf-8") as file:
            async with connection.transaction(isolation="repeatable_read", readonly=True):
                for name, query in TABLES.items():
                    if await connection.fetchval("SELECT to_regclass($1)", name) is None:
                        continue
                    async for record in connection.cursor(query):
                        row = {key: _plain(value) for key, value in record.items()}
                        file.write(json.dumps({"row": name, **row}) + "\n")
                        rows += 1
    finally:
        await connection.close()
    return rows


def _plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, datetime):
        return round(value.timestamp() * 1000)
    return value
