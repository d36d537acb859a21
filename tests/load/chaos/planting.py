"""Runs of which something is made wrong on purpose: what the checker has to find."""

from __future__ import annotations

import base64
import json
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from omnipoly.wire.gen.game.v1 import commit_pb2

Row = dict[str, Any]


class Planted:
    """A run in memory, to be changed and written down elsewhere."""

    def __init__(self, folder: Path) -> None:
        self.rows = _read(folder / "dump.jsonl")
        self.journals = {path.name: _read(path) for path in sorted((folder / "journals").glob("*.jsonl"))}
        self._done = (folder / "faults.jsonl").read_text("utf-8")

    def write(self, folder: Path) -> Path:
        """Writes it down; the folder."""
        (folder / "journals").mkdir(parents=True)
        _write(folder / "dump.jsonl", self.rows)
        for name, lines in self.journals.items():
            _write(folder / "journals" / name, lines)
        (folder / "faults.jsonl").write_text(self._done, "utf-8")
        return folder

    @property
    def calm_ms(self) -> int:
        """When nothing was broken any more."""
        return next(int(line["t"]) for line in map(json.loads, self._done.splitlines()) if line["what"] == "calm")

    def calm_from(self, at_ms: int) -> None:
        """Nothing was broken any more from then on."""
        lines = [json.loads(line) for line in self._done.splitlines()]
        self._done = "".join(
            json.dumps(line | ({"t": at_ms} if line["what"] == "calm" else {})) + "\n" for line in lines
        )

    def undone(self, what: str) -> None:
        """Nothing of the kind was done to the platform."""
        lines = self._done.splitlines(keepends=True)
        self._done = "".join(line for line in lines if not json.loads(line)["what"].startswith(what))

    # --- the log

    def commits(self, table: str = "") -> list[Row]:
        """Rows of the log, of one game or all."""
        return [row for row in self.rows if row["row"] == "commits" and table in {"", row["table_id"]}]

    def head(self, table: str) -> Row:
        """A table's head."""
        return next(row for row in self.rows if row["row"] == "heads" and row["table_id"] == table)

    def find(self, kind: str, accept: Callable[[Row, Any], bool] = lambda row, event: True) -> tuple[Row, int]:
        """The first commit with an event of a kind, and which of its events that is."""
        for row in self.commits():
            for at, event in enumerate(message(row).events):
                if event.WhichOneof("kind") == kind and accept(row, getattr(event, kind)):
                    return row, at
        raise LookupError(f"no game of this run has a {kind}")

    def change(self, row: Row, change: Callable[[commit_pb2.Commit], None]) -> None:
        """Changes what is in a commit."""
        row.update(changed(row, change))

    def drop(self, row: Row) -> None:
        """Takes a commit out of the log, and leaves the gap."""
        self.rows.remove(row)

    def insert(self, row: Row, after: Row) -> None:
        """Puts a commit into the log behind another."""
        self.rows.insert(self.rows.index(after) + 1, row)

    def renumber(self, table: str) -> None:
        """Closes every gap of a table, as if nothing had been done."""
        rows = self.commits(table)
        for version, row in enumerate(rows, start=1):
            row["version"] = version
            self.change(row, lambda commit, version=version: setattr(commit, "version", version))
        self.head(table)["version"] = len(rows)

    # --- the ledger

    def ledger(self, what: str, **begins: str) -> list[Row]:
        """Rows of the ledger: `accounts`, `transactions` or `entries`, whose columns begin so."""
        return [
            row
            for row in self.rows
            if row["row"] == f"ledger_{what}" and all(str(row[name]).startswith(text) for name, text in begins.items())
        ]

    def forget(self, transaction: int) -> None:
        """Takes a transaction out of the ledger, and leaves no trace of it."""
        self.rows = [
            row
            for row in self.rows
            if (row["row"], row.get("number")) != ("ledger_transactions", transaction)
            and (row["row"], row.get("transaction")) != ("ledger_entries", transaction)
        ]
        self.settle()

    def settle(self) -> None:
        """Makes every balance what the entries come to."""
        balances: Counter[str] = Counter()
        for entry in self.ledger("entries"):
            balances[entry["account"]] += entry["amount"]
            entry["balance"] = balances[entry["account"]]
        self.rows = [row for row in self.rows if row["row"] != "ledger_accounts"]
        self.rows += [
            {"row": "ledger_accounts", "account": account, "balance": balance} for account, balance in balances.items()
        ]

    # --- the journals

    def lines(self, *kinds: str) -> Iterator[tuple[list[Row], Row]]:
        """Lines of some kinds, each with the journal it stands in."""
        for lines in self.journals.values():
            yield from [(lines, line) for line in lines if line["k"] in kinds]

    def acknowledged(self) -> Row:
        """A commit in the middle of a game whose command a client was told is accepted."""
        told = {(line["table"], line["id"]) for _, line in self.lines("accepted")}
        for row in self.commits():
            if (row["table_id"], row["command_id"]) in told and 10 < row["version"] < self.head(row["table_id"])[
                "version"
            ] - 5:
                return row
        raise LookupError("nobody was told anything in the middle of a game")


def message(row: Row) -> commit_pb2.Commit:
    """What is in a commit."""
    return commit_pb2.Commit.FromString(base64.b64decode(row["body"]))


def changed(row: Row, change: Callable[[commit_pb2.Commit], None]) -> Row:
    """A row like it, with another commit in it."""
    commit = message(row)
    change(commit)
    return {**row, "body": base64.b64encode(commit.SerializeToString()).decode()}


def _read(path: Path) -> list[Row]:
    return [json.loads(line) for line in path.read_text("utf-8").splitlines()]


def _write(path: Path, lines: list[Row]) -> None:
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
