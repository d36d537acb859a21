"""Waiting for what will come: a condition and a deadline in the place of a sleep."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable

WITHIN_S = 20.0


async def eventually(condition: Callable[[], object | Awaitable[object]], within_s: float = WITHIN_S) -> None:
    """Returns once `condition()` is true; fails the test when it is not within the time, which only guards."""
    async with asyncio.timeout(within_s):
        while True:
            found = condition()
            if inspect.isawaitable(found):
                found = await found
            if found:
                return
            await asyncio.sleep(0.005)
