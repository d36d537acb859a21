"""Background tasks with an owner: a crash is logged, counted and started again; nothing outlives the app.

All tasks of an app live in one `asyncio.TaskGroup` that an owner task holds open, so that they may be spawned and ended
from anywhere in the loop.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Coroutine
from types import TracebackType
from typing import Any, Self

from omnipoly.runtime import logging, metrics

log = logging.get(__name__)

FIRST_BACKOFF_S = 0.1
LONGEST_BACKOFF_S = 30.0
AGAIN_S = 1.0
"""How long a task gets to end before it is cancelled once more."""
CALM_S = 60.0
"""A task that ran this long before it crashed begins with the first backoff again."""


class Tasks:
    """The supervisor; an async context manager. Leaving it cancels what still runs and waits for it."""

    def __init__(self) -> None:
        self._group: asyncio.TaskGroup | None = None
        self._closing = asyncio.Event()
        self._owner: asyncio.Task[None] | None = None
        self._running: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        opened: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._owner = asyncio.create_task(self._own(opened), name="tasks")
        await opened
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def spawn(self, name: str, factory: Callable[[], Coroutine[Any, Any, None]]) -> asyncio.Task[None]:
        """Runs `factory()` for ever: one that raises is logged, counted and, after a growing pause, made anew.

        name: a constant, it is a metric's label. One that returns is done. Cancel the task to end it.
        """
        return self._start(self._open_group(), self._supervise(name, factory), name)

    def once(self, name: str, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Runs to its end, owned; an exception is logged and counted, not repeated."""
        return self._start(self._open_group(), self._run_once(name, work), name)

    async def close(self) -> None:
        """Cancels every task and waits until all have ended."""
        if self._owner is None:
            return
        owner, self._owner = self._owner, None
        self._closing.set()
        # `asyncio.wait_for` of Python 3.11, for one, forgets a cancellation that comes with the end of what it awaits.
        while not (await asyncio.wait({owner}, timeout=AGAIN_S))[0]:
            for task in self._running:
                task.cancel()
        await owner

    def _start(self, group: asyncio.TaskGroup, work: Coroutine[Any, Any, None], name: str) -> asyncio.Task[None]:
        task = group.create_task(work, name=name)
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return task

    def _open_group(self) -> asyncio.TaskGroup:
        if self._group is None:
            raise RuntimeError("the supervisor of background tasks is not open")
        return self._group

    async def _own(self, opened: asyncio.Future[None]) -> None:
        try:
            async with asyncio.TaskGroup() as group:
                self._group = group
                opened.set_result(None)
                await self._closing.wait()
                raise _Closed
        except* _Closed:
            pass
        finally:
            self._group = None

    async def _supervise(self, name: str, factory: Callable[[], Coroutine[Any, Any, None]]) -> None:
        loop = asyncio.get_running_loop()
        backoff_s = FIRST_BACKOFF_S
        while True:
            begun = loop.time()
            try:
                await factory()
                return
            except Exception as error:
                if loop.time() - begun > CALM_S:
                    backoff_s = FIRST_BACKOFF_S
                metrics.TASK_CRASHES.labels(name).inc()
                log.exception("task_crashed", task=name, again_in_s=round(backoff_s, 3), error=repr(error))
            # Jitter: replicas that crash together do not come back together.
            await asyncio.sleep(backoff_s * random.uniform(0.75, 1.25))
            backoff_s = min(2 * backoff_s, LONGEST_BACKOFF_S)

    async def _run_once(self, name: str, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except Exception as error:
            metrics.TASK_CRASHES.labels(name).inc()
            log.exception("task_failed", task=name, error=repr(error))


class _Closed(Exception):
    """The owner closes its group."""
