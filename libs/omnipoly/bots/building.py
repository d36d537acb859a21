"""Voluntary business with the bank: building evenly where it pays, lifting mortgages (TUB-BUILD, LAS-FACTORY)."""

from __future__ import annotations

import itertools
import operator
from typing import TYPE_CHECKING, Literal

from omnipoly.rules.actions import Build, LiftMortgage, Mortgage
from omnipoly.rules.state import HOTEL

from .outlook import HOUSES
from .valuation import FULL, danger, horizon, opponents

if TYPE_CHECKING:
    from omnipoly.rules.actions import Action
    from omnipoly.rules.state import State

    from .character import Character
    from .outlook import Outlook

_RICH = 3
"""A mortgage on a lot of no complete set is lifted by who would have so many reserves left."""


def business(s: State, seat: int, character: Character, look: Outlook) -> Action | None:
    """The next thing to build, or a mortgage to take for it or to lift; ``None`` when the cash is better kept."""
    spare = s.cash[seat] - s.rules.keep - character.reserve
    row = seat * s.rules.sets_n
    hand = s.held[row : row + s.rules.sets_n]
    if True in map(operator.ge, hand, look.to_build):
        spare -= danger(s, seat)
        field = _best_site(s, seat, row, hand, spare + look.most_loan if 1 in hand else spare, look)
        if field >= 0:
            cost = s.rules.house_cost[field]
            if cost <= spare:
                return Build(field, _what(s, seat, field, spare, look))
            if s.level[field] < HOUSES:
                pawn = _pawn(s, seat, hand, cost - spare)
                return Mortgage(pawn) if pawn >= 0 else None
            return None
    if spare >= look.least_cost and any(s.pledged[row : row + s.rules.sets_n]) and horizon(s) == FULL:
        return _lift(s, seat, row, spare, character)
    return None


def _best_site(s: State, seat: int, row: int, hand: list[int], budget: int, look: Outlook) -> int:
    """The street whose next building brings most for what it costs, within a budget; -1 for none."""
    level, costs = s.level, look.costs
    best, most = -1, 0
    for group in itertools.compress(range(len(hand)), map(operator.ge, hand, look.to_build)):
        if costs[group] > budget:
            continue
        members = s.rules.sets[group]
        # only the least developed may be built on
        levels = [level[at] for at in members]
        low = min(levels)
        if low >= HOTEL or (look.mortgage_forbids and s.pledged[row + group]):
            continue
        for field, here in zip(members, levels, strict=True):
            if here == low or (not look.even and here < HOTEL):
                brings = look.yields[field][here]
                if brings > most and s.owner[field] == seat and not s.mortgaged[field]:
                    best, most = field, brings
    return best


def _pawn(s: State, seat: int, hand: list[int], short: int) -> int:
    """A lot alone of its set in the seat's hand whose loan covers what a house lacks: the cheapest; -1 for none."""
    rules, owner = s.rules, s.owner
    loan, set_of = rules.loan, rules.set_of
    able = [
        (loan[field], field)
        for field in rules.lots
        if owner[field] == seat and loan[field] >= short and hand[set_of[field]] == 1 and not s.mortgaged[field]
    ]
    able = [choice for choice in able if rules.set_size[set_of[choice[1]]] > 1]
    return min(able)[1] if able else -1


def _what(s: State, seat: int, field: int, spare: int, look: Outlook) -> Literal["building", "factory"]:
    """A factory where its income beats what the same money in houses moves from the opponents (LAS-FACTORY)."""
    rules = s.rules
    cost = rules.factory_cost[field]
    if s.level[field] or not rules.choices.building.factory or not 0 < cost <= spare:
        return "building"
    # what an opponent pays is gained by one and lost by another: it counts once more than there are opponents
    moves = (opponents(s) + 1) * look.often[field] * rules.rents[field][HOUSES]
    return "factory" if rules.factory_income[field] * HOUSES * rules.house_cost[field] > moves * cost else "building"


def _lift(s: State, seat: int, row: int, spare: int, character: Character) -> Action | None:
    """Lift a mortgage: those of complete sets first, others only when rich."""
    rules = s.rules
    best, least = -1, 0
    for field in rules.lots:
        if s.mortgaged[field] and s.owner[field] == seat:
            group = rules.set_of[field]
            whole = s.held[row + group] == rules.set_size[group]
            cost = rules.lift_cost[field]
            left = spare - cost
            if left < 0 or (not whole and left < _RICH * character.reserve):
                continue
            rank = cost if whole else cost + 1_000_000
            if best < 0 or rank < least:
                best, least = field, rank
    return LiftMortgage(best) if best >= 0 else None
