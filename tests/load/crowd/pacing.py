"""Who acts when.

Closed: each player answers a decision a while after it came, so that a slow platform is asked less: what people do.
Open: a clock of its own says when the next command is due, and a command that finds nobody able to act waits for the
first who is; its time counts from when it was due. A slow platform cannot slow that clock down, so its queue is seen.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from random import Random
from typing import Protocol

Send = Callable[[float], Awaitable[None]]
"""Sends a player's answer; is given when it was due, by the event loop's clock."""


class Pace(Protocol):
    """Is told of whoever has something to answer."""

    def ready(self, send: Send) -> None:
        """A decision has come, and `send` answers it."""

    async def run(self, until: float) -> None:
        """Has commands sent until that time."""

    @property
    def overdue(self) -> int:
        """Commands that are due and have nobody to send them."""


class Closed:
    """Everybody at their own pace."""

    overdue = 0

    def __init__(self, think_s: float, random: Random) -> None:
        """think_s: half to one and a half of it passes between a decision and its answer."""
        self._think_s = think_s
        self._random = random
        self._going = False
        self._waiting: list[Send] = []
        self._tasks: set[asyncio.Task[None]] = set()

    def ready(self, send: Send) -> None:
        if not self._going:
            self._waiting.append(send)
            return
        task = asyncio.create_task(self._answer(send))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def run(self, until: float) -> None:
        self._going = True
        waiting, self._waiting = self._waiting, []
        for send in waiting:
            self.ready(send)
        await asyncio.sleep(until - asyncio.get_running_loop().time())
        self._going = False

    async def _answer(self, send: Send) -> None:
        if self._think_s:
            await asyncio.sleep(self._think_s * self._random.uniform(0.5, 1.5))
        await send(asyncio.get_running_loop().time())


class Open:
    """So many commands a second."""

    def __init__(self, per_s: float) -> None:
        self._every_s = 1 / per_s
        self._ready: deque[Send] = deque()
        self._due: deque[float] = deque()
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def overdue(self) -> int:
        return len(self._due)

    def ready(self, send: Send) -> None:
        self._ready.append(send)
        self._match()

    async def run(self, until: float) -> None:
        loop = asyncio.get_running_loop()
        due = loop.time()
        while due < until:
            await asyncio.sleep(max(0.0, due - loop.time()))
            while due <= loop.time() and due < until:
                self._due.append(due)
                due += self._every_s
            self._match()

    def _match(self) -> None:
        while self._due and self._ready:
            task = asyncio.ensure_future(self._ready.popleft()(self._due.popleft()))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
