"""What a listed action looks like: a kind, with the amounts, fields, seats or offers it may name.

The listing itself is in ``engine.legal_actions``; the conditions are those of ``verify``, nowhere else.
"""

from __future__ import annotations

from typing import Literal

import msgspec


class FieldChoice(msgspec.Struct, frozen=True, gc=False):
    """A field the action may name, and what it costs (negative) or brings (positive) in whole money units."""

    field: int
    amount: int = 0
    what: Literal["", "building", "factory"] = ""


class LegalAction(msgspec.Struct, frozen=True, gc=False):
    """One kind of action of which at least one would be accepted now. What does not belong to the kind is empty."""

    do: str
    """The kind, as ``actions.kind_of`` names it."""
    amount: int = 0
    """What it costs (negative) or brings (positive), where that is one sum."""
    fields: tuple[FieldChoice, ...] = ()
    """Fields it may name; of an offer, the lots that could change hands, one's own and the partners'."""
    auction: int = 0
    """The auction a bid or pass must name."""
    least: int = 0
    """The least amount that may be named."""
    most: int = 0
    """The largest amount that may be named."""
    amounts: tuple[int, ...] = ()
    """The only amounts, where not every whole one from least to most is allowed; or the steps of a choice."""
    offers: tuple[int, ...] = ()
    """Offers it may name."""
    seats: tuple[int, ...] = ()
    """Seats it may name."""
    cards: tuple[str, ...] = ()
    """Jail-free cards that could change hands in an offer."""
