"""The bank raises what cash does not cover (RUG-DEBT): buildings, then mortgages, then forced auctions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import auctions, bankruptcy, building, mortgage, raising
from .events import LiquidationEnded, LiquidationStarted
from .money import settle
from .state import NOBODY, Out

if TYPE_CHECKING:
    from .draft import Draft
    from .state import State


def step(d: Draft) -> None:
    """Do the next thing about the oldest debt: pay it, sell, mortgage, auction a lot off, or send its debtor out.

    Of several payers of one card, the next is dealt with when the one before is settled.
    """
    s = d.state
    debt = s.debts[0]
    seat = debt.debtor
    if s.cash[seat] >= debt.amount:
        if s.liquidated != NOBODY:
            d.emit(LiquidationEnded(seat))
        settle(d, debt)
        return
    if s.liquidated == NOBODY:
        d.emit(LiquidationStarted(seat))
        return
    field = _building_to_sell(s, seat)
    if field is not None:
        building.sell_one(d, seat, field)
        return
    cheapest = raising.next_step(s, seat, raising.own_lots(s, seat))
    if cheapest is not None:
        mortgage.take_loan(d, seat, cheapest[1])
        return
    lots = raising.own_lots(s, seat)
    if lots:
        field = min(lots, key=lambda at: (s.rules.price[at], at))
        if not auctions.open_auction(d, field, forced_by=seat):
            auctions.nobody_bids(d, field)
        return
    d.emit(LiquidationEnded(seat))
    bankruptcy.go_out(d, seat, Out.BANKRUPT)


def _building_to_sell(s: State, seat: int) -> int | None:
    """Buildings of the lowest house cost first, evenly, the lower field first."""
    able = [
        field
        for field in s.rules.streets
        if s.owner[field] == seat and s.level[field] and building.sale_code(s, seat, field) is None
    ]
    return min(able, key=lambda field: (s.rules.house_cost[field], field), default=None)
