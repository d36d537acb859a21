"""Credits: every transaction adds up to nothing, every balance is the sum of its entries, nobody owes but the house.

And what was granted is there once, and games have moved what their logs say: everybody's fee at the start, all of it
to the winners at the end.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any

from omnipoly.wire.gen.game.v1 import platform_pb2, types_pb2

from .reading import Findings, Run

_NOBODY_WON = frozenset((types_pb2.ENDING_CLOSED, types_pb2.ENDING_IDLE, types_pb2.ENDING_ABANDONED))

Moves = Counter[tuple[int, str]]
"""Credits by reason and account."""


def check(run: Run, found: Findings) -> None:
    """Accounts, entries and transactions, and whose they are."""
    sums: Counter[int] = Counter()
    balances: dict[str, int] = defaultdict(int)
    moved: dict[str, Moves] = defaultdict(Counter)
    for entry in run.rows["ledger_entries"]:
        found.count("ledger entries")
        account = str(entry["account"])
        sums[entry["transaction"]] += entry["amount"]
        balances[account] += entry["amount"]
        moved[entry["table_id"]][entry["reason"], account] += entry["amount"]
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
        found.count("wallets", int(row["account"].startswith("wallet:")))
    if sum(row["balance"] for row in run.rows["ledger_accounts"]):
        found.fault("ledger", "all balances together are not nothing")
    _grants(run, moved[""], found)
    for table in run.heads:
        _game(run, table, moved.pop(table, Counter()), found)
    for table in moved.keys() - {""}:
        found.fault("ledger", f"the game {table} has moved credits and is not in the log")


def _grants(run: Run, moved: Moves, found: Findings) -> None:
    """What was given, as the journals have it: all that was acknowledged, and nothing that nobody asked for."""
    asked: dict[tuple[str, str], tuple[str, int]] = {}
    given: Moves = Counter()
    stored = {row["request_id"] for row in run.rows["ledger_transactions"]}
    for journal, lines in run.journals.items():
        for line in lines:
            if line["k"] == "grant":
                asked[journal, line["id"]] = line["who"], line["amount"]
            elif line["k"] == "granted":
                found.count("grants acknowledged")
                if line["id"] not in stored:
                    found.fault("missing", f"{line['id']} was acknowledged and is not in the ledger")
    for (_, name), (who, amount) in asked.items():
        if name in stored:
            given[platform_pb2.CREDIT_REASON_GRANT, f"wallet:{who}"] += amount
            given[platform_pb2.CREDIT_REASON_GRANT, "house"] -= amount
    if moved != given:
        found.fault("ledger", f"granted: {dict(moved)}, asked for: {dict(given)}")


def _game(run: Run, table: str, moved: Moves, found: Findings) -> None:
    """One game's credits, as its log has them."""
    holders: list[str] = []
    payers: list[str] = []
    fee, end = 0, None
    for row in run.log[table]:
        for kind, event in row.events():
            if kind == "seat_taken":
                holders.append(event.holder)
            elif kind == "seat_freed":
                del holders[event.seat]
            elif kind == "seat_handed_over":
                holders[event.seat] = event.holder
            elif kind == "game_started":
                fee, payers = event.options.entry_fee, list(holders)
            elif kind == "game_ended":
                end = event
    wanted: Moves = Counter()
    held, pool = f"held:{table}", fee * len(payers)
    if pool:
        found.count("paid games")
        for payer in payers:
            wanted[platform_pb2.CREDIT_REASON_ENTRY_FEE, f"wallet:{payer}"] -= fee
        wanted[platform_pb2.CREDIT_REASON_ENTRY_FEE, held] += pool
    if pool and end is not None and end.why in _NOBODY_WON:
        for payer in payers:
            wanted[platform_pb2.CREDIT_REASON_REFUND, f"wallet:{payer}"] += fee
        wanted[platform_pb2.CREDIT_REASON_REFUND, held] -= pool
    elif pool and end is not None:
        found.count("prizes")
        winners = [holders[seat] for seat, place in enumerate(end.places) if place == 1]
        for number, winner in enumerate(winners):
            share = pool // len(winners) + (number < pool % len(winners))
            wanted[platform_pb2.CREDIT_REASON_PRIZE, f"wallet:{winner}"] += share
        wanted[platform_pb2.CREDIT_REASON_PRIZE, held] -= pool
    if moved != wanted:
        found.fault("ledger", f"the game {table} has moved {dict(moved)}, its log says {dict(wanted)}")
