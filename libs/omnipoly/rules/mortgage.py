"""Mortgages and sales to the bank (CORE-MORTGAGE, TUB-MORTGAGE, RUG-MORTGAGE, GLO-MORTGAGE, LAS-MORTGAGE, LAS-SELL)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .codes import Code
from .events import LotMoved, MortgageChanged, Reason
from .guards import business, own_lot, spend
from .money import pay_out, take
from .state import NOBODY

if TYPE_CHECKING:
    from .actions import LiftMortgage, Mortgage, SellProperty
    from .draft import Draft
    from .state import State


def verify_mortgage(s: State, seat: int, action: Mortgage, now_ms: int) -> Code | None:
    """CORE-MORTGAGE: also by a debtor."""
    return business(s, seat, raises_cash=True) or own_lot(s, seat, action.field) or loan_code(s, seat, action.field)


def loan_code(s: State, seat: int, field: int) -> Code | None:
    """Whether the bank lends on a lot of the seat's own: unbuilt (the set, or the lot itself), not mortgaged yet."""
    rules = s.rules
    if s.level[field] or (
        rules.choices.mortgage.unbuilt == "set" and s.built[seat * rules.sets_n + rules.set_of[field]]
    ):
        return Code.HAS_BUILDINGS
    return Code.ALREADY_MORTGAGED if s.mortgaged[field] else None


def mortgage(d: Draft, seat: int, action: Mortgage) -> None:
    """Mortgage a lot."""
    take_loan(d, seat, action.field)


def take_loan(d: Draft, seat: int, field: int) -> None:
    """The bank lends on a lot."""
    d.emit(MortgageChanged(seat, field, mortgaged=True))
    pay_out(d, seat, d.state.rules.loan[field], Reason.MORTGAGE)


def verify_lift_mortgage(s: State, seat: int, action: LiftMortgage, now_ms: int) -> Code | None:
    """CORE-MORTGAGE: lifting costs what the edition says, rounded up."""
    code = business(s, seat) or own_lot(s, seat, action.field)
    if code is not None:
        return code
    if not s.mortgaged[action.field]:
        return Code.NOT_MORTGAGED
    return spend(s, seat, s.rules.lift_cost[action.field])


def lift_mortgage(d: Draft, seat: int, action: LiftMortgage) -> None:
    """Lift a mortgage."""
    take(d, seat, d.state.rules.lift_cost[action.field], Reason.MORTGAGE_LIFTED)
    d.emit(MortgageChanged(seat, action.field, mortgaged=False))


def lot_price(s: State, field: int) -> int:
    """What the bank gives for a whole lot (LAS-SELL); 0 where it buys none."""
    return s.rules.lot_yield[field]


def verify_sell_property(s: State, seat: int, action: SellProperty, now_ms: int) -> Code | None:
    """LAS-SELL: without buildings of its own, not mortgaged; where the bank buys no lots it belongs to no phase."""
    if not s.rules.choices.mortgage.sell_lot_percent:
        return Code.WRONG_PHASE
    code = business(s, seat, raises_cash=True) or own_lot(s, seat, action.field)
    if code is not None:
        return code
    if s.level[action.field]:
        return Code.HAS_BUILDINGS
    return Code.ALREADY_MORTGAGED if s.mortgaged[action.field] else None


def sell_property(d: Draft, seat: int, action: SellProperty) -> None:
    """Sell a whole lot to the bank (LAS-SELL)."""
    brings = lot_price(d.state, action.field)
    d.emit(LotMoved(action.field, NOBODY, "sold"))
    pay_out(d, seat, brings, Reason.LOT_SOLD)
