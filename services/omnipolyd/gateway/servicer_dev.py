"""``DevService``: positions, and a clock that is driven; registered under ``--dev`` alone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from omnipoly.wire.gen.gateway.v1 import dev_pb2 as pb
from omnipoly.wire.gen.table.v1 import table_pb2

from . import acting, checks

if TYPE_CHECKING:
    import grpc

    from .callers import Caller
    from .door import Door
    from .hub import Hub

SERVICE = pb.DESCRIPTOR.services_by_name["DevService"].full_name
LONGEST_ADVANCE_S = 30 * 86_400


class DevServicer:
    """For tests and scenarios."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub

    def methods(self, door: Door) -> dict[str, grpc.RpcMethodHandler[Any, Any]]:
        """What is answered, by method."""
        return {
            "SetUp": door.unary(pb.SetUpRequest, self.SetUp),
            "Advance": door.unary(pb.AdvanceRequest, self.Advance),
        }

    async def SetUp(self, request: pb.SetUpRequest, caller: Caller, timeout_s: float) -> bytes:
        """Sets a table up from a position."""
        body = table_pb2.SetUpRequest(identity=caller.identity, view=request.view)
        return await self._ask("SetUp", request, body, table_pb2.SetUpResponse, timeout_s)

    async def Advance(self, request: pb.AdvanceRequest, caller: Caller, timeout_s: float) -> bytes:
        """Moves a table's clock."""
        checks.seconds("by", request.by, most=LONGEST_ADVANCE_S)
        body = table_pb2.AdvanceRequest(identity=caller.identity, by=request.by)
        if request.HasField("script"):
            body.script.CopyFrom(request.script)
        return await self._ask("Advance", request, body, table_pb2.AdvanceResponse, timeout_s)

    async def _ask(self, method: str, request: Any, body: Any, response: Any, timeout_s: float) -> bytes:
        checks.table(request.table)
        checks.command_id(request.command_id)
        body.table, body.command_id = request.table, request.command_id
        answer = response.FromString(await self._hub.upstream.tables.call(request.table, method, body, timeout_s))
        self._hub.rooms.take(request.table, answer)
        return acting.without_prompts(answer)
