"""What waits for a reader of happenings: bounded, never in the way of the stream."""

from __future__ import annotations

import asyncio
import weakref
from collections import deque
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

from omnipoly.client.happenings import Missed

if TYPE_CHECKING:
    from omnipoly.client.happenings import Happening
    from omnipoly.client.refused import Refused

LONGEST = 10_000
"""Happenings that may wait for one reader; beyond, all of them go: the replicas are right all the same."""


class Feed(AsyncIterator["Happening"]):
    """One reader's queue; ends when the connection is closed, and raises what ended it otherwise."""

    def __init__(self) -> None:
        self._waiting: deque[Happening] = deque()
        self._some = asyncio.Event()
        self._ended = False
        self._error: Refused | None = None

    def put(self, happening: Happening) -> None:
        """Something happened."""
        if self._ended:
            return
        if len(self._waiting) >= LONGEST:
            missed = len(self._waiting)
            self._waiting.clear()
            self._waiting.append(Missed(missed))
        self._waiting.append(happening)
        self._some.set()

    def end(self, error: Refused | None = None) -> None:
        """Nothing more comes; what waits is still read."""
        self._ended, self._error = True, error
        self._some.set()

    async def __anext__(self) -> Happening:
        while not self._waiting:
            if self._ended:
                if self._error is not None:
                    raise self._error
                raise StopAsyncIteration
            self._some.clear()
            await self._some.wait()
        return self._waiting.popleft()


class Feeds:
    """All readers of one connection; one that nobody holds any more is forgotten."""

    def __init__(self) -> None:
        self._feeds: weakref.WeakSet[Feed] = weakref.WeakSet()
        self._ended = False
        self._error: Refused | None = None

    def open(self) -> Feed:
        """One more reader: it hears what happens from now on."""
        feed = Feed()
        if self._ended:
            feed.end(self._error)
        self._feeds.add(feed)
        return feed

    def put(self, happening: Happening) -> None:
        """Tell every reader."""
        for feed in self._feeds:
            feed.put(happening)

    def end(self, error: Refused | None = None) -> None:
        """Nothing more comes to anybody."""
        self._ended, self._error = True, error
        for feed in self._feeds:
            feed.end(error)
