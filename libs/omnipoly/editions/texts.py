"""Texts as players read them: amounts, names of fields, cards.

A card's text holds no number and no place. It names what its effect holds, ``{pay}`` or ``{place}``, and is filled in
here from the very values that the rules play, so that text and effect cannot disagree.
"""

from __future__ import annotations

import string

from .cards import effects, target
from .model import Board, Card, Edition

PLACEHOLDERS: dict[str, tuple[str, ...]] = {
    "collect": ("collect",),
    "pay": ("pay",),
    "collect_each": ("collect_each",),
    "pay_each": ("pay_each",),
    "pay_casino": ("pay_casino",),
    "advance": ("place",),
    "back": ("back",),
    "go_to_jail": ("jail",),
    "jail_free": (),
    "repairs": ("house", "hotel"),
    "nearest": ("factor",),
}
"""By effect, what its text must name: amounts in money, the name of the field it leads to, a number of fields, how many
times the rent (transport) or a throw (utility) is owed."""


def money(currency: str, amount: int) -> str:
    """An amount: a sign stands before it (``$50``), a word after it (``50 pupas``)."""
    return f"{amount} {currency}" if currency[0].isalpha() else f"{currency}{amount}"


def field_name(board: Board, at: int) -> str:
    """A field's name, a street's with its group: ``Paris (France)``. ``IndexError`` off the board."""
    field = board.field[at]
    return f"{field.name} ({field.group})" if field.group else field.name


def card_text(edition: Edition, board: Board, card: Card) -> str:
    """What a card of a loaded edition says on one of its boards."""
    (effect,) = effects(card)
    return card.text.format_map(_values(edition, board, card, effect))


def text_mistake(text: str, effect: str) -> tuple[str, str] | None:
    """What is wrong with the text of a card with that effect, and the remedy; ``None`` if it can be filled in."""
    names = PLACEHOLDERS[effect]
    remedy = "name " + " and ".join(f"{{{name}}}" for name in names) if names else "it can have none"
    if any(character.isdigit() for character in text):
        return "its text holds a number, which the effect may not mean", f"{remedy} in place of digits"
    try:
        parts = [part[1:] for part in string.Formatter().parse(text)]
    except ValueError as error:
        return f"its text cannot be filled in: {error}", "write braces only around a placeholder"
    used = {name for name, *_ in parts if name is not None}
    if unknown := sorted(used - set(names)):
        return f"its text names {{{unknown[0]}}}, which {effect} does not give", remedy
    if any(spec or conversion for _, spec, conversion in parts):
        return "its text formats a placeholder", "write its name alone between the braces"
    if missing := [name for name in names if name not in used]:
        return f"its text does not name {{{missing[0]}}}", f"{remedy}, so that it says what the card does"
    return None


def _values(edition: Edition, board: Board, card: Card, effect: str) -> dict[str, str]:
    value = getattr(card, effect)
    match effect:
        case "advance":
            at = target(board, value)
            return {"place": board.field[at or 0].name}
        case "back":
            return {"back": str(value)}
        case "go_to_jail":
            return {"jail": next(field.name for field in board.field if field.kind == "jail")}
        case "jail_free":
            return {}
        case "repairs":
            house, hotel = value
            return {"house": money(edition.currency, house), "hotel": money(edition.currency, hotel)}
        case "nearest":
            rent = edition.rules.rent
            return {
                "factor": str(rent.nearest_transport_factor if value == "transport" else rent.nearest_utility_factor)
            }
        case _:
            return {effect: money(edition.currency, value)}
