"""Plain calls that carry one action each: one handler for all of them, made from the contracts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from omnipoly.runtime import tracing
from omnipoly.wire import actions, calls
from omnipoly.wire.calls import Call
from omnipoly.wire.gen.table.v1 import table_pb2
from omnipoly.wire.malformed import Malformed

from . import checks

if TYPE_CHECKING:
    import grpc

    from .callers import Caller
    from .door import Door
    from .hub import Hub

NAMED = frozenset(("join", "add_bot", "take_seat"))
"""Actions that name somebody."""


def handlers(hub: Hub, door: Door, service: str) -> dict[str, grpc.RpcMethodHandler[Any, Any]]:
    """The handlers of all methods of a service, by its full name, that carry an action."""
    return {
        call.method: door.unary(call.request, _Acting(hub, call).act)
        for call in calls.CALLS.values()
        if call.service == service
    }


class _Acting:
    """One method."""

    def __init__(self, hub: Hub, call: Call) -> None:
        self._hub = hub
        self._kind = call.kind
        self._has_pin = "pin" in call.request.DESCRIPTOR.fields_by_name

    async def act(self, request: Any, caller: Caller, timeout_s: float) -> bytes:
        """Carries the action. The table's answer is the call's response but for its prompts."""
        hub, table = self._hub, request.table
        checks.table(table)
        checks.command_id(request.command_id)
        checks.tied(request.prompt_id, request.if_version)
        checks.command_size(request.ByteSize())
        try:
            action = actions.to_proto(calls.from_request(request))
        except Malformed as malformed:
            raise checks.bad(f"{malformed.sentence[:1].upper()}{malformed.sentence[1:]}.") from None
        named(self._kind, action, caller)
        body = table_pb2.ActRequest(
            table=table,
            action=action,
            command_id=request.command_id,
            prompt_id=request.prompt_id,
            if_version=request.if_version,
            traceparent=tracing.current_traceparent() or caller.traceparent,
        )
        if self._has_pin:
            checks.pin(request.pin)
            body.pin = request.pin
        body.timeout.FromMilliseconds(max(1, round(timeout_s * 1000)))
        answer = await hub.act(
            caller, self._kind, table, body.SerializeToString() + caller.act_field, timeout_s, body.traceparent
        )
        hub.called(caller, table, seated=True)
        return without_prompts(answer)


def named(kind: str, action: Any, caller: Caller) -> None:
    """Looks at the name that an action gives somebody; who takes a seat without one has their own."""
    if kind not in NAMED:
        return
    body = getattr(action, kind)
    if body.name:
        body.name = checks.name(body.name)
    elif kind == "take_seat":
        body.name = caller.name


def without_prompts(answer: Any) -> bytes:
    """An answer of the table's as the public responses have it: the same fields, but for the last."""
    answer.ClearField("prompts")
    return bytes(answer.SerializeToString())
