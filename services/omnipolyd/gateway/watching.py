"""A ``Watch`` stream: one table, nothing but what it shows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from omnipoly.runtime import metrics

from . import presence
from .streams import Stream

if TYPE_CHECKING:
    from omnipoly.wire.gen.gateway.v1 import watch_pb2

    from .callers import Caller
    from .hub import Hub
    from .outlet import Follower


class WatchStream(Stream):
    """One viewer's stream."""

    kind = "watch"
    sent = metrics.RPC_MSG_SENT.labels("server_stream", "omnipoly.gateway.v1.WatchService", "Watch")

    def __init__(self, hub: Hub, caller: Caller, context: Any, request: watch_pb2.WatchRequest) -> None:
        super().__init__(hub, caller, context)
        self._request = request

    async def read(self) -> None:
        request = self._request
        resume = request.resume if request.HasField("resume") else None
        await self.enter(self.follow(request.table), resume, request.pin)

    def gone(self, follower: Follower) -> None:
        super().gone(follower)
        self._how = presence.CLOSED
        self.outlet.end()
