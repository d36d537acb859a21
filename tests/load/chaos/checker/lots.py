"""Who owns what, and how it came there: bought, auctioned, traded, inherited or sold, each as its own events say.

- The bank sells what it has, to who has bought it or won it; a forced sale sells what belongs to the seat it is forced
  on.
- What is traded is what an offer says that is accepted in the same commit, from its giver to its receiver; all of it.
- What somebody who goes out has goes away in that commit; a lot changes hands without buildings, and not while it is
  auctioned.
- One auction runs at a time. Another begins only for the same lot, when the only one who has bid goes out.
- Purchases, bids, offers and acceptances are commands of the one whose seat it is.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any

from omnipoly.wire.gen.game.v1 import events_pb2

if TYPE_CHECKING:
    from .model import Model

BANK = -1
_HOW = events_pb2.LotMoved
_ANSWERED = events_pb2.LotAnswered
_CLOSED = events_pb2.OfferClosed

Handed = Counter[tuple[Any, int, int]]
"""What from whom to whom: a lot by field or a card by id."""


class Lots:
    """Lots, what stands on them, offers and auctions of one game."""

    def __init__(self, model: Model) -> None:
        self._model = model
        self.owner: dict[int, int] = {}
        self.level: Counter[int] = Counter()
        self.mortgaged: defaultdict[int, bool] = defaultdict(bool)
        self.offers: dict[int, Any] = {}
        self.auction = 0
        """The running one; 0: none."""
        self._lot = self._forced = BANK
        self._bids: list[tuple[int, int]] = []
        self._sold: Counter[int] = Counter()
        self._begin()

    def owns(self, field: int) -> int:
        """A lot's owner."""
        return self.owner.get(field, BANK)

    def of(self, seat: int) -> list[int]:
        """Somebody's lots."""
        return [field for field, owner in self.owner.items() if owner == seat]

    def _begin(self) -> None:
        """What is known of one commit."""
        self._answered: Counter[tuple[int, int]] = Counter()
        self._bought: Counter[tuple[int, int]] = Counter()
        self._hammers: dict[tuple[int, int], int] = {}
        """(lot, winner) of this commit's auctions: whose the lot was."""
        self._auctioned: Counter[tuple[int, int]] = Counter()
        self._agreed: Handed = Counter()
        self._traded: Handed = Counter()
        self._cards: Handed = Counter()
        self._anew: tuple[int, list[int]] | None = None
        """An auction that was begun while one ran: who had bid in that, and who is out of the new one."""

    def end(self) -> None:
        """A commit is over: what it has promised is done, and nothing else."""
        if self._answered != self._bought:
            self._wrong("lot", f"bought: {dict(self._answered)}, handed over: {dict(self._bought)}")
        if self._auctioned != Counter(self._hammers.keys()):
            self._wrong("auction", f"won: {self._hammers}, handed over: {dict(self._auctioned)}")
        gone = self._model.going
        traded = self._traded + Counter({key: n for key, n in self._cards.items() if key[1] not in gone})
        if traded != self._agreed:
            self._wrong("lot", f"agreed on: {dict(self._agreed)}, handed over: {dict(traded)}")
        if self._anew is not None:
            bid, excluded = self._anew
            if bid not in gone or bid not in excluded:
                self._wrong("auction", f"auction {self.auction} begins while one runs")
        self._begin()

    def _wrong(self, kind: str, text: str) -> None:
        self._model.wrong(kind, text)

    # --- lots

    def on_lot_answered(self, event: events_pb2.LotAnswered) -> None:
        if event.how == _ANSWERED.HOW_BOUGHT:
            self._answered[event.seat, event.field] += 1
            self._model.acts(event.seat, f"the purchase of lot {event.field}")

    def on_lot_moved(self, event: events_pb2.LotMoved) -> None:
        before, how = self.owns(event.field), event.how
        self._comes(event, before)
        if before == event.owner:
            self._wrong("lot", f"lot {event.field} goes from {before} to {event.owner}")
        if how in {_HOW.HOW_BOUGHT, _HOW.HOW_DEALT} and before != BANK:
            self._wrong("lot", f"lot {event.field} is sold by the bank and belongs to {before}")
        if how in {_HOW.HOW_SOLD, _HOW.HOW_ESTATE} and before == BANK:
            self._wrong("lot", f"lot {event.field} is given away and belongs to the bank")
        if event.owner >= 0 and event.owner in self._model.out:
            self._wrong("lot", f"lot {event.field} goes to seat {event.owner}, which is out")
        if self.level[event.field]:
            self._wrong("lot", f"lot {event.field} changes hands with {self.level[event.field]} on it")
        if self.auction and event.field == self._lot:
            self._wrong("lot", f"lot {event.field} goes to {event.owner} while it is auctioned")
        self.owner[event.field] = event.owner
        if event.owner < 0:
            self.mortgaged[event.field] = False

    def _comes(self, event: events_pb2.LotMoved, before: int) -> None:
        """How a lot comes to its owner is what happened in this commit."""
        how, key = event.how, (event.field, event.owner)
        if how == _HOW.HOW_BOUGHT:
            self._bought[event.owner, event.field] += 1
        elif how == _HOW.HOW_AUCTIONED:
            self._auctioned[key] += 1
            seller = self._hammers.get(key)
            if before != seller:
                self._wrong("lot", f"lot {event.field} of {before} is auctioned for {seller}")
        elif how == _HOW.HOW_DEALT:
            if self._model.round:
                self._wrong("lot", f"lot {event.field} is dealt in round {self._model.round}")
        elif how == _HOW.HOW_TRADED:
            self._traded[event.field, before, event.owner] += 1
        elif how == _HOW.HOW_ESTATE:
            if before not in self._model.going:
                self._wrong("lot", f"lot {event.field} is left by {before}, who does not go out")
        elif how == _HOW.HOW_SOLD:
            if event.owner != BANK:
                self._wrong("lot", f"lot {event.field} is sold to {event.owner}")
        else:
            self._wrong("lot", f"lot {event.field} goes to {event.owner}, nobody knows how")

    def on_level_changed(self, event: events_pb2.LevelChanged) -> None:
        if self.owns(event.field) != event.seat or event.level == self.level[event.field]:
            self._wrong("lot", f"seat {event.seat} builds on lot {event.field}")
        self.level[event.field] = event.level

    def on_mortgage_changed(self, event: events_pb2.MortgageChanged) -> None:
        if self.owns(event.field) != event.seat or event.mortgaged == self.mortgaged[event.field]:
            self._wrong("lot", f"the mortgage of lot {event.field} is {event.mortgaged} for seat {event.seat}")
        self.mortgaged[event.field] = event.mortgaged

    # --- offers

    def on_offer_made(self, event: events_pb2.OfferMade) -> None:
        self._model.next("offer", event.offer)
        self._model.acts(event.proposer, f"offer {event.offer}")
        self.offers[event.offer] = event

    def on_offer_closed(self, event: events_pb2.OfferClosed) -> None:
        offer = self.offers.pop(event.offer, None)
        if offer is None:
            self._wrong("doubled", f"offer {event.offer} is closed and not open")
        elif event.how == _CLOSED.HOW_ACCEPTED:
            self._model.found.count("trades")
            self._model.acts(offer.receiver, f"the acceptance of offer {event.offer}")
            for giver, taker, side in (
                (offer.proposer, offer.receiver, offer.give),
                (offer.receiver, offer.proposer, offer.take),
            ):
                self._agreed.update((what, giver, taker) for what in (*side.fields, *side.cards))

    def on_card_moved(self, event: events_pb2.CardMoved) -> None:
        self._cards[event.card, event.giver, event.taker] += 1

    # --- auctions

    def on_auction_opened(self, event: events_pb2.AuctionOpened) -> None:
        self._model.next("auction", event.auction)
        self._model.found.count("auctions")
        if self.auction:
            self._begins_anew(event)
        if self.owns(event.field) != event.forced_by:
            self._wrong("lot", f"lot {event.field} of {self.owns(event.field)} is auctioned for {event.forced_by}")
        self.auction, self._lot, self._forced, self._bids = event.auction, event.field, event.forced_by, []

    def _begins_anew(self, event: events_pb2.AuctionOpened) -> None:
        """Only for the same lot, when the only one who has bid goes out and is left out of the new one."""
        bidders = {seat for seat, _ in self._bids}
        if len(bidders) != 1 or (event.field, event.forced_by) != (self._lot, self._forced):
            self._wrong("auction", f"auction {event.auction} begins while {self.auction} runs")
        else:
            self._anew = bidders.pop(), list(event.excluded)

    def on_bid_made(self, event: events_pb2.BidMade) -> None:
        self._model.acts(event.seat, f"a bid in auction {event.auction}")
        if event.auction != self.auction:
            self._wrong("auction", f"a bid in auction {event.auction} while {self.auction} runs")
        if self._bids and event.amount <= self._bids[-1][1]:
            self._wrong("auction", f"a bid of {event.amount} after {self._bids[-1][1]}")
        self._bids.append((event.seat, event.amount))

    def on_bids_fell(self, event: events_pb2.BidsFell) -> None:
        self._bids = [bid for bid in self._bids if bid[0] != event.seat]

    def on_auction_closed(self, event: events_pb2.AuctionClosed) -> None:
        self._sold[event.auction] += 1
        if event.auction != self.auction or self._sold[event.auction] > 1:
            self._wrong("auction", f"auction {event.auction} is closed while {self.auction} runs")
        unsold = BANK, 0
        ends = [self._bids[-1] if self._bids else unsold]
        if self._forced in self._model.going:  # a sale that is forced on somebody falls when they leave
            ends.append(unsold)
        if event.field != self._lot or (event.winner, event.amount) not in ends:
            self._wrong("auction", f"auction {event.auction} goes to {event.winner} for {event.amount}")
        if event.winner >= 0:
            self._hammers[event.field, event.winner] = self._forced
        self.auction = 0

    @property
    def forced(self) -> int:
        """Whose lot the last auction has sold; the bank's, where nobody was made to."""
        return self._forced

    def on_game_ended(self, _: events_pb2.GameEnded) -> None:
        self.auction = 0
        self.offers.clear()
