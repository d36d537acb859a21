"""Whether this process stood still: stopped, swapped out, frozen with its container, asleep with its machine.

Whoever stood still does not know it. What lay in its sockets meanwhile looks as if it had come just now, and what it
remembers looks as if it were still so. Two things go by this: a command's time, which has run on without us, and what
is told of people who may long be back. The second also goes by whether the wall clock was set: every time that is
remembered lies elsewhere then. The first does not.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from prometheus_client import Counter

from omnipoly.runtime import logging

log = logging.get(__name__)

TICK_S = 0.25
LEAST_S = 1.5
"""Less than this is a loop that is busy."""
LATELY_S = 1.0
"""So long after it what has waited in sockets may still come in."""
SET_S = 1.0
"""Less than this is a clock that is being brought in line."""

STANDSTILLS = Counter("omnipoly_standstills_total", "Times this process stood still for longer than 1.5 s.")
SETS = Counter("omnipoly_wall_clock_sets_total", "Times the wall clock was set by more than 1 s under this process.")


def _monotonic_s() -> float:
    """Seconds that also count while the machine sleeps, where the system has such a clock."""
    return time.clock_gettime(_CLOCK)


_CLOCK = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


class Standstill:
    """Ticks, and so sees when it did not."""

    def __init__(self, clock: Callable[[], float] = _monotonic_s, wall: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._wall = wall
        self._ticked = clock()
        self._apart_s = wall() - self._ticked
        """What the wall clock said beyond the other one, when that was last looked at."""
        self._ended = float("-inf")
        self._lasted_s = 0.0
        self._watching = False
        self.times = 0
        """How often it stood still."""
        self.sets = 0
        """How often the wall clock was set."""

    async def watch(self) -> None:
        """For ever; to be spawned."""
        self._watching, self._ticked = True, self._clock()
        while True:
            await asyncio.sleep(TICK_S)
            self.look()

    def look(self) -> None:
        """One tick."""
        now = self._clock()
        if now - self._ticked > LEAST_S:
            self._ended, self._lasted_s = now, now - self._ticked
            self.times += 1
            STANDSTILLS.inc()
            log.warning("stood_still", for_s=round(self._lasted_s, 2))
        self._ticked = now
        apart_s = self._wall() - now
        if abs(apart_s - self._apart_s) > SET_S:
            self.sets += 1
            SETS.inc()
            log.warning("wall_clock_set", by_s=round(apart_s - self._apart_s, 2))
            self._apart_s = apart_s

    def lately_s(self) -> float:
        """For how long the process stood still, if it goes on since a moment ago; else 0."""
        if not self._watching:
            return 0.0
        now = self._clock()
        if now - self._ticked > LEAST_S:
            self.look()  # whoever asks was faster than the tick
        return self._lasted_s if now - self._ended < LATELY_S else 0.0
