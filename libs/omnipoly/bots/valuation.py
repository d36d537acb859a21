"""What lots are worth to a seat, in whole money units: the one opinion that buying, bidding and trading share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnipoly.rules.state import Out

from .outlook import outlook

if TYPE_CHECKING:
    from omnipoly.rules.state import State

_WANTS = 60
"""Of what a lot adds to the promise of one's holding, in percent, so much is paid for it."""
_DENIES = 35
"""Of what it would add to that of the one it helps most, so much to keep it from them."""


def opponents(s: State) -> int:
    """How many others are still in."""
    return s.out.count(Out.IN) - 1


def face(s: State, field: int) -> int:
    """A lot's price; for a mortgaged one what is left of it once the mortgage is lifted."""
    price = s.rules.price[field]
    return price - s.rules.lift_cost[field] if s.mortgaged[field] else price


def lot_worth(s: State, seat: int, field: int) -> int:
    """What a lot that is sold (by the bank, for itself or for its owner) is worth to a seat: price, what it adds to the seat's set, what it denies."""
    rules = s.rules
    group = rules.set_of[field]
    extra = outlook(rules).extra[opponents(s)][group]
    held, sets_n = s.held, rules.sets_n
    mine = held[seat * sets_n + group]
    adds = extra[mine + 1] - extra[mine]
    denies = 0
    seller = s.owner[field]
    for other, out in enumerate(s.out):
        if out == Out.IN and other != seat and other != seller:
            theirs = held[other * sets_n + group]
            if theirs:
                denies = max(denies, extra[theirs + 1] - extra[theirs])
    return face(s, field) + (adds * _WANTS + denies * _DENIES) // 100


def danger(s: State, seat: int) -> int:
    """The dearest rent that an opponent's buildings ask; 0 while nothing is built."""
    sets_n = s.rules.sets_n
    built = s.built
    if not any(built):
        return 0
    mine = seat * sets_n
    if not any(built[:mine]) and not any(built[mine + sets_n :]):
        return 0
    rents, owner, level = s.rules.rents, s.owner, s.level
    return max((rents[at][level[at]] for at in s.rules.streets if 0 < level[at] < 6 and owner[at] != seat), default=0)
