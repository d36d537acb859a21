"""One timer of the event loop for everything that waits for a time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

LONGEST_S = 1.0
"""The wall clock may be set meanwhile: it is looked at this often."""


class Timer:
    """Calls `fire` when a wall time has come; set again, it keeps the earlier time."""

    def __init__(self, fire: Callable[[], None]) -> None:
        """fire: is called in the event loop, and sets the timer anew for what comes next."""
        self._fire = fire
        self._loop = asyncio.get_running_loop()
        self._handle: asyncio.Handle | None = None
        self.when_s = 0.0
        """When `fire` is called next, by the event loop's clock; uvloop's handles do not always know."""

    def at(self, at_ms: int) -> None:
        """Has `fire` called at that time, or soon when it has passed; not later than it would be called anyway."""
        wait_s = at_ms / 1000 - time.time()
        when = self._loop.time() + min(max(wait_s, 0.0), LONGEST_S)
        if self._handle is not None:
            if self.when_s <= when:
                return
            self._handle.cancel()
        self.when_s = when
        self._handle = self._loop.call_at(when, self._run)

    def soon(self) -> None:
        """Has `fire` called in the next round of the event loop."""
        self.at(0)

    def cancel(self) -> None:
        """Calls nothing any more, unless it is set again."""
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None

    def _run(self) -> None:
        self._handle = None
        self._fire()
