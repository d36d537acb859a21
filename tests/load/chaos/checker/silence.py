"""Streams that stand show what is stored, soon; and they stand until their client goes or their gateway is broken."""

from __future__ import annotations

from typing import Any

from .reading import Findings, Run

SILENT_MS = 8_000
"""So long a stream may keep back what is stored while nothing is broken that it needs. A gateway looks into the log
every 2 s, so news that NATS lost, or never had, counts for nothing."""
BACK_MS = 2_000
"""So much longer it may take until all goes on after a fault."""
PROBED_MS = 8_000
"""So long a table replica that stands still may go unnoticed by those who ask it."""
STREAM_BREAKS_MS = 3_000
"""So much later a client may notice that its gateway was gone."""
OURS = ("dropped", "left", "INTERNAL: Internal error from Core")
"""Ends that come from the client: the last is what its library makes of two writes at once."""

Span = tuple[int, int]


class _Stream:
    def __init__(self, table: str, version: int, since_ms: int, gateway: str) -> None:
        self.table = table
        self.version = version
        self.since_ms = since_ms
        self.gateway = gateway
        self.entered = False


class Silence:
    """What every stream kept back, and how it ended."""

    def __init__(self, run: Run, found: Findings) -> None:
        self._found = found
        self._stored = {table: {row.version: row.stored_ms for row in rows} for table, rows in run.log.items()}
        self._over = {
            table: next((row.stored_ms for row in rows if any(kind == "game_ended" for kind, _ in row.events())), 0)
            for table, rows in run.log.items()
        }
        self._names = run.addresses
        self._postgres: list[Span] = []
        self._tables: list[Span] = []
        self._gateways: dict[str, list[Span]] = {}
        for begin, end, subject in run.spans("stop", "kill", "drain", "replace", "away", "swallow", "refuse"):
            if subject == "postgres":
                self._postgres.append((begin, end + BACK_MS))
            elif subject.startswith("gateway"):
                self._gateways.setdefault(subject, []).append((begin, end))
        for begin, end, subject in run.spans("stop"):
            if subject.startswith("table"):
                self._tables.append((begin, min(end, begin + PROBED_MS)))

    def read(self, journal: str, lines: list[dict[str, Any]]) -> None:
        """One journal's streams."""
        streams: dict[int, _Stream] = {}
        on: dict[int, str] = {}
        for line in lines:
            kind, number = line["k"], line.get("s", 0)
            if kind == "stream":
                on[number] = self._names.get(line["on"], "")
            elif kind == "follow":
                streams[number] = _Stream(line["table"], line["version"], line["t"], on[number])
            elif kind in {"commit", "picture", "level"}:
                stream = streams[number]
                self._until(line["t"], stream, f"{journal}, stream {number}")
                stream.version, stream.entered = max(stream.version, line["version"]), True
            elif kind == "closed" and number in streams:
                stream = streams.pop(number)
                self._until(line["t"], stream, f"{journal}, stream {number}")
                self._ended(line, stream, f"{journal}, stream {number}")

    def _until(self, until_ms: int, stream: _Stream, said: str) -> None:
        """Looks at how long the next commit has been kept back."""
        stored_ms = self._stored.get(stream.table, {}).get(stream.version + 1)
        if stored_ms is None:
            return
        since_ms = max(stored_ms, stream.since_ms)
        if until_ms - since_ms <= SILENT_MS:
            return
        broken = [(begin, end + BACK_MS) for begin, end in self._gateways.get(stream.gateway, ())]
        waited_ms = _without((since_ms, until_ms), [*broken, *self._postgres, *self._tables])
        if waited_ms > SILENT_MS:
            self._found.fault(
                "silent",
                f"{said} at {stream.gateway} kept back {stream.table} {stream.version + 1} for"
                f" {(until_ms - since_ms) / 1000:.1f} s, {waited_ms / 1000:.1f} s of them without a fault",
            )

    def _ended(self, line: dict[str, Any], stream: _Stream, said: str) -> None:
        at_ms, how = line["t"], line["how"]
        if not stream.entered:
            return
        self._found.count("streams that stood until they were ended")
        if how in OURS or (how == "ended" and 0 < self._over.get(stream.table, 0) <= at_ms):
            return
        for begin, end in self._gateways.get(stream.gateway, ()):
            if begin <= at_ms <= end + STREAM_BREAKS_MS:
                return
        self._found.fault("broken", f"{said} of {stream.table} at {stream.gateway} ended by itself: {how}")


def _without(span: Span, broken: list[Span]) -> int:
    """How much of a span nothing was broken in."""
    left_ms, at_ms = span[1] - span[0], span[0]
    for begin, end in sorted(broken):
        begin, end = max(begin, at_ms), min(end, span[1])
        if end > begin:
            left_ms -= end - begin
            at_ms = end
    return left_ms
