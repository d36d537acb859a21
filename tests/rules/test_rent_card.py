"""TUB-RENT-CARDINFO: the card of a field, and that its row is what a landing costs."""

from __future__ import annotations

from typing import Any

import pytest

from omnipoly.rules import rent
from omnipoly.rules.rent_card import rent_card
from omnipoly.rules.ring import Kind
from omnipoly.rules.state import FACTORY
from tests.rules.positions import table


def _rows(field: int, edition: str = "tubbypoly", **given: Any) -> tuple[list[tuple[str, int, int]], int]:
    card = rent_card(table("ann", "bob", edition=edition, turn="ann", **given), field)
    return [(row.what, row.count, row.amount) for row in card.rows], card.applies


def test_a_street_of_the_main_ring() -> None:
    """TUB-RENT-CARDINFO, TUB-RENT-STREET: the whole table, none of which applies while the bank owns it."""
    houses = [("houses", 1, 200), ("houses", 2, 600), ("houses", 3, 1400), ("houses", 4, 1700)]
    assert _rows(39) == ([("bare", 1, 50), ("set", 2, 100), *houses, ("hotel", 1, 2000)], -1)


@pytest.mark.parametrize(
    ("owns", "more", "applies"),
    [
        ((39,), {}, 0),
        ((37, 39), {}, 1),
        ((37, 39), {"buildings": {37: 1}}, 1),
        ((37, 39), {"buildings": {37: 1, 39: 1}}, 2),
        ((37, 39), {"buildings": {37: 4, 39: 4}}, 5),
        ((37, 39), {"buildings": {37: 5, 39: 5}}, 6),
        ((37, 39), {"mortgaged": (37,)}, 1),
        ((37, 39), {"mortgaged": (39,)}, -1),
    ],
)
def test_the_row_that_applies_right_now(owns: tuple[int, ...], more: dict[str, Any], applies: int) -> None:
    """TUB-RENT-CARDINFO, CORE-RENT-SET."""
    assert _rows(39, owns={"bob": owns}, **more)[1] == applies


def test_parts_of_a_set_on_the_bigger_boards() -> None:
    """TUB-RENT-CARDINFO, TUB-RENT-PART."""
    rows, applies = _rows(37, "tubbypoly/ring56", owns={"bob": (37, 41)})
    assert (rows[:3], applies) == ([("bare", 1, 35), ("part", 2, 52), ("set", 3, 70)], 1)
    assert _rows(37, "tubbypoly/ring56", owns={"bob": (37, 40, 41)})[1] == 2
    assert _rows(53, "tubbypoly/ring56", owns={"bob": (53, 55)})[0][:2] == [("bare", 1, 75), ("set", 2, 150)]


def test_transports_and_utilities() -> None:
    """TUB-RENT-CARDINFO, TUB-RENT-TRANSPORT, TUB-RENT-UTILITY."""
    rows, applies = _rows(5, owns={"bob": (5, 15, 35)}, mortgaged=(15,))
    assert (rows, applies) == ([("transports", n, amount) for n, amount in enumerate((25, 50, 100, 200), 1)], 2)
    assert _rows(12, owns={"bob": (12,)}) == ([("utilities", 1, 4), ("utilities", 2, 10)], 0)


def test_a_colour_of_one_street_is_complete_at_once_and_a_factory_takes_nothing() -> None:
    """LAS-RENT, LAS-FACTORY."""
    rows, applies = _rows(39, "laspoly", owns={"bob": (39,)})
    assert (rows[0], applies) == (("set", 1, 100), 0)
    assert _rows(39, "laspoly", owns={"bob": (39,)}, buildings={39: FACTORY})[1] == -1


def test_rents_that_are_computed() -> None:
    """RUG-RENT."""
    rows, _ = _rows(1, "rugpull")
    assert [amount for _, _, amount in rows] == [6, 12, 30, 90, 240, 330, 420]


@pytest.mark.parametrize("field", [-1, 0, 2, 10, 40])
def test_what_is_no_lot_has_no_rent(field: int) -> None:
    with pytest.raises(ValueError, match="no lot"):
        _rows(field)


@pytest.mark.parametrize("edition", ["tubbypoly", "tubbypoly/ring72", "rugpull", "laspoly"])
def test_the_row_is_what_a_landing_costs(edition: str) -> None:
    """TUB-RENT-CARDINFO: for every lot, alone and with its whole set."""
    rules = table(edition=edition, turn="ann").rules
    for field in rules.lots:
        for owns in ((field,), rules.sets[rules.set_of[field]]):
            s = table(edition=edition, turn="ann", owns={"bob": owns})
            card = rent_card(s, field)
            cost = {Kind.TRANSPORT: rent.transport_rent, Kind.UTILITY: rent.utility_factor}
            assert card.rows[card.applies].amount == cost.get(rules.kind[field], rent.street_rent)(s, field)
