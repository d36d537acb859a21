"""``ChatService``: the chat at tables as plain calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from omnipoly.runtime import table_client
from omnipoly.wire.gen.gateway.v1 import chat_pb2 as pb
from omnipoly.wire.gen.table.v1 import chat_pb2

from . import checks, limits
from .hub import watching_refused

if TYPE_CHECKING:
    import grpc

    from .callers import Caller
    from .door import Door
    from .hub import Hub

SERVICE = pb.DESCRIPTOR.services_by_name["ChatService"].full_name


class ChatServicer:
    """Writing, reading, and taking the right to write."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub

    def methods(self, door: Door) -> dict[str, grpc.RpcMethodHandler[Any, Any]]:
        """What is answered, by method."""
        return {
            "Say": door.unary(pb.SayRequest, self.Say),
            "Lines": door.unary(pb.LinesRequest, self.Lines),
            "Mute": door.unary(pb.MuteRequest, self.Mute),
        }

    async def Say(self, request: pb.SayRequest, caller: Caller, timeout_s: float) -> pb.SayResponse:
        """Writes a line."""
        checks.table(request.table)
        checks.command_id(request.command_id)
        checks.command_size(request.ByteSize())
        answer = await self._hub.say(caller, request.table, request.command_id, request.text, timeout_s)
        return pb.SayResponse(line=answer.line, duplicate=answer.duplicate)

    async def Lines(self, request: pb.LinesRequest, caller: Caller, timeout_s: float) -> pb.LinesResponse:
        """A page of lines, for whoever may see the table."""
        checks.table(request.table)
        checks.pin(request.pin)
        checks.number("after", request.after)
        checks.page(request.page_size, limits.CHAT_LINES_KEPT)
        hub = self._hub
        if not (await hub.admit(caller, request.table, request.pin, timeout_s)).may_watch:
            raise watching_refused()
        answer = await hub.upstream.lines(request.table, request.after, request.page_size, timeout_s)
        return pb.LinesResponse(lines=answer.lines, last=answer.last)

    async def Mute(self, request: pb.MuteRequest, caller: Caller, timeout_s: float) -> bytes:
        """Takes from somebody the right to write, or gives it back. The table's answer is the response."""
        checks.table(request.table)
        checks.command_id(request.command_id)
        checks.text("person", request.person, 1, 64)
        body = chat_pb2.MuteRequest(
            table=request.table,
            identity=caller.identity,
            command_id=request.command_id,
            person=request.person,
            lift=request.lift,
        )
        if request.HasField("until"):
            body.until.CopyFrom(request.until)
        tables = self._hub.upstream.tables
        return await tables.call(request.table, "Mute", body, timeout_s, service=table_client.CHAT)
