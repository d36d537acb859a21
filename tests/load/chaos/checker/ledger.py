"""Credits: every transaction adds up to nothing, every balance is the sum of its entries, nobody owes but the house."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any

from .reading import Findings, Run


def check(run: Run, found: Findings) -> None:
    """Accounts, entries and transactions, and what ended games still hold."""
    sums: Counter[int] = Counter()
    balances: dict[str, int] = defaultdict(int)
    for entry in run.rows["ledger_entries"]:
        found.count("ledger entries")
        account = str(entry["account"])
        sums[entry["transaction"]] += entry["amount"]
        balances[account] += entry["amount"]
        if entry["balance"] != balances[account]:
            found.fault(
                "ledger", f"{account}: entry {entry['number']} says {entry['balance']}, not {balances[account]}"
            )
        if balances[account] < 0 and account != "house":
            found.fault("ledger", f"{account} has {balances[account]}")
    known: dict[Any, str] = {}
    for transaction in run.rows["ledger_transactions"]:
        number = transaction["number"]
        if sums[number]:
            found.fault("ledger", f"transaction {number} adds up to {sums[number]}")
        key = (transaction["actor"], transaction["request_id"])
        if key[1] and key in known:
            found.fault("doubled", f"transactions {known[key]} and {number} are both of {key}")
        known[key] = number
    for row in run.rows["ledger_accounts"]:
        if row["balance"] != balances[row["account"]]:
            found.fault("ledger", f"{row['account']} has {row['balance']}, its entries make {balances[row['account']]}")
        table = str(row["account"]).removeprefix("held:")
        if row["balance"] and table != row["account"] and _ended(run, table):
            found.fault("ledger", f"the game {table} is over and still holds {row['balance']}")
    if sum(row["balance"] for row in run.rows["ledger_accounts"]):
        found.fault("ledger", "all balances together are not nothing")


def _ended(run: Run, table: str) -> bool:
    return any(kind == "game_ended" for row in run.log.get(table, []) for kind, _ in row.events())
