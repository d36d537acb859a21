"""``WalletService``: the caller's credits, and where they came from and went."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from omnipoly.runtime import table_client
from omnipoly.wire.gen.gateway.v1 import wallet_pb2 as pb
from omnipoly.wire.gen.table.v1 import wallet_pb2

from . import checks

if TYPE_CHECKING:
    import grpc

    from .callers import Caller
    from .door import Door
    from .hub import Hub

SERVICE = pb.DESCRIPTOR.services_by_name["WalletService"].full_name
LEDGER_PAGE = 200


class WalletServicer:
    """The table's answers are the responses."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub

    def methods(self, door: Door) -> dict[str, grpc.RpcMethodHandler[Any, Any]]:
        """What is answered, by method."""
        return {
            "GetBalance": door.unary(pb.GetBalanceRequest, self.GetBalance),
            "ListLedger": door.unary(pb.ListLedgerRequest, self.ListLedger),
        }

    async def GetBalance(self, request: pb.GetBalanceRequest, caller: Caller, timeout_s: float) -> bytes:
        """The balance."""
        body = wallet_pb2.BalanceRequest(person=caller.person)
        return await self._ask(caller, "Balance", body, timeout_s)

    async def ListLedger(self, request: pb.ListLedgerRequest, caller: Caller, timeout_s: float) -> bytes:
        """A page of the ledger."""
        checks.page(request.page_size, LEDGER_PAGE, request.page_token)
        body = wallet_pb2.LedgerRequest(
            person=caller.person, page_size=request.page_size, page_token=request.page_token
        )
        return await self._ask(caller, "Ledger", body, timeout_s)

    async def _ask(self, caller: Caller, method: str, body: Any, timeout_s: float) -> bytes:
        tables = self._hub.upstream.tables
        return await tables.call(caller.person, method, body, timeout_s, service=table_client.WALLET)
