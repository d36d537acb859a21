"""Texts are filled in from what the rules play."""

from __future__ import annotations

import re

import pytest

from omnipoly.editions import loader
from omnipoly.editions.cards import EFFECTS, effects, target
from omnipoly.editions.languages import GRAMMARS, Grammar
from omnipoly.editions.model import Card, Edition, Place
from omnipoly.editions.texts import PLACEHOLDERS, Words, text_mistake

EDITIONS = [loader.edition(name) for name in loader.shipped()]
CARDS = [
    (edition, language, deck, card)
    for edition in EDITIONS
    for language in edition.languages
    for deck, cards in edition.decks.items()
    for card in cards
]


def _id(value: object) -> str:
    return value.id if isinstance(value, (Edition, Card)) else str(value)


def test_money() -> None:
    globopoly, laspoly, tubbypoly = (Words(loader.edition(name)) for name in ("globopoly", "laspoly", "tubbypoly"))
    assert (globopoly.money(50), tubbypoly.money(50), laspoly.money(0)) == ("$50", "50 pupas", "0 LPD")
    assert (tubbypoly.money(0), tubbypoly.money(1), tubbypoly.money(21)) == ("0 pupas", "1 pupa", "21 pupas")


def test_money_in_a_language_with_more_forms() -> None:
    text = loader.edition("globopoly").text.replace(
        "[texts.ru]", '[texts.ru]\ncurrency = "рублей"\ncurrency_forms = ["рубль", "рубля", "рублей"]'
    )
    words = Words(loader.from_text(text), "ru")
    said = [words.money(amount) for amount in (0, 1, 2, 5, 11, 14, 21, 22, 111)]
    assert said == [
        *("0 рублей", "1 рубль", "2 рубля", "5 рублей", "11 рублей", "14 рублей", "21 рубль", "22 рубля", "111 рублей"),
    ]


def test_names_of_fields_and_decks() -> None:
    edition = loader.edition("globopoly")
    (board,) = edition.boards
    english, russian = Words(edition), Words(edition, "ru")
    assert (english.field(board, 24), english.field(board, 5)) == ("Paris (France)", "Airport Europe")
    assert (russian.field(board, 24), russian.field(board, 5)) == ("Париж (Франция)", "Европейский аэропорт")
    assert (english.deck("events"), russian.deck("events")) == ("Market events", "События рынка")


def test_titles() -> None:
    quick = loader.edition("globopoly/quick")
    assert [Words(quick, language).title for language in quick.languages] == [
        *("Globopoly Quick", "Глобополия: быстрый режим"),
    ]
    assert Words(loader.edition("globopoly"), "ru").title == "Глобополия"


def test_an_edition_without_texts_in_a_language_is_told_in_its_own() -> None:
    words = Words(loader.edition("laspoly"), "ru")
    assert (words.language, words.title) == ("en", "Las Poly")


def test_globopoly_is_there_in_its_players_language() -> None:
    assert {name: loader.edition(name).languages for name in loader.shipped()} == {
        "globopoly/classic": ("en", "ru"),
        "globopoly/quick": ("en", "ru"),
        "laspoly": ("en",),
        "rugpull": ("en",),
        "tubbypoly": ("en",),
    }


def test_what_is_russian_has_no_latin_letters() -> None:
    edition = loader.edition("globopoly")
    words, (board,) = Words(edition, "ru"), edition.boards
    said = [words.title, *(words.field(board, at) for at in range(len(board.field)))]
    said += [words.card(board, deck, card) for deck, cards in edition.decks.items() for card in cards]
    assert [text for text in said if re.search("[A-Za-z]", text)] == []


def test_every_effect_has_its_placeholders() -> None:
    assert tuple(PLACEHOLDERS) == EFFECTS


@pytest.mark.parametrize(("edition", "language", "deck", "card"), CARDS, ids=_id)
def test_a_card_says_exactly_the_numbers_it_plays(edition: Edition, language: str, deck: str, card: Card) -> None:
    words = Words(edition, language)
    (effect,) = effects(card)
    value = getattr(card, effect)
    rent = edition.rules.rent
    factor = {"transport": rent.nearest_transport_factor, "utility": rent.nearest_utility_factor}
    for board in edition.boards:
        text = words.card(board, deck, card)
        assert "{" not in text
        if isinstance(card.advance, Place | str):
            at = target(board, card.advance)
            assert at is not None
            assert words.name(board.field[at].name) in text
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
    words = Words(edition)
    says = {
        card.id: words.card(edition.boards[0], deck, card) for deck, cards in edition.decks.items() for card in cards
    }
    assert says["doctor"] == "Carpal tunnel from trading: pay $75."
    assert says["nearest_utility"].endswith("Its owner gets 12 times a fresh throw.")


def test_a_place_is_that_of_the_board() -> None:
    edition = loader.edition("tubbypoly")
    card = next(card for card in edition.decks["chance"] if card.id == "to_dearest")
    assert [Words(edition).card(board, "chance", card).split("to ")[-1] for board in edition.boards] == [
        "Sunny Heights.",
        "Gold street 2.",
        "Gold street 2.",
    ]


def test_braces_can_be_written() -> None:
    assert text_mistake("{{so}}: pay {pay}.", "pay") is None


def test_a_number_may_bring_the_word_it_counts() -> None:
    text = loader.edition("globopoly").text
    said = {}
    for fields in (1, 3, 11, 12):
        edition = loader.from_text(text.replace("back = 3", f"back = {fields}"))
        card = next(card for card in edition.decks["events"] if card.back)
        said[fields] = [Words(edition, each).card(edition.boards[0], "events", card) for each in edition.languages]
    assert said == {
        1: ["The wrong train: go back 1 field.", "Вы сели не на тот поезд: вернитесь назад на 1 клетку."],
        3: ["The wrong train: go back 3 fields.", "Вы сели не на тот поезд: вернитесь назад на 3 клетки."],
        11: ["The wrong train: go back 11 fields.", "Вы сели не на тот поезд: вернитесь назад на 11 клеток."],
        12: ["The wrong train: go back 12 fields.", "Вы сели не на тот поезд: вернитесь назад на 12 клеток."],
    }


@pytest.mark.parametrize(("language", "grammar"), GRAMMARS.items())
def test_every_number_has_a_form(language: str, grammar: Grammar) -> None:
    assert {grammar.form(number) for number in range(200)} == set(range(len(grammar.forms)))
