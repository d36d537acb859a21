"""A field's card: the whole rent table, and the row that applies right now (TUB-RENT-CARDINFO)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import msgspec

from .ring import Kind
from .state import FACTORY, HOTEL, NOBODY

if TYPE_CHECKING:
    from .state import State


class RentRow(msgspec.Struct, frozen=True, gc=False):
    """One row of a rent table."""

    what: Literal["bare", "part", "set", "houses", "hotel", "transports", "utilities"]
    count: int
    """Lots in one hand; of ``houses`` how many stand there."""
    amount: int
    """Whole money units; of ``utilities`` what the throw is multiplied by."""


class RentCard(msgspec.Struct, frozen=True, gc=False):
    """The rent table of a lot."""

    rows: tuple[RentRow, ...]
    applies: int
    """The row that a landing would cost by now; -1 where none does: unowned, mortgaged, a factory."""


def rent_card(s: State, field: int) -> RentCard:
    """The rent table of a lot as it stands, by field number. Raises ``ValueError`` for a field that is no lot."""
    rules = s.rules
    if not 0 <= field < rules.fields_n or not rules.price[field]:
        raise ValueError(f"field {field} is no lot")
    rent = rules.choices.rent
    if rules.kind[field] is Kind.TRANSPORT:
        rows = [RentRow("transports", number, amount) for number, amount in enumerate(rent.transport, 1)]
    elif rules.kind[field] is Kind.UTILITY:
        rows = [RentRow("utilities", number, factor) for number, factor in enumerate(rent.utility, 1)]
    else:
        rows = _street_rows(s, field)
    return RentCard(tuple(rows), _applies(s, field, rows))


def _street_rows(s: State, field: int) -> list[RentRow]:
    rules = s.rules
    size = rules.set_size[rules.set_of[field]]
    percent = rules.board.part_set_percent
    rents = rules.rents[field]
    bare = rents[0]
    rows = [RentRow("bare", 1, bare)] if size > 1 else []
    if percent:
        rows += [RentRow("part", held, bare * (100 + percent * (held - 1)) // 100) for held in range(2, size)]
    rows.append(RentRow("set", size, bare * rules.choices.rent.bare_set_factor))
    rows += [RentRow("houses", level, rents[level]) for level in range(1, HOTEL)]
    rows.append(RentRow("hotel", 1, rents[HOTEL]))
    return rows


def _applies(s: State, field: int, rows: list[RentRow]) -> int:
    owner, level = s.owner[field], s.level[field]
    if owner == NOBODY or s.mortgaged[field] or level == FACTORY:
        return -1
    if level:
        wanted = ("hotel", 1) if level == HOTEL else ("houses", level)
        return next(at for at, row in enumerate(rows) if (row.what, row.count) == wanted)
    held = s.held[owner * s.rules.sets_n + s.rules.set_of[field]]
    # the last row of lots in one hand that is not beyond what the owner holds
    lots = [at for at, row in enumerate(rows) if row.what not in ("houses", "hotel") and row.count <= held]
    return lots[-1]
