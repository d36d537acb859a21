"""What lists show of a table, made from its state when something of it has changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnipoly.rules import events
from omnipoly.rules.draft import seats_in
from omnipoly.rules.state import Options, Phase
from omnipoly.wire.derive import Deriver
from omnipoly.wire.gen.game.v1 import table_pb2, types_pb2

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from omnipoly.rules.events import Event
    from omnipoly.rules.state import State

LOBBY = table_pb2.TABLE_STATUS_LOBBY
PLAYING = table_pb2.TABLE_STATUS_PLAYING
PAUSED = table_pb2.TABLE_STATUS_PAUSED
OVER = table_pb2.TABLE_STATUS_OVER
FROZEN = table_pb2.TABLE_STATUS_FROZEN
OPEN = (LOBBY, PLAYING, PAUSED, FROZEN)
"""States of a table that counts against its opener."""

_options = Deriver().pair(Options, types_pb2.Options.DESCRIPTOR)

_SHOWN = {
    events.SeatTaken,
    events.SeatFreed,
    events.OptionsSet,
    events.HostChanged,
    events.GameStarted,
    events.SeatHandedOver,
    events.SeatOut,
    events.GameEnded,
    events.PositionSet,
    events.Paused,
    events.Resumed,
    events.Frozen,
    events.Thawed,
}
"""Kinds that always change something that lists show."""


def status(s: State) -> table_pb2.TableStatus.ValueType:
    """A table's state as lists and heads name it."""
    phase = s.phases[-1]
    if phase is Phase.OVER:
        return OVER
    if s.frozen_ms:
        return FROZEN
    if phase is Phase.LOBBY:
        return LOBBY
    return PAUSED if s.paused_ms else PLAYING


def changed(before: State, happened: Iterable[Event]) -> bool:
    """Whether events changed something that lists show."""
    for event in happened:
        kind = type(event)
        if kind in _SHOWN:
            return True
        if kind is events.TurnStarted and event.round != before.round:  # type: ignore[attr-defined]
            return True
    return False


def persons(s: State) -> list[str]:
    """Ids of the persons who have a seat, or may take theirs back."""
    return sorted(
        {holder for holder, bot in zip(s.holder, s.bot, strict=True) if not bot} | set(s.stands_in_for) - {""}
    )


def has_free_seat(s: State) -> bool:
    """Whether somebody may still sit down without a PIN."""
    return s.phases[-1] is Phase.LOBBY and s.seats < s.rules.game.most_seats and not s.options.private


def is_listed(s: State) -> bool:
    """Whether lists show the table: one that ended before it started is nobody's to find."""
    return bool(s.started_ms) or s.phases[-1] is not Phase.OVER


def summary(s: State, opened: datetime) -> bytes:
    """The serialized ``TableSummary``, without the version, which the head has."""
    names = dict(zip(s.holder, s.name, strict=True))
    message = table_pb2.TableSummary(
        table=s.table,
        edition=s.rules.edition.id,
        status=status(s),
        host=s.host,
        host_name=names.get(s.host, ""),
        seats=s.seats,
        bots=sum(s.bot),
        seats_in=len(seats_in(s)),
        most_seats=s.rules.game.most_seats,
        round=s.round,
    )
    _options.write(s.options, message.options)
    message.opened.FromDatetime(opened)
    if s.started_ms:
        message.started.FromMilliseconds(s.started_ms - s.offset_ms)
    if s.phases[-1] is Phase.OVER:
        message.ended.FromMilliseconds(s.now_ms - s.offset_ms)
    return message.SerializeToString()
