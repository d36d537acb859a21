"""Time as presence sees it: one object, so that tests can drive it."""

from __future__ import annotations

import asyncio
import time
from typing import Protocol


class Clock(Protocol):
    """What tells the time and waits for it."""

    def now_ms(self) -> int:
        """Milliseconds since 1970 UTC, the platform's clock."""

    async def wait(self, event: asyncio.Event, until_ms: int | None) -> None:
        """Returns when the event is set or the time has come; None: when the event is set."""


class WallClock:
    """The machine's clock."""

    def now_ms(self) -> int:
        return time.time_ns() // 1_000_000

    async def wait(self, event: asyncio.Event, until_ms: int | None) -> None:
        if event.is_set():
            return
        wait_s = None if until_ms is None else max(0.0, until_ms / 1000 - time.time())
        try:
            async with asyncio.timeout(wait_s):
                await event.wait()
        except TimeoutError:
            return
