"""What the gateway asks of other services, as frames; and which way a command takes.

Bids and offers go through the services that are there for them. Those only carry what the table decides, under the
same command id, so a way that is closed is gone round: the table answers the same whichever way a command came, and
once.
"""

from __future__ import annotations

import asyncio
import random
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakValueDictionary

import grpc
from prometheus_client import Counter

from omnipoly.runtime import failures, logging, table_client
from omnipoly.runtime.failures import Failure
from omnipoly.wire.gen.auction.v1 import auction_pb2
from omnipoly.wire.gen.table.v1 import chat_pb2, table_pb2
from omnipoly.wire.gen.trade.v1 import trade_pb2

from . import frames

if TYPE_CHECKING:
    from google.protobuf.message import Message

    from omnipoly.runtime.peers import Peers
    from omnipoly.runtime.table_client import TableClient

log = logging.get(__name__)

RECHECK_S = 5.0
LOOKS = 8
"""Pictures, admissions and decisions asked of one table at once: its queue is short, and commands come first."""
CLOSED_S = 5.0
"""How long a way that failed is gone round before it is tried again."""

ROUNDABOUT = Counter(
    "omnipoly_gateway_roundabout_total", "Commands that went straight to the table, their own way closed.", ("service",)
)


class _Way(NamedTuple):
    """The way of a kind of action through another service than the table."""

    service: str
    method: str
    answer: type[Message]
    """Wraps the table's answer in its field ``act``, number 1, as the request wraps what the table gets."""


WAYS: dict[str, _Way] = {
    "bid": _Way("auction", "/omnipoly.auction.v1.AuctionService/Bid", auction_pb2.BidResponse),
    "pass": _Way("auction", "/omnipoly.auction.v1.AuctionService/Pass", auction_pb2.PassResponse),
    "offer": _Way("trade", "/omnipoly.trade.v1.TradeService/Propose", trade_pb2.ProposeResponse),
    "accept": _Way("trade", "/omnipoly.trade.v1.TradeService/Accept", trade_pb2.AcceptResponse),
    "refuse": _Way("trade", "/omnipoly.trade.v1.TradeService/Refuse", trade_pb2.RefuseResponse),
    "withdraw": _Way("trade", "/omnipoly.trade.v1.TradeService/Withdraw", trade_pb2.WithdrawResponse),
}
"""By kind of action; every other kind goes to the table."""


class Upstream:
    """The services behind the gateway."""

    def __init__(self, tables: TableClient, others: dict[str, Peers]) -> None:
        """others: by name, ``auction`` and ``trade``, as far as they are configured."""
        self.tables = tables
        """What is asked without further ado: pages of commits, heads, lists. Each raises ``Failure``."""
        self._others = others
        self._closed_until = dict.fromkeys(others, 0.0)
        self._gates: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()

    def has(self, service: str) -> bool:
        """Whether a service beside the table is configured."""
        return service in self._others

    async def look(self, method: str, table: str, request: Message, timeout_s: float) -> bytes:
        """Calls a method that only looks at a table, few at a time, and waits where the table's queue is full.

        Raises the table's ``Failure``, UNAVAILABLE, DEADLINE_EXCEEDED.
        """
        gate = self._gates.get(table)
        if gate is None:
            gate = self._gates[table] = asyncio.Semaphore(LOOKS)
        until = asyncio.get_running_loop().time() + timeout_s
        body = request.SerializeToString()
        try:
            async with asyncio.timeout_at(until):
                await gate.acquire()
        except TimeoutError:
            raise failures.overloaded("Too many look at this table.") from None
        try:
            while True:
                left_s = until - asyncio.get_running_loop().time()
                try:
                    return await self.tables.call(table, method, body, left_s)
                except Failure as failure:
                    pause_s = (failure.retry_after_s or 0) * random.uniform(0.5, 1.5)
                    if failure.status is not grpc.StatusCode.RESOURCE_EXHAUSTED or not 0 < pause_s < left_s:
                        raise
                await asyncio.sleep(pause_s)
        finally:
            gate.release()

    async def act(self, kind: str, table: str, body: bytes, timeout_s: float, traceparent: str = "") -> Any:
        """Carries a command, a serialized ``ActRequest``; the table's ``ActResponse``.

        Raises ``Failure`` as ``look`` does.
        """
        way = WAYS.get(kind)
        if way is not None and way.service in self._others:
            loop = asyncio.get_running_loop()
            began = loop.time()
            if began >= self._closed_until[way.service]:
                try:
                    answer: Any = way.answer.FromString(
                        await self._others[way.service].call(
                            table, way.method, frames.field(1, body), timeout_s, resend=True, traceparent=traceparent
                        )
                    )
                except Failure as failure:
                    if failure.status not in {grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.UNIMPLEMENTED}:
                        raise
                    self._closed_until[way.service] = loop.time() + CLOSED_S
                    log.warning("way_closed", service=way.service, cause=str(failure), for_s=CLOSED_S)
                else:
                    return answer.act
                timeout_s -= loop.time() - began
            ROUNDABOUT.labels(way.service).inc()
        return table_pb2.ActResponse.FromString(await self.tables.call(table, "Act", body, timeout_s, traceparent))

    async def read(self, table: str, at_least: int, timeout_s: float = 10.0) -> tuple[bytes, int, int]:
        """A table's picture: a serialized ``ReadResponse``, the version and the epoch it shows."""
        request = table_pb2.ReadRequest(table=table, at_least=at_least)
        data = await self.look("Read", table, request, timeout_s)
        view = table_pb2.ReadResponse.FromString(data).view
        return data, view.version, view.epoch

    async def auction(self, table: str, number: int, timeout_s: float) -> bytes:
        """The picture of an auction, a serialized ``GetAuctionResponse``; 0: the one that runs. Raises ``Failure``."""
        request = auction_pb2.GetAuctionRequest(table=table, auction=number)
        return await self._others["auction"].call(
            table, "/omnipoly.auction.v1.AuctionService/GetAuction", request.SerializeToString(), timeout_s, resend=True
        )

    async def legal(
        self, table: str, person: str, at_least: int, timeout_s: float = 10.0, *, answers_only: bool = False
    ) -> table_pb2.LegalResponse:
        """What a person's seat may do; answers_only: in answer to its open decision."""
        request = table_pb2.LegalRequest(table=table, person=person, at_least=at_least, answers_only=answers_only)
        return table_pb2.LegalResponse.FromString(await self.look("Legal", table, request, timeout_s))

    async def admit(self, table: str, identity: Any, pin: str, timeout_s: float = 10.0) -> table_pb2.AdmitResponse:
        """Whether somebody may follow a table, and as what. Raises ``Failure`` when not."""
        request = table_pb2.AdmitRequest(
            table=table, identity=identity, purpose=table_pb2.AdmitRequest.PURPOSE_FOLLOW, pin=pin
        )
        return table_pb2.AdmitResponse.FromString(await self.look("Admit", table, request, timeout_s))

    async def recheck(self, table: str, persons: list[str]) -> table_pb2.RecheckResponse:
        """Which of some persons may follow a table no longer. Raises ``Failure``."""
        request = table_pb2.RecheckRequest(table=table, persons=persons)
        return table_pb2.RecheckResponse.FromString(await self.tables.call(table, "Recheck", request, RECHECK_S))

    async def lines(
        self, table: str, after: int, page_size: int = 0, timeout_s: float = 5.0
    ) -> chat_pb2.ChatLinesResponse:
        """Lines of a table's chat after a number. Raises ``Failure``."""
        request = chat_pb2.ChatLinesRequest(table=table, after=after, page_size=page_size)
        answer = await self.tables.call(table, "ChatLines", request, timeout_s, service=table_client.CHAT)
        return chat_pb2.ChatLinesResponse.FromString(answer)
