"""Dump, journals and what was done to the platform, read from files."""

from __future__ import annotations

import base64
import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from omnipoly.wire.gen.game.v1 import commit_pb2


class Findings:
    """What was counted, and what is wrong."""

    MOST = 12
    """Faults of a kind that are told one by one."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.faults: Counter[str] = Counter()
        self.told: list[str] = []

    def count(self, what: str, number: int = 1) -> None:
        """So many of something were looked at."""
        self.counts[what] += number

    def fault(self, kind: str, text: str) -> None:
        """Something is wrong."""
        self.faults[kind] += 1
        if self.faults[kind] <= self.MOST:
            self.told.append(f"{kind}: {text}")


class Commit:
    """A row of the log, and the message in it."""

    __slots__ = ("actor", "at_ms", "body", "command_id", "epoch", "message", "stored_ms", "table", "version")

    def __init__(self, row: dict[str, Any]) -> None:
        self.table: str = row["table_id"]
        self.version: int = row["version"]
        self.epoch: int = row["epoch"]
        self.actor: str = row["actor"]
        self.command_id: str = row["command_id"]
        self.at_ms: int = row["at"]
        self.stored_ms: int = row["stored_at"]
        self.body = base64.b64decode(row["body"])
        self.message = commit_pb2.Commit.FromString(self.body)

    def events(self) -> Iterator[tuple[str, Any]]:
        """Kind and body of each event."""
        for event in self.message.events:
            kind = event.WhichOneof("kind") or ""
            yield kind, getattr(event, kind) if kind else None

    def __str__(self) -> str:
        return f"{self.table} {self.version}"


class Run:
    """Everything that is known of one run."""

    def __init__(self, folder: Path) -> None:
        """The folder of a run: `dump.jsonl`, `journals/*.jsonl`, `faults.jsonl`."""
        self.rows: dict[str, list[dict[str, Any]]] = defaultdict(list)
        """Rows by table of the database, all but the commits."""
        self.log: dict[str, list[Commit]] = defaultdict(list)
        """Commits by game table, as the dump has them."""
        for line in _lines(folder / "dump.jsonl"):
            if line["row"] == "commits":
                self.log[line["table_id"]].append(Commit(line))
            elif line["row"] == "snapshots":
                self.rows["snapshots"].append({**line, "body": base64.b64decode(line["body"])})
            else:
                self.rows[line["row"]].append(line)
        self.heads = {row["table_id"]: row for row in self.rows["heads"]}
        self.journals = {path.stem: list(_lines(path)) for path in sorted((folder / "journals").glob("*.jsonl"))}
        self.done = list(_lines(folder / "faults.jsonl")) if (folder / "faults.jsonl").exists() else []

    def who(self, journal: str) -> str:
        """Whose journal it is; empty: of nobody who ever got in."""
        return next((str(line["who"]) for line in self.journals[journal] if line["k"] == "person"), "")

    def spans(self, *words: str) -> list[tuple[int, int, str]]:
        """(from, to, subject) of what was done under one of these words, e.g. "stop"."""
        begun: dict[str, int] = {}
        found = []
        for line in self.done:
            what = str(line["what"])
            if what.partition(" ")[0] not in words:
                continue
            if line.get("edge") == "begin":
                begun[what] = line["t"]
            elif what in begun:
                found.append((begun.pop(what), int(line["t"]), what.partition(" ")[2]))
        return found

    @property
    def calm_ms(self) -> int:
        """When nothing was broken any more; 0: it was not written down."""
        return next((int(line["t"]) for line in self.done if line["what"] == "calm"), 0)

    @property
    def addresses(self) -> dict[str, str]:
        """Services by address."""
        services = next((line["services"] for line in self.done if line["what"] == "services"), {})
        return {address: name for name, address in services.items()}


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as file:
        for line in file:
            if line.endswith("\n"):  # else it was cut short with its writer
                yield json.loads(line)
