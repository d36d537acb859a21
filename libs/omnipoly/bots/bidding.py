"""Bidding at auctions (TUB-AUCTION, RUG-AUCTION, GLO-AUCTION): by worth, never above it, in few bids."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnipoly.rules import auctions
from omnipoly.rules.actions import Bid, Pass

from .valuation import lot_worth

if TYPE_CHECKING:
    from omnipoly.rules.actions import Action
    from omnipoly.rules.state import State

    from .character import Character


def limit(s: State, seat: int, character: Character) -> int:
    """The most that the seat bids for the lot being auctioned: what it is worth to it, within its cash."""
    worth = lot_worth(s, seat, s.lot) * character.ardour // 100
    cash = s.cash[seat] - s.rules.choices.debt.keep
    return min(worth, cash - character.reserve // 2)


def answer(s: State, seat: int, character: Character) -> Action:
    """Bid or pass. A bid goes at once to where the strongest rival would stop, as far as the lot is worth it."""
    most = limit(s, seat, character)
    least = auctions.least_bid(s, s.lot)
    if most < least:
        return Pass(s.auctions)
    rival = max((_guess(s, other) for other in _rivals(s, seat)), default=0)
    wanted = min(most, max(least, rival + s.rules.choices.auction.least_step))
    amounts = auctions.bid_amounts(s)
    if not amounts:
        return Bid(s.auctions, wanted)
    return Bid(s.auctions, max((amount for amount in amounts if amount <= wanted), default=least))


def _rivals(s: State, seat: int) -> list[int]:
    """Seats that could still bid against this one, the high bidder among them."""
    rivals = [other for other in auctions.candidates(s) if other != seat]
    high = auctions.high_bidder(s)
    return rivals if high < 0 else [*rivals, high]


def _guess(s: State, other: int) -> int:
    """Where another bidder probably stops: everybody's cards lie open, only their reserve does not."""
    return min(lot_worth(s, other, s.lot), s.cash[other])
