"""Offers between players (CORE-TRADE, TUB-TRADE, RUG-TRADE, GLO-TRADE, LAS-SWAP).

An offer never changes: its id says exactly which terms, so that nobody accepts other ones than they read. It fixes
which of its lots are mortgaged.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from .codes import Code
from .draft import clock_now
from .events import CardMoved, LotMoved, OfferClosed, OfferMade, Paid, Reason
from .guards import MOST_MONEY, business, lot, owes, phase_code
from .state import Away, Out

if TYPE_CHECKING:
    from .actions import Accept, Offer, Refuse, Side, Withdraw
    from .draft import Draft
    from .state import OpenOffer, State

MOST_LOTS = 28
"""Lots on one side of an offer."""
_OWING = (Code.IN_DEBT, Code.DEBTS_OPEN)


def find(s: State, offer: int) -> OpenOffer | None:
    """The open offer with that id."""
    for open_offer in s.offers:
        if open_offer.offer == offer:
            return open_offer
    return None


def verify_offer(s: State, seat: int, action: Offer, now_ms: int) -> Code | None:
    """CORE-TRADE, TUB-TRADE: partner, time, quotas, debts, then what either side gives."""
    to, give, take = action.to, action.give, action.take
    if not 0 <= to < s.seats or to == seat or s.out[to] != Out.IN:
        return Code.BAD_PARTNER
    for side in (give, take):
        if len(side.fields) > MOST_LOTS or len(set(side.fields)) < len(side.fields):
            return Code.BAD_REQUEST
    code = business(s, seat)
    if code is not None and code not in _OWING:
        return code
    # debts are of a later class than what manners and cards forbid
    code = _manners(s, seat, to, now_ms) or _cards(s, seat, give) or _cards(s, to, take) or code
    if code is not None:
        return code
    if owes(s, to):
        return Code.IN_DEBT
    code = _lots(s, seat, give) or _lots(s, to, take) or _unbuilt(s, give) or _unbuilt(s, take)
    if code is not None:
        return code
    if not _something(give) or not _something(take):
        return Code.EMPTY_SIDE
    return _sums(s, seat, give, take) or _sums(s, to, take, give)


def _manners(s: State, seat: int, to: int, now_ms: int) -> Code | None:
    """One open offer, a wait after a refusal, not too many unanswered at one person, and the quota (TUB-TRADE)."""
    choices = s.rules.choices.trade
    at_receiver = 0
    for offer in s.offers:
        if offer.proposer == seat:
            return Code.OFFER_OPEN
        at_receiver += offer.receiver == to
    for wait in s.waits:
        if now_ms < wait.until_ms and {wait.proposer, wait.receiver} == {seat, to}:
            return Code.OFFER_COOLDOWN
    if choices.unanswered and at_receiver >= choices.unanswered:
        return Code.OFFER_UNANSWERED
    if choices.quota and s.offers_made[seat] >= choices.quota:
        return Code.OFFER_QUOTA
    return None


def _something(side: Side) -> bool:
    return bool(side.cash or side.fields or side.cards)


def _cards(s: State, seat: int, side: Side) -> Code | None:
    """Each card named is in the hand, as often as it is named."""
    if not side.cards:
        return None
    hand = list(s.cards[seat]) if s.rules.choices.trade.cards else []
    for card in side.cards:
        if card not in hand:
            return Code.NO_CARD
        hand.remove(card)
    return None


def _lots(s: State, seat: int, side: Side) -> Code | None:
    for field in side.fields:
        code = lot(s, field)
        if code is not None:
            return code
        if s.owner[field] != seat:
            return Code.NOT_OWNER
    return None


def _unbuilt(s: State, side: Side) -> Code | None:
    for field in side.fields:
        if not may_move(s, field):
            return Code.HAS_BUILDINGS
    return None


def may_move(s: State, field: int) -> bool:
    """Whether no building stands in the way of the lot changing hands: in its set, or on itself."""
    if s.rules.choices.trade.unbuilt == "lot":
        return not s.level[field]
    return not any(s.level[other] for other in s.rules.sets[s.rules.set_of[field]])


def _sums(s: State, seat: int, gives: Side, gets: Side) -> Code | None:
    """Whether the cash a seat gives is a possible sum, in hand, and leaves something where zero is out (LAS-ZERO)."""
    if not 0 <= gives.cash <= MOST_MONEY or not 0 <= gets.cash <= MOST_MONEY:
        return Code.INVALID_AMOUNT
    if gives.cash > s.cash[seat]:
        return Code.INSUFFICIENT_CASH
    keep = s.rules.choices.debt.keep
    if keep and gives.cash and s.cash[seat] - gives.cash + gets.cash < keep:
        return Code.ZERO_IS_BUST
    return None


def offer(d: Draft, seat: int, action: Offer) -> None:
    """Make an offer; at somebody away it lies for the short clock only (TUB-TRADE)."""
    s = d.state
    choices = s.rules.choices
    lives_s = choices.trade.lives_s
    if s.away[action.to] != Away.NO and choices.trade.lapses == "by_clock":
        lives_s = min(lives_s, choices.play.away_clock_s)
    fields = (*action.give.fields, *action.take.fields)
    mortgaged = tuple(field for field in fields if s.mortgaged[field])
    deadline = clock_now(s) + lives_s * 1000 if lives_s else 0
    d.emit(OfferMade(s.offers_n + 1, seat, action.to, action.give, action.take, mortgaged, deadline))


def verify_accept(s: State, seat: int, action: Accept, now_ms: int) -> Code | None:
    """CORE-TRADE: everything is checked again; an offer that cannot be met stays open."""
    phase = _accept_window(s, seat)
    if phase is not None and phase not in _OWING:
        return phase
    offer = find(s, action.offer)
    if offer is None or offer.receiver != seat:
        return Code.OFFER_GONE
    if phase is not None:
        return phase
    if owes(s, offer.proposer):
        return Code.DEBTS_OPEN
    return _changed(s, offer) or _payable(s, offer)


def _accept_window(s: State, seat: int) -> Code | None:
    choices = s.rules.choices
    if choices.trade.accept == "own_turn" or choices.play.business == "any_time":
        return business(s, seat)
    # the turn owner offers, anybody accepts: the window is that of the turn owner
    code = business(s, s.turn)
    return phase_code(s, seat) if code in _OWING else code


def _changed(s: State, offer: OpenOffer) -> Code | None:
    for seat, side in ((offer.proposer, offer.give), (offer.receiver, offer.take)):
        if _cards(s, seat, side) is not None:
            return Code.ASSET_CHANGED
        for field in side.fields:
            if s.owner[field] != seat or s.mortgaged[field] != (field in offer.mortgaged) or not may_move(s, field):
                return Code.ASSET_CHANGED
    if offer.give.cash > s.cash[offer.proposer]:
        return Code.ASSET_CHANGED
    return None


def _payable(s: State, offer: OpenOffer) -> Code | None:
    return _sums(s, offer.receiver, offer.take, offer.give) or _sums(s, offer.proposer, offer.give, offer.take)


def accept(d: Draft, seat: int, action: Accept) -> None:
    """The swap, all or nothing; mortgages move with the lots, without a fee (CORE-TRADE)."""
    offer = find(d.state, action.offer)
    assert offer is not None
    d.emit(OfferClosed(offer.offer, "accepted"))
    for giver, taker, side in (
        (offer.proposer, offer.receiver, offer.give),
        (offer.receiver, offer.proposer, offer.take),
    ):
        if side.cash:
            d.emit(Paid(giver, taker, side.cash, Reason.TRADE))
        for field in side.fields:
            d.emit(LotMoved(field, taker, "traded"))
        for card in side.cards:
            d.emit(CardMoved(card, giver, taker))


def verify_refuse(s: State, seat: int, action: Refuse, now_ms: int) -> Code | None:
    """Always, by the one it was made to."""
    offer = find(s, action.offer)
    return None if offer is not None and offer.receiver == seat else Code.OFFER_GONE


def refuse(d: Draft, seat: int, action: Refuse) -> None:
    """Refuse an offer: the pair waits (TUB-TRADE)."""
    wait_s = d.state.rules.choices.trade.refused_wait_s
    d.emit(OfferClosed(action.offer, "refused", clock_now(d.state) + wait_s * 1000 if wait_s else 0))


def verify_withdraw(s: State, seat: int, action: Withdraw, now_ms: int) -> Code | None:
    """Always, by the one who made it."""
    offer = find(s, action.offer)
    return None if offer is not None and offer.proposer == seat else Code.OFFER_GONE


def withdraw(d: Draft, seat: int, action: Withdraw) -> None:
    """Take an offer back."""
    d.emit(OfferClosed(action.offer, "withdrawn"))


def expire(d: Draft, offer: OpenOffer) -> None:
    """Its time is up: expired, or refused for somebody away, without a wait (TUB-TRADE)."""
    how: Literal["refused", "expired"] = "refused" if d.state.away[offer.receiver] != Away.NO else "expired"
    d.emit(OfferClosed(offer.offer, how))


def lapse_with_turn(d: Draft, seat: int) -> None:
    """A turn ends: offers that live as long as it lapse (RUG-TRADE, GLO-TRADE, LAS-SWAP)."""
    lapses = d.state.rules.choices.trade.lapses
    if lapses == "by_clock":
        return
    for offer in d.state.offers:
        if seat == (offer.proposer if lapses == "with_turn" else offer.receiver):
            d.emit(OfferClosed(offer.offer, "lapsed"))


def lapse_with_clock(d: Draft, seat: int) -> None:
    """A clock of the proposer's ran out: an offer that has no clock of its own lapses (RUG-TRADE, RUG-TURN)."""
    choices = d.state.rules.choices.trade
    if choices.lapses != "with_turn" or choices.lives_s:
        return
    for offer in d.state.offers:
        if offer.proposer == seat:
            d.emit(OfferClosed(offer.offer, "lapsed"))


def drop(d: Draft, seat: int) -> None:
    """Offers from and to somebody who goes out close (CORE-LEAVE)."""
    for offer in d.state.offers:
        if seat in (offer.proposer, offer.receiver):
            d.emit(OfferClosed(offer.offer, "void"))
