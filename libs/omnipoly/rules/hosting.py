"""The office of host (CORE-HOST)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .events import HostChanged
from .state import Out

if TYPE_CHECKING:
    from .draft import Draft
    from .state import State

_GONE = (Out.LEFT, Out.REMOVED)


def seat_out(d: Draft, seat: int) -> None:
    """A host who left or was removed passes the office on; a bankrupt one who stays keeps it."""
    s = d.state
    if s.holder[seat] == s.host and (s.out[seat] in _GONE or not s.connected[seat]):
        pass_on(d, seat)


def disconnected(d: Draft, seat: int) -> None:
    """A host who is out and gone passes the office on."""
    s = d.state
    if s.holder[seat] == s.host and s.out[seat] != Out.IN:
        pass_on(d, seat)


def pass_on(d: Draft, seat: int) -> None:
    """The next person in seating order takes the office: somebody still in, or else out but there; or nobody."""
    s = d.state
    n = s.seats
    for at in range(seat + 1, seat + n):
        other = at % n
        if _is_person_there(s, other):
            d.emit(HostChanged(s.holder[other]))
            return
    d.emit(HostChanged(""))


def _is_person_there(s: State, seat: int) -> bool:
    if s.bot[seat]:
        return False
    return s.out[seat] == Out.IN or (s.out[seat] not in _GONE and s.connected[seat])
