"""Debts: pay, raise, and give up only when even everything is short (CORE-DEBT, CORE-RAISE)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnipoly.rules import money, mortgage, raising
from omnipoly.rules.actions import GiveUp, Mortgage, Pay, Raise

if TYPE_CHECKING:
    from omnipoly.rules.actions import Action
    from omnipoly.rules.state import State

_PAY = Pay()
_RAISE = Raise()
_GIVE_UP = GiveUp()


def answer(s: State, seat: int) -> Action | None:
    """What to do about the seat's oldest debt.

    Lots that no building depends on are mortgaged first, for a house sold is half lost; what is still short then the
    game raises by itself.
    """
    debt = money.oldest_debt(s, seat)
    if debt is None:
        return None
    short = debt.amount + s.rules.choices.debt.keep - s.cash[seat]
    if short <= 0:
        return _PAY
    if not raising.can_raise(s, seat, debt.amount):
        return _GIVE_UP
    if any(s.built[seat * s.rules.sets_n : (seat + 1) * s.rules.sets_n]):
        field = _lone_lot(s, seat, short)
        if field >= 0:
            return Mortgage(field)
    return _RAISE


def _lone_lot(s: State, seat: int, short: int) -> int:
    """A lot of an incomplete set that the bank lends on: the cheapest that covers the sum, else the dearest; or -1."""
    rules = s.rules
    enough, some = -1, -1
    for field in rules.lots:
        if s.owner[field] != seat or mortgage.loan_code(s, seat, field) is not None:
            continue
        group = rules.set_of[field]
        if rules.street_set[group] and s.held[seat * rules.sets_n + group] == rules.set_size[group]:
            continue
        loan = rules.loan[field]
        if loan >= short:
            if enough < 0 or loan < rules.loan[enough]:
                enough = field
        elif some < 0 or loan > rules.loan[some]:
            some = field
    return enough if enough >= 0 else some
