"""A board compiled for play: lists by field, sets, cards, numbers that play asks for often.

``Game`` is one edition with all its rings; ``Rules`` is one ring of it with the edition's choices. Both are made once,
shared by all tables, and never changed. States hold a reference to a ``Rules``.
"""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING

from omnipoly.editions.model import Place

if TYPE_CHECKING:
    from omnipoly.editions.model import Board, Card, Edition, Field


class Kind(enum.IntEnum):
    """What a field is."""

    START = 0
    STREET = 1
    TRANSPORT = 2
    UTILITY = 3
    DECK = 4
    TAX = 5
    WINDFALL = 6
    JAIL = 7
    PARKING = 8
    GO_TO_JAIL = 9
    CASINO = 10
    CASINO_FEE = 11


STREET = Kind.STREET
"""Under a name of its own: to look a member up in its class takes four times as long on Python 3.11."""
LOT_KINDS = [kind in (Kind.STREET, Kind.TRANSPORT, Kind.UTILITY) for kind in Kind]
"""By kind: whether it can be owned."""


class Game:
    """One edition, compiled: its rings by board id."""

    def __init__(self, edition: Edition) -> None:
        self.edition = edition
        self.rings: dict[str, Rules] = {board.id: Rules(self, edition, board) for board in edition.boards}
        self.most_seats = max(board.players[1] for board in edition.boards)
        self.least_seats = min(board.players[0] for board in edition.boards)

    def ring(self, board: str) -> Rules:
        """The ring with that board id; ``KeyError`` when the edition has none such."""
        return self.rings[board]

    def ring_for(self, seats: int) -> Rules:
        """The ring for so many seats; ``KeyError`` when there is none."""
        for ring in self.rings.values():
            if ring.board.players[0] <= seats <= ring.board.players[1]:
                return ring
        raise KeyError(seats)

    @property
    def first(self) -> Rules:
        """The ring of the fewest players, which a table shows before the start."""
        return next(iter(self.rings.values()))


class Rules:
    """One ring with the choices of its edition. Lists are by field number; sets are numbered in ring order."""

    def __init__(self, game: Game, edition: Edition, board: Board) -> None:
        self.game = game
        self.edition = edition
        self.board = board
        self.choices = choices = edition.rules
        fields = board.field
        self.fields = fields
        self.fields_n = len(fields)
        self.kind = [Kind[field.kind.upper()] for field in fields]
        self.price = [field.price for field in fields]
        self.rents = [self._rents(field) for field in fields]
        """By field: bare, 1-4 houses, hotel; empty where no rent of that kind is paid."""
        self.house_cost = [field.house_cost for field in fields]
        self.factory_cost = [field.factory_cost for field in fields]
        self.factory_income = [field.factory_income for field in fields]
        self.lots = tuple(at for at in range(self.fields_n) if self.price[at])
        self.streets = tuple(at for at in self.lots if self.kind[at] is Kind.STREET)
        self.set_of, self.sets = _sets(board, self.kind)
        self.sets_n = len(self.sets)
        self.set_size = [len(members) for members in self.sets]
        self.street_set = [self.kind[members[0]] is Kind.STREET for members in self.sets]
        self.loan = [price * choices.mortgage.loan_percent // 100 for price in self.price]
        self.lift_cost = [self._lift_cost(at) for at in range(self.fields_n)]
        self.lot_yield = [price * choices.mortgage.sell_lot_percent // 100 for price in self.price]
        """By field: what the bank gives for a whole lot (LAS-SELL); 0 where it buys none."""
        self.building_yield = [cost * choices.building.sell_percent // 100 for cost in self.house_cost]
        self.factory_yield = [cost * choices.building.sell_percent // 100 for cost in self.factory_cost]
        self.jail = self.kind.index(Kind.JAIL)
        self.parking = next((at for at, kind in enumerate(self.kind) if kind is Kind.PARKING), 0)
        self.transports = tuple(at for at in self.lots if self.kind[at] is Kind.TRANSPORT)
        self.utilities = tuple(at for at in self.lots if self.kind[at] is Kind.UTILITY)
        self.deck_names = tuple(edition.decks)
        self.deck_numbers = {name: number for number, name in enumerate(self.deck_names)}
        self.decks: tuple[tuple[Card, ...], ...] = tuple(edition.decks.values())
        self.cards: tuple[dict[str, Card], ...] = tuple({card.id: card for card in deck} for deck in self.decks)
        self.jail_free: dict[str, int] = {
            card.id: number for number, deck in enumerate(self.decks) for card in deck if card.jail_free
        }
        self.advance_to = {
            (number, card.id): self._target(card.advance)
            for number, deck in enumerate(self.decks)
            for card in deck
            if card.advance is not None
        }
        self.offers_by_turn = choices.trade.quota_per == "turn"
        self.takes_at_once = choices.debt.kind == "bank_liquidates"
        self.trains = choices.play.train_fare > 0 and len(self.transports) > 1
        self.keep = choices.debt.keep
        self.speed_die = choices.turn.speed_die
        self.ends_by_itself = choices.turn.end == "by_itself"

    def __repr__(self) -> str:
        return f"Rules({self.edition.id}/{self.board.id})"

    def big(self, seats: int) -> bool:
        """Whether so many seats make a big table."""
        return seats >= self.choices.play.big_table_from

    def round_limit(self, seats: int, chosen: int) -> int:
        """The round limit in force for so many seats when the host chose one (0: none) (TUB-LIMIT, CORE-LIMIT)."""
        limit = self.choices.play.last_round
        for least, rounds in self.choices.play.big_table_round_limits:
            if seats >= least:
                limit = rounds
        return min(limit, chosen) if chosen else limit

    def _lift_cost(self, at: int) -> int:
        mortgage = self.choices.mortgage
        base = self.loan[at] if mortgage.lift_of == "loan" else self.price[at]
        return -(-base * mortgage.lift_percent // 100)

    def _rents(self, field: Field) -> tuple[int, ...]:
        """Of the street's own table, or computed from its price (RUG-RENT)."""
        rent = self.choices.rent
        if field.kind != "street" or rent.street == "table":
            return field.rents
        bare = max((field.price * rent.of_price_percent + 50) // 100, rent.of_price_least)
        return tuple(bare * factor for factor in rent.of_price_factors)

    def _target(self, place: object) -> int:
        if not isinstance(place, Place):
            return self.kind.index(Kind.START)
        if place.transport:
            return self.transports[place.transport - 1]
        group = place.group
        if group == "dearest":
            dearest = max(self.streets, key=lambda at: self.price[at])
            group = self.fields[dearest].group
        members = [at for at in self.streets if self.fields[at].group == group]
        return members[place.lot - 1 if place.lot > 0 else place.lot]


def _sets(board: Board, kinds: list[Kind]) -> tuple[list[int], tuple[tuple[int, ...], ...]]:
    names: dict[str, list[int]] = {}
    for at, field in enumerate(board.field):
        if kinds[at] is Kind.STREET:
            names.setdefault("street " + field.group, []).append(at)
        elif kinds[at] in (Kind.TRANSPORT, Kind.UTILITY):
            names.setdefault(kinds[at].name, []).append(at)
    set_of = [-1] * len(board.field)
    for number, members in enumerate(names.values()):
        for at in members:
            set_of[at] = number
    return set_of, tuple(tuple(members) for members in names.values())
