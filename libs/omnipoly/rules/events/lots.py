"""Events of lots: who owns them, what stands on them, auctions, trades."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from ..actions import Side
from ..state import AUCTION, FACTORY, LANDED, NOBODY, LastBid, OpenOffer, Wait, without
from .base import Event

if TYPE_CHECKING:
    from ..state import State


class LotOffered(Event, frozen=True, gc=False, tag="lot_offered"):
    """Its lander may buy a lot that nobody owns, or decline (CORE-BUY)."""

    seat: int
    field: int

    def apply(self, s: State) -> None:
        s.phases = (*s.phases, LANDED)


class LotAnswered(Event, frozen=True, gc=False, tag="lot_answered"):
    """The lot was bought, declined, or its lander went out."""

    seat: int
    field: int
    how: Literal["bought", "declined", "void"]

    def apply(self, s: State) -> None:
        s.phases = without(s.phases, LANDED)


class LotMoved(Event, frozen=True, gc=False, tag="lot_moved"):
    """A lot has a new owner; ``NOBODY`` is the bank. Mortgages move with it, except to the bank."""

    field: int
    owner: int
    how: Literal["bought", "auctioned", "dealt", "traded", "estate", "sold"]

    def apply(self, s: State) -> None:
        field, owner = self.field, self.owner
        rules = s.rules
        sets_n, group = rules.sets_n, rules.set_of[field]
        before = s.owner[field]
        mortgaged, level = s.mortgaged[field], s.level[field]
        if before >= 0:
            row = before * sets_n + group
            s.lots[before] -= 1
            s.held[row] -= 1
            if mortgaged:
                s.pledged[row] -= 1
            if level:
                s.built[row] -= 1
                if level == FACTORY:
                    s.factories[before] -= 1
        s.owner[field] = owner
        if owner >= 0:
            row = owner * sets_n + group
            s.lots[owner] += 1
            s.held[row] += 1
            if mortgaged:
                s.pledged[row] += 1
            if level:
                s.built[row] += 1
                if level == FACTORY:
                    s.factories[owner] += 1
        else:
            s.mortgaged[field] = False


class LevelChanged(Event, frozen=True, gc=False, tag="level_changed"):
    """A building went up or came down: 0 bare, 1-4 houses, 5 a hotel, 6 a factory."""

    seat: int
    field: int
    level: int

    def apply(self, s: State) -> None:
        field, level = self.field, self.level
        before = s.level[field]
        s.level[field] = level
        row = self.seat * s.rules.sets_n + s.rules.set_of[field]
        s.built[row] += (level > 0) - (before > 0)
        s.factories[self.seat] += (level == FACTORY) - (before == FACTORY)


class MortgageChanged(Event, frozen=True, gc=False, tag="mortgage_changed"):
    """A lot was mortgaged, or its mortgage lifted."""

    seat: int
    field: int
    mortgaged: bool

    def apply(self, s: State) -> None:
        s.mortgaged[self.field] = self.mortgaged
        s.pledged[self.seat * s.rules.sets_n + s.rules.set_of[self.field]] += 1 if self.mortgaged else -1


class AuctionOpened(Event, frozen=True, gc=False, tag="auction_opened"):
    """A lot is auctioned; also anew, under a new id, when the only bidders left the game."""

    auction: int
    field: int
    forced_by: int
    """The seat whose lot the bank sells (RUG-DEBT); ``NOBODY`` for a lot of the bank."""
    bidder: int
    """Who bids first where bidding goes in turn; ``NOBODY`` otherwise."""
    out_mask: int
    """Seats that take no part from the start, as a bit mask (GLO-AUCTION: the one who declined)."""
    deadline_ms: int

    def apply(self, s: State) -> None:
        s.auctions = self.auction
        s.lot = self.field
        s.forced_by = self.forced_by
        s.bids = ()
        s.passed = self.out_mask
        s.bidder = self.bidder
        s.auction_deadline_ms = self.deadline_ms
        if AUCTION not in s.phases:
            s.phases = (*s.phases, AUCTION)
        else:
            # an auction that begins anew asks everybody anew
            for seat, asked in enumerate(s.asked):
                if asked == AUCTION:
                    s.prompt[seat] = s.deadline_ms[seat] = 0


class BidMade(Event, frozen=True, gc=False, tag="bid_made"):
    """A bid stands; the clock begins again."""

    auction: int
    seat: int
    amount: int
    bidder: int
    """Whose bid it is next where bidding goes in turn; ``NOBODY`` otherwise."""
    deadline_ms: int

    def apply(self, s: State) -> None:
        s.bids = (*s.bids, LastBid(self.seat, self.amount))
        s.bidder = self.bidder
        s.auction_deadline_ms = self.deadline_ms


class BidderPassed(Event, frozen=True, gc=False, tag="bidder_passed"):
    """A seat is out of this auction."""

    auction: int
    seat: int
    why: Literal["passed", "short", "clock"]
    bidder: int
    """Whose bid it is next where bidding goes in turn; ``NOBODY`` otherwise."""

    def apply(self, s: State) -> None:
        s.passed |= 1 << self.seat
        s.bidder = self.bidder


class BidsFell(Event, frozen=True, gc=False, tag="bids_fell"):
    """The bids of somebody who left fall; the highest of somebody still in stands again with a fresh clock."""

    auction: int
    seat: int
    bidder: int
    deadline_ms: int

    def apply(self, s: State) -> None:
        s.bids = tuple(bid for bid in s.bids if bid.seat != self.seat)
        s.passed |= 1 << self.seat
        s.bidder = self.bidder
        s.auction_deadline_ms = self.deadline_ms


class AuctionClosed(Event, frozen=True, gc=False, tag="auction_closed"):
    """The lot is sold to the winner, or stays with the bank (winner ``NOBODY``)."""

    auction: int
    field: int
    winner: int
    amount: int

    def apply(self, s: State) -> None:
        s.lot = -1
        s.forced_by = NOBODY
        s.bids = ()
        s.passed = 0
        s.bidder = NOBODY
        s.auction_deadline_ms = 0
        s.phases = without(s.phases, AUCTION)
        for seat, asked in enumerate(s.asked):
            if asked == AUCTION:
                s.prompt[seat] = s.deadline_ms[seat] = 0


class OfferMade(Event, frozen=True, gc=False, tag="offer_made"):
    """A trade is offered (CORE-TRADE); ``mortgaged`` lists those of its lots that are."""

    offer: int
    proposer: int
    receiver: int
    give: Side
    take: Side
    mortgaged: tuple[int, ...]
    deadline_ms: int

    def apply(self, s: State) -> None:
        s.offers_n = self.offer
        s.offers_made[self.proposer] += 1
        s.offers = (
            *s.offers,
            OpenOffer(self.offer, self.proposer, self.receiver, self.give, self.take, self.mortgaged, self.deadline_ms),
        )


class OfferClosed(Event, frozen=True, gc=False, tag="offer_closed"):
    """An offer is no longer open; after a refusal the pair waits."""

    offer: int
    how: Literal["accepted", "refused", "withdrawn", "expired", "lapsed", "void"]
    wait_until_ms: int = 0
    """Until then the pair makes each other no offers; 0: no wait."""

    def apply(self, s: State) -> None:
        for offer in s.offers:
            if offer.offer == self.offer:
                break
        else:
            return
        s.offers = tuple(o for o in s.offers if o.offer != self.offer)
        if self.wait_until_ms:
            s.waits = (
                *(w for w in s.waits if w.until_ms > s.now_ms),
                Wait(offer.proposer, offer.receiver, self.wait_until_ms),
            )


class OfferShortened(Event, frozen=True, gc=False, tag="offer_shortened"):
    """An offer lost time because the one it lies at became away (TUB-TRADE)."""

    offer: int
    deadline_ms: int

    def apply(self, s: State) -> None:
        s.offers = tuple(
            OpenOffer(o.offer, o.proposer, o.receiver, o.give, o.take, o.mortgaged, self.deadline_ms)
            if o.offer == self.offer
            else o
            for o in s.offers
        )


class CardMoved(Event, frozen=True, gc=False, tag="card_moved"):
    """A jail-free card goes from one hand to another."""

    card: str
    giver: int
    taker: int

    def apply(self, s: State) -> None:
        hand = s.cards[self.giver]
        at = hand.index(self.card)
        s.cards[self.giver] = hand[:at] + hand[at + 1 :]
        s.cards[self.taker] += (self.card,)
