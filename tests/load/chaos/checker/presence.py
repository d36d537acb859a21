"""Who was taken for gone: nobody whose stream stood all the while, on a gateway that nothing was done to."""

from __future__ import annotations

from typing import Any

from omnipoly.wire.gen.game.v1 import types_pb2

from .model import Model
from .reading import Commit, Findings, Run

STOOD_MS = 12_000
"""A stream that has stood so long before counts: whoever broke off before may be on their grace."""
AROUND_MS = 25_000

Stood = tuple[int, int, str, int]
"""(from, to, gateway, the last version shown)."""


class Watch:
    """When each person's streams stood at each table."""

    def __init__(self, run: Run, found: Findings) -> None:
        self._found = found
        self._stood: dict[tuple[str, str], list[Stood]] = {}
        self._broken = [
            (begin, end, address)
            for begin, end, subject in run.spans("stop", "kill", "drain")
            for address, name in run.addresses.items()
            if name == subject
        ]
        for journal, lines in run.journals.items():
            self._read(run.who(journal), lines)

    def _read(self, who: str, lines: list[dict[str, Any]]) -> None:
        streams: dict[int, tuple[str, str, int]] = {}
        on: dict[int, str] = {}
        for line in lines:
            number = line.get("s")
            if line["k"] == "stream":
                on[line["s"]] = line["on"]
            elif line["k"] in {"commit", "picture", "level"} and number not in streams:
                streams[line["s"]] = (line["table"], on.get(line["s"], ""), line["t"])
            elif line["k"] == "closed" and number in streams:
                table, gateway, begin = streams.pop(line["s"])
                self._stood.setdefault((table, who), []).append((begin, line["t"], gateway, 0))

    def look(self, row: Commit, model: Model) -> None:
        """A commit in which somebody may be taken for gone; the model stands before or after it."""
        for kind, event in row.events():
            if kind != "went_away" or event.why not in {types_pb2.AWAY_BROKEN, types_pb2.AWAY_CLOSED}:
                continue
            self._found.count("taken for gone")
            who = model.holders[event.seat]
            for begin, end, gateway, _ in self._stood.get((row.table, who), ()):
                if begin > row.at_ms - STOOD_MS or end < row.at_ms:
                    continue
                around = any(
                    address == gateway and since < row.at_ms and row.at_ms - AROUND_MS < until
                    for since, until, address in self._broken
                )
                if not around:
                    self._found.fault("gone", f"{row}: {who} is taken for gone, with a stream since {begin}")
                    break
