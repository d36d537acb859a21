"""The order of play (TUB-ORDER, RUG-SETUP, LAS-SETUP) and lots dealt before the first turn (TUB-DEAL)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .draft import seats_in
from .events import DiceThrown, LotMoved, OrderDecided
from .state import NOBODY, Out

if TYPE_CHECKING:
    from .draft import Draft
    from .state import State


def still_throws(s: State, seat: int) -> bool:
    """Whether the seat has a throw for the order to make: its first, or one more because it is tied."""
    return s.out[seat] == Out.IN and seat in waiting(s)


def waiting(s: State) -> list[int]:
    """Seats that have to throw now; the tied throw again among themselves only (TUB-ORDER).

    A seat waits when it has thrown less often than somebody it is tied with so far, or, with everybody level, when its
    throws are the same as another's.
    """
    seats = seats_in(s)
    if s.rules.choices.turn.order != "thrown" or s.order:
        return []
    most = max((len(s.throws[seat]) for seat in seats), default=0)
    behind = [seat for seat in seats if not s.throws[seat]]
    if behind:
        return behind
    # of those tied after k throws, some may have thrown a further time already
    for k in range(1, most + 1):
        groups: dict[tuple[int, ...], list[int]] = {}
        for seat in seats:
            if len(s.throws[seat]) >= k:
                groups.setdefault(s.throws[seat][:k], []).append(seat)
        late = [seat for group in groups.values() if len(group) > 1 for seat in group if len(s.throws[seat]) == k]
        if late:
            return late
    return []


def throw(d: Draft, seat: int) -> None:
    """One throw for the order."""
    number = d.state.thrown + 1
    d.emit(DiceThrown(seat, number, d.entropy.throw(number, "order"), "", "order"))


def proceed(d: Draft) -> bool:
    """Bring the order of play about as far as nobody has to be asked; whether it stands now."""
    s = d.state
    choices = s.rules.choices.turn
    if choices.order == "thrown":
        if choices.order_at_once_at_big_tables and s.rules.big(s.seats):
            while late := waiting(s):
                for seat in late:
                    throw(d, seat)
        if waiting(s):
            return False
        seats = sorted(seats_in(s), key=lambda seat: s.throws[seat], reverse=True)
    else:
        seats = seats_in(s)
        if choices.order == "drawn":
            first = d.entropy.pick("first", 1, len(seats))
            seats = seats[first:] + seats[:first]
    d.emit(OrderDecided(tuple(seats)))
    _deal(d)
    return True


def _deal(d: Draft) -> None:
    """Every player is dealt random lots for free, on a board that is large enough (TUB-DEAL)."""
    s = d.state
    play = s.rules.choices.play
    if not play.deal_lots or s.rules.board.players[1] < play.deal_lots_from:
        return
    for number, seat in enumerate(s.order * play.deal_lots, start=1):
        free = [field for field in s.rules.lots if s.owner[field] == NOBODY]
        d.emit(LotMoved(free[d.entropy.pick("deal", number, len(free))], seat, "dealt"))
