"""What a seat is worth to the bank, and raising cash from it (CORE-RAISE, CORE-DEBT)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import building, mortgage
from .codes import Code
from .draft import Draft
from .money import oldest_debt, verify_debtor
from .state import FACTORY

if TYPE_CHECKING:
    from .actions import Raise
    from .entropy import SpeedFace
    from .state import State


def liquid(s: State, seat: int) -> int:
    """Cash plus everything the bank would pay for buildings and mortgages (CORE-DEBT)."""
    total = s.cash[seat]
    if not s.lots[seat]:
        return total
    loan, level, mortgaged = s.rules.loan, s.level, s.mortgaged
    for field in own_lots(s, seat):
        if not mortgaged[field]:
            total += loan[field]
            if level[field]:
                total += building.value(s, field)
    return total


def can_raise(s: State, seat: int, amount: int) -> bool:
    """Whether selling and mortgaging everything would meet that sum."""
    return liquid(s, seat) - amount >= s.rules.choices.debt.keep


def own_lots(s: State, seat: int) -> list[int]:
    """The seat's lots, in ring order."""
    owner = s.owner
    return [field for field in s.rules.lots if owner[field] == seat]


def next_step(s: State, seat: int, lots: list[int]) -> tuple[int, int, bool] | None:
    """The single legal step that yields least, the lower field first: (yield, field, whether a building is sold).

    ``lots`` are those of the seat (``own_lots``): they stay the same from step to step.
    """
    best: tuple[int, int, bool] | None = None
    rules = s.rules
    for field in lots:
        if s.level[field]:
            if building.sale_code(s, seat, field) is None:
                brings = rules.factory_yield[field] if s.level[field] == FACTORY else rules.building_yield[field]
                if best is None or brings < best[0]:
                    best = (brings, field, True)
        elif mortgage.loan_code(s, seat, field) is None:
            brings = rules.loan[field]
            if best is None or brings < best[0]:
                best = (brings, field, False)
    return best


def preview(s: State, seat: int) -> list[tuple[int, bool]]:
    """What ``raise`` would touch now, in order: (field, whether a building is sold). Empty where it is not open."""
    if verify_raise(s, seat, None, 0) is not None:
        return []
    return raise_cash(Draft(s.copy(), _NO_CHANCE), seat)


def verify_raise(s: State, seat: int, action: Raise | None, now_ms: int) -> Code | None:
    """CORE-RAISE: only while cash is short of the oldest debt, and only when it would be enough."""
    code = verify_debtor(s, seat)
    if code is not None:
        return code
    debt = oldest_debt(s, seat)
    assert debt is not None
    if s.cash[seat] - debt.amount >= s.rules.choices.debt.keep:
        return Code.NO_DEBT
    return None if can_raise(s, seat, debt.amount) else Code.INSUFFICIENT_CASH


def raise_(d: Draft, seat: int, action: Raise) -> None:
    """Mortgage and sell, cheapest first, until the oldest debt is covered (CORE-RAISE)."""
    raise_cash(d, seat)


def raise_cash(d: Draft, seat: int) -> list[tuple[int, bool]]:
    """The steps of CORE-RAISE, as far as they are needed; gives those taken: (field, whether a building was sold)."""
    s = d.state
    debt = oldest_debt(s, seat)
    steps: list[tuple[int, bool]] = []
    lots = own_lots(s, seat)
    while debt is not None and s.cash[seat] - debt.amount < s.rules.choices.debt.keep:
        step = next_step(s, seat, lots)
        if step is None:
            break
        _, field, sells = step
        if sells:
            building.sell_one(d, seat, field)
        else:
            mortgage.take_loan(d, seat, field)
        steps.append((field, sells))
    return steps


class _NoChance:
    def throw(self, number: int, purpose: str) -> tuple[int, int]:
        raise LookupError(purpose)

    def speed(self, number: int) -> SpeedFace:
        raise LookupError("speed")

    def pick(self, label: str, number: int, count: int) -> int:
        raise LookupError(label)


_NO_CHANCE = _NoChance()
