"""``PlayService``: the stream, and each action as a plain call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from omnipoly.wire.gen.gateway.v1 import play_pb2 as pb
from omnipoly.wire.gen.table.v1 import table_pb2

from . import acting, checks
from .playing import PlayStream

if TYPE_CHECKING:
    import grpc

    from .callers import Caller
    from .door import Door
    from .hub import Hub

SERVICE = pb.DESCRIPTOR.services_by_name["PlayService"].full_name


class PlayServicer:
    """What is no action's own call."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub

    def methods(self, door: Door) -> dict[str, grpc.RpcMethodHandler[Any, Any]]:
        """What is answered, by method."""
        return {
            **acting.handlers(self._hub, door, SERVICE),
            "Play": door.two_way(self.Play),
            "Legal": door.unary(pb.LegalRequest, self.Legal),
        }

    async def Play(self, caller: Caller, context: Any) -> None:
        """The stream."""
        await PlayStream(self._hub, caller, context).run()

    async def Legal(self, request: pb.LegalRequest, caller: Caller, timeout_s: float) -> bytes:
        """What the caller's seat may do. The table's answer is the response."""
        checks.table(request.table)
        checks.number("at_least", request.at_least)
        body = table_pb2.LegalRequest(table=request.table, person=caller.person, at_least=request.at_least)
        answer = await self._hub.upstream.look("Legal", request.table, body, timeout_s)
        self._hub.called(caller, request.table, seated=True)
        return answer
