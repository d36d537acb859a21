"""`omnipoly.wire.editions`: everything of an edition that a client reads."""

from __future__ import annotations

import pytest
from google.protobuf.message import Message

from omnipoly.editions import loader
from omnipoly.editions.model import Edition, Place
from omnipoly.editions.texts import Words
from omnipoly.rules import cardinfo, engine
from omnipoly.rules.ring import Game
from omnipoly.rules.state import NOBODY
from omnipoly.wire import editions

ALL = pytest.mark.parametrize("name", loader.shipped())


def attributes(value: object) -> dict[str, object]:
    return {name: getattr(value, name) for name in value.__struct_fields__}  # type: ignore[attr-defined]


@ALL
def test_every_edition_fits(name: str) -> None:
    edition = loader.edition(name)
    message = editions.to_proto(edition, with_text=True)
    assert (message.id, message.title, message.currency) == (edition.id, edition.title, edition.currency)
    assert (message.digest, message.mode, message.text) == (edition.digest, edition.mode, edition.text)
    assert editions.to_proto(edition).text == ""


@ALL
def test_every_number_of_the_choices_is_told(name: str) -> None:
    edition = loader.edition(name)
    message = editions.to_proto(edition).rules
    for topic, choices in attributes(edition.rules).items():
        for choice, value in attributes(choices).items():
            shown = getattr(message, topic)
            where = f"{topic}.{choice}"
            if choice == "first_bid":
                assert shown.first_bid == (0 if value == "price" else value), where
            elif choice == "big_table_round_limits":
                assert [(row.seats, row.rounds) for row in shown.big_table_round_limits] == list(value), where  # type: ignore[call-overload]
            elif choice.endswith("_s"):
                assert getattr(shown, choice.removesuffix("_s")).seconds == value, where
            elif isinstance(value, tuple):
                assert tuple(getattr(shown, choice)) == value, where
            elif isinstance(value, str):
                assert _word(shown, choice) == value, where
            elif value is not None:
                assert getattr(shown, choice) == value, where


def _word(message: Message, field: str) -> str:
    values = message.DESCRIPTOR.fields_by_name[field].enum_type
    assert values is not None
    zero = values.values_by_number[0].name.removesuffix("UNSPECIFIED")
    return values.values_by_number[getattr(message, field)].name.removeprefix(zero).lower()


@ALL
def test_every_field_is_told(name: str) -> None:
    edition = loader.edition(name)
    message = editions.to_proto(edition)
    assert len(message.boards) == len(edition.boards)
    for board, shown in zip(edition.boards, message.boards, strict=True):
        assert (shown.id, (shown.least_seats, shown.most_seats)) == (board.id, board.players)
        assert shown.part_set_percent == board.part_set_percent
        for field, square in zip(board.field, shown.fields, strict=True):
            for attribute, value in attributes(field).items():
                told = _word(square, "kind") if attribute == "kind" else getattr(square, attribute)
                assert (tuple(told) if attribute == "rents" else told) == value, (field.name, attribute)


@ALL
def test_every_card_is_told_and_filled_in_for_each_ring(name: str) -> None:
    edition = loader.edition(name)
    message = editions.to_proto(edition)
    assert [deck.name for deck in message.decks] == list(edition.decks)
    for cards, deck in zip(edition.decks.values(), message.decks, strict=True):
        for card, shown in zip(cards, deck.cards, strict=True):
            assert (shown.id, shown.text, shown.go_to_jail, shown.jail_free) == (
                *(card.id, card.text, card.go_to_jail, card.jail_free),
            )
            for effect in ("collect", "pay", "collect_each", "pay_each", "pay_casino", "back"):
                told = getattr(shown, effect) if shown.HasField(effect) else None  # type: ignore[arg-type]
                assert told == getattr(card, effect)
            if isinstance(card.advance, Place):
                to = (shown.advance.group, shown.advance.lot, shown.advance.transport)
                assert to == (card.advance.group, card.advance.lot, card.advance.transport)
            assert shown.advance.start == (card.advance == "start")
            assert ((shown.repairs.house, shown.repairs.hotel) if shown.HasField("repairs") else None) == card.repairs
            assert (_word(shown, "nearest") if shown.nearest else None) == card.nearest
    for board, ring in zip(edition.boards, message.boards, strict=True):
        told = [(text.deck, text.card, text.text) for text in ring.texts]
        assert told == [
            (deck, card.id, Words(edition).card(board, deck, card))
            for deck, cards in edition.decks.items()
            for card in cards
        ]


@ALL
def test_every_option_is_told(name: str) -> None:
    edition = loader.edition(name)
    message = editions.to_proto(edition).options
    for option, allowed in attributes(edition.options).items():
        assert message.HasField(option) == (allowed is not None), option  # type: ignore[arg-type]
        if allowed is None:
            continue
        shown = getattr(message, option)
        assert shown.default == allowed.default  # type: ignore[attr-defined]
        if hasattr(allowed, "values"):
            assert tuple(shown.values) == allowed.values
            told = (shown.range.least, shown.range.most) if shown.HasField("range") else None
            assert told == allowed.range  # type: ignore[attr-defined]


def test_a_line_in_a_list() -> None:
    edition: Edition = loader.edition("tubbypoly")
    line = editions.summary(edition)
    assert (line.id, line.digest, line.least_seats, line.most_seats) == ("tubbypoly", edition.digest, 2, 16)


@ALL
def test_the_whole_rent_table_and_every_price_of_a_lot_are_told(name: str) -> None:
    edition = loader.edition(name)
    for board, ring in zip(edition.boards, editions.to_proto(edition).boards, strict=True):
        rules = Game(edition).ring(board.id)
        for at, square in enumerate(ring.fields):
            told = [(_word(row, "kind"), row.number, row.amount, row.factor) for row in square.rent_table]
            assert told == [(row.kind, row.number, row.amount, row.factor) for row in cardinfo.rent_table(rules, at)]
            assert (square.loan, square.lift) == (rules.loan[at], rules.lift_cost[at])
            assert (square.building_yield, square.factory_yield) == (rules.building_yield[at], rules.factory_yield[at])
            assert square.lot_yield == (square.price // 2 if name == "laspoly" else 0)


@ALL
def test_every_choice_is_explained(name: str) -> None:
    edition = loader.edition(name)
    message = editions.to_proto(edition)
    told = {(one.topic, one.choice): one for one in message.explanations}
    for topic, choices in attributes(edition.rules).items():
        for choice in attributes(choices):
            one = told.pop((topic, choice))
            assert one.text
            assert len(one.value) <= 200
            assert choice in getattr(message.rules, topic).DESCRIPTOR.fields_by_name or choice.endswith("_s")
    assert not told
    assert any("RUG-AUCTION" in one.rules for one in message.explanations)


def test_an_edition_in_another_language() -> None:
    edition = loader.edition("globopoly/quick")
    own, russian = (editions.to_proto(edition, language=language) for language in ("", "ru"))
    assert (own.language, own.languages, own.title) == ("en", ["en", "ru"], "Globopoly Quick")
    assert (russian.language, russian.languages, russian.title) == ("ru", ["en", "ru"], "Глобополия: быстрый режим")
    paris, parizh = own.boards[0].fields[24], russian.boards[0].fields[24]
    assert (paris.name, paris.group, paris.group_title) == ("Paris", "France", "France")
    assert (parizh.name, parizh.group, parizh.group_title) == ("Париж", "France", "Франция")
    assert [(deck.name, deck.title) for deck in russian.decks] == [("reward", "Награда"), ("events", "События рынка")]
    assert russian.decks[1].cards[9].text == "Вы сели не на тот поезд: вернитесь назад на {back:клетку|клетки|клеток}."
    assert russian.boards[0].texts[16 + 9].text == "Вы сели не на тот поезд: вернитесь назад на 3 клетки."
    assert editions.to_proto(edition, language="ru", with_text=True).text == edition.text


def test_a_language_that_an_edition_has_not_is_its_own() -> None:
    edition = loader.edition("laspoly")
    assert editions.to_proto(edition, language="ru") == editions.to_proto(edition)


def test_the_card_of_a_field_at_a_table() -> None:
    """TUB-RENT-CARDINFO."""
    s = engine.blank(Game(loader.edition("globopoly")).first)
    s.owner, s.level, s.mortgaged = ([value] * s.rules.fields_n for value in (NOBODY, 0, False))
    s.held = [0] * s.rules.sets_n
    s.owner[24], s.level[24], s.held[s.rules.set_of[24]] = 0, 3, 3
    card = editions.field_card(s, 24, version=7, epoch=2, language="ru")
    assert (card.field, card.owner, card.level, card.mortgaged) == (24, 0, 3, False)
    assert (card.version, card.epoch, card.details.name, card.details.price) == (7, 2, "Париж", 240)
    row = card.details.rent_table[card.applies]
    assert (_word(row, "kind"), row.number, row.amount) == ("houses", 3, 750)
    assert editions.field_card(s, 21, version=7, epoch=2).applies == -1
    with pytest.raises(IndexError):
        editions.field_card(s, 40, version=7, epoch=2)
