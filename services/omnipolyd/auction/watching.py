"""Following auctions: each stream has a short queue, and a slow one gets the newest picture only."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator

from prometheus_client import Counter, Gauge

from omnipoly.rules.codes import Code
from omnipoly.runtime import failures
from omnipoly.runtime.following import Follower
from omnipoly.runtime.refusals import failure
from omnipoly.wire.gen.game.v1 import auction_pb2

from .book import AuctionBook

QUEUE = 16
"""Pictures that may wait for one stream; one more, and only the newest is left: it shows all that matters."""

FOLLOWERS = Gauge("omnipoly_auction_followers", "Streams that follow auctions.")
SKIPPED = Counter("omnipoly_auction_pictures_skipped_total", "Pictures that slow followers did not get.")


class Watching:
    """The streams that follow auctions."""

    def __init__(self, books: Follower[AuctionBook], *, most: int) -> None:
        """most: streams at once."""
        self._books = books
        self._most = most
        self._queues: set[_Queue] = set()

    def end(self) -> None:
        """Ends every stream with a reason that says: follow elsewhere."""
        for queue in self._queues:
            queue.end()

    async def follow(self, table: str, auction: int) -> AsyncIterator[auction_pb2.AuctionPicture]:
        """The auction's picture now and after each change, until it is over; 0: the running one, then each later one.

        Raises `Failure`: the table's, ``auction_closed`` for one whose end is forgotten or that is not known,
        RESOURCE_EXHAUSTED, and UNAVAILABLE when this replica stops.
        """
        if len(self._queues) >= self._most:
            raise failures.overloaded("Too many streams follow auctions here.", retry_after_s=1)
        book = await self._books.get(table)
        if auction and auction not in book.ended and auction != book.running:
            book = await self._books.current(table)
        queue = _Queue(auction)
        book.followers.add(queue)  # from here on nothing is missed
        self._queues.add(queue)
        FOLLOWERS.inc()
        try:
            if auction in book.ended:
                yield book.ended[auction]
                return
            if book.running and auction in {0, book.running}:
                queue.put(book.picture())
            elif auction:
                raise failure(Code.AUCTION_CLOSED)
            while True:
                picture = await queue.get()
                yield picture
                if picture.closed and auction:
                    return
        finally:
            FOLLOWERS.dec()
            self._queues.discard(queue)
            book.followers.discard(queue)


class _Queue:
    """What waits for one stream."""

    def __init__(self, auction: int) -> None:
        self._auction = auction
        self._pictures: deque[auction_pb2.AuctionPicture] = deque()
        self._wake = asyncio.Event()
        self._ended = False
        self._over = False

    def put(self, picture: auction_pb2.AuctionPicture) -> None:
        if self._auction and picture.auction != self._auction:
            return
        if len(self._pictures) >= QUEUE:
            SKIPPED.inc(len(self._pictures))
            self._pictures.clear()
        self._pictures.append(picture)
        self._wake.set()

    def only(self, running: int) -> None:
        if self._auction not in {0, running}:
            self._over = True
            self._wake.set()

    def end(self) -> None:
        self._ended = True
        self._wake.set()

    async def get(self) -> auction_pb2.AuctionPicture:
        while not self._pictures:
            if self._over:
                raise failure(Code.AUCTION_CLOSED)
            if self._ended:
                raise failures.unavailable("This replica is stopping; follow again.", retry_after_s=0.1)
            self._wake.clear()
            await self._wake.wait()
        return self._pictures.popleft()
