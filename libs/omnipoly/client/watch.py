"""Watching: one stream for one table, which comes back by itself."""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from omnipoly.client.connection import TIMEOUT_S
from omnipoly.client.feed import Feed, Feeds
from omnipoly.client.following import Following, Refollow
from omnipoly.client.happenings import Gone
from omnipoly.client.refused import Refused, unanswered
from omnipoly.client.stream import Stream
from omnipoly.wire.gen.gateway.v1 import watch_pb2, watch_pb2_grpc

if TYPE_CHECKING:
    from omnipoly.client.connection import Calls
    from omnipoly.client.editions import Editions
    from omnipoly.client.record import Tell
    from omnipoly.client.replica import TableReplica
    from omnipoly.rules.ring import Game


class Watch:
    """A viewer's connection. Made by ``Session.watch``; an async context manager, and iterated for what happens."""

    def __init__(self, calls: Calls, editions: Editions, table: str, *, pin: str = "", tell: Tell = False) -> None:
        """For ``Session.watch`` alone."""
        self._calls = calls
        self._editions = editions
        self._stub = watch_pb2_grpc.WatchServiceStub(calls.connection.channel)
        self._following = Following(table, pin, tell=tell, game_of=self._game_of)
        self._feeds = Feeds()
        self._left = False
        # A viewer's stream says nothing once it is open: under a new token it is opened again, and goes on from there.
        self._stream = Stream(calls.tokens, self._open, _nothing, self._heard, lambda token: self.drop(), self._end)

    async def __aenter__(self) -> Self:
        self._stream.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Watch no longer."""
        await self._stream.close()

    def drop(self) -> None:
        """Break the stream, as a lost network would; it comes back by itself."""
        self._stream.drop()

    async def replica(self, timeout_s: float = TIMEOUT_S) -> TableReplica:
        """The table's replica, once it is up to date. Raises ``Refused``."""
        try:
            async with asyncio.timeout(timeout_s):
                return await asyncio.shield(self._following.ready)
        except TimeoutError:
            raise unanswered(f"To watch {self._following.table}") from None

    def __aiter__(self) -> Feed:
        """What happens from now on; each iterator hears everything."""
        return self._feeds.open()

    def _open(self, metadata: Any) -> Any:
        following = self._following
        following.again()
        request = watch_pb2.WatchRequest(table=following.table, resume=following.resume, pin=following.pin)
        return self._stub.Watch(request, metadata=metadata)

    async def _heard(self, response: watch_pb2.WatchResponse) -> None:
        kind = response.WhichOneof("response")
        if kind == "reconnect":
            self._stream.renew(response.reconnect)
        elif kind == "left":
            self._feeds.put(Gone(self._following.table, "left", "This table is watched no longer."))
            raise Refused("not_seated", "This table is watched no longer.")
        else:
            try:
                happening = await self._following.take(response)
            except Refollow:
                self._stream.drop()
                return
            if happening is not None:
                self._feeds.put(happening)

    def _end(self, error: Refused | None) -> None:
        if not self._following.ready.done():
            self._following.ready.set_exception(error or Refused("unavailable", "The connection is closed."))
            self._following.ready.exception()
        self._feeds.end(error)

    async def _game_of(self, edition: str, digest: str) -> Game:
        return await self._editions.game(self._calls, edition, digest)


async def _nothing(call: Any) -> None:
    """A watch asks once, when it is opened."""
