"""A field's card: all that a landing on it can cost, and which row of that applies right now (TUB-RENT-CARDINFO)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import msgspec

from .ring import STREET, Kind
from .state import FACTORY, HOTEL, NOBODY

if TYPE_CHECKING:
    from .ring import Rules
    from .state import State

RowKind = Literal["bare", "part", "set", "houses", "hotel", "factory", "transports", "utilities", "mortgaged"]


class Row(msgspec.Struct, frozen=True, gc=False):
    """What a landing costs in one situation. What a card that led there changes (CORE-RENT-CARD) is not in it."""

    kind: RowKind
    number: int = 0
    """Lots in one hand, of a part, a set, transports or utilities; houses; 0 for others."""
    amount: int = 0
    """Whole money units; 0 where no rent is owed, or where it is a factor of the throw."""
    factor: int = 0
    """What the throw is multiplied by; 0: the rent is the amount."""


class CardInfo(msgspec.Struct, frozen=True, gc=False):
    """A field at a table."""

    field: int
    owner: int
    """The seat; ``NOBODY``: the bank, or it cannot be owned."""
    level: int
    mortgaged: bool
    rows: tuple[Row, ...]
    """Empty where it cannot be owned."""
    applies: int
    """Which of the rows applies right now; -1: none, for nobody owns it."""


def rent_table(rules: Rules, field: int) -> tuple[Row, ...]:
    """All rows of a lot's card, whoever owns it; empty for a field that cannot be owned."""
    if not rules.price[field]:
        return ()
    choices = rules.choices.rent
    kind = rules.kind[field]
    most = rules.set_size[rules.set_of[field]]
    rows: list[Row]
    if kind is STREET:
        rows = _street(rules, field, most)
    elif kind is Kind.TRANSPORT:
        rows = [Row("transports", n, choices.transport[min(n, len(choices.transport)) - 1]) for n in _numbers(most)]
    else:
        factors = choices.utility
        rows = [Row("utilities", n, factor=factors[min(n, len(factors)) - 1]) for n in _numbers(most)]
    return (*rows, Row("mortgaged"))


def card(s: State, field: int) -> CardInfo:
    """A field's card as the table stands, before the start too. ``IndexError`` off the board."""
    rows = rent_table(s.rules, field)
    if not s.owner:
        return CardInfo(field, NOBODY, 0, mortgaged=False, rows=rows, applies=-1)
    applies = rows.index(_applying(s, field, rows)) if s.owner[field] != NOBODY else -1
    return CardInfo(field, s.owner[field], s.level[field], s.mortgaged[field], rows, applies)


def _numbers(most: int) -> range:
    return range(1, most + 1)


def _street(rules: Rules, field: int, most: int) -> list[Row]:
    rents = rules.rents[field]
    bare, percent = rents[0], rules.board.part_set_percent
    rows = [Row("bare", 0, bare)]
    if percent:
        rows += [Row("part", held, bare * (100 + percent * (held - 1)) // 100) for held in range(2, most)]
    rows.append(Row("set", most, bare * rules.choices.rent.bare_set_factor))
    rows += [Row("houses", houses, rents[houses]) for houses in range(1, HOTEL)]
    rows.append(Row("hotel", 0, rents[HOTEL]))
    if rules.choices.building.factory:
        rows.append(Row("factory"))
    return rows


def _applying(s: State, field: int, rows: tuple[Row, ...]) -> Row:
    rules = s.rules
    group = rules.set_of[field]
    held = s.held[s.owner[field] * rules.sets_n + group]
    wanted: tuple[str, int]
    if s.mortgaged[field]:
        wanted = ("mortgaged", 0)
    elif rules.kind[field] is not STREET:
        wanted = (rows[0].kind, held)
    elif s.level[field]:
        level = s.level[field]
        wanted = {FACTORY: ("factory", 0), HOTEL: ("hotel", 0)}.get(level, ("houses", level))
    elif held == rules.set_size[group]:
        wanted = ("set", held)
    else:
        wanted = ("part", held) if rules.board.part_set_percent and held > 1 else ("bare", 0)
    return next(row for row in rows if (row.kind, row.number) == wanted)
