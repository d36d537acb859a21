"""Who tells a record: a table's names and amounts in the words of one language."""

from __future__ import annotations

import functools
from importlib import resources
from typing import TYPE_CHECKING

from omnipoly.client import sentences
from omnipoly.client.wording import Party, Wording
from omnipoly.editions.texts import Words
from omnipoly.rules.state import CASINO

if TYPE_CHECKING:
    from collections.abc import Iterable

    from omnipoly.editions.languages import Language
    from omnipoly.rules.actions import Side
    from omnipoly.rules.state import Options, State

NAMED = 6
"""Lots of one side of an offer that are named; of more, the number is said."""


@functools.cache
def wording(language: Language) -> Wording:
    """The sentences of records in a language. Raises ``WordingError``."""
    text = (resources.files(__package__) / "lines" / f"{language}.toml").read_text("utf-8")
    return Wording(language, text, sentences.KEYS)


class Teller:
    """Names and amounts of a table, in the language that is asked for, or in its edition's own.

    ``s`` is the table's state as it is, not a copy: what is told of an event is told before it is applied.
    """

    __slots__ = ("s", "wording", "words")

    def __init__(self, s: State, language: str = "") -> None:
        self.s = s
        self.words = Words(s.rules.edition, language)
        self.wording = wording(self.words.language)

    def line(self, key: str, **values: object) -> str:
        """A sentence of the record."""
        return self.wording.line(key, **values)

    def phrase(self, key: str, **values: object) -> str:
        """A part of one."""
        return self.wording.phrase(key, **values)

    # --- names

    def party(self, seat: int) -> Party:
        """Who pays or owns: a seat, the bank or the casino."""
        if seat >= 0:
            return self.wording.party("player", self.s.name[seat])
        return self.wording.party("casino" if seat == CASINO else "bank")

    def person(self, who: str) -> Party | str:
        """A person or bot by the name they have at the table; by their id where they have no seat."""
        if not who:
            return self.phrase("nobody")
        s = self.s
        return self.wording.party(
            "player", s.name[s.holder.index(who)] if who in s.holder else who.removeprefix("admin:")
        )

    def field(self, at: int) -> str:
        """A field's name; a street's with its set."""
        return self.words.field(self.s.rules.board, at)

    @property
    def jail(self) -> str:
        """What jail is called."""
        return self.field(self.s.rules.jail)

    def card(self, deck: str, card: str) -> str:
        """What a card says."""
        rules = self.s.rules
        return self.words.card(rules.board, deck, rules.cards[rules.deck_numbers[deck]][card])

    def seats(self, seats: Iterable[int]) -> str:
        """Seats by name, in a row."""
        return ", ".join(self.s.name[seat] for seat in seats)

    # --- amounts

    def money(self, amount: int) -> str:
        """An amount in the edition's currency."""
        return self.words.money(amount)

    def seconds(self, ms: int) -> str:
        """Milliseconds as a number of seconds."""
        return self.wording.decimal(ms / 1000)

    def side(self, given: Side) -> str:
        """What one side of a trade gives, in words."""
        s, wording = self.s, self.wording
        parts = [self.money(given.cash)] if given.cash else []
        if len(given.fields) > NAMED:
            parts.append(wording.count("lots", len(given.fields)))
        else:
            kinds = {False: "side.lot", True: "side.mortgaged"}
            parts += [self.phrase(kinds[s.mortgaged[at]], field=self.field(at)) for at in given.fields]
        if given.cards:
            parts.append(wording.count("cards", len(given.cards)))
        return wording.listed(parts, self.phrase("and")) or self.phrase("side.nothing")

    def options(self, options: Options) -> str:
        """What the host chose, in words."""
        parts = [
            self.phrase("options.start_cash", amount=self.money(options.start_cash)),
            self.phrase("options.clock", seconds=options.clock_s),
        ]
        if options.round_limit:
            parts.append(self.wording.count("rounds", options.round_limit))
        if options.time_limit_min:
            parts.append(self.wording.count("minutes", options.time_limit_min))
        if options.entry_fee:
            parts.append(self.phrase("options.entry_fee", credits=self.wording.count("credits", options.entry_fee)))
        switches = {
            "private": options.private,
            "viewers_chat": options.viewers_chat,
            "viewers_take_bots": options.viewers_take_bots,
        }
        parts += [self.phrase(f"options.{name}") for name, on in switches.items() if on]
        return ", ".join(parts)
