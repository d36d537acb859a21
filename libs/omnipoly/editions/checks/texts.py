"""Texts in further languages: all of them, none of anything else, and each fit for what it is filled in with."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ..cards import effects
from ..languages import Language
from ..model import Document, Texts
from ..problems import Problems
from ..shape import close, quoted
from ..texts import text_mistake
from .boards import LOTS
from .table import check_currency, check_text


def check_texts(document: Document, problems: Problems) -> None:
    """Check the texts of a document in each of the languages that it claims."""
    for language, texts in document.texts.items():
        place = f"texts.{language}"
        if language == document.language:
            what = "is the language of the file itself"
            problems.add(place, what, "take it out, or say in language what the file is written in")
            continue
        check_text(place, "title", texts.title, problems)
        if texts.currency is not None:
            check_currency(place, texts.currency, texts.currency_forms, language, problems)
        elif texts.currency_forms:
            problems.add(place, "currency_forms without currency", "write currency, too")
        titled = [name for name, mode in document.mode.items() if mode.title is not None]
        _complete(f"{place}.modes", texts.modes, titled, "mode with a title", problems)
        for name, title in texts.modes.items():
            check_text(f"{place}.modes", name, title, problems)
        _names(f"{place}.names", document, texts, problems)
        _complete(f"{place}.cards", texts.cards, document.decks, "deck", problems)
        for name in texts.cards.keys() & document.decks.keys():
            _cards(f"{place}.cards.{name}", document, language, name, problems)


def _names(place: str, document: Document, texts: Texts, problems: Problems) -> None:
    fields = [field for board in document.board for field in board.field]
    known = dict.fromkeys(name for field in fields for name in (field.name, field.group) if name)
    _complete(place, texts.names, known, "field or group", problems)
    lots: dict[str, str] = {}
    for field in fields:
        name = texts.names.get(field.name)
        if name is not None and field.kind in LOTS and lots.setdefault(name, field.name) != field.name:
            what = f"{quoted(lots[name])} and {quoted(field.name)} are both {quoted(name)}"
            problems.add(place, what, "give each lot a name of its own")
    for key, name in texts.names.items():
        check_text(place, quoted(key), name, problems)


def _cards(place: str, document: Document, language: Language, deck: str, problems: Problems) -> None:
    texts = document.texts[language]
    cards = {card.id: card for card in document.decks[deck]}
    _complete(place, texts.cards[deck], cards, "card", problems)
    for card_id, text in texts.cards[deck].items():
        check_text(f"{place}.{card_id}", "text", text, problems)
        found = effects(cards[card_id]) if card_id in cards else ()
        if len(found) == 1 and (mistake := text_mistake(text, found[0], language)) is not None:
            problems.add(f"{place}.{card_id}", *mistake)


def _complete(place: str, there: Mapping[str, object], wanted: Iterable[str], noun: str, problems: Problems) -> None:
    """What is wanted is there, and nothing besides."""
    wanted = list(wanted)
    for name in wanted:
        if name not in there:
            problems.add(place, f"{noun} {quoted(name)} is missing", "write it: a language has every text or none")
    for name in there:
        if name not in wanted:
            problems.add(place, f"there is no {noun} {quoted(name)}", close(name, wanted))
