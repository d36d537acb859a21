"""What lots are worth to a seat, in whole money units: the one opinion that buying, bidding and trading share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnipoly.rules.state import Out

from .outlook import ROUNDS, outlook

if TYPE_CHECKING:
    from omnipoly.rules.state import State

_IN = int(Out.IN)
_WANTS = 60
"""Of what a lot adds to the promise of one's holding, in percent, so much is paid for it."""
_DENIES = 35
"""Of what it would add to that of the one it helps most, so much to keep it from them."""

FULL = 100
"""``horizon`` while no end is in sight."""
_FOR_EACH = 8
"""For each lot of another that is built on, so much stays in hand."""


def opponents(s: State) -> int:
    """How many others are still in."""
    return s.out.count(_IN) - 1


def horizon(s: State) -> int:
    """How much of what a holding promises can still come true before the round limit, in percent."""
    left = s.rules.round_limit(s.seats, s.options.round_limit) - s.round
    return FULL if left >= ROUNDS else FULL * left // ROUNDS


def face(s: State, field: int) -> int:
    """A lot's price; for a mortgaged one what is left of it once the mortgage is lifted."""
    price = s.rules.price[field]
    return price - s.rules.lift_cost[field] if s.mortgaged[field] else price


def lot_worth(s: State, seat: int, field: int) -> int:
    """What a lot for sale is worth to a seat: its price, what it adds to the seat's set, what it denies the others.

    The bank sells it for itself, or for its owner (RUG-DEBT).
    """
    rules = s.rules
    group = rules.set_of[field]
    extra = outlook(rules).extra[opponents(s)][group]
    held, sets_n = s.held, rules.sets_n
    mine = held[seat * sets_n + group]
    adds = extra[mine + 1] - extra[mine]
    denies = 0
    apart = (seat, s.owner[field])
    for other, out in enumerate(s.out):
        theirs = held[other * sets_n + group]
        if theirs and not out and other not in apart:
            denies = max(denies, extra[theirs + 1] - extra[theirs])
    return face(s, field) + (adds * _WANTS + denies * _DENIES) * horizon(s) // (100 * FULL)


def danger(s: State, seat: int) -> int:
    """What the buildings of the others make it wise to keep in hand; 0 while none of them has any."""
    row = seat * s.rules.sets_n
    return _FOR_EACH * (sum(s.built) - sum(s.built[row : row + s.rules.sets_n]))
