"""``TradesService``: the caller's open offers and drafts, which the trade service keeps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from omnipoly.wire.gen.gateway.v1 import trades_pb2 as pb
from omnipoly.wire.gen.table.v1 import table_pb2
from omnipoly.wire.gen.trade.v1 import trade_pb2

from . import acting, checks

if TYPE_CHECKING:
    import grpc

    from omnipoly.runtime.peers import Peers

    from .callers import Caller
    from .door import Door
    from .hub import Hub

SERVICE = pb.DESCRIPTOR.services_by_name["TradesService"].full_name
TRADE = "/omnipoly.trade.v1.TradeService/"
OFFERS_PAGE = 200
DRAFTS_PAGE = 100


class TradesServicer:
    """Carries calls about what belongs to the caller alone."""

    def __init__(self, hub: Hub, peers: Peers) -> None:
        """peers: the trade service."""
        self._hub = hub
        self._peers = peers

    def methods(self, door: Door) -> dict[str, grpc.RpcMethodHandler[Any, Any]]:
        """What is answered, by method."""
        return {
            "ListOffers": door.unary(pb.ListOffersRequest, self.ListOffers),
            "PrepareDraft": door.unary(pb.PrepareDraftRequest, self.PrepareDraft),
            "ListDrafts": door.unary(pb.ListDraftsRequest, self.ListDrafts),
            "SendDraft": door.unary(pb.SendDraftRequest, self.SendDraft),
            "DiscardDraft": door.unary(pb.DiscardDraftRequest, self.DiscardDraft),
        }

    async def ListOffers(self, request: pb.ListOffersRequest, caller: Caller, timeout_s: float) -> bytes:
        """A page of offers from and to the caller. The trade service's answer is the response."""
        _table_or_all(request.table)
        checks.page(request.page_size, OFFERS_PAGE, request.page_token)
        body = trade_pb2.ListOffersRequest(
            person=caller.person,
            table=request.table,
            page_size=request.page_size,
            page_token=request.page_token,
        )
        return await self._ask(request.table or caller.person, "ListOffers", body, timeout_s)

    # One replica keeps all drafts of a person.

    async def PrepareDraft(self, request: pb.PrepareDraftRequest, caller: Caller, timeout_s: float) -> bytes:
        """Keeps an offer to be sent later. The trade service's answer is the response."""
        checks.command_id(request.request_id, "request_id")
        checks.table(request.table)
        checks.command_size(request.ByteSize())
        body = trade_pb2.PrepareDraftRequest(
            identity=caller.identity, request_id=request.request_id, table=request.table, offer=request.offer
        )
        return await self._ask(caller.person, "PrepareDraft", body, timeout_s)

    async def ListDrafts(self, request: pb.ListDraftsRequest, caller: Caller, timeout_s: float) -> bytes:
        """A page of the caller's drafts. The trade service's answer is the response."""
        _table_or_all(request.table)
        checks.page(request.page_size, DRAFTS_PAGE, request.page_token)
        body = trade_pb2.ListDraftsRequest(
            person=caller.person,
            table=request.table,
            page_size=request.page_size,
            page_token=request.page_token,
        )
        return await self._ask(caller.person, "ListDrafts", body, timeout_s)

    async def SendDraft(self, request: pb.SendDraftRequest, caller: Caller, timeout_s: float) -> bytes:
        """Sends a draft: an offer like any other, which followers see at once."""
        checks.table(request.table)
        checks.command_id(request.command_id)
        checks.text("draft", request.draft, 1, 64)
        act = table_pb2.ActRequest(table=request.table, identity=caller.identity, command_id=request.command_id)
        act.timeout.FromMilliseconds(max(1, round(timeout_s * 1000)))
        body = trade_pb2.SendDraftRequest(draft=request.draft, act=act)
        answer = trade_pb2.SendDraftResponse.FromString(await self._ask(caller.person, "SendDraft", body, timeout_s))
        self._hub.rooms.take(request.table, answer.act)
        self._hub.called(caller, request.table, seated=True)
        return acting.without_prompts(answer.act)

    async def DiscardDraft(self, request: pb.DiscardDraftRequest, caller: Caller, timeout_s: float) -> bytes:
        """Throws a draft away. The trade service's answer is the response."""
        checks.command_id(request.request_id, "request_id")
        checks.text("draft", request.draft, 1, 64)
        body = trade_pb2.DiscardDraftRequest(person=caller.person, draft=request.draft, request_id=request.request_id)
        return await self._ask(caller.person, "DiscardDraft", body, timeout_s)

    async def _ask(self, key: str, method: str, body: Any, timeout_s: float) -> bytes:
        return await self._peers.call(key, TRADE + method, body.SerializeToString(), timeout_s, resend=True)


def _table_or_all(table: str) -> None:
    if table:
        checks.table(table)
