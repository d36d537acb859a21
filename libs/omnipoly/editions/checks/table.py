"""Names: of the edition, its modes and its boards."""

from __future__ import annotations

from ..languages import GRAMMARS, Language
from ..model import Document
from ..problems import Problems


def check_table(document: Document, problems: Problems) -> None:
    """Check the names that players read and those by which an edition is asked for."""
    check_text("", "title", document.title, problems)
    check_currency("", document.currency, document.currency_forms, document.language, problems)
    for name, mode in document.mode.items():
        if mode.title is not None:
            check_text(f"mode.{name}", "title", mode.title, problems)
    ids = [board.id for board in document.board]
    for name in sorted({board for board in ids if ids.count(board) > 1}):
        problems.add(f"board {name}", "its id is used twice", "give each board an id of its own")
    for name in ids:
        if name in document.mode:
            problems.add(
                f"board {name}", "a mode has the same name", "name one of them otherwise: both are asked for by it"
            )


def check_currency(place: str, currency: str, forms: tuple[str, ...], language: Language, problems: Problems) -> None:
    """Check what the money is called: a sign, or a word with as many forms as the language has."""
    for text in (currency, *forms):
        check_text(place, "currency", text, problems)
        if any(character.isdigit() for character in text):
            problems.add(place, "currency holds a digit", "name the money so that amounts beside it can be read")
    wanted = GRAMMARS[language].forms
    if forms and not currency[0].isalpha():
        problems.add(place, "currency_forms of a sign", "take them out: a sign stands before every amount alike")
    elif forms and len(forms) != len(wanted):
        remedy = f"write {len(wanted)}, beside numbers that need: {', '.join(wanted)}"
        problems.add(place, f"currency_forms has {len(forms)} entries", remedy)


def check_text(place: str, key: str, text: str, problems: Problems) -> None:
    """Check that a text that players read can be shown on one line."""
    if not text.isprintable() or text != text.strip():
        remedy = "write it without control characters and without spaces around it"
        problems.add(place, f"{key} cannot be shown", remedy)
