"""The four games as they ship: what must hold of their boards, decks, choices and options."""

from __future__ import annotations

import itertools
from collections import Counter
from pathlib import Path

import pytest

from omnipoly.editions import loader
from omnipoly.editions.cards import effects
from omnipoly.editions.model import Board, Edition
from omnipoly.rules.ring import Game

NAMES = loader.shipped()
CLASSIC = Path(__file__).parent / "classic.toml"
BOARDS = [(name, board.id) for name in NAMES for board in loader.edition(name).boards]


def _board(name: str, board: str) -> Board:
    return next(candidate for candidate in loader.edition(name).boards if candidate.id == board)


def test_the_four_games_ship_with_each_of_their_modes() -> None:
    assert set(NAMES) == {"tubbypoly", "rugpull", "globopoly/classic", "globopoly/quick", "laspoly"}


@pytest.mark.parametrize("name", NAMES)
def test_every_edition_compiles_for_play(name: str) -> None:
    game = Game(loader.edition(name))
    for seats in range(game.least_seats, game.most_seats + 1):
        assert game.ring_for(seats).lots


@pytest.mark.parametrize(("name", "board"), BOARDS)
def test_a_ring_is_built_like_the_classic_one(name: str, board: str) -> None:
    fields = _board(name, board).field
    kinds = Counter(field.kind for field in fields)
    assert len(fields) == int(board.removeprefix("ring"))
    assert fields[0].kind == "start"
    # A quarter of the way, half and three quarters: jail, Free parking, the way to jail.
    quarter = len(fields) // 4
    assert [fields[quarter * n].kind for n in (1, 2, 3)] == ["jail", "parking", "go_to_jail"]
    assert (kinds["transport"], kinds["utility"]) == (4, 2)


@pytest.mark.parametrize(("name", "board"), BOARDS)
def test_dearer_streets_take_more(name: str, board: str) -> None:
    streets = [field for field in _board(name, board).field if field.kind == "street"]
    for cheaper, dearer in itertools.pairwise(streets):
        assert cheaper.price <= dearer.price
        assert cheaper.house_cost <= dearer.house_cost
        assert not dearer.rents or all(low <= high for low, high in zip(cheaper.rents, dearer.rents, strict=True))
    by_group = {field.group: [other.house_cost for other in streets if other.group == field.group] for field in streets}
    assert all(len(set(costs)) == 1 for costs in by_group.values())


@pytest.mark.parametrize(
    ("name", "lots", "groups"),
    [
        ("tubbypoly/ring40", 28, 8),
        ("tubbypoly/ring56", 37, 11),
        ("tubbypoly/ring72", 46, 14),
        ("rugpull", 28, 8),
        ("globopoly", 28, 8),
        ("laspoly", 27, 9),
    ],
)
def test_lots_and_groups(name: str, lots: int, groups: int) -> None:
    (board,) = loader.edition(name).boards
    assert sum(field.price > 0 for field in board.field) == lots
    assert len({field.group for field in board.field if field.group}) == groups


def test_windfalls_are_on_the_bigger_rings_only() -> None:
    count = {board.id: sum(field.kind == "windfall" for field in board.field) for board in _tubbypoly().boards}
    assert count == {"ring40": 0, "ring56": 3, "ring72": 4}


def test_part_of_a_set_counts_on_the_bigger_rings_only() -> None:
    assert [board.part_set_percent for board in _tubbypoly().boards] == [0, 50, 50]


def test_boards_by_number_of_players() -> None:
    assert [board.players for board in _tubbypoly().boards] == [(2, 8), (9, 12), (13, 16)]
    assert [loader.edition(name).boards[0].players for name in ("rugpull", "globopoly", "laspoly")] == [
        (2, 8),
        (2, 5),
        (2, 6),
    ]


def test_the_decks_of_the_classic_game() -> None:
    sizes = {name: {deck: len(cards) for deck, cards in loader.edition(name).decks.items()} for name in NAMES}
    assert sizes == {
        "tubbypoly": {"chest": 17, "chance": 16},
        "rugpull": {"airdrop": 16, "alpha": 16},
        "globopoly/classic": {"reward": 16, "events": 16},
        "globopoly/quick": {"reward": 16, "events": 16},
        "laspoly": {"action": 20},
    }


@pytest.mark.parametrize("name", ["rugpull", "globopoly"])
def test_decks_differ_from_tubbypolys_in_texts_and_groups_alone(name: str) -> None:
    for ours, theirs in zip(loader.edition(name).decks.values(), _tubbypoly().decks.values(), strict=True):
        theirs = [card for card in theirs if card.id != "sixty_seven"]
        for card, classic in zip(ours, theirs, strict=True):
            (effect,) = effects(card)
            assert (card.id, effect) == (classic.id, *effects(classic))
            assert card.text != classic.text
            if card.id not in ("to_red", "to_rose"):
                assert getattr(card, effect) == getattr(classic, effect)


@pytest.mark.parametrize("name", ["tubbypoly/ring40", "rugpull", "globopoly"])
def test_cards_lead_to_the_fields_of_the_classic_ring(name: str) -> None:
    edition = loader.edition(name)
    (rules,) = Game(edition).rings.values()
    places = {card: at for (_, card), at in rules.advance_to.items()}
    assert places == {"to_start": 0, "to_dearest": 39, "to_red": 24, "to_rose": 11, "to_transport": 5}


@pytest.mark.parametrize("name", NAMES)
def test_options_are_those_of_the_rules(name: str) -> None:
    options = loader.edition(name).options
    there = {key for key in options.__struct_fields__ if getattr(options, key) is not None}
    expected = {"round_limit", "viewers_chat", "viewers_take_bots"}
    expected |= {"entry_fee"} if name == "rugpull" else {"clock"}
    expected |= {"start_cash"} if name == "tubbypoly" else set()
    expected |= {"auto_claim"} if name.startswith("globopoly") else set()
    expected |= {"time_limit"} if name == "globopoly/quick" else set()
    assert there == expected
    assert options.round_limit is not None
    assert options.round_limit.range == (0, 1000)
    assert options.clock is None or (options.clock.default, options.clock.values) == (45, (20, 30, 45, 60, 90))


def test_what_everybody_begins_with() -> None:
    cash = {name: loader.edition(name).rules.play.cash for name in NAMES if name != "tubbypoly"}
    assert cash == {"rugpull": 1500, "globopoly/classic": 1500, "globopoly/quick": 2000, "laspoly": 1300}
    option = _tubbypoly().options.start_cash
    assert option is not None
    assert (option.default, option.values) == (1500, (1000, 1500, 2000, 3000))


def test_quick_changes_only_what_it_names() -> None:
    classic, quick = (loader.edition(f"globopoly/{mode}") for mode in ("classic", "quick"))
    changed = {
        f"{topic}.{key}"
        for topic in classic.rules.__struct_fields__
        for key in getattr(classic.rules, topic).__struct_fields__
        if getattr(getattr(classic.rules, topic), key) != getattr(getattr(quick.rules, topic), key)
    }
    assert changed == {
        "turn.speed_die",
        "turn.start_bonus",
        "building.needs",
        "building.even",
        "trade.unbuilt",
        "play.cash",
    }
    assert (classic.boards, classic.decks) == (quick.boards, quick.decks)


def test_the_matrix_of_choices() -> None:
    """The rows of the matrix that one value tells."""
    rows = {
        "rent.due": ("debt", "at_once", "claimed", "claimed", "debt"),
        "turn.order": ("thrown", "seating", "thrown", "thrown", "drawn"),
        "turn.end": ("by_action", "by_action", "by_action", "by_action", "by_itself"),
        "auction.kind": ("open_timed", "open_until_passed", "in_turn", "in_turn", "none"),
        "rent.transport": (*[(25, 50, 100, 200)] * 4, (50, 100, 200, 400)),
        "rent.utility": ((4, 10),) * 5,
        "building.unmortgaged": ("set", "lot", "set", "set", "set"),
        "building.factory": (False, False, False, False, True),
        "mortgage.unbuilt": ("set", "set", "lot", "lot", "set"),
        "mortgage.lift_of": ("loan", "price", "loan", "loan", "price"),
        "mortgage.lift_percent": (110, 55, 110, 110, 110),
        "debt.kind": ("raise_or_give_up", "bank_liquidates", "must_raise", "must_raise", "must_raise"),
        "debt.keep": (0, 0, 0, 0, 1),
        "jail.throws_a_turn": (1, 1, 1, 1, 3),
        "jail.after_last_try": ("walks", "stays", "stays", "stays", "stays"),
        "trade.cards": (True, False, False, False, False),
        "trade.unbuilt": ("set", "lot", "set", "lot", "lot"),
        "play.business": ("any_time", "own_turn", "own_turn", "own_turn", "before_throw"),
        "play.train_fare": (0, 0, 0, 0, 75),
    }
    names = ("tubbypoly", "rugpull", "globopoly/classic", "globopoly/quick", "laspoly")
    for row, expected in rows.items():
        topic, key = row.split(".")
        assert tuple(getattr(getattr(loader.edition(name).rules, topic), key) for name in names) == expected, row


def test_a_factory_costs_two_houses_and_dearer_ones_earn_more() -> None:
    (board,) = loader.edition("laspoly").boards
    streets = [field for field in board.field if field.kind == "street"]
    assert all(street.factory_cost == 2 * street.house_cost for street in streets)
    incomes = [street.factory_income for street in streets]
    assert incomes == sorted(incomes)


def test_the_edition_of_the_landing_statistics_is_the_classic_game() -> None:
    classic, tubbypoly = loader.load(CLASSIC), loader.edition("tubbypoly/ring40")
    assert [len(deck) for deck in classic.decks.values()] == [16, 16]
    assert classic.boards == tubbypoly.boards
    assert classic.decks["chance"] == tubbypoly.decks["chance"]
    assert set(tubbypoly.decks["chest"]) - set(classic.decks["chest"]) == {tubbypoly.decks["chest"][-1]}


def _tubbypoly() -> Edition:
    return loader.edition("tubbypoly")
