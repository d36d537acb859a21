"""Actions of the engine, of the contract, and the plain calls that carry one each."""

from __future__ import annotations

from typing import Any

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import DecodeError, Message
from google.protobuf.unknown_fields import UnknownFieldSet

from omnipoly.rules import actions
from omnipoly.rules.actions import Action
from omnipoly.wire.derive import Deriver, Read, Unmapped, Write, message_of
from omnipoly.wire.gen.game.v1 import actions_pb2
from omnipoly.wire.malformed import Malformed
from omnipoly.wire.rows import LONGEST

PROBLEMS: list[str] = []
"""What the two sides do not agree on; empty, or a test fails."""

PLATFORM_KINDS = frozenset(("connect", "disconnect", "close_table", "move_clocks", "advance"))
"""Kinds that no player's action may be: they come from presence, admins, the platform and the developer's clock."""

derive = Deriver(longest=LONGEST)
"""Makes pairs with the bounds of what clients send."""

_KINDS = actions_pb2.Action.DESCRIPTOR.oneofs_by_name["kind"].fields
_WRITE: dict[type[Action], tuple[str, Write]] = {}
_READ: dict[str, Read] = {}

for _field in _KINDS:
    try:
        _action = actions.KINDS[_field.name]
        _pair = derive.pair(_action, message_of(_field))
    except (KeyError, Unmapped) as _error:
        PROBLEMS.append(f"action {_field.name}: {_error}")
        continue
    _WRITE[_action] = (_field.name, _pair.write)
    _READ[_field.name] = _pair.read
PROBLEMS += [
    f"action {_kind}: the contract has none such" for _kind, _type in actions.KINDS.items() if _type not in _WRITE
]


def to_proto(action: Action) -> actions_pb2.Action:
    """The message of an action. Raises ``Malformed`` for a number or text that its field cannot hold."""
    kind, write = _WRITE[type(action)]
    message = actions_pb2.Action()
    written(write, action, getattr(message, kind))
    return message


def from_proto(message: actions_pb2.Action) -> Action:
    """The action of a message.

    Raises ``Malformed`` for a kind, field or value that is not known here, and for lists and texts that are too long.
    Amounts, fields, seats and numbers of any size pass: the rules refuse them with a reason of their own.
    """
    kind = message.WhichOneof("kind")
    if kind is None:
        raise Malformed("no action, or one of a kind that is not known here")
    body: Message = getattr(message, kind)
    known_only(message)
    known_only(body)
    return read(_READ[kind], body)  # type: ignore[no-any-return]


def decode(data: bytes) -> Action:
    """The action of a message's bytes. Raises ``Malformed`` as ``from_proto`` does."""
    try:
        return from_proto(actions_pb2.Action.FromString(data))
    except DecodeError as error:
        raise Malformed("these bytes are no action") from error


def written(write: Write, value: Any, message: Any) -> None:
    """Fill a message; a number or text that its field cannot hold is ``Malformed``."""
    try:
        write(value, message)
    except (ValueError, KeyError) as error:
        raise Malformed(f"{message.DESCRIPTOR.name} cannot carry this: {error}") from error


def read(reading: Read, message: Any) -> Any:
    """Read a message; an enum value that is unknown or not said is ``Malformed``."""
    try:
        return reading(message)
    except KeyError as error:
        raise Malformed(f"{message.DESCRIPTOR.name} with a value that is not known here: {error}") from error


def known_only(message: Message) -> None:
    """``Malformed`` for a message with fields that are not known here, its nested messages included: what a client asks
    for is done as a whole or not at all."""
    if len(UnknownFieldSet(message)):
        raise Malformed(f"{message.DESCRIPTOR.name} has fields that are not known here")
    for field in _nested(message.DESCRIPTOR):
        if message.HasField(field.name):
            known_only(getattr(message, field.name))


_NESTED: dict[str, tuple[FieldDescriptor, ...]] = {}


def _nested(message: Any) -> tuple[FieldDescriptor, ...]:
    fields = _NESTED.get(message.full_name)
    if fields is None:
        fields = _NESTED[message.full_name] = tuple(
            field
            for field in message.fields
            if field.message_type is not None and not field.is_repeated and field.containing_oneof is None
        )
    return fields
