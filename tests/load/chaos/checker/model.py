"""A game as far as money, lots, figures and running numbers go, moved by its events and by nothing else.

Here: seats, turns, figures and dice by their numbers, and cash, of which nobody has less than nothing. That cash and
the casino's fortune are what the bank has paid out holds by itself, as both sides move by the same events; that each
of these payments had to be made stands in `payments`, and whose lots are in `lots`. That all of it is what the services
take for the game is seen where their pictures and snapshots are held against it: `shown`, `kept`.
"""

from __future__ import annotations

from collections import Counter

from omnipoly.wire.gen.game.v1 import events_pb2

from .editions import Editions
from .lots import Lots
from .payments import BANK, Payments
from .reading import Commit, Findings

AFTER_THE_END = frozenset(("seed_revealed", "connected", "disconnected", "host_changed"))

Money = tuple[tuple[int, ...], tuple[tuple[int, int], ...], int, int]
"""Cash by seat, (field, owner) of owned lots, the casino's fortune, what the bank has paid out."""


class Model:
    """One table's game."""

    def __init__(self, table: str, found: Findings, editions: Editions) -> None:
        self.table = table
        self.found = found
        self.started = self.ended = False
        self.holders: list[str] = []
        self.bots: list[bool] = []
        self.money: dict[int, Money] = {}
        """By version: what a picture of it has to show."""
        self.cash: list[int] = []
        self.bank = self.casino = 0
        self.at: list[int | None] = []
        """Where each figure stands; ``None``: in jail, wherever that is."""
        self.out: set[int] = set()
        self.going: list[int] = []
        """Seats that go out in the commit at hand, in this order."""
        self.round = 0
        self.numbers: Counter[str] = Counter()
        """The last one of each kind of running number."""
        self.draws: Counter[str] = Counter()
        self.debts: set[int] = set()
        self._row: Commit | None = None
        self.lots = Lots(self)
        self._parts = (Payments(self, editions), self.lots, self)
        """Each before what it looks at is moved on."""

    @property
    def still_going(self) -> list[int]:
        """Those who go out in the commit at hand and are not out yet."""
        return [seat for seat in self.going if seat not in self.out]

    def play(self, row: Commit) -> None:
        """Moves on by a commit. Raises ``LookupError`` or ``ValueError`` when an event does not fit at all."""
        self._row = row
        happened = list(row.events())
        self.going = [event.seat for kind, event in happened if kind == "seat_out"]
        for kind, event in happened:
            if self.ended and kind not in AFTER_THE_END:
                self.wrong("end", f"{kind} after the end")
            for part in self._parts:
                play = getattr(part, f"on_{kind}", None)
                if play is not None:
                    play(event)
        self.found.count("events", len(happened))
        if self.started:
            if min(self.cash, default=0) < 0 or self.casino < 0:
                self.wrong("money", f"somebody has less than nothing: {self.cash}, the casino {self.casino}")
            for part in self._parts[:2]:
                part.end()
        owned = tuple(sorted((field, owner) for field, owner in self.lots.owner.items() if owner >= 0))
        self.money[row.version] = (tuple(self.cash), owned, self.casino, self.bank)

    def wrong(self, kind: str, text: str) -> None:
        """Something is wrong with the commit at hand."""
        self.found.fault(kind, f"{self._row}: {text}")

    def acts(self, seat: int, what: str) -> None:
        """Something that nobody but the one on that seat can do, and no clock does for them."""
        actor = self._row.actor if self._row is not None else ""
        if not 0 <= seat < len(self.holders) or actor != self.holders[seat]:
            self.wrong("actor", f"{what} of seat {seat} by {actor or 'nobody'}")

    def next(self, what: str, number: int) -> None:
        """A running number: each is one more than the last."""
        if number != self.numbers[what] + 1:
            self.wrong("numbers", f"{what} {number} after {self.numbers[what]}")
        self.numbers[what] = number

    # --- the table

    def on_table_opened(self, event: events_pb2.TableOpened) -> None:
        if self._row is None or self._row.version != 1 or event.table != self.table:
            self.wrong("numbers", f"the table {event.table} is opened")

    def on_seat_taken(self, event: events_pb2.SeatTaken) -> None:
        if event.seat != len(self.holders):
            self.wrong("numbers", f"seat {event.seat} is taken, {len(self.holders)} is next")
        if event.holder in self.holders:
            self.wrong("doubled", f"{event.holder} sits down twice")
        self.holders.append(event.holder)
        self.bots.append(event.bot)

    def on_seat_freed(self, event: events_pb2.SeatFreed) -> None:
        del self.holders[event.seat], self.bots[event.seat]

    def on_seat_handed_over(self, event: events_pb2.SeatHandedOver) -> None:
        self.holders[event.seat], self.bots[event.seat] = event.holder, event.bot

    def on_game_started(self, _: events_pb2.GameStarted) -> None:
        if self.started:
            self.wrong("doubled", "the game starts twice")
        self.started = True
        self.cash = [0] * len(self.holders)
        self.at = [0] * len(self.holders)

    def on_seat_out(self, event: events_pb2.SeatOut) -> None:
        if event.seat in self.out:
            self.wrong("doubled", f"seat {event.seat} goes out twice")
        self.out.add(event.seat)

    def on_game_ended(self, _: events_pb2.GameEnded) -> None:
        if self.ended:
            self.wrong("doubled", "the game ends twice")
        self.ended = True
        self.debts.clear()

    # --- turns

    def on_asked(self, event: events_pb2.Asked) -> None:
        for prompt in event.opened:
            self.next("prompt", prompt.prompt)
            if prompt.seat in self.out:
                self.wrong("order", f"seat {prompt.seat} is asked after it went out")

    def on_turn_started(self, event: events_pb2.TurnStarted) -> None:
        if event.seat in self.out:
            self.wrong("order", f"the turn of seat {event.seat}, which is out")
        if event.round < self.round:
            self.wrong("order", f"round {event.round} after {self.round}")
        self.round = event.round

    def on_dice_thrown(self, event: events_pb2.DiceThrown) -> None:
        self.next("throw", event.number)

    def on_card_drawn(self, event: events_pb2.CardDrawn) -> None:
        if event.number != self.draws[event.deck] + 1:
            self.wrong("numbers", f"draw {event.number} of {event.deck} after {self.draws[event.deck]}")
        self.draws[event.deck] = event.number

    def on_moved(self, event: events_pb2.Moved) -> None:
        before = self.at[event.seat]
        if before is not None and before != event.origin:
            self.wrong("order", f"seat {event.seat} leaves {event.origin} and stands on {before}")
        self.at[event.seat] = event.field

    def on_jailed(self, event: events_pb2.Jailed) -> None:
        self.at[event.seat] = None

    # --- money

    def on_paid(self, event: events_pb2.Paid) -> None:
        if event.amount <= 0 or event.payer == event.payee:
            self.wrong("money", f"{event.payer} pays {event.payee} {event.amount}")
        self._add(event.payer, -event.amount)
        self._add(event.payee, event.amount)

    def _add(self, who: int, amount: int) -> None:
        if who >= 0:
            self.cash[who] += amount
        elif who == BANK:
            self.bank -= amount
        else:
            self.casino += amount

    def on_debt_opened(self, event: events_pb2.DebtOpened) -> None:
        self.next("debt", event.debt)
        self.debts.add(event.debt)

    def on_debt_closed(self, event: events_pb2.DebtClosed) -> None:
        if event.debt not in self.debts:
            self.wrong("doubled", f"debt {event.debt} is closed and not open")
        self.debts.discard(event.debt)
