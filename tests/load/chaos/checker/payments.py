"""Every payment and its cause. What a commit's events and the edition's numbers make due is paid in that commit, once
and exactly, or is a debt, and nothing else is:

- start money for everybody at the start; the bonus of a move that passes Start or lands on it, lap by lap;
- the price of a lot that is bought or won, to the bank or to the seat it is auctioned for; a trade's cash as the
  accepted offer has it;
- houses, hotels and factories built and sold, loans, what lifting them costs, lots sold to the bank, a factory's
  income at the start of a turn, bail, a ride's fare;
- what a field or a card costs or brings where somebody comes to it: rent by lots, buildings and throw, taxes,
  windfalls, the casino, repairs. It is owed, may be claimed, or is paid at once, as the edition says;
- a debt that is closed as paid, or met from an estate: its sum, to whom it is owed then;
- all that is left of whoever goes out, once, to the creditor of their first debt that is not met.

Without the edition in the dump, only start money, prices won, trades and debts are looked at.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from omnipoly.wire.gen.game.v1 import events_pb2, types_pb2

from .editions import FACTORY, Numbers

if TYPE_CHECKING:
    from .editions import Editions
    from .model import Model

BANK, CASINO = -1, -2
_LOT = events_pb2.LotMoved
_WAY = events_pb2.Moved
_KNOWN = frozenset((types_pb2.REASON_START_CASH, types_pb2.REASON_AUCTION, types_pb2.REASON_TRADE))
"""Reasons that need no edition."""

Sums = Counter[tuple[int, int, int, int]]
"""Payer or debtor, payee or creditor, amount, reason."""


class Payments:
    """The payments of one game."""

    def __init__(self, model: Model, editions: Editions) -> None:
        self._model = model
        self._lots = model.lots
        self._editions = editions
        self._digest = ""
        self._numbers: Numbers | None = None
        self._at_once = False
        """Some of what is owed is paid without ever being a debt."""
        self._debts: dict[int, list[int]] = {}
        """Debtor, creditor, amount, reason of open debts, oldest first."""
        self._claims: list[tuple[int, int, int, int]] = []
        """Claimant, payer, lot, amount, oldest first."""
        self._laps: Counter[int] = Counter()
        self._dice = (0, 0)
        self._steps = 0
        self._begin()

    def _begin(self) -> None:
        """What is known of one commit."""
        self._wanted: Sums = Counter()
        self._due: Sums = Counter()
        self._paid: Sums = Counter()
        self._owed: Sums = Counter()
        self._claimable: Counter[tuple[int, int, int, int]] = Counter()
        self._nearest = False
        self._utility: tuple[int, int, int, int] | None = None
        """Who owes whom how many times a throw that is still to come, for which lot."""
        self._estates: dict[int, list[tuple[int, bool]]] = {}
        """By seat: to whom what they had went, and whether it was all of it."""
        self._first: dict[int, int] = {}
        """By seat that goes out: the creditor of its oldest debt."""
        self._unmet: dict[int, int] = {}
        """By seat that goes out: the creditor of its first debt that is not met."""

    def end(self) -> None:
        """A commit is over: what was due is paid or owed, and nothing else."""
        late = self._due - self._owed
        if self._numbers is None:
            surplus = Counter({key: n for key, n in (self._paid - self._wanted).items() if key[3] in _KNOWN})
            missing = self._wanted - self._paid
        else:
            self._model.found.count("payments tied to their cause", self._paid.total())
            wanted = self._wanted + late if self._at_once else self._wanted
            surplus = (self._paid - wanted) + (self._owed - self._due)
            missing = (wanted - self._paid) + (Counter() if self._at_once else late)
            if self._claimable or self._utility is not None:
                self._wrong(f"rents that nobody may claim: {dict(self._claimable)} {self._utility or ''}")
        if self._estates:
            self._wrong(f"all they had is paid by seats that do not go out: {self._estates}")
        if surplus or missing:
            self._wrong(f"paid or owed without a cause: {_told(surplus)}; not paid, not owed: {_told(missing)}")
        self._begin()

    def _wrong(self, text: str) -> None:
        self._model.wrong("paid", text)

    def _want(self, payer: int, payee: int, amount: int, reason: int) -> None:
        if amount:
            self._wanted[payer, payee, amount, reason] += 1

    def _owe(self, debtor: int, creditor: int, amount: int, reason: int) -> None:
        if amount:
            self._due[debtor, creditor, amount, reason] += 1

    # --- the table

    def on_table_opened(self, event: events_pb2.TableOpened) -> None:
        self._digest = event.digest

    def on_game_started(self, event: events_pb2.GameStarted) -> None:
        seats = len(self._model.holders)
        self._numbers = self._editions.numbers(self._digest, event.board)
        if self._numbers is not None:
            big = self._numbers.big_table_pays_at_once and seats >= self._numbers.big_table_from
            self._at_once = self._numbers.takes_at_once or big
        elif self._editions.known:
            self._wrong(f"the edition {self._digest} is not kept")
        for seat in range(seats):
            self._want(BANK, seat, event.options.start_cash, types_pb2.REASON_START_CASH)

    def on_game_ended(self, _: events_pb2.GameEnded) -> None:
        self._debts.clear()
        self._claims.clear()

    # --- what is paid and owed

    def on_paid(self, event: events_pb2.Paid) -> None:
        if event.reason == types_pb2.REASON_BANKRUPTCY:
            everything = event.payer >= 0 and event.amount == self._model.cash[event.payer]
            self._estates.setdefault(event.payer, []).append((event.payee, everything))
        else:
            self._paid[event.payer, event.payee, event.amount, event.reason] += 1

    def on_debt_opened(self, event: events_pb2.DebtOpened) -> None:
        debt = event.debtor, event.creditor, event.amount, event.reason
        self._debts[event.debt] = list(debt)
        self._owed[debt] += 1

    def on_debt_passed(self, event: events_pb2.DebtPassed) -> None:
        if event.debt not in self._debts:
            self._wrong(f"debt {event.debt} is owed to {event.creditor} and is not open")
        else:
            self._debts[event.debt][1] = event.creditor

    def on_debt_closed(self, event: events_pb2.DebtClosed) -> None:
        debt = self._debts.pop(event.debt, None)
        if debt is None:  # the model tells of it
            return
        debtor, creditor, amount, reason = debt
        going = next(iter(self._model.still_going), None)
        if event.how == events_pb2.DebtClosed.HOW_VOID:
            if debtor == going:
                self._first.setdefault(debtor, creditor)
                self._unmet.setdefault(debtor, creditor)
            elif creditor != going:
                self._wrong(f"debt {event.debt} of seat {debtor} to {creditor} is void, neither goes out")
            return
        if event.how == events_pb2.DebtClosed.HOW_ESTATE:
            if debtor != going:
                self._wrong(f"debt {event.debt} is met from the estate of seat {debtor}, who does not go out")
            self._first.setdefault(debtor, creditor)
        self._want(debtor, creditor, amount, reason)

    def _heir(self, seat: int) -> int:
        """Who gets what somebody who goes out leaves."""
        return self._unmet.get(seat, self._first.get(seat, BANK))

    def on_seat_out(self, event: events_pb2.SeatOut) -> None:
        seat = event.seat
        heir, estate = self._heir(seat), self._estates.pop(seat, [])
        if self._model.cash[seat] or len(estate) > 1 or any(to != heir or not all_ for to, all_ in estate):
            self._wrong(f"seat {seat} goes out with {self._model.cash[seat]}, {heir} inherits, it went to {estate}")
        if left := self._lots.of(seat):
            self._model.wrong("lot", f"seat {seat} goes out and keeps the lots {left}")
        if any(debtor == seat for debtor, *_ in self._debts.values()):
            self._wrong(f"seat {seat} goes out and still owes")
        self._claims = [claim for claim in self._claims if seat not in claim[:2]]

    # --- moving

    def on_dice_thrown(self, event: events_pb2.DiceThrown) -> None:
        first, second = event.dice
        if event.purpose in {events_pb2.DiceThrown.PURPOSE_WALK, events_pb2.DiceThrown.PURPOSE_JAIL}:
            self._dice, self._steps = (first, second), first + second
        elif event.purpose == events_pb2.DiceThrown.PURPOSE_UTILITY:
            if self._numbers is not None and self._utility is None:
                self._wrong(f"seat {event.seat} throws for a rent that nobody is owed")
            elif self._utility is not None:
                debtor, creditor, factor, field = self._utility
                self._utility = None
                self._rent(debtor, creditor, field, factor * (first + second))

    def on_steps_taken(self, event: events_pb2.StepsTaken) -> None:
        self._steps = event.steps

    def on_triplet_thrown(self, event: events_pb2.TripletThrown) -> None:
        self._steps = event.steps

    def on_moved(self, event: events_pb2.Moved) -> None:
        numbers = self._numbers
        if numbers is None:
            return
        seat, field, way = event.seat, event.field, event.way
        forward = way in {_WAY.WAY_WALK, _WAY.WAY_CARD, _WAY.WAY_JUMP}
        lap = field <= event.origin if forward else way == _WAY.WAY_TELEPORT and field == 0
        if event.lap != lap:
            self._wrong(f"seat {seat} goes from {event.origin} to {field}, and that it is a lap is {event.lap}")
        if way == _WAY.WAY_RIDE:
            stations = numbers.stations
            ride = (stations.index(field) - stations.index(event.origin)) % len(stations)
            self._want(seat, BANK, ride * numbers.train_fare, types_pb2.REASON_FARE)
            return
        cash = self._model.cash[seat]
        if event.lap:
            self._laps[seat] += 1
            bonus = numbers.bonus(field, self._laps[seat])
            self._want(BANK, seat, bonus, types_pb2.REASON_START_BONUS)
            cash += bonus
        nearest, self._nearest = self._nearest, False
        self._land(numbers, seat, field, cash, by_card=way in {_WAY.WAY_CARD, _WAY.WAY_BACK}, nearest=nearest)

    def _land(self, numbers: Numbers, seat: int, field: int, cash: int, *, by_card: bool, nearest: bool) -> None:
        """cash: what they have when they come there."""
        kind, here = numbers.kind[field], numbers.fields[field]
        amount = int(here.get("amount", 0))
        if kind in {"street", "transport", "utility"}:
            self._visit(numbers, seat, field, by_card=by_card, nearest=nearest)
        elif kind == "tax":
            self._owe(seat, BANK, amount or cash * int(here.get("percent", 0)) // 100, types_pb2.REASON_TAX)
        elif kind == "windfall":
            self._want(BANK, seat, amount, types_pb2.REASON_WINDFALL)
        elif kind == "casino_fee":
            self._owe(seat, CASINO, amount, types_pb2.REASON_CASINO_FEE)
        elif kind == "casino" and self._dice[0] == self._dice[1]:
            percent = numbers.casino_six_percent if self._dice[0] == 6 else numbers.casino_double_percent
            self._want(CASINO, seat, self._model.casino * percent // 100, types_pb2.REASON_CASINO)

    def _visit(self, numbers: Numbers, seat: int, field: int, *, by_card: bool, nearest: bool) -> None:
        """Somebody comes to a lot."""
        owner = self._lots.owns(field)
        if owner in {BANK, seat} or self._lots.mortgaged[field]:
            return
        held = sum(numbers.set_of[lot] == numbers.set_of[field] for lot in self._lots.of(owner))
        if numbers.kind[field] != "utility":
            rent = numbers.rent(field, self._lots.level[field], held)
            if nearest and numbers.kind[field] == "transport":
                rent *= numbers.nearest_transport_factor
            self._rent(seat, owner, field, rent)
            return
        factor = numbers.nearest_utility_factor if nearest else numbers.utility[min(held, len(numbers.utility)) - 1]
        if by_card:
            self._utility = seat, owner, factor, field
        else:
            self._rent(seat, owner, field, factor * self._steps)

    def _rent(self, debtor: int, creditor: int, field: int, amount: int) -> None:
        if self._numbers is not None and self._numbers.claimed:
            self._claimable[creditor, debtor, field, amount] += bool(amount)
        else:
            self._owe(debtor, creditor, amount, types_pb2.REASON_RENT)

    def on_rent_claimable(self, event: events_pb2.RentClaimable) -> None:
        claim = event.claimant, event.payer, event.field, event.amount
        self._claims.append(claim)
        if self._numbers is not None:
            self._claimable[claim] -= 1
            if not self._claimable[claim]:
                del self._claimable[claim]

    def on_rent_claimed(self, event: events_pb2.RentClaimed) -> None:
        claim = self._claim(event)
        self._owe(claim[1], claim[0], claim[3], types_pb2.REASON_RENT)

    def on_rent_lapsed(self, event: events_pb2.RentLapsed) -> None:
        self._claim(event)

    def _claim(self, event: Any) -> tuple[int, int, int, int]:
        """Takes a claim off the list; raises ``LookupError`` where there is none."""
        key = event.claimant, event.payer, event.field
        for at, claim in enumerate(self._claims):
            if claim[:3] == key:
                return self._claims.pop(at)
        raise LookupError(f"no rent is to be claimed: {key}")

    def on_turn_started(self, event: events_pb2.TurnStarted) -> None:
        if self._numbers is not None:
            factories = (lot for lot in self._lots.of(event.seat) if self._lots.level[lot] == FACTORY)
            income = sum(self._numbers.factory_income[lot] for lot in factories)
            self._want(BANK, event.seat, income, types_pb2.REASON_FACTORY)

    # --- jail and cards

    def on_try_failed(self, event: events_pb2.TryFailed) -> None:
        numbers = self._numbers
        if numbers is not None and event.throws >= numbers.throws_a_turn and event.tries >= numbers.tries:
            self._owe(event.seat, BANK, numbers.bail, types_pb2.REASON_BAIL)

    def on_released(self, event: events_pb2.Released) -> None:
        if self._numbers is not None and event.how == events_pb2.Released.HOW_BAIL:
            self._want(event.seat, BANK, self._numbers.bail, types_pb2.REASON_BAIL)

    def on_card_drawn(self, event: events_pb2.CardDrawn) -> None:
        if self._numbers is None:
            return
        card, seat = self._numbers.cards[event.deck, event.card], event.seat
        others = [other for other in range(len(self._model.cash)) if other != seat and other not in self._model.out]
        self._nearest = "nearest" in card
        self._want(BANK, seat, card.get("collect", 0), types_pb2.REASON_CARD)
        self._owe(seat, BANK, card.get("pay", 0), types_pb2.REASON_CARD)
        self._owe(seat, CASINO, card.get("pay_casino", 0), types_pb2.REASON_CARD)
        for other in others:
            self._owe(other, seat, card.get("collect_each", 0), types_pb2.REASON_CARD)
            self._owe(seat, other, card.get("pay_each", 0), types_pb2.REASON_CARD)
        if "repairs" in card:
            levels = [self._lots.level[lot] for lot in self._lots.of(seat)]
            self._owe(seat, BANK, self._numbers.repairs(card, levels), types_pb2.REASON_REPAIRS)

    # --- lots

    def on_lot_moved(self, event: events_pb2.LotMoved) -> None:
        seat = self._lots.owns(event.field)
        if event.how == _LOT.HOW_ESTATE:
            heir = self._heir(seat)
            if event.owner != max(heir, BANK):
                self._wrong(f"lot {event.field} of seat {seat} goes to {event.owner}, {heir} inherits")
        elif self._numbers is None:
            return
        elif event.how == _LOT.HOW_BOUGHT:
            self._want(event.owner, BANK, self._numbers.price[event.field], types_pb2.REASON_LOT)
        elif event.how == _LOT.HOW_SOLD:
            self._want(BANK, seat, self._numbers.lot_yield[event.field], types_pb2.REASON_LOT_SOLD)

    def on_level_changed(self, event: events_pb2.LevelChanged) -> None:
        numbers, field, before, level = self._numbers, event.field, self._lots.level[event.field], event.level
        if numbers is None:
            return
        if 0 <= level < before:
            clears = level == 0 and event.seat in self._model.going
            if before != FACTORY and level != before - 1 and not clears:
                self._wrong(f"lot {field} has {level} after {before}")
            sum_ = numbers.worth(field, before) - numbers.worth(field, level)
            self._want(BANK, event.seat, sum_, types_pb2.REASON_BUILDING_SOLD)
            return
        cost = numbers.cost(field, before, level)
        if cost is None:
            self._wrong(f"lot {field} has {level} after {before}")
        else:
            self._want(event.seat, BANK, cost, types_pb2.REASON_BUILDING)

    def on_mortgage_changed(self, event: events_pb2.MortgageChanged) -> None:
        if self._numbers is None:
            return
        if event.mortgaged:
            self._want(BANK, event.seat, self._numbers.loan[event.field], types_pb2.REASON_MORTGAGE)
        else:
            self._want(event.seat, BANK, self._numbers.lift[event.field], types_pb2.REASON_MORTGAGE_LIFTED)

    def on_auction_closed(self, event: events_pb2.AuctionClosed) -> None:
        if event.winner >= 0:
            self._want(event.winner, self._lots.forced, event.amount, types_pb2.REASON_AUCTION)

    def on_offer_closed(self, event: events_pb2.OfferClosed) -> None:
        offer = self._lots.offers.get(event.offer)
        if offer is not None and event.how == events_pb2.OfferClosed.HOW_ACCEPTED:
            self._want(offer.proposer, offer.receiver, offer.give.cash, types_pb2.REASON_TRADE)
            self._want(offer.receiver, offer.proposer, offer.take.cash, types_pb2.REASON_TRADE)


def _told(sums: Sums) -> str:
    """Sums with the names of their reasons."""
    return str([(*key[:3], types_pb2.Reason.Name(types_pb2.Reason.ValueType(key[3]))) for key in sums.elements()])
