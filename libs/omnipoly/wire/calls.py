"""The plain calls of the public face that carry one action each: ``Roll(RollRequest)`` is the action ``roll``."""

from __future__ import annotations

from typing import Any, NamedTuple

from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from omnipoly.rules import actions
from omnipoly.rules.actions import Action
from omnipoly.wire.actions import derive, known_only, read, written
from omnipoly.wire.derive import Read, Unmapped, Write
from omnipoly.wire.gen.gateway.v1 import lobby_pb2, play_pb2

PROBLEMS: list[str] = []
"""What the two sides do not agree on; empty, or a test fails."""

_NAMED = {"RemoveSeat": "remove"}
"""Kinds by method, where the method is called otherwise."""


class Call(NamedTuple):
    """A method that carries one kind of action."""

    kind: str
    service: str
    """With its package."""
    method: str
    request: type[Message]
    response: type[Message]
    write: Write
    read: Read

    @property
    def path(self) -> str:
        """The full name by which gRPC calls it."""
        return f"/{self.service}/{self.method}"


def _snake(name: str) -> str:
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name).lstrip("_")


def _calls() -> dict[str, Call]:
    calls = {}
    for service in (
        lobby_pb2.DESCRIPTOR.services_by_name["LobbyService"],
        play_pb2.DESCRIPTOR.services_by_name["PlayService"],
    ):
        for method in service.methods:
            kind = _NAMED.get(method.name, _snake(method.name))
            if kind not in actions.KINDS:
                continue
            try:
                pair = derive.pair(actions.KINDS[kind], method.input_type, partly=True)
            except Unmapped as error:
                PROBLEMS.append(f"call {method.full_name}: {error}")
                continue
            request, response = GetMessageClass(method.input_type), GetMessageClass(method.output_type)
            calls[kind] = Call(kind, service.full_name, method.name, request, response, pair.write, pair.read)
    return calls


CALLS: dict[str, Call] = _calls()
"""Calls by kind of action. Kinds without one are none of a player's, or (``close_table``) an admin's own call."""

_BY_REQUEST = {call.request.DESCRIPTOR.full_name: call for call in CALLS.values()}


def from_request(request: Message) -> Action:
    """The action that a request carries; its table, command id and so on are the caller's to read.

    Raises ``Malformed`` as ``actions.from_proto`` does, and ``KeyError`` for a message that is no such request.
    """
    call = _BY_REQUEST[request.DESCRIPTOR.full_name]
    known_only(request)
    return read(call.read, request)  # type: ignore[no-any-return]


def to_request(action: Action, table: str, command_id: str, *, prompt_id: int = 0, if_version: int = 0) -> Any:
    """The request that carries an action.

    Raises ``Malformed`` for a number or text that its field cannot hold, and ``KeyError`` for a kind without a call.
    """
    call = CALLS[actions.kind_of(action)]
    request: Any = call.request()
    request.table, request.command_id = table, command_id
    request.prompt_id, request.if_version = prompt_id, if_version
    written(call.write, action, request)
    return request
