"""Houses, hotels, factories.

CORE-BUILD, CORE-BROKEN-SET, TUB-BUILD, RUG-BUILD, GLO-BUILD, GLO-Q-BUILD, LAS-BUILD, LAS-FACTORY.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .codes import Code
from .events import LevelChanged, Reason
from .guards import business, own_street, spend
from .money import pay_out, take
from .state import FACTORY, HOTEL

if TYPE_CHECKING:
    from .actions import Build, SellBuilding
    from .draft import Draft
    from .state import State


def value(s: State, field: int) -> int:
    """What the bank pays for everything that stands on a street."""
    level = s.level[field]
    if level == FACTORY:
        return s.rules.factory_yield[field]
    return level * s.rules.building_yield[field]


def cost(s: State, field: int, what: str) -> int:
    """What the next building, or a factory, costs on a street."""
    return s.rules.factory_cost[field] if what == "factory" else s.rules.house_cost[field]


def verify_build(s: State, seat: int, action: Build, now_ms: int) -> Code | None:
    """CORE-BUILD: who, when, where, and for how much."""
    code = business(s, seat) or own_street(s, seat, action.field) or site_code(s, seat, action.field, action.what)
    return code or spend(s, seat, cost(s, action.field, action.what))


def site_code(s: State, seat: int, field: int, what: str = "building") -> Code | None:
    """Whether the set allows one more building on a street of the seat's own: complete, unmortgaged, not full, even."""
    rules = s.rules
    choices = rules.choices.building
    group = rules.set_of[field]
    row = seat * rules.sets_n + group
    needed = rules.set_size[group] if choices.needs == "whole_set" else 2
    if s.held[row] < needed:
        return Code.SET_INCOMPLETE
    if s.pledged[row] and (choices.unmortgaged == "set" or s.mortgaged[field]):
        return Code.SET_MORTGAGED
    level = s.level[field]
    if what == "factory":
        if not choices.factory:
            return Code.MAX_BUILDINGS
        if level:
            return Code.HAS_BUILDINGS
    if level >= HOTEL:
        return Code.MAX_BUILDINGS
    if choices.even and level:
        for other in rules.sets[group]:
            if s.level[other] < level and s.owner[other] == seat:
                return Code.UNEVEN
    return None


def build(d: Draft, seat: int, action: Build) -> None:
    """Put one more building, or a factory, on a street (CORE-BUILD, LAS-FACTORY)."""
    s = d.state
    field = action.field
    take(d, seat, cost(s, field, action.what), Reason.BUILDING)
    d.emit(LevelChanged(seat, field, FACTORY if action.what == "factory" else s.level[field] + 1))


def verify_sell_building(s: State, seat: int, action: SellBuilding, now_ms: int) -> Code | None:
    """CORE-BUILD: sold in the reverse order of building, also by a debtor."""
    return business(s, seat, raises_cash=True) or own_street(s, seat, action.field) or sale_code(s, seat, action.field)


def sale_code(s: State, seat: int, field: int) -> Code | None:
    """Whether the topmost building of a street of the seat's own may be sold; only the owner's own lots count."""
    level = s.level[field]
    if not level:
        return Code.NO_BUILDING
    if s.rules.choices.building.even and level != FACTORY:
        for other in s.rules.sets[s.rules.set_of[field]]:
            if FACTORY > s.level[other] > level and s.owner[other] == seat:
                return Code.UNEVEN
    return None


def sell_building(d: Draft, seat: int, action: SellBuilding) -> None:
    """Sell the topmost building of a street."""
    sell_one(d, seat, action.field)


def sell_one(d: Draft, seat: int, field: int) -> None:
    """Take one building, or the factory, from a street; the bank pays its part of what it cost."""
    s = d.state
    level = s.level[field]
    brings = s.rules.factory_yield[field] if level == FACTORY else s.rules.building_yield[field]
    d.emit(LevelChanged(seat, field, 0 if level == FACTORY else level - 1))
    pay_out(d, seat, brings, Reason.BUILDING_SOLD)


def clear(d: Draft, seat: int, field: int) -> None:
    """Take everything from a street at once: its owner is going out (CORE-BANKRUPT)."""
    brings = value(d.state, field)
    d.emit(LevelChanged(seat, field, 0))
    pay_out(d, seat, brings, Reason.BUILDING_SOLD)
