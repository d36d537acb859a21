"""Texts are filled in from what the rules play."""

from __future__ import annotations

import re

import pytest

from omnipoly.editions import loader
from omnipoly.editions.cards import EFFECTS, effects, target
from omnipoly.editions.model import Card, Edition, Place
from omnipoly.editions.texts import PLACEHOLDERS, card_text, field_name, money, text_mistake

EDITIONS = [loader.edition(name) for name in loader.shipped()]
CARDS = [(edition, deck, card) for edition in EDITIONS for deck, cards in edition.decks.items() for card in cards]


def _id(value: object) -> str:
    return value.id if isinstance(value, (Edition, Card)) else str(value)


def test_money() -> None:
    assert (money("$", 50), money("pupas", 50), money("LPD", 0)) == ("$50", "50 pupas", "0 LPD")


def test_names_of_fields() -> None:
    (board,) = loader.edition("globopoly").boards
    assert (field_name(board, 24), field_name(board, 5)) == ("Paris (France)", "Airport Europe")


def test_every_effect_has_its_placeholders() -> None:
    assert tuple(PLACEHOLDERS) == EFFECTS


@pytest.mark.parametrize(("edition", "deck", "card"), CARDS, ids=_id)
def test_a_card_says_exactly_the_numbers_it_plays(edition: Edition, deck: str, card: Card) -> None:
    (effect,) = effects(card)
    value = getattr(card, effect)
    rent = edition.rules.rent
    factor = {"transport": rent.nearest_transport_factor, "utility": rent.nearest_utility_factor}
    for board in edition.boards:
        text = card_text(edition, board, card)
        assert "{" not in text
        if isinstance(card.advance, Place | str):
            at = target(board, card.advance)
            assert at is not None
            assert board.field[at].name in text
            continue
        expected = {"repairs": value, "nearest": (factor.get(value) if isinstance(value, str) else 0,)}.get(
            effect, (value,)
        )
        expected = () if effect in ("go_to_jail", "jail_free") else expected
        assert tuple(map(int, re.findall(r"\d+", text))) == expected


def test_a_text_follows_the_number_and_the_factor() -> None:
    text = loader.edition("rugpull").text
    changed = text.replace('id = "doctor", pay = 50', 'id = "doctor", pay = 75').replace(
        "[rules.rent] ", "[rules.rent]\nnearest_utility_factor = 12\n#"
    )
    edition = loader.from_text(changed)
    says = {card.id: card_text(edition, edition.boards[0], card) for deck in edition.decks.values() for card in deck}
    assert says["doctor"] == "Carpal tunnel from trading: pay $75."
    assert says["nearest_utility"].endswith("Its owner gets 12 times a fresh throw.")


def test_a_place_is_that_of_the_board() -> None:
    edition = loader.edition("tubbypoly")
    card = next(card for card in edition.decks["chance"] if card.id == "to_dearest")
    assert [card_text(edition, board, card).split("to ")[-1] for board in edition.boards] == [
        "Sunny Heights.",
        "Gold street 2.",
        "Gold street 2.",
    ]


def test_braces_can_be_written() -> None:
    assert text_mistake("{{so}}: pay {pay}.", "pay") is None
