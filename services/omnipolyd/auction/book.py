"""The auctions of one table: the running one in the engine's state, what was accepted in each, how the last ended."""

from __future__ import annotations

from collections import OrderedDict
from typing import Protocol

from omnipoly.rules import auctions
from omnipoly.rules.events import AuctionClosed, AuctionOpened, BidderPassed, BidMade, Event, GameEnded, PositionSet
from omnipoly.rules.state import NOBODY
from omnipoly.runtime.following import Followed
from omnipoly.wire.commits import Commit
from omnipoly.wire.convert import seats_of
from omnipoly.wire.gen.game.v1 import auction_pb2

ENDED_KEPT = 8
"""Auctions of a table whose end is remembered; a bid in an older one is for the table to refuse."""


class Seen:
    """What is known of the commands accepted in one auction: they are never refused here, the table answers again."""

    __slots__ = ("accepted", "bids", "passed")

    def __init__(self, bids: frozenset[tuple[int, int]] = frozenset(), passed: int = 0) -> None:
        """bids, passed: (seat, amount) and the mask of seats that stood when the auction was first seen."""
        self.accepted: set[tuple[str, str]] = set()
        """(actor, command id) of what was accepted since."""
        self.bids = bids
        self.passed = passed


class Listener(Protocol):
    """One who follows auctions of a table."""

    def put(self, picture: auction_pb2.AuctionPicture) -> None:
        """The running auction's picture after each change, and the last one of each that ends."""

    def only(self, running: int) -> None:
        """No other auction runs than that, 0: none; of those that ended meanwhile there are no pictures."""


class AuctionBook(Followed):
    """A followed table with its auctions."""

    def __init__(self, table: str) -> None:
        super().__init__(table)
        self.seen: OrderedDict[int, Seen] = OrderedDict()
        """By auction, those of which every accepted command is known, or can be told by seat and amount."""
        self.ended: OrderedDict[int, auction_pb2.AuctionPicture] = OrderedDict()
        """The last pictures of auctions whose end was seen."""
        self.followers: set[Listener] = set()
        self._shown: bytes = b""

    def pinned(self) -> bool:
        return bool(self.followers)

    @property
    def running(self) -> int:
        """The running auction's number; 0 when none runs."""
        state = self.state
        return state.auctions if state.lot >= 0 else 0

    def picture(self) -> auction_pb2.AuctionPicture:
        """The running auction as it stands."""
        s = self.state
        picture = auction_pb2.AuctionPicture(
            table=self.table,
            version=self.version,
            epoch=self.epoch,
            auction=s.auctions,
            field=s.lot,
            forced_by=s.forced_by,
            passed=seats_of(s.passed),
            bidder=s.bidder,
            least=auctions.least_bid(s, s.lot),
            amounts=auctions.bid_amounts(s),
            winner=NOBODY,
        )
        for bid in s.bids:
            picture.bids.add(seat=bid.seat, amount=bid.amount)
        # where bidding goes in turn the clock is the bidder's own
        deadline_ms = s.auction_deadline_ms or (s.deadline_ms[s.bidder] if s.bidder != NOBODY else 0)
        if deadline_ms:
            picture.deadline.FromMilliseconds(deadline_ms)
        return picture

    # --- what happens

    def pictured(self) -> None:
        running = self.running
        bids = frozenset((bid.seat, bid.amount) for bid in self.state.bids)
        self.seen.clear()
        if running:
            self.seen[running] = Seen(bids, self.state.passed)
        for number in [number for number in self.ended if number >= (running or self.state.auctions + 1)]:
            del self.ended[number]  # written anew since
        for follower in list(self.followers):
            follower.only(running)
        self._show()

    def play(self, commit: Commit, event: Event) -> None:
        number = self.running
        if isinstance(event, AuctionOpened):
            if number:
                self._end(commit, number, NOBODY, 0)  # begun anew under another number
            self._open(event.auction)
        elif isinstance(event, BidMade | BidderPassed):
            seen = self.seen.get(number)
            if seen is not None:
                seen.accepted.add((commit.actor, commit.command_id))
        elif isinstance(event, AuctionClosed):
            self._end(commit, number, event.winner, event.amount)
        elif isinstance(event, GameEnded) and number:
            self._end(commit, number, NOBODY, 0)
        event.apply(self.state)
        if isinstance(event, PositionSet):
            self.pictured()

    def moved(self, commit: Commit) -> None:
        self._show()

    def _open(self, number: int) -> None:
        self.seen[number] = Seen()
        while len(self.seen) > ENDED_KEPT:
            self.seen.popitem(last=False)

    def _end(self, commit: Commit, number: int, winner: int, price: int) -> None:
        picture = self.picture()
        picture.version, picture.closed, picture.winner, picture.price = commit.version, True, winner, price
        picture.least, picture.bidder = 0, NOBODY
        picture.ClearField("amounts")
        picture.ClearField("deadline")
        self.ended[number] = picture
        while len(self.ended) > ENDED_KEPT:
            self.ended.popitem(last=False)
        self._shown = b""
        self._tell(picture)

    def _show(self) -> None:
        """Tells the followers when the running auction looks another way than it did."""
        if not self.followers or not self.running:
            return
        picture = self.picture()
        version, picture.version = picture.version, 0
        looks = picture.SerializeToString(deterministic=True)
        picture.version = version
        if looks != self._shown:
            self._shown = looks
            self._tell(picture)

    def _tell(self, picture: auction_pb2.AuctionPicture) -> None:
        for follower in list(self.followers):
            follower.put(picture)
