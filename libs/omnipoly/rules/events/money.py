"""Events of money: the only ones that change cash, and what is owed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from ..state import BANK, DEBT, LIQUIDATION, NOBODY, Claim, Debt, without
from .base import Event, Reason

if TYPE_CHECKING:
    from ..state import State


class Paid(Event, frozen=True, gc=False, tag="paid"):
    """Cash moves (CORE-MONEY). Payer and payee are seats, ``BANK`` or ``CASINO``."""

    payer: int
    payee: int
    amount: int
    reason: Reason

    def apply(self, s: State) -> None:
        amount = self.amount
        payer, payee = self.payer, self.payee
        if payer >= 0:
            s.cash[payer] -= amount
        elif payer == BANK:
            s.bank += amount
        else:
            s.casino -= amount
        if payee >= 0:
            s.cash[payee] += amount
        elif payee == BANK:
            s.bank -= amount
        else:
            s.casino += amount


class DebtOpened(Event, frozen=True, gc=False, tag="debt_opened"):
    """A seat owes (CORE-DEBT)."""

    debt: int
    debtor: int
    creditor: int
    amount: int
    reason: Reason

    def apply(self, s: State) -> None:
        if not s.debts:
            s.phases = (*s.phases, DEBT)
        s.debts_n = self.debt
        s.debts = (*s.debts, Debt(self.debt, self.debtor, self.creditor, self.amount, self.reason))


class DebtClosed(Event, frozen=True, gc=False, tag="debt_closed"):
    """A debt is settled, met from an estate, or void."""

    debt: int
    how: Literal["paid", "estate", "void"]

    def apply(self, s: State) -> None:
        debts = s.debts
        s.debts = () if len(debts) == 1 else tuple(debt for debt in debts if debt.debt != self.debt)
        if not s.debts:
            s.phases = without(s.phases, DEBT)


class DebtPassed(Event, frozen=True, gc=False, tag="debt_passed"):
    """What was owed to somebody who left is owed to another (CORE-DEBT-CREDITOR)."""

    debt: int
    creditor: int

    def apply(self, s: State) -> None:
        s.debts = tuple(
            Debt(d.debt, d.debtor, self.creditor, d.amount, d.reason) if d.debt == self.debt else d for d in s.debts
        )


class RentClaimable(Event, frozen=True, gc=False, tag="rent_claimable"):
    """A rent that its owner may claim before the next throw (GLO-CLAIM)."""

    claimant: int
    payer: int
    field: int
    amount: int
    hold_until_ms: int

    def apply(self, s: State) -> None:
        s.claims = (*s.claims, Claim(self.claimant, self.payer, self.field, self.amount, self.hold_until_ms))


class RentClaimed(Event, frozen=True, gc=False, tag="rent_claimed"):
    """The owner claimed the rent: it is a debt now."""

    claimant: int
    payer: int
    field: int

    def apply(self, s: State) -> None:
        drop_claim(s, self.claimant, self.payer, self.field)


class RentLapsed(Event, frozen=True, gc=False, tag="rent_lapsed"):
    """Nobody claimed the rent in time."""

    claimant: int
    payer: int
    field: int
    amount: int

    def apply(self, s: State) -> None:
        drop_claim(s, self.claimant, self.payer, self.field)


class LiquidationStarted(Event, frozen=True, gc=False, tag="liquidation_started"):
    """The bank begins to raise what a seat owes (RUG-DEBT)."""

    seat: int

    def apply(self, s: State) -> None:
        s.liquidated = self.seat
        s.phases = (*s.phases, LIQUIDATION)


class LiquidationEnded(Event, frozen=True, gc=False, tag="liquidation_ended"):
    """The sum is there, or there is nothing left to sell."""

    seat: int

    def apply(self, s: State) -> None:
        s.liquidated = NOBODY
        s.phases = without(s.phases, LIQUIDATION)


def drop_claim(s: State, claimant: int, payer: int, field: int) -> None:
    """Take the oldest claim of that claimant, payer and field from the list."""
    for at, claim in enumerate(s.claims):
        if claim.claimant == claimant and claim.payer == payer and claim.field == field:
            s.claims = s.claims[:at] + s.claims[at + 1 :]
            return
