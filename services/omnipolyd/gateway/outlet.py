"""A stream's way out: a queue bounded in messages and bytes, and one writer: a slow reader delays nobody but itself.

What a followed table shows may be dropped, for a snapshot takes its place once the reader has caught up with the rest.
Answers to a client's own requests are never dropped: a client too slow even for those loses its stream.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from prometheus_client import Counter

from omnipoly.rules.codes import Code
from omnipoly.runtime import refusals

from . import frames, limits, talk

if TYPE_CHECKING:
    from omnipoly.runtime.failures import Failure

    from .callers import Caller
    from .room import Room

BEHIND = Counter("omnipoly_gateway_behind_total", "Times a stream was too slow for a table and gets a snapshot.")
CUT = Counter("omnipoly_gateway_cut_total", "Streams ended because they were too slow for their own answers.")


class Follower:
    """One table on one stream."""

    __slots__ = (
        "admitted",
        "caller",
        "chat",
        "entered",
        "gone",
        "held",
        "live",
        "outlet",
        "plays",
        "prompted",
        "room",
        "seated",
    )

    def __init__(
        self, room: Room, outlet: Outlet, caller: Caller, *, plays: bool, gone: Callable[[Follower], None]
    ) -> None:
        """plays: a ``Play`` stream, which also gets prompts. gone: called when the table is kept no longer."""
        self.room = room
        self.outlet = outlet
        self.caller = caller
        self.plays = plays
        self.gone = gone
        self.admitted = False
        """The table has let the caller in."""
        self.seated = False
        """The caller has a seat, as far as known."""
        self.chat = 0
        """The number of the last line of the chat that is on its way to the caller, or with them."""
        self.entered = False
        """Presence knows of it."""
        self.prompted = 0
        """The version as of which the caller's decision was last told here."""
        self.live = False
        """Everything the room has shown is on its way; otherwise a snapshot or what was missed comes first."""
        self.held: list[tuple[int, bytes]] = []
        """Answers that must not overtake their commits: (version to be shown first, answer)."""


class Outlet:
    """What waits for one stream, and the loop that writes it."""

    __slots__ = (
        "_closing",
        "_idle",
        "_loop",
        "_waiter",
        "behind",
        "bytes",
        "ended",
        "held",
        "held_bytes",
        "limit",
        "most_bytes",
        "queue",
    )

    def __init__(self, *, bots: bool = False, idle: Callable[[], None] | None = None) -> None:
        """bots: a stream of the platform's bots, which follows very many tables. idle: called when a stream that is
        behind has nothing left to write."""
        self.queue: deque[tuple[Follower | None, bytes]] = deque()
        self.limit = 64 * limits.QUEUE if bots else limits.QUEUE
        self.most_bytes = 64 * limits.QUEUE_BYTES if bots else limits.QUEUE_BYTES
        self.bytes = 0
        """What the queue weighs."""
        self.behind: dict[Follower, None] = {}
        """Tables that need a snapshot before anything else."""
        self.held = 0
        """Answers that followers hold."""
        self.held_bytes = 0
        """What those weigh."""
        self._loop = asyncio.get_running_loop()
        self.ended: asyncio.Future[None] = self._loop.create_future()
        """Done when the stream is to end: with ``Failure``, or without when it is simply over."""
        self._idle = idle
        self._waiter: asyncio.Future[None] | None = None
        self._closing = False

    def push(self, follower: Follower, data: bytes) -> None:
        """Sends what a table shows; when too much waits, the table falls behind on this stream."""
        queue = self.queue
        weight = self.bytes + len(data)
        if len(queue) >= self.limit or (weight > self.most_bytes and queue):
            self.fall_behind(follower)
            return
        self.bytes = weight
        queue.append((follower, data))
        waiter = self._waiter
        if waiter is not None:
            self._wake(waiter)

    def answer(self, data: bytes) -> None:
        """Sends an answer; when even those are too many, the stream ends."""
        if self._full(data) and not self._make_room(data):
            return
        self.bytes += len(data)
        self.queue.append((None, data))
        if self._waiter is not None:
            self._wake(self._waiter)

    def hold(self, follower: Follower, version: int, data: bytes) -> None:
        """Keeps an answer until its table has been shown up to ``version`` here."""
        if self._full(data) and not self._make_room(data):
            return
        follower.held.append((version, data))
        self.held += 1
        self.held_bytes += len(data)

    def release(self, follower: Follower, version: int) -> None:
        """Sends the answers whose commits have been shown, now up to ``version``."""
        held, follower.held = follower.held, []
        self.held -= len(held)
        for _, data in held:
            self.held_bytes -= len(data)
        for wanted, data in held:
            if wanted <= version:
                self.answer(data)
            else:
                follower.held.append((wanted, data))
                self.held += 1
                self.held_bytes += len(data)

    def fall_behind(self, follower: Follower) -> None:
        """Takes a table off the queue: a snapshot follows when the stream has written the rest."""
        follower.room.drop(follower)
        self.forget(follower)
        self.behind[follower] = None
        BEHIND.inc()
        if self._waiter is not None:
            self._wake(self._waiter)

    def forget(self, follower: Follower) -> None:
        """Drops what waits of a table."""
        self.behind.pop(follower, None)
        if any(one is follower for one, _ in self.queue):
            lines = [number for one, data in self.queue if one is follower and (number := talk.number_of(data))]
            follower.chat = min(lines, default=follower.chat + 1) - 1
            kept = [item for item in self.queue if item[0] is not follower]
            self.queue.clear()
            self.queue.extend(kept)
            self.bytes = sum(len(data) for _, data in kept)

    def end(self, failure: Failure | None = None) -> None:
        """Has the stream end, at once."""
        if not self.ended.done():
            if failure is None:
                self.ended.set_result(None)
            else:
                self.ended.set_exception(failure)

    def close(self) -> None:
        """Has ``write_all`` return once everything is written."""
        self._closing = True
        if self._waiter is not None:
            self._wake(self._waiter)

    async def write_all(self, write: Callable[[bytes], Awaitable[Any]], sent: Counter) -> None:
        """Writes until closed, and counts what was sent. Whatever ``write`` raises ends it."""
        queue = self.queue
        while True:
            count = 0
            try:
                while queue:
                    data, messages = queue.popleft()[1], 1
                    weight = len(data)
                    if queue:
                        data, messages, weight = frames.together(data, queue)
                    self.bytes -= weight
                    await write(data)
                    count += messages
            finally:
                sent.inc(count)
            if self._closing:
                return
            if self.behind and self._idle is not None:
                self._idle()
            self._waiter = self._loop.create_future()
            await self._waiter

    def _wake(self, waiter: asyncio.Future[None]) -> None:
        self._waiter = None
        if not waiter.done():
            waiter.set_result(None)

    def _full(self, data: bytes) -> bool:
        """Whether there is no room for an answer."""
        waiting = len(self.queue) + self.held
        return waiting >= self.limit or (self.bytes + self.held_bytes + len(data) > self.most_bytes and waiting > 0)

    def _make_room(self, data: bytes) -> bool:
        """Drops what tables show in favour of an answer; False, and the stream ends, when there is nothing to drop."""
        for follower in {one: None for one, _ in self.queue if one is not None}:
            self.fall_behind(follower)
        if not self._full(data):
            return True
        CUT.inc()
        self.end(
            refusals.failure(
                Code.RATE_LIMITED,
                "The stream is too slow for the answers to its own commands.",
                retry_after_s=1,
            )
        )
        return False
