"""Who was taken for gone: nobody who had a stream a moment before, but for the time in which nobody could get one."""

from __future__ import annotations

from typing import Any

from omnipoly.wire.gen.game.v1 import types_pb2

from .model import Model
from .reading import Commit, Findings, Run

GRACE_MS = 9_500
"""So long somebody whose stream broke has to come back; the platform gives them half a second more."""
LEAST_MS = 4_000
"""An outage that is shorter may go unnoticed."""
FRESH_MS = 2_000
"""A stream that was opened so shortly before may not have got round yet."""
SLOW_MS = 3_000
"""So much longer it may take while a replica stands still that is to be told."""

Span = tuple[int, int]


class Watch:
    """When each person had a stream at each table."""

    def __init__(self, run: Run, found: Findings) -> None:
        self._found = found
        self._stood: dict[tuple[str, str], list[Span]] = {}
        """Spans in which a stream stood, by table and person."""
        self._stopped = [
            (begin, end, address)
            for begin, end, subject in run.spans("stop")
            for address, name in run.addresses.items()
            if name == subject
        ]
        self._presence_stops = [
            (begin, end) for begin, end, subject in run.spans("stop") if subject.startswith("presence")
        ]
        self._outages = [
            (begin, end)
            for begin, end, subject in run.spans("stop", "away", "swallow", "refuse", "kill")
            if subject == "postgres" and end - begin >= LEAST_MS
        ]
        for journal, lines in run.journals.items():
            self._read(run.who(journal), lines)

    def _read(self, who: str, lines: list[dict[str, Any]]) -> None:
        shows: dict[int, tuple[str, int]] = {}
        on: dict[int, str] = {}
        for line in lines:
            number = line.get("s", 0)
            if line["k"] == "stream":
                on[number] = line["on"]
            elif line["k"] in {"commit", "picture", "level"}:
                shows.setdefault(number, (line["table"], line["t"]))
            elif line["k"] == "closed" and number in shows:
                table, begin = shows.pop(number)
                stood = self._stood.setdefault((table, who), [])
                stood += self._without_stops((begin, line["t"]), on[number])

    def _without_stops(self, span: Span, gateway: str) -> list[Span]:
        """The parts of a span in which the gateway ran."""
        parts, begin = [], span[0]
        for since, until, address in sorted(self._stopped):
            if address == gateway and since < span[1] and until > begin:
                parts.append((begin, since))
                begin = until
        return [part for part in (*parts, (begin, span[1])) if part[1] > part[0]]

    def look(self, row: Commit, model: Model) -> None:
        """A commit in which somebody may be taken for gone; the model stands behind it."""
        for kind, event in row.events():
            if kind == "went_away" and event.why in {types_pb2.AWAY_BROKEN, types_pb2.AWAY_CLOSED}:
                self._found.count("taken for gone")
                who = model.holders[event.seat]
                without_ms = self._without_ms(row.table, who, row.stored_ms)
                if without_ms < GRACE_MS:
                    self._found.fault(
                        "gone", f"{row}: {who} is taken for gone after {without_ms / 1000:.1f} s without a stream"
                    )

    def _slow_ms(self, at_ms: int) -> int:
        """How much longer it may have taken to get round."""
        return SLOW_MS if any(begin <= at_ms <= end + SLOW_MS for begin, end in self._presence_stops) else 0

    def _without_ms(self, table: str, who: str, at_ms: int) -> int:
        """For how long somebody could have come back and had not; large when they never had a stream."""
        fresh_ms = FRESH_MS + self._slow_ms(at_ms)
        stood = [span for span in self._stood.get((table, who), ()) if span[0] < at_ms - fresh_ms]
        last_ms = max((min(end, at_ms) for _, end in stood), default=0)
        if not last_ms:
            return 1_000_000
        lost_ms = sum(max(0, min(end, at_ms) - max(begin, last_ms)) for begin, end in self._outages)
        return at_ms - last_ms - lost_ms
