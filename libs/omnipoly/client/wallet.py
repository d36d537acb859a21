"""One's own credits. Every call raises ``Refused`` when the answer is no."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

from omnipoly.wire.gen.gateway.v1 import wallet_pb2, wallet_pb2_grpc

if TYPE_CHECKING:
    from omnipoly.client.connection import Calls
    from omnipoly.wire.gen.game.v1 import platform_pb2


class Wallet:
    """The wallet of a session's person."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls
        self._stub = wallet_pb2_grpc.WalletServiceStub(calls.connection.channel)

    async def balance(self) -> int:
        """Credits in it."""
        return (await self._calls.call(self._stub.GetBalance, wallet_pb2.GetBalanceRequest())).balance

    async def ledger(self) -> AsyncIterator[platform_pb2.LedgerEntry]:
        """What came and went, the latest first, page by page as it is read."""
        request = wallet_pb2.ListLedgerRequest()
        async for page in self._calls.pages(self._stub.ListLedger, request):
            for entry in page.entries:
                yield entry
