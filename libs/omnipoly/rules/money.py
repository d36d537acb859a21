"""Paying and owing (CORE-DEBT, CORE-MONEY, TUB-DEBT, LAS-DEBT).

Money moves only by ``Paid``. What somebody must pay is a debt, which waits until they pay it; where the edition takes
payments at once (RUG-DEBT) it is paid in the same breath when the cash is there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .codes import Code
from .events import DebtClosed, DebtOpened, Paid, Reason
from .guards import owes, phase_code, spend
from .state import BANK, DEBT

if TYPE_CHECKING:
    from .actions import Pay
    from .draft import Draft
    from .state import Debt, State


def pay_out(d: Draft, seat: int, amount: int, reason: Reason) -> None:
    """The bank pays a seat; nothing happens for 0."""
    if amount:
        d.emit(Paid(BANK, seat, amount, reason))


def take(d: Draft, seat: int, amount: int, reason: Reason) -> None:
    """A seat pays the bank of its own will: the cash was checked by ``verify``; nothing happens for 0."""
    if amount:
        d.emit(Paid(seat, BANK, amount, reason))


def owe(d: Draft, debtor: int, creditor: int, amount: int, reason: Reason) -> None:
    """A seat has to pay (CORE-DEBT). A sum of 0 makes no debt; ``creditor`` is a seat, ``BANK`` or ``CASINO``."""
    if not amount:
        return
    s = d.state
    if s.rules.takes_at_once and not s.debts and s.cash[debtor] >= amount:
        d.emit(Paid(debtor, creditor, amount, reason))
    else:
        d.emit(DebtOpened(s.debts_n + 1, debtor, creditor, amount, reason))


def oldest_debt(s: State, seat: int) -> Debt | None:
    """The debt that a seat pays next (CORE-DEBT-ORDER)."""
    for debt in s.debts:
        if debt.debtor == seat:
            return debt
    return None


def verify_debtor(s: State, seat: int) -> Code | None:
    """Whether the seat may answer a debt of its own now."""
    if s.phases[-1] is not DEBT:
        return phase_code(s, seat)
    return None if owes(s, seat) else Code.NO_DEBT


def verify_pay(s: State, seat: int, action: Pay, now_ms: int) -> Code | None:
    """CORE-DEBT: exactly enough is enough, or one more where zero is out (LAS-ZERO)."""
    debt = oldest_debt(s, seat)
    if debt is None or s.phases[-1] is not DEBT:
        return verify_debtor(s, seat)
    return spend(s, seat, debt.amount)


def pay(d: Draft, seat: int, action: Pay) -> None:
    """Pay the oldest debt (TUB-DEBT)."""
    debt = oldest_debt(d.state, seat)
    assert debt is not None
    settle(d, debt)


def settle(d: Draft, debt: Debt) -> None:
    """Move the sum of a debt and close it."""
    d.emit(Paid(debt.debtor, debt.creditor, debt.amount, Reason(debt.reason)))
    d.emit(DebtClosed(debt.debt, "paid"))
