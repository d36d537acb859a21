"""Voluntary business with the bank: building evenly where it pays, lifting mortgages (TUB-BUILD, LAS-FACTORY)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnipoly.rules import building
from omnipoly.rules.actions import Build, LiftMortgage
from omnipoly.rules.state import HOTEL

from .outlook import outlook
from .valuation import danger, opponents

if TYPE_CHECKING:
    from omnipoly.rules.actions import Action
    from omnipoly.rules.state import State

    from .character import Character
    from .outlook import Outlook

_OF_DANGER = 30
"""So much of the dearest rent around, in percent, stays in hand beside the reserve."""
_RICH = 3
"""A mortgage on a lot of no complete set is lifted by who would have so many reserves left."""


def business(s: State, seat: int, character: Character) -> Action | None:
    """The next thing to build, or a mortgage to lift; ``None`` when nothing pays or the cash is better kept."""
    look = outlook(s.rules)
    spare = s.cash[seat] - s.rules.choices.debt.keep - character.reserve
    pledged = any(s.pledged[seat * s.rules.sets_n : (seat + 1) * s.rules.sets_n])
    if spare < look.cheapest and not pledged:
        return None
    groups = complete(s, seat, look)
    if not groups and not pledged:
        return None
    spare -= danger(s, seat) * _OF_DANGER // 100
    if spare <= 0:
        return None
    if groups:
        build = _build(s, seat, groups, spare, look)
        if build is not None:
            return build
    return _lift(s, seat, groups, spare, character) if pledged else None


def complete(s: State, seat: int, look: Outlook) -> list[int]:
    """Sets of streets on which the seat may build as far as lots go."""
    held = s.held
    row = seat * s.rules.sets_n
    if look.two_are_enough:
        return [group for group, size, _ in look.streets if held[row + group] >= 2]
    return [group for group, size, _ in look.streets if held[row + group] == size]


def _build(s: State, seat: int, groups: list[int], spare: int, look: Outlook) -> Action | None:
    """The building that brings most for what it costs."""
    rules = s.rules
    owner, level, yields = s.owner, s.level, look.yields
    best, most = -1, 0
    for group in groups:
        for field in rules.sets[group]:
            here = level[field]
            if here < HOTEL and owner[field] == seat and rules.house_cost[field] <= spare:
                brings = yields[field][here]
                if brings > most and building.site_code(s, seat, field) is None:
                    best, most = field, brings
    if best < 0:
        return None
    if rules.choices.building.factory and not level[best]:
        return Build(best, _what(s, seat, best, spare, look))
    return Build(best)


def _what(s: State, seat: int, field: int, spare: int, look: Outlook) -> str:
    """A factory where its income beats what the same money brings in houses (LAS-FACTORY)."""
    rules = s.rules
    cost = rules.factory_cost[field]
    if cost > spare or not cost:
        return "building"
    houses = min(4, cost // rules.house_cost[field])
    rents = rules.rents[field]
    factor = rules.choices.rent.bare_set_factor
    earns = opponents(s) * look.often[field] * rents[houses]
    # what a factory gives up beside: the bare rent
    return "factory" if rules.factory_income[field] > earns + look.often[field] * rents[0] * factor else "building"


def _lift(s: State, seat: int, groups: list[int], spare: int, character: Character) -> Action | None:
    """Lift a mortgage: those of complete sets first, others only when rich."""
    rules = s.rules
    best, least = -1, 0
    for field in rules.lots:
        if s.mortgaged[field] and s.owner[field] == seat:
            cost = rules.lift_cost[field]
            left = spare - cost
            if left < 0 or (rules.set_of[field] not in groups and left < _RICH * character.reserve):
                continue
            rank = cost if rules.set_of[field] in groups else cost + 1_000_000
            if best < 0 or rank < least:
                best, least = field, rank
    return LiftMortgage(best) if best >= 0 else None

