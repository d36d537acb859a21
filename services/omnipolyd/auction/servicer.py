"""The contract of the auction service: messages in, messages out, nothing else."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import grpc

from omnipoly.rules.actions import Action, Bid, Pass
from omnipoly.rules.codes import Code
from omnipoly.runtime.refusals import failure
from omnipoly.runtime.unary import Asked, Unary
from omnipoly.wire import actions
from omnipoly.wire.gen.auction.v1 import auction_pb2
from omnipoly.wire.gen.table.v1 import table_pb2
from omnipoly.wire.malformed import Malformed

if TYPE_CHECKING:
    from .service import AuctionService

NAME = "omnipoly.auction.v1.AuctionService"

A = TypeVar("A", bound=Action)


def methods(service: AuctionService) -> Mapping[str, Unary]:
    """The methods that travel in frames too."""

    async def bid(request: auction_pb2.BidRequest, asked: Asked) -> auction_pb2.BidResponse:
        return auction_pb2.BidResponse(act=await service.carry(request.act, _action(request.act, Bid), asked))

    async def pass_(request: auction_pb2.PassRequest, asked: Asked) -> auction_pb2.PassResponse:
        return auction_pb2.PassResponse(act=await service.carry(request.act, _action(request.act, Pass), asked))

    async def get(request: auction_pb2.GetAuctionRequest, _: Asked) -> auction_pb2.GetAuctionResponse:
        _id(request.table, 36, "table")
        picture = await service.picture(request.table, request.auction, request.at_least)
        return auction_pb2.GetAuctionResponse(picture=picture)

    return {
        "Bid": Unary(auction_pb2.BidRequest, bid),
        "Pass": Unary(auction_pb2.PassRequest, pass_),
        "GetAuction": Unary(auction_pb2.GetAuctionRequest, get),
    }


def streams(service: AuctionService) -> dict[str, grpc.RpcMethodHandler[Any, Any]]:
    """The methods that are streams."""

    async def follow(request: auction_pb2.FollowRequest, _: Any) -> AsyncIterator[auction_pb2.FollowResponse]:
        _id(request.table, 36, "table")
        async for picture in service.watching.follow(request.table, request.auction):
            yield auction_pb2.FollowResponse(picture=picture)

    handler: Any = follow
    return {
        "Follow": grpc.unary_stream_rpc_method_handler(
            handler,
            request_deserializer=auction_pb2.FollowRequest.FromString,
            response_serializer=auction_pb2.FollowResponse.SerializeToString,
        )
    }


def _action(act: table_pb2.ActRequest, kind: type[A]) -> A:
    """The action that is to be carried. Raises `Failure` ``bad_request`` for what no table would take."""
    _id(act.table, 36, "table")
    _id(act.identity.person, 64, "person")
    _id(act.command_id, 64, "command id")
    try:
        action = actions.from_proto(act.action)
    except Malformed as error:
        raise failure(Code.BAD_REQUEST, error.sentence) from None
    if not isinstance(action, kind):
        raise failure(Code.BAD_REQUEST, f"That is no {kind.__name__.lower()}.")
    return action


def _id(value: str, longest: int, what: str) -> None:
    if not 0 < len(value) <= longest:
        raise failure(Code.BAD_REQUEST, f"The {what} has 1 to {longest} characters.")
