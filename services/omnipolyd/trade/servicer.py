"""The contract of the trade service: messages in, messages out, nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeVar

from omnipoly.rules.actions import Accept, Action, Offer, Refuse, Withdraw
from omnipoly.rules.codes import Code
from omnipoly.runtime.refusals import failure
from omnipoly.runtime.unary import Asked, Unary
from omnipoly.wire import actions
from omnipoly.wire.gen.game.v1 import actions_pb2
from omnipoly.wire.gen.table.v1 import table_pb2
from omnipoly.wire.gen.trade.v1 import trade_pb2
from omnipoly.wire.malformed import Malformed

if TYPE_CHECKING:
    from .service import TradeService

NAME = "omnipoly.trade.v1.TradeService"
OFFERS_A_PAGE = 200
DRAFTS_A_PAGE = 100

A = TypeVar("A", bound=Action)


def methods(service: TradeService) -> Mapping[str, Unary]:
    """The methods."""

    async def propose(request: trade_pb2.ProposeRequest, asked: Asked) -> trade_pb2.ProposeResponse:
        return trade_pb2.ProposeResponse(act=await service.carry(request.act, _action(request.act, Offer), asked))

    async def accept(request: trade_pb2.AcceptRequest, asked: Asked) -> trade_pb2.AcceptResponse:
        return trade_pb2.AcceptResponse(act=await service.carry(request.act, _action(request.act, Accept), asked))

    async def refuse(request: trade_pb2.RefuseRequest, asked: Asked) -> trade_pb2.RefuseResponse:
        return trade_pb2.RefuseResponse(act=await service.carry(request.act, _action(request.act, Refuse), asked))

    async def withdraw(request: trade_pb2.WithdrawRequest, asked: Asked) -> trade_pb2.WithdrawResponse:
        return trade_pb2.WithdrawResponse(act=await service.carry(request.act, _action(request.act, Withdraw), asked))

    async def list_offers(request: trade_pb2.ListOffersRequest, _: Asked) -> trade_pb2.ListOffersResponse:
        _text(request.person, 1, 64, "person")
        _text(request.table, 0, 36, "table")
        most = _page_size(request.page_size, OFFERS_A_PAGE)
        offers, token = await service.offers.of(request.person, request.table, most, request.page_token)
        return trade_pb2.ListOffersResponse(offers=offers, next_page_token=token)

    async def prepare(request: trade_pb2.PrepareDraftRequest, _: Asked) -> trade_pb2.PrepareDraftResponse:
        _text(request.identity.person, 1, 64, "person")
        _text(request.request_id, 1, 64, "request id")
        _text(request.table, 1, 36, "table")
        _read(actions_pb2.Action(offer=request.offer), Offer)
        draft = service.drafts.prepare(request.identity.person, request.request_id, request.table, request.offer)
        return trade_pb2.PrepareDraftResponse(draft=draft)

    async def list_drafts(request: trade_pb2.ListDraftsRequest, _: Asked) -> trade_pb2.ListDraftsResponse:
        _text(request.person, 1, 64, "person")
        _text(request.table, 0, 36, "table")
        most = _page_size(request.page_size, DRAFTS_A_PAGE)
        drafts = service.drafts.of(request.person, request.table)
        ids = [draft.draft for draft in drafts]
        begin = ids.index(request.page_token) + 1 if request.page_token in ids else 0
        page = drafts[begin : begin + most]
        token = page[-1].draft if begin + most < len(drafts) else ""
        return trade_pb2.ListDraftsResponse(drafts=page, next_page_token=token)

    async def send(request: trade_pb2.SendDraftRequest, asked: Asked) -> trade_pb2.SendDraftResponse:
        act = request.act
        _ids(act)
        offer = service.drafts.to_send(act.identity.person, request.draft, act.table, act.command_id)
        act.action.offer.CopyFrom(offer)
        answer = await service.send_draft(request.draft, act, _action(act, Offer), asked)
        return trade_pb2.SendDraftResponse(act=answer)

    async def discard(request: trade_pb2.DiscardDraftRequest, _: Asked) -> trade_pb2.DiscardDraftResponse:
        _text(request.person, 1, 64, "person")
        _text(request.draft, 1, 64, "draft")
        _text(request.request_id, 1, 64, "request id")
        return trade_pb2.DiscardDraftResponse(
            existed=service.drafts.discard(request.person, request.draft, request.request_id)
        )

    return {
        "Propose": Unary(trade_pb2.ProposeRequest, propose),
        "Accept": Unary(trade_pb2.AcceptRequest, accept),
        "Refuse": Unary(trade_pb2.RefuseRequest, refuse),
        "Withdraw": Unary(trade_pb2.WithdrawRequest, withdraw),
        "ListOffers": Unary(trade_pb2.ListOffersRequest, list_offers),
        "PrepareDraft": Unary(trade_pb2.PrepareDraftRequest, prepare),
        "ListDrafts": Unary(trade_pb2.ListDraftsRequest, list_drafts),
        "SendDraft": Unary(trade_pb2.SendDraftRequest, send),
        "DiscardDraft": Unary(trade_pb2.DiscardDraftRequest, discard),
    }


def _action(act: table_pb2.ActRequest, kind: type[A]) -> A:
    """The action that is to be carried. Raises `Failure` ``bad_request`` for what no table would take."""
    _ids(act)
    return _read(act.action, kind)


def _ids(act: table_pb2.ActRequest) -> None:
    _text(act.table, 1, 36, "table")
    _text(act.identity.person, 1, 64, "person")
    _text(act.command_id, 1, 64, "command id")


def _read(message: actions_pb2.Action, kind: type[A]) -> A:
    try:
        action = actions.from_proto(message)
    except Malformed as error:
        raise failure(Code.BAD_REQUEST, error.sentence) from None
    if not isinstance(action, kind):
        raise failure(Code.BAD_REQUEST, f"That is no {kind.__name__.lower()}.")
    return action


def _text(value: str, least: int, longest: int, what: str) -> None:
    if not least <= len(value) <= longest:
        raise failure(Code.BAD_REQUEST, f"The {what} has {least} to {longest} characters.")


def _page_size(asked: int, most: int) -> int:
    if not 0 <= asked <= most:
        raise failure(Code.BAD_REQUEST, f"A page has 1 to {most} entries.")
    return asked or most
