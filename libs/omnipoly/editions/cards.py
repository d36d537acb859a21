"""What a card does, told from its data: which effect it has and where it leads on a board."""

from __future__ import annotations

from .model import Board, Card, Place

EFFECTS = (
    "collect",
    "pay",
    "collect_each",
    "pay_each",
    "pay_casino",
    "advance",
    "back",
    "go_to_jail",
    "jail_free",
    "repairs",
    "nearest",
)
"""The attributes of a card that are effects; a card has exactly one."""
DEAREST = "dearest"
"""In the place of a group: the group of the dearest street (the first of equals)."""


def effects(card: Card) -> tuple[str, ...]:
    """The effects that a card has; for a card of a loaded edition exactly one."""
    # By identity: an amount of 0 is an effect, though one that the checks refuse.
    return tuple(name for name in EFFECTS if getattr(card, name) is not None and getattr(card, name) is not False)


def target(board: Board, advance: str | Place) -> int | None:
    """The field that an ``advance`` card leads to on a board; ``None`` where the board has no such field.

    Every advance of a loaded edition leads somewhere on each of its boards.
    """
    if not isinstance(advance, Place):
        return 0
    if advance.transport:
        return _nth([at for at, field in enumerate(board.field) if field.kind == "transport"], advance.transport)
    streets = [at for at, field in enumerate(board.field) if field.kind == "street"]
    group = advance.group
    if group == DEAREST and streets:
        group = board.field[max(streets, key=lambda at: board.field[at].price)].group
    return _nth([at for at in streets if board.field[at].group == group], advance.lot)


def _nth(fields: list[int], number: int) -> int | None:
    """The field of that number: 1 is the first, -1 the last."""
    if number == 0 or abs(number) > len(fields):
        return None
    return fields[number - 1 if number > 0 else number]
