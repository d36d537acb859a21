"""A field's card says what a landing would cost (TUB-RENT-CARDINFO): checked against what the rules charge."""

from __future__ import annotations

from typing import Any

import pytest

from omnipoly.bots.strategy import Bot
from omnipoly.bots.table import Table
from omnipoly.editions import loader
from omnipoly.rules import cardinfo, engine, rent
from omnipoly.rules.cardinfo import Row
from omnipoly.rules.ring import Game, Kind
from omnipoly.rules.state import FACTORY, HOTEL, NOBODY, State
from tests.rules.positions import table as position

NAMES = [*loader.shipped(), "tubbypoly/ring56", "tubbypoly/ring72"]


def _played(name: str) -> State:
    """A table of two that has begun, with every lot in the first hand."""
    game = Game(loader.edition(name))
    table = Table(game, [Bot(seat) for seat in range(2)], "cards")
    s = table.state
    rules = s.rules
    for field in rules.lots:
        s.owner[field] = 0
        s.held[rules.set_of[field]] += 1
    return s


@pytest.mark.parametrize("name", NAMES)
def test_the_row_that_applies_is_what_the_rules_charge(name: str) -> None:
    """TUB-RENT-CARDINFO: with every number of lots in one hand, every building, and mortgaged."""
    s = _played(name)
    rules = s.rules
    kinds = set()
    for field in rules.lots:
        group = rules.set_of[field]
        for held in range(1, rules.set_size[group] + 1):
            s.held[group] = held
            for level in range(FACTORY + 1 if rules.choices.building.factory else HOTEL + 1):
                s.level[field] = level if rules.kind[field] is Kind.STREET else 0
                info = cardinfo.card(s, field)
                row = info.rows[info.applies]
                kinds.add(row.kind)
                if rules.kind[field] is Kind.STREET:
                    assert row.amount == rent.street_rent(s, field)
                elif rules.kind[field] is Kind.TRANSPORT:
                    assert row.amount == rent.transport_rent(s, field)
                else:
                    assert row.factor == rent.utility_factor(s, field)
        s.level[field] = 0
        s.mortgaged[field] = True
        info = cardinfo.card(s, field)
        assert info.rows[info.applies] == Row("mortgaged")
        s.owner[field] = NOBODY
        assert cardinfo.card(s, field).applies == -1
    assert kinds >= {"bare", "set", "houses", "hotel", "transports", "utilities"}
    assert ("part" in kinds) == (rules.board.part_set_percent > 0)
    assert ("factory" in kinds) == rules.choices.building.factory


@pytest.mark.parametrize("name", NAMES)
def test_every_row_can_apply_once(name: str) -> None:
    for rules in Game(loader.edition(name)).rings.values():
        for field in range(rules.fields_n):
            rows = cardinfo.rent_table(rules, field)
            assert bool(rows) == (field in rules.lots)
            assert len({(row.kind, row.number) for row in rows}) == len(rows)


def test_before_the_start_nothing_applies() -> None:
    s = engine.blank(Game(loader.edition("tubbypoly")).first)
    info = cardinfo.card(s, 39)
    assert (info.owner, info.applies, info.rows[0]) == (NOBODY, -1, Row("bare", 0, 50))
    assert cardinfo.card(s, 0).rows == ()


def test_cards_as_they_are_printed() -> None:
    """TUB-RENT-CARDINFO: of a street on a bigger ring, a transport, a utility, a computed rent, a factory."""
    tubbypoly = Game(loader.edition("tubbypoly"))
    rugpull, laspoly = (Game(loader.edition(name)).first for name in ("rugpull", "laspoly"))
    assert cardinfo.rent_table(tubbypoly.ring("ring56"), 6)[:3] == (
        *(Row("bare", 0, 6), Row("part", 2, 9), Row("set", 3, 12)),
    )
    assert cardinfo.rent_table(tubbypoly.ring("ring40"), 5) == (
        *(Row("transports", held, amount) for held, amount in ((1, 25), (2, 50), (3, 100), (4, 200))),
        Row("mortgaged"),
    )
    assert cardinfo.rent_table(tubbypoly.ring("ring40"), 12) == (
        *(Row("utilities", 1, factor=4), Row("utilities", 2, factor=10), Row("mortgaged")),
    )
    assert [row.amount for row in cardinfo.rent_table(rugpull, 39)] == [32, 64, 160, 480, 1280, 1760, 2240, 0]
    assert cardinfo.rent_table(laspoly, 37)[:2] == (Row("bare", 0, 35), Row("set", 1, 70))
    assert cardinfo.rent_table(laspoly, 37)[-2:] == (Row("factory"), Row("mortgaged"))


@pytest.mark.parametrize(
    ("owns", "more", "row"),
    [
        ((39,), {}, Row("bare", 0, 50)),
        ((37, 39), {}, Row("set", 2, 100)),
        ((37, 39), {"buildings": {37: 1}}, Row("set", 2, 100)),
        ((37, 39), {"buildings": {37: 1, 39: 1}}, Row("houses", 1, 200)),
        ((37, 39), {"buildings": {37: 4, 39: 4}}, Row("houses", 4, 1700)),
        ((37, 39), {"buildings": {37: 5, 39: 5}}, Row("hotel", 0, 2000)),
        ((37, 39), {"mortgaged": (37,)}, Row("set", 2, 100)),
        ((37, 39), {"mortgaged": (39,)}, Row("mortgaged")),
    ],
)
def test_the_row_that_applies_in_a_position(owns: tuple[int, ...], more: dict[str, Any], row: Row) -> None:
    """TUB-RENT-CARDINFO, CORE-RENT-SET."""
    info = cardinfo.card(position("ann", "bob", turn="ann", owns={"bob": owns}, **more), 39)
    assert (info.owner, info.rows[info.applies]) == (1, row)


@pytest.mark.parametrize(
    ("edition", "owns", "field", "row"),
    [
        ("tubbypoly/ring56", (37, 41), 37, Row("part", 2, 52)),
        ("tubbypoly/ring56", (37, 40, 41), 37, Row("set", 3, 70)),
        ("tubbypoly", (5, 15, 35), 5, Row("transports", 3, 100)),
        ("tubbypoly", (12,), 12, Row("utilities", 1, factor=4)),
        ("laspoly", (39,), 39, Row("set", 1, 100)),
    ],
)
def test_the_row_that_applies_on_other_boards(edition: str, owns: tuple[int, ...], field: int, row: Row) -> None:
    """TUB-RENT-CARDINFO, TUB-RENT-PART, TUB-RENT-TRANSPORT, TUB-RENT-UTILITY, LAS-RENT."""
    mortgaged = (15,) if 15 in owns else ()
    info = cardinfo.card(
        position("ann", "bob", edition=edition, owns={"bob": owns}, turn="ann", mortgaged=mortgaged), field
    )
    assert info.rows[info.applies] == row


def test_a_factory_takes_nothing() -> None:
    """LAS-FACTORY."""
    s = position("ann", "bob", edition="laspoly", turn="ann", owns={"bob": (39,)}, buildings={39: FACTORY})
    info = cardinfo.card(s, 39)
    assert info.rows[info.applies] == Row("factory")
