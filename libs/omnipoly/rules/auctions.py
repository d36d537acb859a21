"""Declined lots and their auctions (CORE-BUY, TUB-AUCTION, RUG-AUCTION, GLO-AUCTION, GLO-MUSTACT, LAS-BUY).

Three variants share one set of conditions: an open cry with a short clock, an open cry until all but one have passed,
and bidding in turn. A seat that could not pay the next bid counts as passed for as long as that is so; a seat that
passed of its own will is out of the auction for good.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from .codes import Code
from .draft import clock_now, in_play_order
from .events import (
    AuctionClosed,
    AuctionOpened,
    BidderPassed,
    BidMade,
    BidsFell,
    LotAnswered,
    LotMoved,
    Paid,
    Reason,
)
from .guards import MOST_MONEY, owes, phase_code, spend, turn_owner
from .money import take
from .state import AUCTION, BANK, LANDED, NOBODY, PLAYING_OUT

if TYPE_CHECKING:
    from .actions import Bid, Buy, Pass
    from .draft import Draft
    from .state import State


# --- the lander's choice ----------------------------------------------------------------------------------------------


def verify_buy(s: State, seat: int, action: Buy, now_ms: int) -> Code | None:
    """CORE-BUY: its lander, with the cash in hand; nobody else meanwhile."""
    return turn_owner(s, seat, LANDED) or spend(s, seat, s.rules.price[s.position[seat]])


def buy(d: Draft, seat: int, action: Buy) -> None:
    """Buy the lot one stands on."""
    field = d.state.position[seat]
    d.emit(LotAnswered(seat, field, "bought"))
    take(d, seat, d.state.rules.price[field], Reason.LOT)
    d.emit(LotMoved(field, seat, "bought"))


def decline_lot(d: Draft, seat: int) -> None:
    """Decline it: an auction opens if anybody could bid, or it stays with the bank (LAS-BUY)."""
    s = d.state
    field = s.position[seat]
    d.emit(LotAnswered(seat, field, "declined"))
    if s.rules.choices.auction.kind != "none":
        open_auction(d, field, decliner=seat)


# --- conditions -------------------------------------------------------------------------------------------------------


def least_bid(s: State, field: int) -> int:
    """The least amount that the next bid must have."""
    choices = s.rules.choices.auction
    if s.bids:
        return s.bids[-1].amount + (min(choices.steps) if choices.steps else choices.least_step)
    return s.rules.price[field] if choices.first_bid == "price" else choices.first_bid


def bid_amounts(s: State) -> tuple[int, ...]:
    """The only amounts that may be bid now; empty where every whole one from the least on may."""
    choices = s.rules.choices.auction
    if s.bids:
        return tuple(s.bids[-1].amount + step for step in choices.steps)
    return (least_bid(s, s.lot),) if choices.first_bid_exact else ()


def high_bidder(s: State) -> int:
    """Whose bid stands; ``NOBODY`` before the first."""
    return s.bids[-1].seat if s.bids else NOBODY


def candidates(s: State) -> list[int]:
    """Seats that could still bid, in seating order: in, not passed, not high bidder, with cash for the least bid.

    Nor do those bid who owe: of several payers of one card, the others wait while one is liquidated (CORE-DEBT).
    """
    least = least_bid(s, s.lot) + s.rules.keep
    high = high_bidder(s)
    return [
        seat
        for seat, out in enumerate(s.out)
        if not out and seat != high and not s.passed >> seat & 1 and s.cash[seat] >= least and not owes(s, seat)
    ]


def _verify_seat(s: State, seat: int, auction: int) -> Code | None:
    """Whether the seat takes part in the auction named (known fault: a late bid must never hit the next lot)."""
    if s.phases[-1] is not AUCTION:
        # beneath a debt it stands still (GLO-CLAIM: a rent may be claimed while it runs)
        over = auction < s.auctions or s.lot < 0
        return Code.AUCTION_CLOSED if over and 0 < auction <= s.auctions else phase_code(s, seat)
    if auction != s.auctions:
        return Code.AUCTION_CLOSED
    if s.passed >> seat & 1:
        return Code.ALREADY_PASSED
    if seat == high_bidder(s):
        return Code.ALREADY_HIGH_BIDDER
    if s.bidder not in (NOBODY, seat):
        return Code.NOT_YOUR_TURN
    if s.cash[seat] < least_bid(s, s.lot) + s.rules.keep:
        return Code.ALREADY_PASSED
    return Code.IN_DEBT if owes(s, seat) else None


def verify_bid(s: State, seat: int, action: Bid, now_ms: int) -> Code | None:
    """TUB-AUCTION: who may bid, and how much."""
    code = _verify_seat(s, seat, action.auction)
    if code is not None:
        return code
    amount = action.amount
    if not 0 < amount <= MOST_MONEY:
        return Code.INVALID_AMOUNT
    last = s.bids[-1].amount if s.bids else 0
    if amount <= last or (not s.bids and amount < least_bid(s, s.lot)):
        return Code.BID_TOO_LOW
    allowed = bid_amounts(s)
    if (allowed and amount not in allowed) or amount < least_bid(s, s.lot):
        return Code.BID_STEP
    return spend(s, seat, amount)


def verify_pass(s: State, seat: int, action: Pass, now_ms: int) -> Code | None:
    """TUB-AUCTION: out of this auction; not the high bidder, whose bid stands (RUG-AUCTION)."""
    return _verify_seat(s, seat, action.auction)


# --- what happens -----------------------------------------------------------------------------------------------------


def open_auction(d: Draft, field: int, *, decliner: int = NOBODY, forced_by: int = NOBODY) -> bool:
    """Open an auction, if anybody could bid; whether it did (known fault: one nobody can bid in never closes)."""
    s = d.state
    in_turn = s.rules.choices.auction.kind == "in_turn"
    # bidding in turn leaves the decliner out (GLO-AUCTION), a forced sale its owner (RUG-DEBT)
    mask = 1 << forced_by if forced_by != NOBODY else 1 << decliner if in_turn and decliner != NOBODY else 0
    least = least_bid_of(s, field) + s.rules.keep
    able = [
        seat
        for seat, out in enumerate(s.out)
        if not out and not mask >> seat & 1 and s.cash[seat] >= least and not owes(s, seat)
    ]
    if not able:
        return False
    bidder = NOBODY
    if in_turn:
        bidder = next(seat for seat in in_play_order(s, decliner if decliner != NOBODY else s.turn) if seat in able)
    d.emit(AuctionOpened(s.auctions + 1, field, forced_by, bidder, mask, _deadline(s, first=True)))
    return True


def least_bid_of(s: State, field: int) -> int:
    """The least first bid for a lot."""
    first = s.rules.choices.auction.first_bid
    return s.rules.price[field] if first == "price" else first


def _deadline(s: State, *, first: bool) -> int:
    """When the auction closes by itself; 0 where each bidder has a clock of their own."""
    choices = s.rules.choices.auction
    if choices.kind == "in_turn":
        return 0
    return clock_now(s) + (choices.first_s if first else choices.next_s) * 1000


def _next_bidder(s: State, after: int, *, high: int, least: int) -> int:
    """Whose bid it is next where bidding goes in turn; ``NOBODY`` when nobody is left."""
    for seat in in_play_order(s, after):
        if seat not in (after, high) and not s.passed >> seat & 1 and s.cash[seat] >= least:
            return seat
    return NOBODY


def bid(d: Draft, seat: int, action: Bid) -> None:
    """A bid stands, and the clock begins again."""
    s = d.state
    bidder = NOBODY
    if s.bidder != NOBODY:
        least = action.amount + s.rules.choices.auction.least_step + s.rules.keep
        bidder = _next_bidder(s, seat, high=seat, least=least)
    d.emit(BidMade(action.auction, seat, action.amount, bidder, _deadline(s, first=False)))


def pass_(d: Draft, seat: int, action: Pass | None, why: Literal["passed", "clock"] = "passed") -> None:
    """Leave the auction (also by the clock where bidding goes in turn)."""
    s = d.state
    bidder = NOBODY
    if s.bidder != NOBODY:
        least = least_bid(s, s.lot) + s.rules.keep
        bidder = _next_bidder(s, seat, high=high_bidder(s), least=least)
    d.emit(BidderPassed(s.auctions, seat, why, bidder))


def leave(d: Draft, seat: int) -> None:
    """The bids of somebody who goes out fall (CORE-LEAVE).

    The highest bid of somebody still in stands again with a fresh clock; without one the auction begins anew. A bidder
    in turn is skipped. Called while the seat still counts as in.
    """
    s = d.state
    if AUCTION not in s.phases:
        return
    was_high = high_bidder(s) == seat
    others = tuple(bid for bid in s.bids if bid.seat != seat)
    if was_high and not others:
        _begin_anew(d, seat)
        return
    if not was_high and len(others) == len(s.bids) and s.bidder != seat:
        return
    bidder = s.bidder
    if bidder == seat or (bidder != NOBODY and was_high):
        high, last = (others[-1].seat, others[-1].amount) if others else (NOBODY, 0)
        step = s.rules.choices.auction.least_step
        least = (last + step if others else least_bid_of(s, s.lot)) + s.rules.keep
        bidder = _next_bidder(s, seat, high=high, least=least)
    d.emit(BidsFell(s.auctions, seat, bidder, _deadline(s, first=False) if was_high else s.auction_deadline_ms))


def _begin_anew(d: Draft, seat: int) -> None:
    s = d.state
    field, forced_by = s.lot, s.forced_by
    bidder = NOBODY
    mask = 1 << seat | (1 << forced_by if forced_by != NOBODY else 0)
    if s.rules.choices.auction.kind == "in_turn":
        # a throw is being played out: it is still the turn of the one who declined
        if PLAYING_OUT in s.phases and forced_by == NOBODY:
            mask |= 1 << s.turn
        least = least_bid_of(s, field) + s.rules.keep
        able = [other for other in in_play_order(s, s.turn) if not mask >> other & 1 and s.cash[other] >= least]
        bidder = able[0] if able else NOBODY
    d.emit(AuctionOpened(s.auctions + 1, field, forced_by, bidder, mask, _deadline(s, first=True)))


def finished(s: State) -> bool:
    """Whether nobody but the high bidder is left (TUB-AUCTION, RUG-AUCTION, GLO-AUCTION)."""
    return not candidates(s)


def close(d: Draft) -> None:
    """The last bid wins and pays; without one the lot stays with the bank, or is free again (RUG-DEBT)."""
    s = d.state
    field, forced_by = s.lot, s.forced_by
    winner = high_bidder(s)
    amount = s.bids[-1].amount if s.bids else 0
    d.emit(AuctionClosed(s.auctions, field, winner, amount))
    if winner != NOBODY:
        d.emit(Paid(winner, BANK if forced_by == NOBODY else forced_by, amount, Reason.AUCTION))
        d.emit(LotMoved(field, winner, "auctioned"))
    elif forced_by != NOBODY:
        nobody_bids(d, field)


def nobody_bids(d: Draft, field: int) -> None:
    """A lot that the bank wanted to auction off for its owner and that nobody bid on is free again (RUG-DEBT)."""
    d.emit(LotMoved(field, NOBODY, "sold"))
