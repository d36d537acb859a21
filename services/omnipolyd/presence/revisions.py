"""Revisions of reports to tables: they grow across replicas and restarts, though nobody hands them out.

A revision is the wall clock in microseconds, never twice and never falling, its last digits this replica's own. What
others have used is heard from them and passed; one that starts beside others begins beyond what they may have used
since they were heard.
"""

from __future__ import annotations

from zlib import crc32

from .clock import Clock

TAGS = 64
MARGIN_US = 10_000_000
"""What a replica may have used since it was heard, and how far its clock may be ahead."""


class Revisions:
    """Hands out revisions."""

    def __init__(self, clock: Clock, replica: str) -> None:
        self._clock = clock
        self._tag = crc32(replica.encode()) % TAGS
        self._ticks = 0

    def next(self) -> int:
        """A revision beyond all handed out or heard of so far."""
        self._ticks = max(self._clock.now_ms() * 1000 // TAGS, self._ticks + 1)
        return self._ticks * TAGS + self._tag

    @property
    def last(self) -> int:
        """The last one handed out or heard of."""
        return self._ticks * TAGS

    def heard(self, revision: int) -> None:
        """Another replica has used revisions up to there."""
        self._ticks = max(self._ticks, revision // TAGS)

    def begin_beside(self, revision: int) -> None:
        """Another replica runs already and had used revisions up to there."""
        self.heard(revision + MARGIN_US)
