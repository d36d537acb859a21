"""What may be refused at once: only what the table would refuse now and for ever, or what a look at its head confirms.

The conditions are the engine's own (`engine.verify`). A command that was accepted before is never refused here: it is a
repeat, and the table answers it as it did the first time.
"""

from __future__ import annotations

import enum
from typing import NamedTuple

from omnipoly.rules import auctions, engine
from omnipoly.rules.actions import Bid, Pass
from omnipoly.rules.codes import Code
from omnipoly.rules.state import Out

from .book import AuctionBook


class How(enum.Enum):
    """How sure a refusal is."""

    FOR_EVER = "for_ever"
    """It stays true whatever happens at the table."""
    CONFIRM = "confirm"
    """It holds at the version known here: it may leave once the head has been seen to stand there."""


class Verdict(NamedTuple):
    """A refusal that the table need not be asked for."""

    code: Code
    how: How


def early(book: AuctionBook, actor: str, action: Bid | Pass, command_id: str) -> Verdict | None:
    """Why a bid or pass is refused without the table; None: it is carried there."""
    s = book.state
    if s.ended or s.rests or actor not in s.holder:
        return None  # the table has an earlier reason
    seat = s.holder.index(actor)
    if s.out[seat] != Out.IN:
        return None
    number = action.auction
    seen = book.seen.get(number)
    if seen is None or (actor, command_id) in seen.accepted:
        return None
    if (seat, action.amount) in seen.bids if isinstance(action, Bid) else seen.passed >> seat & 1:
        return None
    if number != book.running:
        # its end was seen, or that of a later one
        return Verdict(Code.AUCTION_CLOSED, How.FOR_EVER)
    if s.passed >> seat & 1:
        return Verdict(Code.ALREADY_PASSED, How.FOR_EVER)
    return _amount(book, seat, actor, action) if isinstance(action, Bid) else None


def _amount(book: AuctionBook, seat: int, actor: str, bid: Bid) -> Verdict | None:
    s = book.state
    code = engine.verify(s, actor, bid, book.now_ms())
    if code is Code.INVALID_AMOUNT:
        return Verdict(code, How.FOR_EVER)
    if code is not Code.BID_TOO_LOW:
        return None
    own = max((other.amount for other in s.bids if other.seat == seat), default=0)
    if bid.amount <= own or bid.amount < auctions.least_bid_of(s, s.lot):
        return Verdict(code, How.FOR_EVER)
    # The bid above it falls when its bidder leaves.
    return Verdict(code, How.CONFIRM)
