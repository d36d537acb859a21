"""Going out: bankrupt, leaving, removed, giving up.

CORE-BANKRUPT, CORE-LEAVE, CORE-DEBT-CREDITOR, TUB-BANKRUPT, TUB-LEAVE.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import auctions, building, ending, hosting, raising, rent, trade, turns, votes
from .codes import Code
from .events import (
    AuctionClosed,
    CardMoved,
    CardReturned,
    DebtClosed,
    DebtPassed,
    LiquidationEnded,
    LotAnswered,
    LotMoved,
    Paid,
    Reason,
    SeatOut,
)
from .money import oldest_debt, verify_debtor
from .state import BANK, NOBODY, Out, Phase

if TYPE_CHECKING:
    from .actions import GiveUp
    from .draft import Draft
    from .state import State


def verify_give_up(s: State, seat: int, action: GiveUp, now_ms: int) -> Code | None:
    """TUB-DEBT: open to any debtor; where one must raise, only when everything is short (GLO-BANKRUPT, LAS-DEBT)."""
    code = verify_debtor(s, seat)
    if code is None and s.rules.choices.debt.kind == "must_raise":
        debt = oldest_debt(s, seat)
        if debt is not None and raising.can_raise(s, seat, debt.amount):
            return Code.WRONG_PHASE
    return code


def give_up(d: Draft, seat: int, action: GiveUp | None) -> None:
    """Leave the game in debt."""
    go_out(d, seat, Out.GAVE_UP)


def go_out(d: Draft, seat: int, how: Out) -> None:
    """Everything that follows when a seat goes out, in order; the game may be over afterwards.

    Buildings go back at half, cash meets the debts oldest first, the rest goes to the heir: the creditor of the first
    debt that cannot be met, with all debts met that of the oldest, without debts the bank (CORE-BANKRUPT, CORE-LEAVE).
    """
    s = d.state
    turn_owner = s.turn == seat and bool(s.order)
    if s.rules.choices.auction.kind != "none":
        auctions.leave(d, seat)
    _stop_selling(d, seat)
    for field in s.rules.lots:
        if s.owner[field] == seat and s.level[field]:
            building.clear(d, seat, field)
    heir = _pay_debts(d, seat)
    _bequeath(d, seat, heir)
    _pass_credits(d, seat, heir if heir >= 0 else BANK)
    rent.lapse(d, seat)
    trade.drop(d, seat)
    if turn_owner and Phase.LANDED in s.phases:
        d.emit(LotAnswered(seat, s.position[seat], "void"))
    d.emit(SeatOut(seat, how, d.rank()))
    hosting.seat_out(d, seat)
    if ending.last_standing(d):
        return
    votes.seat_out(d, seat)
    if s.phases[-1] is not Phase.OVER and turn_owner:
        turns.next_turn(d)


def _stop_selling(d: Draft, seat: int) -> None:
    """A forced sale of their lots, and the bank's liquidation, end with them (RUG-DEBT)."""
    s = d.state
    if s.forced_by == seat:
        d.emit(AuctionClosed(s.auctions, s.lot, NOBODY, 0))
    if s.liquidated == seat:
        d.emit(LiquidationEnded(seat))


def _pay_debts(d: Draft, seat: int) -> int:
    """Cash pays debts oldest first; gives the heir of what is left."""
    s = d.state
    heir: int | None = None
    first = BANK
    for number, debt in enumerate([debt for debt in s.debts if debt.debtor == seat]):
        if not number:
            first = debt.creditor
        if heir is None and s.cash[seat] - debt.amount >= s.rules.choices.debt.keep:
            d.emit(Paid(seat, debt.creditor, debt.amount, Reason(debt.reason)))
            d.emit(DebtClosed(debt.debt, "estate"))
        else:
            if heir is None:
                heir = debt.creditor
                if s.cash[seat]:
                    d.emit(Paid(seat, heir, s.cash[seat], Reason.BANKRUPTCY))
            d.emit(DebtClosed(debt.debt, "void"))
    return first if heir is None else heir


def _bequeath(d: Draft, seat: int, heir: int) -> None:
    """What is left goes to the heir: lots with their mortgages to a player, free of them to the bank; cards too.

    Where the bank liquidates, cards go under their decks whoever the heir is (RUG-DEBT).
    """
    s = d.state
    if s.cash[seat]:
        d.emit(Paid(seat, heir, s.cash[seat], Reason.BANKRUPTCY))
    if s.lots[seat]:
        for field in s.rules.lots:
            if s.owner[field] == seat:
                d.emit(LotMoved(field, heir if heir >= 0 else NOBODY, "estate"))
    inherits_cards = heir >= 0 and not s.rules.takes_at_once
    for card in s.cards[seat]:
        d.emit(CardMoved(card, seat, heir) if inherits_cards else CardReturned(seat, card))


def _pass_credits(d: Draft, seat: int, heir: int) -> None:
    """What is owed to them is owed to their heir; a debt to oneself vanishes (CORE-DEBT-CREDITOR)."""
    for debt in d.state.debts:
        if debt.creditor == seat:
            d.emit(DebtClosed(debt.debt, "void") if debt.debtor == heir else DebtPassed(debt.debt, heir))
