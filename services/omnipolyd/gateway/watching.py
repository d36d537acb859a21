"""A ``Watch`` stream: one table, nothing but what it shows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnipoly.runtime import metrics

from . import presence
from .streams import Stream

if TYPE_CHECKING:
    from omnipoly.wire.gen.gateway.v1 import watch_pb2

    from .outlet import Follower


class WatchStream(Stream):
    """One viewer's stream."""

    kind = "watch"
    sent = metrics.RPC_MSG_SENT.labels("server_stream", "omnipoly.gateway.v1.WatchService", "Watch")

    async def begin(self, request: watch_pb2.WatchRequest) -> None:
        """Brings the viewer in. Raises ``Failure``, which ends the stream."""
        resume = request.resume if request.HasField("resume") else None
        await self.enter(self.follow(request.table), resume, request.pin)

    def gone(self, follower: Follower) -> None:
        super().gone(follower)
        self._how = presence.CLOSED
        self.outlet.end()
