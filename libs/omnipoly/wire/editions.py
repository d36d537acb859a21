"""Editions as clients read them. A program that plays an edition loads its text instead."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnipoly.editions import explained, model
from omnipoly.editions.texts import Words
from omnipoly.rules import cardinfo
from omnipoly.rules.ring import Game
from omnipoly.wire.derive import Deriver
from omnipoly.wire.gen.game.v1 import card_pb2, edition_pb2

if TYPE_CHECKING:
    from omnipoly.editions.model import Edition
    from omnipoly.rules.ring import Rules
    from omnipoly.rules.state import State

_SPECIAL: dict[tuple[str, str], tuple[str, tuple[str, ...]]] = {
    ("AuctionChoices", "first_bid"): ("{p}.first_bid = 0 if {v} == 'price' else {v}", ("first_bid",)),
    ("Board", "field"): ("for i in {v}:\n    write_field(i, {p}.fields.add())", ("fields",)),
    ("Board", "players"): ("{p}.least_seats, {p}.most_seats = {v}", ("least_seats", "most_seats", "texts")),
    ("Card", "advance"): ("write_place({v}, {p})", ("advance",)),
    ("Card", "repairs"): ("if {v}:\n    {p}.repairs.house, {p}.repairs.hotel = {v}", ("repairs",)),
    ("IntOption", "range"): ("if {v}:\n    {p}.range.least, {p}.range.most = {v}", ("range",)),
    ("PlayChoices", "big_table_round_limits"): (
        "for seats, rounds in {v}:\n    {p}.big_table_round_limits.add(seats=seats, rounds=rounds)",
        ("big_table_round_limits",),
    ),
    ("Edition", "decks"): (
        "for name, cards in {v}.items():\n    write_deck(cards, {p}.decks.add(name=name))",
        ("decks", "language", "languages", "explanations"),
    ),
}
"""Attributes whose shape the contract shows otherwise. What it has besides is made in ``to_proto``: what cards say on a
ring (``texts``), the languages, what the choices mean."""


def _write_place(advance: model.Place | str | None, card: edition_pb2.Card) -> None:
    if isinstance(advance, model.Place):
        _PLACE.write(advance, card.advance)
    elif advance:
        card.advance.start = True


def _write_deck(cards: tuple[model.Card, ...], deck: edition_pb2.Deck) -> None:
    for card in cards:
        _CARD.write(card, deck.cards.add())


_derive = Deriver(special=_SPECIAL)
_PLACE = _derive.pair(model.Place, edition_pb2.Place.DESCRIPTOR, partly=True)
# The rest of a field is what the rules make of it on its ring.
_FIELD = _derive.pair(model.Field, edition_pb2.Field.DESCRIPTOR, partly=True)
_derive.names |= {"write_place": _write_place, "write_deck": _write_deck, "write_field": _FIELD.write}
_CARD = _derive.pair(model.Card, edition_pb2.Card.DESCRIPTOR)
_EDITION = _derive.pair(model.Edition, edition_pb2.Edition.DESCRIPTOR)
_ROW = _derive.pair(cardinfo.Row, edition_pb2.RentRow.DESCRIPTOR)


def to_proto(edition: Edition, *, with_text: bool = False, language: str = "") -> edition_pb2.Edition:
    """The message of an edition in one of its languages ("", or one it has not: its own); its text only if asked for.

    Names by which its parts refer to each other stay as they are: ids, decks, groups.
    """
    words = Words(edition, language)
    message = edition_pb2.Edition()
    _EDITION.write(edition, message)
    if not with_text:
        message.ClearField("text")
    message.title, message.currency = words.title, words.currency
    message.language = words.language
    message.languages.extend(edition.languages)
    for deck in message.decks:
        deck.title = words.deck(deck.name)
        for card, shown in zip(edition.decks[deck.name], deck.cards, strict=True):
            shown.text = words.template(deck.name, card)
    rings = Game(edition).rings
    for board, ring in zip(edition.boards, message.boards, strict=True):
        for at, field in enumerate(ring.fields):
            _complete(field, rings[board.id], at, words)
        for deck_name, cards in edition.decks.items():
            for card in cards:
                ring.texts.add(deck=deck_name, card=card.id, text=words.card(board, deck_name, card))
    _explain(edition, message)
    return message


def field_card(state: State, field: int, *, version: int, epoch: int, language: str = "") -> card_pb2.FieldCard:
    """The message of a field's card at a table (TUB-RENT-CARDINFO). ``IndexError`` off the board."""
    rules = state.rules
    info = cardinfo.card(state, field)
    message = card_pb2.FieldCard(
        field=field,
        owner=info.owner,
        level=info.level,
        mortgaged=info.mortgaged,
        applies=info.applies,
        version=version,
        epoch=epoch,
    )
    _FIELD.write(rules.fields[field], message.details)
    _complete(message.details, rules, field, Words(rules.edition, language))
    return message


def summary(edition: Edition) -> edition_pb2.EditionSummary:
    """An edition's line in a list."""
    return edition_pb2.EditionSummary(
        id=edition.id,
        title=edition.title,
        digest=edition.digest,
        least_seats=min(board.players[0] for board in edition.boards),
        most_seats=max(board.players[1] for board in edition.boards),
        languages=edition.languages,
    )


def _complete(message: edition_pb2.Field, rules: Rules, at: int, words: Words) -> None:
    """What the rules and a language make of a field."""
    message.name = words.name(message.name)
    message.group_title = words.name(message.group)
    message.loan, message.lift, message.lot_yield = rules.loan[at], rules.lift_cost[at], rules.lot_yield[at]
    message.building_yield, message.factory_yield = rules.building_yield[at], rules.factory_yield[at]
    for row in cardinfo.rent_table(rules, at):
        _ROW.write(row, message.rent_table.add())


def _explain(edition: Edition, message: edition_pb2.Edition) -> None:
    for topic, choice, value in explained.chosen(edition.rules):
        text = explained.choice(topic, choice, value)
        written = explained.written(value)
        message.explanations.add(topic=topic, choice=choice, value=written, text=text, rules=explained.rules_in(text))
