"""Who was timed out: only somebody whose whole clock had run, without the time in which nothing could be committed."""

from __future__ import annotations

from typing import Any

from omnipoly.wire.gen.game.v1 import types_pb2

from .reading import Commit, Findings, Run

LEAST_MS = 4000
"""An outage that is shorter may go unnoticed: up to 3 s count for everybody."""
SLACK_MS = 1500
"""What clocks of two processes and the ends of an outage may be apart."""


class Clocks:
    """The open decisions of one table."""

    def __init__(self, run: Run, found: Findings) -> None:
        self._found = found
        self._outages = [
            (begin, end)
            for begin, end, subject in run.spans("stop", "away", "swallow", "refuse")
            if subject == "postgres" and end - begin >= LEAST_MS
        ]
        self._deadline: dict[int, int] = {}
        self._asked: dict[int, tuple[int, int]] = {}
        """By seat: when it was asked, and the whole clock it was given then."""
        self._shortened: set[int] = set()
        self._stands_still = 0

    def play(self, row: Commit) -> None:
        """Moves on by a commit; whoever it times out is looked at first."""
        happened = list(row.events())
        for kind, event in happened:
            if kind == "clocks_moved":
                self._move(_ms(event.by))
        for kind, event in happened:
            if kind == "went_away" and event.why == types_pb2.AWAY_MISSED:
                self._timed_out(row, event.seat)
            elif kind == "shortened":
                self._deadline[event.seat] = event.deadline.ToMilliseconds()
                self._shortened.add(event.seat)
            elif kind == "resumed":
                self._move(_ms(event.by))
            elif kind == "asked":
                for prompt in event.opened:
                    self._open(row, prompt)

    def _open(self, row: Commit, prompt: Any) -> None:
        self._shortened.discard(prompt.seat)
        deadline_ms = prompt.deadline.ToMilliseconds() if prompt.HasField("deadline") else 0
        self._deadline[prompt.seat] = deadline_ms
        self._asked[prompt.seat] = (row.at_ms, deadline_ms - row.at_ms)

    def _move(self, by_ms: int) -> None:
        for seat, at in self._deadline.items():
            self._deadline[seat] = at + by_ms if at else 0

    def _timed_out(self, row: Commit, seat: int) -> None:
        self._found.count("decisions timed out")
        deadline_ms = self._deadline.get(seat, 0)
        if not deadline_ms or deadline_ms > row.at_ms:
            self._found.fault("timed out", f"{row}: seat {seat} at {row.at_ms}, its clock ends at {deadline_ms}")
        if seat in self._shortened or seat not in self._asked:
            return
        asked_ms, clock_ms = self._asked[seat]
        lost_ms = sum(max(0, min(end, row.at_ms) - max(begin, asked_ms)) for begin, end in self._outages)
        if lost_ms >= LEAST_MS:
            self._found.count("timed out after an outage, with the whole clock")
        if row.at_ms - asked_ms < clock_ms + (lost_ms if lost_ms >= LEAST_MS else 0) - SLACK_MS:
            self._found.fault(
                "timed out",
                f"{row}: seat {seat} was asked {(row.at_ms - asked_ms) / 1000:.1f} s before and had"
                f" {clock_ms / 1000:.0f} s, and for {lost_ms / 1000:.1f} s nothing could be committed",
            )


def _ms(duration: Any) -> int:
    return int(duration.seconds * 1000 + duration.nanos // 1_000_000)
