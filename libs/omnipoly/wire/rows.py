"""Where the engine and the contracts differ in name, and nothing else: the rest of the mapping is derived.

An attribute ``x`` is the field ``x``; one that carries its unit (``deadline_ms``, ``clock_s``, ``time_limit_min``) is a
Timestamp or Duration without it (``deadline``, ``clock``, ``time_limit``). The kind ``paid`` is the member ``paid`` of
the oneof. The value ``"bought"`` or ``Phase.LOBBY`` is the enum value that ends in it, ``HOW_BOUGHT``, ``PHASE_LOBBY``.
"""

from __future__ import annotations

import enum

from omnipoly.rules.events import Event
from omnipoly.rules.state import Away, Out, Phase

FIELDS: dict[tuple[str, str], str] = {
    ("AuctionOpened", "out_mask"): "excluded",
    ("LegalAction", "do"): "kind",
    ("State", "auction_deadline_ms"): "deadline",
}
"""Fields by struct and attribute, where they are called otherwise."""

ENUMS: dict[str, type[enum.IntEnum]] = {"Away": Away, "Out": Out, "Phase": Phase}
"""What the engine keeps as plain ints, by the contract's enum."""

ABSENT: frozenset[tuple[str, str]] = frozenset(
    (("Board", "lone_groups"), ("Edition", "currency_forms"), ("Edition", "language"), ("Edition", "texts"))
)
"""Attributes without a field: what only a check at load needs, and texts, of which a message has one language."""

LONGEST: dict[tuple[str, str], int] = {
    ("AddBot", "name"): 40,
    ("Contribute", "text"): 64,
    ("Join", "name"): 40,
    ("Side", "cards"): 8,
    ("Side", "fields"): 28,
    ("TakeSeat", "name"): 40,
}
"""The most characters or items of what clients send, by struct and attribute."""

LONGEST_ITEM = 64
"""The most characters of a text in a list that clients send."""

PASSABLE: frozenset[type[Event]] = frozenset()
"""Events that change no state: a reader that does not know them may pass them over."""

UNITS = (("_ms", 1), ("_s", 1000), ("_min", 60_000))
"""Endings of attributes that carry their unit, with its length in milliseconds."""
