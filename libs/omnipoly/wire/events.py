"""Events of the engine and of the contract."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from google.protobuf.message import Message
from google.protobuf.unknown_fields import UnknownFieldSet

from omnipoly.rules import events
from omnipoly.rules.events import Event, PositionSet
from omnipoly.rules.state import State
from omnipoly.wire import views
from omnipoly.wire.derive import Deriver, Pair, Read, Unmapped, Write, message_of
from omnipoly.wire.gen.game.v1 import events_pb2
from omnipoly.wire.malformed import Malformed, Newer
from omnipoly.wire.rows import PASSABLE

if TYPE_CHECKING:
    from omnipoly.rules.ring import Game

PROBLEMS: list[str] = []
"""What the two sides do not agree on; empty, or a test fails."""


def _write_position(state: State, view: Any) -> None:
    views.fill(state, view, version=0, epoch=0)


def _read_position(view: Any) -> State:
    raise Malformed("a position without its edition")


_derive = Deriver(known={State: Pair(_write_position, _read_position)})
_WRITE: dict[type[Event], tuple[str, Write, bool]] = {}
_READ: dict[str, Read] = {}

for _kind, _event in events.KINDS.items():
    try:
        _field = events_pb2.Event.DESCRIPTOR.oneofs_by_name["kind"].containing_type.fields_by_name[_kind]
        _pair = _derive.pair(_event, message_of(_field))
    except (KeyError, Unmapped) as _error:
        PROBLEMS.append(f"event {_kind}: {_error}")
        continue
    _WRITE[_event] = (_kind, _pair.write, _event not in PASSABLE)
    _READ[_kind] = _pair.read
PROBLEMS += [
    f"event {_member.name}: the engine has none such"
    for _member in events_pb2.Event.DESCRIPTOR.oneofs_by_name["kind"].fields
    if _member.name not in events.KINDS
]


def fill(event: Event, message: events_pb2.Event) -> None:
    """Fill an empty message from an event: for those who add to a list in place.

    Raises ``KeyError`` for a kind without a row and ``ValueError`` for a number that its field cannot hold.
    """
    kind, write, must_understand = _WRITE[type(event)]
    if must_understand:
        message.must_understand = True
    write(event, getattr(message, kind))


def to_proto(event: Event) -> events_pb2.Event:
    """The message of an event. Raises as ``fill`` does."""
    message = events_pb2.Event()
    fill(event, message)
    return message


def from_proto(message: events_pb2.Event, game: Game | None = None) -> Event:
    """The event of a message. ``game``: the edition of the table, without which a position cannot be read.

    Raises ``Malformed``: ``Newer`` for a kind, or a value of an enum, that is not known here.
    """
    kind = message.WhichOneof("kind")
    if kind is None:
        if len(UnknownFieldSet(message)):
            raise Newer("an event of a kind that is not known here")
        raise Malformed("an event of no kind")
    body: Message = getattr(message, kind)
    try:
        if kind == "position_set" and game is not None:
            return PositionSet(views.from_view(body.state, game))  # type: ignore[attr-defined]
        return _READ[kind](body)  # type: ignore[no-any-return]
    except KeyError as error:
        sentence, (value, *_) = f"an event {kind} with a value that is not known here: {error}", error.args
        raise (Newer if isinstance(value, int) and value > 0 else Malformed)(sentence) from error
