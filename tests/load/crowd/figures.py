"""What a run is told by: histograms that processes merge, counts, and whether the generator itself was in the way.

Durations are recorded in microseconds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from hdrh.histogram import HdrHistogram

LONGEST_US = 120_000_000
DIGITS = 3
FULL = 0.85
"""A process that used more of a core than this was itself full."""
LATE_MS = 20.0
LATE_SHARE = 0.1
"""A generator whose sleepers wake so much later than asked (p99) reads answers late, too; what is less than a tenth of
what it names (p99) does not matter."""
QUANTILES = (50.0, 90.0, 95.0, 99.0, 99.9, 100.0)
KINDS = ("answer", "due", "shown", "late")
"""From sending a command to its answer; from when it was due (open model: what a player waits for); from sending it to
its commit at a watcher; how late the generator's own sleepers woke."""


def histogram() -> HdrHistogram:
    """An empty one."""
    return HdrHistogram(1, LONGEST_US, DIGITS)


class Counts:
    """One process's counts since it was last asked, and its histograms of all time."""

    def __init__(self) -> None:
        self.histograms = {kind: histogram() for kind in KINDS}
        self.sent = self.accepted = self.shown = self.games = 0
        self.errors: Counter[str] = Counter()
        self.measuring = False
        self.over = False

    def record(self, kind: str, took_s: float) -> None:
        """A duration, while it counts."""
        if self.measuring:
            self.histograms[kind].record_value(min(LONGEST_US, max(1, round(took_s * 1e6))))

    def error(self, reason: str) -> None:
        """Something did not go well; reason: a code of the platform, or a gRPC status."""
        if not self.over:
            self.errors[reason] += 1

    def since(self) -> dict[str, Any]:
        """What was counted since the last call."""
        told = {
            "sent": self.sent,
            "accepted": self.accepted,
            "shown": self.shown,
            "games": self.games,
            "errors": dict(self.errors),
        }
        self.sent = self.accepted = self.shown = self.games = 0
        self.errors.clear()
        return told

    def encoded(self) -> dict[str, str]:
        """The histograms, to be merged elsewhere."""
        return {kind: found.encode().decode() for kind, found in self.histograms.items()}


def merged(parts: Sequence[dict[str, str]]) -> dict[str, HdrHistogram]:
    """The histograms of several processes as one each."""
    every = {kind: histogram() for kind in KINDS}
    for part in parts:
        for kind, text in part.items():
            every[kind].decode_and_add(text)
    return every


def quantiles_ms(found: HdrHistogram) -> dict[str, float]:
    """Its percentiles by name, in milliseconds; empty where nothing was recorded."""
    if not found.get_total_count():
        return {}
    return {f"p{q:g}": round(found.get_value_at_percentile(q) / 1000, 3) for q in QUANTILES}


def in_the_way(cores: Sequence[float], late: HdrHistogram, answer: HdrHistogram) -> str:
    """Why the generator and not what it measures was the bottleneck; empty: it was not.

    cores: how much of a core each of its processes used.
    """
    reasons = []
    if cores and max(cores) > FULL:
        reasons.append(f"one of its processes used {max(cores):.0%} of a core (at most {FULL:.0%})")
    late_ms, answer_ms = (_p99_ms(found) for found in (late, answer))
    if late_ms > max(LATE_MS, LATE_SHARE * answer_ms):
        reasons.append(f"it was itself {late_ms:.0f} ms late, where answers took {answer_ms:.0f} ms (p99)")
    return " and ".join(reasons)


def _p99_ms(found: HdrHistogram) -> float:
    return found.get_value_at_percentile(99) / 1000 if found.get_total_count() else 0.0
