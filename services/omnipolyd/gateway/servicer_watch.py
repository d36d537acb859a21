"""``WatchService``: following a table as a viewer, and what happened there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from omnipoly.wire.gen.gateway.v1 import watch_pb2 as pb
from omnipoly.wire.gen.table.v1 import table_pb2

from . import checks, limits
from .hub import watching_refused
from .watching import WatchStream

if TYPE_CHECKING:
    import grpc

    from .callers import Caller
    from .door import Door
    from .hub import Hub

SERVICE = pb.DESCRIPTOR.services_by_name["WatchService"].full_name
RECORD_PAGE = 500
RECORD_USUAL = 200


class WatchServicer:
    """The viewers' calls."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub

    def methods(self, door: Door) -> dict[str, grpc.RpcMethodHandler[Any, Any]]:
        """What is answered, by method."""
        return {
            "Watch": door.follow(pb.WatchRequest, self.Watch),
            "History": door.unary(pb.HistoryRequest, self.History),
            "Record": door.unary(pb.RecordRequest, self.Record),
        }

    async def Watch(self, request: pb.WatchRequest, caller: Caller, context: Any) -> None:
        """The stream."""
        checks.table(request.table)
        checks.pin(request.pin)
        await WatchStream(self._hub, caller, context, request).run()

    async def History(self, request: pb.HistoryRequest, caller: Caller, timeout_s: float) -> bytes:
        """A page of commits. The table's answer is the response."""
        checks.number("after", request.after)
        checks.page(request.page_size, limits.HISTORY_PAGE)
        await self._let_in(request, caller, timeout_s)
        body = table_pb2.CommitsRequest(table=request.table, after=request.after, page_size=request.page_size)
        return await self._hub.upstream.tables.call(request.table, "Commits", body, timeout_s)

    async def Record(self, request: pb.RecordRequest, caller: Caller, timeout_s: float) -> pb.RecordResponse:
        """A page of what happened, in sentences."""
        checks.page(request.page_size, RECORD_PAGE, request.page_token)
        checks.language(request.language)
        await self._let_in(request, caller, timeout_s)
        size = request.page_size or RECORD_USUAL
        return await self._hub.records.page(request.table, size, request.page_token, request.language)

    async def _let_in(self, request: Any, caller: Caller, timeout_s: float) -> None:
        checks.table(request.table)
        checks.pin(request.pin)
        admitted = await self._hub.admit(caller, request.table, request.pin, timeout_s)
        if not admitted.may_watch:
            raise watching_refused()
