"""``WatchService``: following a table as a viewer, and what happened there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from omnipoly.rules.codes import Code
from omnipoly.runtime import refusals
from omnipoly.wire.gen.game.v1 import table_pb2 as game_pb
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
RESULTS_PAGE = 100
RECORD_USUAL = 200


class WatchServicer:
    """The viewers' calls."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub

    def methods(self, door: Door) -> dict[str, grpc.RpcMethodHandler[Any, Any]]:
        """What is answered, by method."""
        auctions = {"GetAuction": door.unary(pb.GetAuctionRequest, self.GetAuction)}
        return {
            **(auctions if self._hub.upstream.has("auction") else {}),
            "Watch": door.follow(pb.WatchRequest, self.Watch),
            "History": door.unary(pb.HistoryRequest, self.History),
            "Record": door.unary(pb.RecordRequest, self.Record),
            "ListResults": door.unary(pb.ListResultsRequest, self.ListResults),
            "Leaderboard": door.unary(pb.LeaderboardRequest, self.Leaderboard),
            "Export": door.unary(pb.ExportRequest, self.Export),
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

    async def GetAuction(self, request: pb.GetAuctionRequest, caller: Caller, timeout_s: float) -> bytes:
        """The picture of an auction. The auction service's answer is the response."""
        checks.number("auction", request.auction)
        await self._let_in(request, caller, timeout_s)
        return await self._hub.upstream.auction(request.table, request.auction, timeout_s)

    async def ListResults(self, request: pb.ListResultsRequest, caller: Caller, timeout_s: float) -> bytes:
        """A page of finished games. The table's answer is the response."""
        checks.page(request.page_size, RESULTS_PAGE, request.page_token)
        body = table_pb2.ListResultsRequest(
            edition=request.edition,
            person=request.person,
            table=request.table,
            page_size=request.page_size,
            page_token=request.page_token,
        )
        return await self._hub.upstream.tables.call(request.table, "ListResults", body, timeout_s)

    async def Leaderboard(self, request: pb.LeaderboardRequest, caller: Caller, timeout_s: float) -> bytes:
        """A page of the ranking. The table's answer is the response."""
        checks.page(request.page_size, RESULTS_PAGE, request.page_token)
        body = table_pb2.LeaderboardRequest(
            edition=request.edition, month=request.month, page_size=request.page_size, page_token=request.page_token
        )
        return await self._hub.upstream.tables.call("", "Leaderboard", body, timeout_s)

    async def Export(self, request: pb.ExportRequest, caller: Caller, timeout_s: float) -> bytes:
        """A page of all that a finished game can be checked from. The table's answer is the response.

        Who may not watch may look at what is over: that the dice were fair is for everybody to check.
        """
        checks.table(request.table)
        checks.pin(request.pin)
        checks.page(request.page_size, limits.HISTORY_PAGE, request.page_token)
        await self._hub.admit(caller, request.table, request.pin, timeout_s)
        tables = self._hub.upstream.tables
        heads = (await tables.heads([request.table], timeout_s)).heads
        if not heads or heads[0].status != game_pb.TABLE_STATUS_OVER:
            raise refusals.failure(Code.WRONG_PHASE, "A game is exported once it is over.")
        body = table_pb2.ExportRequest(table=request.table, page_size=request.page_size, page_token=request.page_token)
        return await tables.call(request.table, "Export", body, timeout_s)

    async def _let_in(self, request: Any, caller: Caller, timeout_s: float) -> None:
        checks.table(request.table)
        checks.pin(request.pin)
        admitted = await self._hub.admit(caller, request.table, request.pin, timeout_s)
        if not admitted.may_watch:
            raise watching_refused()
