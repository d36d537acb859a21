"""A game as far as money, lots, figures and running numbers go, moved by its events and by nothing else."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any

from omnipoly.wire.gen.game.v1 import events_pb2, types_pb2

from .reading import Commit, Findings

BANK, CASINO = -1, -2
AFTER_THE_END = frozenset(("seed_revealed", "connected", "disconnected", "host_changed"))
_LOT = events_pb2.LotMoved

Money = tuple[tuple[int, ...], tuple[tuple[int, int], ...], int, int]
"""Cash by seat, (field, owner) of owned lots, the casino's fortune, what the bank has paid out."""


class Model:
    """One table's game."""

    def __init__(self, table: str, found: Findings) -> None:
        self.table = table
        self.started = self.ended = False
        self.holders: list[str] = []
        self.bots: list[bool] = []
        self.money: dict[int, Money] = {}
        """By version: what a picture of it has to show."""
        self._found = found
        self._row: Commit | None = None
        self._cash: list[int] = []
        self._bank = self._casino = 0
        self._owner: dict[int, int] = {}
        self._at: list[int | None] = []
        """Where each figure stands; ``None``: in jail, wherever that is."""
        self._out: set[int] = set()
        self._numbers: Counter[str] = Counter()
        self._draws: Counter[str] = Counter()
        self._debts: set[int] = set()
        self._offers: dict[int, Any] = {}
        self._auction = 0
        """The running one; 0: none."""
        self._lot = self._forced = -1
        self._bids: list[tuple[int, int]] = []
        self._sold: Counter[int] = Counter()
        self._round = 0
        self._mortgaged: defaultdict[int, bool] = defaultdict(bool)
        self._level: Counter[int] = Counter()

    def play(self, row: Commit) -> None:
        """Moves on by a commit."""
        self._row = row
        happened = list(row.events())
        for kind, event in happened:
            if self.ended and kind not in AFTER_THE_END:
                self._wrong("end", f"{kind} after the end")
            play = getattr(self, f"_{kind}", None)
            if play is not None:
                play(event)
        self._found.count("events", len(happened))
        if self.started:
            self._starts([event for kind, event in happened if kind == "paid"], happened)
            if min(self._cash, default=0) < 0 or self._casino < 0:
                self._wrong("money", f"somebody has less than nothing: {self._cash}, the casino {self._casino}")
            if sum(self._cash) + self._casino != self._bank:
                self._wrong("money", f"{self._cash} and {self._casino} are not {self._bank}")
            self._sales(happened)
        owned = tuple(sorted((field, owner) for field, owner in self._owner.items() if owner >= 0))
        self.money[row.version] = (tuple(self._cash), owned, self._casino, self._bank)

    def _wrong(self, kind: str, text: str) -> None:
        self._found.fault(kind, f"{self._row}: {text}")

    def _next(self, what: str, number: int) -> None:
        """A running number: each is one more than the last."""
        if number != self._numbers[what] + 1:
            self._wrong("numbers", f"{what} {number} after {self._numbers[what]}")
        self._numbers[what] = number

    # --- the table

    def _table_opened(self, event: events_pb2.TableOpened) -> None:
        if self._row is None or self._row.version != 1 or event.table != self.table:
            self._wrong("numbers", f"the table {event.table} is opened")

    def _seat_taken(self, event: events_pb2.SeatTaken) -> None:
        if event.seat != len(self.holders):
            self._wrong("numbers", f"seat {event.seat} is taken, {len(self.holders)} is next")
        if event.holder in self.holders:
            self._wrong("doubled", f"{event.holder} sits down twice")
        self.holders.append(event.holder)
        self.bots.append(event.bot)

    def _seat_freed(self, event: events_pb2.SeatFreed) -> None:
        del self.holders[event.seat], self.bots[event.seat]

    def _seat_handed_over(self, event: events_pb2.SeatHandedOver) -> None:
        self.holders[event.seat], self.bots[event.seat] = event.holder, event.bot

    def _game_started(self, _: events_pb2.GameStarted) -> None:
        if self.started:
            self._wrong("doubled", "the game starts twice")
        self.started = True
        self._cash = [0] * len(self.holders)
        self._at = [0] * len(self.holders)

    def _seat_out(self, event: events_pb2.SeatOut) -> None:
        if event.seat in self._out:
            self._wrong("doubled", f"seat {event.seat} goes out twice")
        self._out.add(event.seat)

    def _game_ended(self, _: events_pb2.GameEnded) -> None:
        if self.ended:
            self._wrong("doubled", "the game ends twice")
        self.ended = True
        self._auction = 0
        self._offers.clear()
        self._debts.clear()

    # --- turns

    def _asked(self, event: events_pb2.Asked) -> None:
        for prompt in event.opened:
            self._next("prompt", prompt.prompt)
            if prompt.seat in self._out:
                self._wrong("order", f"seat {prompt.seat} is asked after it went out")

    def _turn_started(self, event: events_pb2.TurnStarted) -> None:
        if event.seat in self._out:
            self._wrong("order", f"the turn of seat {event.seat}, which is out")
        if event.round < self._round:
            self._wrong("order", f"round {event.round} after {self._round}")
        self._round = event.round

    def _dice_thrown(self, event: events_pb2.DiceThrown) -> None:
        self._next("throw", event.number)

    def _card_drawn(self, event: events_pb2.CardDrawn) -> None:
        if event.number != self._draws[event.deck] + 1:
            self._wrong("numbers", f"draw {event.number} of {event.deck} after {self._draws[event.deck]}")
        self._draws[event.deck] = event.number

    def _moved(self, event: events_pb2.Moved) -> None:
        before = self._at[event.seat]
        if before is not None and before != event.origin:
            self._wrong("order", f"seat {event.seat} leaves {event.origin} and stands on {before}")
        self._at[event.seat] = event.field

    def _jailed(self, event: events_pb2.Jailed) -> None:
        self._at[event.seat] = None

    # --- money

    def _paid(self, event: events_pb2.Paid) -> None:
        if event.amount <= 0 or event.payer == event.payee:
            self._wrong("money", f"{event.payer} pays {event.payee} {event.amount}")
        self._add(event.payer, -event.amount)
        self._add(event.payee, event.amount)

    def _add(self, who: int, amount: int) -> None:
        if who >= 0:
            self._cash[who] += amount
        elif who == BANK:
            self._bank -= amount
        else:
            self._casino += amount

    def _starts(self, paid: list[Any], happened: list[tuple[str, Any]]) -> None:
        """Everybody gets the start money once, at the start."""
        given = Counter(event.payee for event in paid if event.reason == types_pb2.REASON_START_CASH)
        begins = any(kind == "game_started" for kind, _ in happened)
        wanted = Counter(range(len(self._cash))) if begins else Counter[int]()
        if given != wanted:
            self._wrong("money", f"start money for {dict(given)}")

    def _debt_opened(self, event: events_pb2.DebtOpened) -> None:
        self._next("debt", event.debt)
        self._debts.add(event.debt)

    def _debt_closed(self, event: events_pb2.DebtClosed) -> None:
        if event.debt not in self._debts:
            self._wrong("doubled", f"debt {event.debt} is closed and not open")
        self._debts.discard(event.debt)

    # --- lots

    def _lot_moved(self, event: events_pb2.LotMoved) -> None:
        before = self._owner.get(event.field, BANK)
        if before == event.owner:
            self._wrong("lot", f"lot {event.field} goes from {before} to {event.owner}")
        if event.how in {_LOT.HOW_BOUGHT, _LOT.HOW_DEALT} and before != BANK:
            self._wrong("lot", f"lot {event.field} is sold by the bank and belongs to {before}")
        if event.how in {_LOT.HOW_TRADED, _LOT.HOW_SOLD, _LOT.HOW_ESTATE} and before == BANK:
            self._wrong("lot", f"lot {event.field} is given away and belongs to the bank")
        if event.owner >= 0 and event.owner in self._out:
            self._wrong("lot", f"lot {event.field} goes to seat {event.owner}, which is out")
        self._owner[event.field] = event.owner
        if event.owner < 0:
            self._mortgaged[event.field] = False

    def _level_changed(self, event: events_pb2.LevelChanged) -> None:
        if self._owner.get(event.field, BANK) != event.seat or event.level == self._level[event.field]:
            self._wrong("lot", f"seat {event.seat} builds on lot {event.field}")
        self._level[event.field] = event.level

    def _mortgage_changed(self, event: events_pb2.MortgageChanged) -> None:
        if self._owner.get(event.field, BANK) != event.seat or event.mortgaged == self._mortgaged[event.field]:
            self._wrong("lot", f"the mortgage of lot {event.field} is {event.mortgaged} for seat {event.seat}")
        self._mortgaged[event.field] = event.mortgaged

    def _offer_made(self, event: events_pb2.OfferMade) -> None:
        self._next("offer", event.offer)
        self._offers[event.offer] = event

    def _offer_closed(self, event: events_pb2.OfferClosed) -> None:
        if self._offers.pop(event.offer, None) is None:
            self._wrong("doubled", f"offer {event.offer} is closed and not open")

    # --- auctions

    def _auction_opened(self, event: events_pb2.AuctionOpened) -> None:
        self._next("auction", event.auction)
        self._found.count("auctions")
        self._auction, self._lot, self._forced, self._bids = event.auction, event.field, event.forced_by, []

    def _bid_made(self, event: events_pb2.BidMade) -> None:
        if event.auction != self._auction:
            self._wrong("auction", f"a bid in auction {event.auction} while {self._auction} runs")
        if self._bids and event.amount <= self._bids[-1][1]:
            self._wrong("auction", f"a bid of {event.amount} after {self._bids[-1][1]}")
        self._bids.append((event.seat, event.amount))

    def _bids_fell(self, event: events_pb2.BidsFell) -> None:
        self._bids = [bid for bid in self._bids if bid[0] != event.seat]

    def _auction_closed(self, event: events_pb2.AuctionClosed) -> None:
        self._sold[event.auction] += 1
        if event.auction != self._auction or self._sold[event.auction] > 1:
            self._wrong("auction", f"auction {event.auction} is closed while {self._auction} runs")
        if event.field != self._lot or (event.winner, event.amount) != (self._bids[-1] if self._bids else (-1, 0)):
            self._wrong("auction", f"auction {event.auction} goes to {event.winner} for {event.amount}")
        self._auction = 0

    def _sales(self, happened: list[tuple[str, Any]]) -> None:
        """What an auction sells is paid for and handed over in the same commit, once, and nothing else is."""
        won = [event for kind, event in happened if kind == "auction_closed" and event.winner >= 0]
        paid = Counter(
            (event.payer, event.amount)
            for kind, event in happened
            if kind == "paid" and event.reason == types_pb2.REASON_AUCTION
        )
        moved = Counter(
            (event.owner, event.field)
            for kind, event in happened
            if kind == "lot_moved" and event.how == _LOT.HOW_AUCTIONED
        )
        if paid != Counter((event.winner, event.amount) for event in won if event.amount):
            self._wrong("auction", f"paid at auctions: {dict(paid)}")
        if moved != Counter((event.winner, event.field) for event in won):
            self._wrong("auction", f"handed over at auctions: {dict(moved)}")
