"""The numbers of an edition, read from its text as the dump has it: prices, rents, cards, and what else costs money."""

from __future__ import annotations

import functools
import hashlib
import tomllib
from collections import Counter
from collections.abc import Mapping
from typing import Any

FACTORY, HOTEL = 6, 5
"""What stands on a street, as ``LevelChanged`` has it."""


class Editions:
    """All editions of a dump."""

    def __init__(self, rows: list[dict[str, Any]]) -> None:
        """rows: (digest, edition, body), as the table of that name has them."""
        self._texts = {row["digest"]: (row["edition"], row["body"]) for row in rows}
        self.known = bool(rows)
        """The dump has editions at all; older ones have none."""

    def numbers(self, digest: str, board: str) -> Numbers | None:
        """An edition on one of its rings; ``None``: it is not in the dump, or under another text's digest."""
        if digest not in self._texts:
            return None
        edition, text = self._texts[digest]
        mode = edition.partition("/")[2]
        if hashlib.sha256(f"{text}\0{mode}".encode()).hexdigest() != digest:
            return None
        return _numbers(text, mode, board)


class Numbers:
    """An edition on one ring. Lists are by field; amounts in whole money units. What a text leaves out has the value
    that the edition's format gives it.
    """

    def __init__(self, document: dict[str, Any], mode: str, board: str) -> None:
        rules = _rules(document, mode)
        ring = next(ring for ring in document["board"] if ring["id"] == board)
        fields: list[dict[str, Any]] = ring["field"]
        self.fields = fields
        self.kind = [str(field["kind"]) for field in fields]
        self.price = [int(field.get("price", 0)) for field in fields]
        self.set_of = [self._set(field) for field in fields]
        self.set_size = Counter(self.set_of)
        self.part_set_percent = int(ring.get("part_set_percent", 0))
        self.stations = [at for at, kind in enumerate(self.kind) if kind == "transport"]

        turn, rent, mortgage = rules("turn"), rules("rent"), rules("mortgage")
        self.start_bonus: list[int] = turn.get("start_bonus", [200])
        self.start_bonus_exact: int | None = turn.get("start_bonus_exact")
        self.claimed = rent.get("due", "debt") == "claimed"
        self.rents = [self._rents(field, rent) for field in fields]
        self.bare_set_factor = int(rent.get("bare_set_factor", 2))
        self.transport: list[int] = rent.get("transport", [25, 50, 100, 200])
        self.utility: list[int] = rent.get("utility", [4, 10])
        self.nearest_transport_factor = int(rent.get("nearest_transport_factor", 2))
        self.nearest_utility_factor = int(rent.get("nearest_utility_factor", 10))

        percent = int(rules("building").get("sell_percent", 50))
        self.house_cost = [int(field.get("house_cost", 0)) for field in fields]
        self.factory_cost = [int(field.get("factory_cost", 0)) for field in fields]
        self.factory_income = [int(field.get("factory_income", 0)) for field in fields]
        self._house_yield = [cost * percent // 100 for cost in self.house_cost]
        self._factory_yield = [cost * percent // 100 for cost in self.factory_cost]

        self.loan = [price * int(mortgage.get("loan_percent", 50)) // 100 for price in self.price]
        lifted = self.loan if mortgage.get("lift_of", "loan") == "loan" else self.price
        self.lift = [-(-sum_ * int(mortgage.get("lift_percent", 110)) // 100) for sum_ in lifted]
        self.lot_yield = [price * int(mortgage.get("sell_lot_percent", 0)) // 100 for price in self.price]

        debt, jail, play = rules("debt"), rules("jail"), rules("play")
        self.takes_at_once = debt.get("kind") == "bank_liquidates"
        self.big_table_pays_at_once = bool(debt.get("big_table_pays_at_once", False))
        self.big_table_from = int(play.get("big_table_from", 7))
        self.bail = int(jail.get("bail", 50))
        self.tries = int(jail.get("tries", 3))
        self.throws_a_turn = int(jail.get("throws_a_turn", 1))
        self.train_fare = int(play.get("train_fare", 0))
        self.casino_double_percent = int(play.get("casino_double_percent", 25))
        self.casino_six_percent = int(play.get("casino_six_percent", 50))
        self.cards: dict[tuple[str, str], dict[str, Any]] = {
            (deck, card["id"]): card for deck, cards in document.get("decks", {}).items() for card in cards
        }
        """By deck and card."""

    def worth(self, field: int, level: int) -> int:
        """What the bank gives for all that stands on a street."""
        return self._factory_yield[field] if level == FACTORY else level * self._house_yield[field]

    def cost(self, field: int, before: int, level: int) -> int | None:
        """What it costs to build on a street; ``None``: nobody builds that."""
        if level == FACTORY and before == 0:
            return self.factory_cost[field]
        return self.house_cost[field] if level == before + 1 <= HOTEL else None

    def rent(self, field: int, level: int, held: int) -> int:
        """Of a street or a transport, whose owner has so many lots of its set."""
        if self.kind[field] == "transport":
            return self.transport[min(held, len(self.transport)) - 1]
        if level == FACTORY:
            return 0
        rent = self.rents[field][level]
        if level:
            return rent
        if held == self.set_size[self.set_of[field]]:
            return rent * self.bare_set_factor
        return rent * (100 + self.part_set_percent * (held - 1)) // 100

    def bonus(self, field: int, laps: int) -> int:
        """Of a lap that ends on a field, which is one's n-th."""
        if self.start_bonus_exact is not None and self.kind[field] == "start":
            return self.start_bonus_exact
        return self.start_bonus[min(laps, len(self.start_bonus)) - 1]

    def repairs(self, card: dict[str, Any], levels: list[int]) -> int:
        """What a card charges for what stands on somebody's streets; a factory counts as a house."""
        house, hotel = card["repairs"]
        return sum(hotel if level == HOTEL else house * (1 if level == FACTORY else level) for level in levels)

    def _set(self, field: dict[str, Any]) -> str:
        if not field.get("price", 0):
            return ""
        return "street " + str(field.get("group", "")) if field["kind"] == "street" else str(field["kind"])

    def _rents(self, field: dict[str, Any], rent: Mapping[str, Any]) -> list[int]:
        if field["kind"] != "street" or rent.get("street", "table") == "table":
            return list(field.get("rents", ()))
        percent, least = int(rent.get("of_price_percent", 8)), int(rent.get("of_price_least", 6))
        bare = max((field["price"] * percent + 50) // 100, least)
        return [bare * factor for factor in rent.get("of_price_factors", (1, 5, 15, 40, 55, 70))]


@functools.cache
def _numbers(text: str, mode: str, board: str) -> Numbers:
    return Numbers(tomllib.loads(text), mode, board)


def _rules(document: dict[str, Any], mode: str) -> Any:
    """Choices by topic: the document's, and over them those of the mode; the first one where a ring is named."""
    modes = document.get("mode", {})
    first: dict[str, Any] = next(iter(modes.values()), {})
    over = modes.get(mode, first).get("rules", {})
    base = document.get("rules", {})
    return lambda topic: {**base.get(topic, {}), **over.get(topic, {})}
