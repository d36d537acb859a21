"""The record says what the log says: every payment, every throw, every card, and no sum of its own."""

from __future__ import annotations

import re

import pytest

from omnipoly.client import record, teller, telling
from omnipoly.client.teller import Teller
from omnipoly.editions import loader
from omnipoly.editions.texts import Words
from omnipoly.rules import engine, events
from omnipoly.rules.actions import Side
from omnipoly.rules.ring import Game
from omnipoly.rules.state import CASINO
from tests.client.games import played

IN_LANGUAGES = [(name, language) for name in loader.shipped() for language in loader.edition(name).languages]


def test_every_kind_has_a_sentence_or_is_known_to_be_silent() -> None:
    silent = {events.kind_of(kind) for kind in telling.SILENT}
    told = {events.kind_of(kind) for kind in telling.SAYS}
    assert silent | told == set(events.KINDS)
    assert not silent & told


@pytest.mark.parametrize(("edition", "language"), IN_LANGUAGES)
def test_payments_throws_and_cards_are_told_with_the_numbers_of_the_event(edition: str, language: str) -> None:
    log = played(edition)
    words = Words(log.game.edition, language)
    state = engine.blank(log.game.first)
    kinds = set()
    for commit in log.commits:
        engine.enter(state, commit.at_ms, commit.actor)
        for event in commit.events:
            told = record.line(state, event, language)
            if isinstance(event, events.Paid):
                assert told is not None
                assert words.money(event.amount) in told.text
                for party in (event.payer, event.payee):
                    named = Teller(state, language).party(party)
                    forms = {getattr(named, form).casefold() for form in teller.wording(language).parties}
                    assert any(form in told.text.casefold() for form in forms)
            elif isinstance(event, events.DiceThrown):
                assert told is not None
                assert re.search(rf"\b{event.dice[0]} (and|и) {event.dice[1]}\b", told.text)
            elif isinstance(event, events.CardDrawn):
                card = state.rules.cards[state.rules.deck_numbers[event.deck]][event.card]
                assert told is not None
                assert words.card(state.rules.board, event.deck, card) in told.text
            elif isinstance(event, events.BidMade):
                assert told is not None
                assert str(event.amount) in told.text
            if told is not None:
                kinds.add(told.kind)
                assert told.kind == events.kind_of(event)
                assert 0 < len(told.text) <= record.LONGEST
                assert told.text[0].isupper() or told.text[0] in "«0123456789"
                assert told.text[-1] in ".”»"
            event.apply(state)
    assert {"dice_thrown", "moved", "paid", "turn_started", "game_ended", "seed_revealed"} <= kinds


@pytest.mark.parametrize(("edition", "language"), IN_LANGUAGES)
def test_no_sum_stands_in_the_record_that_is_not_in_the_event(edition: str, language: str) -> None:
    """Cards' texts come from their effects and are checked with the editions."""
    log = played(edition)
    currency = log.game.edition.currency
    sum_ = re.compile(rf"(\d+) {currency}" if currency[0].isalpha() else rf"{re.escape(currency)}(\d+)")
    state = engine.blank(log.game.first)
    for commit in log.commits:
        engine.enter(state, commit.at_ms, commit.actor)
        for event in commit.events:
            told = record.line(state, event, language)
            if told is not None and not isinstance(event, events.CardDrawn | events.CardReturned):
                for amount in sum_.findall(told.text):
                    assert int(amount) in _numbers(state, event), told.text
            event.apply(state)


def _numbers(state: object, event: object) -> set[int]:
    """The amounts of an event; an offer that closes is the one that was made."""
    if isinstance(event, events.OfferClosed):
        offer = next(offer for offer in state.offers if offer.offer == event.offer)  # type: ignore[attr-defined]
        return {offer.give.cash, offer.take.cash}
    if isinstance(event, events.OfferMade):
        return {event.give.cash, event.take.cash}
    if isinstance(event, events.GameStarted | events.OptionsSet):
        return {event.options.start_cash}
    return {event.amount}  # type: ignore[attr-defined]


def test_tell_applies_what_it_tells() -> None:
    log = played("tubbypoly")
    state = engine.blank(log.game.first)
    lines: list[record.Line] = []
    for commit in log.commits:
        engine.enter(state, commit.at_ms, commit.actor)
        lines += record.tell(state, commit.events)
    assert state == log.state
    assert lines[0].kind == "table_opened"
    assert lines[-1].kind == "seed_revealed"
    assert "Places: 1 " in lines[-2].text


def test_the_order_of_places_is_told() -> None:
    state = engine.blank(Game(loader.edition("tubbypoly")).first)
    state.name = ["Ann", "Bob", "Cid"]
    told = record.line(state, events.GameEnded("round_limit", (2, 1, 2)))
    assert told is not None
    assert told.text == "The game is over: the last round is over. Places: 1 Bob, 2 Ann, 2 Cid."


def test_sides_of_a_trade_in_words() -> None:
    state = engine.blank(Game(loader.edition("tubbypoly")).first)
    state.mortgaged = [False] * state.rules.fields_n
    first, second = state.rules.lots[:2]
    state.mortgaged[second] = True
    told = Teller(state)
    words = told.side(Side(cash=20, fields=(first, second), cards=("x", "y")))
    one, two = told.field(first), told.field(second)
    assert words == f"20 pupas, {one}, {two} (mortgaged) and 2 jail-free cards"
    assert told.side(Side(fields=tuple(state.rules.lots[:9]))) == "9 lots"
    assert told.side(Side()) == "nothing"


def test_who_is_not_at_the_table_goes_by_id() -> None:
    state = engine.blank(Game(loader.edition("laspoly")).first)
    state.holder, state.name = ["guest:1"], ["Ann"]
    told = Teller(state)
    assert str(told.person("guest:1")) == "Ann"
    assert str(told.person("admin:root")) == "root"
    assert told.person("") == "nobody"
    assert str(told.party(CASINO)) == "the casino"


def test_a_long_line_is_cut() -> None:
    state = engine.blank(Game(loader.edition("tubbypoly")).first)
    told = record.line(state, events.Contributed("x" * 300, "y" * 64))
    assert told is not None
    assert len(told.text) == record.LONGEST
    assert told.text.endswith("…")
