"""Playing a throw out, ending a turn, beginning the next (CORE-NEXT, CORE-DOUBLE, CORE-LIMIT, LAS-TURN, GLO-Q-TIME)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import ending, jail, movement, rent, trade
from .events import Reason, ThrowPlayed, TurnStarted
from .guards import turn_owner
from .money import pay_out
from .state import FACTORY, MOVED

if TYPE_CHECKING:
    from .actions import EndTurn
    from .codes import Code
    from .draft import Draft
    from .state import State


def verify_end_turn(s: State, seat: int, action: EndTurn, now_ms: int) -> Code | None:
    """A turn ends once the throw is played out and no further one is due."""
    return turn_owner(s, seat, MOVED)


def end_turn(d: Draft, seat: int, action: EndTurn | None) -> None:
    """Pass the turn to the next seat still in."""
    next_turn(d)


def play_out(d: Draft) -> None:
    """What is left of the throw once nobody has to answer anything: bail, a jump, a ride, the next throw, the end."""
    s = d.state
    seat = s.turn
    if s.turn_over:
        next_turn(d)
    elif s.jailed[seat] >= 0 and jail.waits_for_bail(s, seat):
        jail.last_try_paid(d, seat)
    elif s.jump:
        movement.jump_to_city(d, seat)
    elif s.ride and movement.offer_ride(d, seat):
        return
    elif s.again and not s.time_up:
        d.emit(ThrowPlayed(seat, again=True))
    elif s.rules.ends_by_itself:
        next_turn(d)
    else:
        d.emit(ThrowPlayed(seat, again=False))


def next_turn(d: Draft) -> None:
    """The turn of the next seat still in, by order of play; rounds rise from last to first (CORE-NEXT, CORE-LIMIT)."""
    s = d.state
    order = s.order
    n = len(order)
    before = at = order.index(s.turn)
    out = s.out
    while True:
        at += 1
        if at == n:
            at = 0
        if not out[order[at]]:
            break
    rounds = s.round
    limit_reached = False
    if at <= before:
        rounds += 1
        limit_reached = rounds > s.rules.round_limit(s.seats, s.options.round_limit)
    if s.offers:
        trade.lapse_with_turn(d, order[before])
    if s.time_up:
        rent.lapse(d)
        ending.end(d, "time_limit")
    elif limit_reached:
        ending.end(d, "round_limit")
    else:
        begin(d, order[at], rounds)


def begin(d: Draft, seat: int, rounds: int) -> None:
    """A turn begins; factories earn (LAS-FACTORY)."""
    d.emit(TurnStarted(seat, rounds))
    s = d.state
    if s.factories[seat]:
        income = sum(
            s.rules.factory_income[field]
            for field in s.rules.streets
            if s.owner[field] == seat and s.level[field] == FACTORY
        )
        pay_out(d, seat, income, Reason.FACTORY)
