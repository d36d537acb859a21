"""The languages that texts may be in, and which form of a word stands beside a number in each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple

Language = Literal["en", "ru"]
"""As a two-letter code (ISO 639-1)."""


class Grammar(NamedTuple):
    """What texts need to know of a language."""

    forms: tuple[str, ...]
    """The forms of a counted word, by the names that the plural rules of CLDR give them."""
    form: Callable[[int], int]
    """Which of them stands beside a number of 0 or more."""
    decimal_mark: str


def _en(number: int) -> int:
    return 0 if number == 1 else 1


def _ru(number: int) -> int:
    """1, 21, 31 but not 11: one; 2-4, 22-24 but not 12-14: few; all others: many."""
    if number % 10 == 1 and number % 100 != 11:
        return 0
    return 1 if number % 10 in (2, 3, 4) and number % 100 not in (12, 13, 14) else 2


GRAMMARS: dict[Language, Grammar] = {
    "en": Grammar(("one", "other"), _en, "."),
    "ru": Grammar(("one", "few", "many"), _ru, ","),
}
"""All languages there are: each has the lines of records, too."""
