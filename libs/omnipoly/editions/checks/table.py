"""Names: of the edition, its modes and its boards."""

from __future__ import annotations

from ..model import Document
from ..problems import Problems


def check_table(document: Document, problems: Problems) -> None:
    """Check the names that players read and those by which an edition is asked for."""
    check_text("", "title", document.title, problems)
    check_text("", "currency", document.currency, problems)
    if any(character.isdigit() for character in document.currency):
        problems.add("", "currency holds a digit", "name the money so that amounts beside it can be read")
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


def check_text(place: str, key: str, text: str, problems: Problems) -> None:
    """Check that a text that players read can be shown on one line."""
    if not text.isprintable() or text != text.strip():
        remedy = "write it without control characters and without spaces around it"
        problems.add(place, f"{key} cannot be shown", remedy)
