"""Texts as players read them, in each language of an edition: amounts, names of fields and groups, cards.

A card's text holds no number and no place. It names what its effect holds, ``{pay}`` or ``{place}``, and is filled in
here from the very values that the rules play, so that text and effect cannot disagree. A number that is no money may
bring the word that it counts, in as many forms as its language has: ``{back:field|fields}``.
"""

from __future__ import annotations

import string
from typing import Self

from .cards import effects, target
from .languages import GRAMMARS, Grammar, Language
from .model import Board, Card, Edition, Texts

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
COUNTED = ("back", "factor")
"""Placeholders of numbers that are no money: their text may have the counted word in each of its forms."""


class Words:
    """The texts of an edition in one language."""

    __slots__ = ("_texts", "edition", "language")

    def __init__(self, edition: Edition, language: str = "") -> None:
        """``language``: the wanted one; where the edition has no texts in it, its own."""
        self.edition = edition
        self._texts: Texts | None = edition.texts.get(language)  # type: ignore[call-overload]
        self.language: Language = edition.language if self._texts is None else language  # type: ignore[assignment]

    @property
    def title(self) -> str:
        """The edition's, or its mode's."""
        texts = self._texts
        return self.edition.title if texts is None else texts.modes.get(self.edition.mode, texts.title)

    @property
    def currency(self) -> str:
        """What the money is called."""
        return (self._texts and self._texts.currency) or self.edition.currency

    def money(self, amount: int) -> str:
        """An amount of 0 or more: a sign stands before it (``$50``), a word after it (``50 pupas``)."""
        currency = self.currency
        if not currency[0].isalpha():
            return f"{currency}{amount}"
        texts = self._texts
        # in a language that names no money of its own the word stays as it is
        forms = self.edition.currency_forms if texts is None else texts.currency_forms
        return f"{amount} {forms[GRAMMARS[self.language].form(amount)] if forms else currency}"

    def name(self, text: str) -> str:
        """The name of a field or a group, by its name in the file's own language."""
        return text if self._texts is None else self._texts.names.get(text, text)

    def field(self, board: Board, at: int) -> str:
        """A field's name, a street's with its group: ``Paris (France)``. ``IndexError`` off the board."""
        field = board.field[at]
        return f"{self.name(field.name)} ({self.name(field.group)})" if field.group else self.name(field.name)

    def deck(self, deck: str) -> str:
        """A deck's name: that of the fields which draw from it."""
        fields = (field for board in self.edition.boards for field in board.field)
        return next((self.name(field.name) for field in fields if field.deck == deck), deck)

    def template(self, deck: str, card: Card) -> str:
        """A card's text before it is filled in."""
        return card.text if self._texts is None else self._texts.cards[deck][card.id]

    def card(self, board: Board, deck: str, card: Card) -> str:
        """What a card says on one of the edition's boards."""
        (effect,) = effects(card)
        return self.template(deck, card).format_map(self._values(board, card, effect))

    def _values(self, board: Board, card: Card, effect: str) -> dict[str, object]:
        value = getattr(card, effect)
        match effect:
            case "advance":
                return {"place": self.name(board.field[target(board, value) or 0].name)}
            case "back":
                return {"back": _Number(value, GRAMMARS[self.language])}
            case "go_to_jail":
                return {"jail": self.name(next(field.name for field in board.field if field.kind == "jail"))}
            case "jail_free":
                return {}
            case "repairs":
                return {"house": self.money(value[0]), "hotel": self.money(value[1])}
            case "nearest":
                rent = self.edition.rules.rent
                factor = rent.nearest_transport_factor if value == "transport" else rent.nearest_utility_factor
                return {"factor": _Number(factor, GRAMMARS[self.language])}
            case _:
                return {effect: self.money(value)}


class _Number(int):
    """A number in a text, alone or with the word that it counts in each of its forms: ``{back:field|fields}``."""

    grammar: Grammar

    def __new__(cls, number: int, grammar: Grammar) -> Self:
        made = super().__new__(cls, number)
        made.grammar = grammar
        return made

    def __format__(self, forms: str) -> str:
        return f"{int(self)} {forms.split('|')[self.grammar.form(self)]}" if forms else str(int(self))


def text_mistake(text: str, effect: str, language: Language = "en") -> tuple[str, str] | None:
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
    if any(conversion or (spec and name not in COUNTED) for name, spec, conversion in parts):
        return "its text formats a placeholder", "write its name alone between the braces"
    forms = GRAMMARS[language].forms
    for name, spec, _ in parts:
        if spec and (len(words := spec.split("|")) != len(forms) or not all(words)):
            return f"its text counts {{{name}}} in {len(words)} forms", f"write {{{name}:{'|'.join(forms)}}}"
    if missing := [name for name in names if name not in used]:
        return f"its text does not name {{{missing[0]}}}", f"{remedy}, so that it says what the card does"
    return None
