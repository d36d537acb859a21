"""Editions as clients read them. A program that plays an edition loads its text instead."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnipoly.editions import model
from omnipoly.editions.texts import Words
from omnipoly.wire.derive import Deriver
from omnipoly.wire.gen.game.v1 import edition_pb2

if TYPE_CHECKING:
    from omnipoly.editions.model import Edition

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
        ("decks",),
    ),
}
"""Attributes whose shape the contract shows otherwise. What a ring's cards say, ``texts``, is made in ``to_proto``."""


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
_FIELD = _derive.pair(model.Field, edition_pb2.Field.DESCRIPTOR)
_derive.names |= {"write_place": _write_place, "write_deck": _write_deck, "write_field": _FIELD.write}
_CARD = _derive.pair(model.Card, edition_pb2.Card.DESCRIPTOR)
_EDITION = _derive.pair(model.Edition, edition_pb2.Edition.DESCRIPTOR)


def to_proto(edition: Edition, *, with_text: bool = False) -> edition_pb2.Edition:
    """The message of an edition; its whole text only when asked for."""
    message = edition_pb2.Edition()
    _EDITION.write(edition, message)
    if not with_text:
        message.ClearField("text")
    for board, shown in zip(edition.boards, message.boards, strict=True):
        for deck, cards in edition.decks.items():
            for card in cards:
                shown.texts.add(deck=deck, card=card.id, text=Words(edition).card(board, deck, card))
    return message


def summary(edition: Edition) -> edition_pb2.EditionSummary:
    """An edition's line in a list."""
    return edition_pb2.EditionSummary(
        id=edition.id,
        title=edition.title,
        digest=edition.digest,
        least_seats=min(board.players[0] for board in edition.boards),
        most_seats=max(board.players[1] for board in edition.boards),
    )
