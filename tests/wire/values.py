"""Hypothesis strategies for the engine's structs, made from their types."""

from __future__ import annotations

import enum
import types
import typing
from collections.abc import Callable
from typing import Any, Literal, Union

import msgspec
from hypothesis import strategies as st

from omnipoly.rules.state import Away, Out, Phase, State
from omnipoly.wire.derive import hints_of

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
NUMBERS = st.integers(-(2**31), 2**31 - 1)
AMOUNTS = st.integers(-(2**63), 2**63 - 1)
TIMES = st.integers(-(2**40), 2**43)

MONEY = frozenset(("amount", "amounts", "cash", "least", "most", "start_cash", "entry_fee", "casino", "bank"))
MASKS = frozenset(("out_mask", "passed"))
PLAIN_ENUMS: dict[str, type[enum.IntEnum]] = {"out": Out, "away": Away, "asked": Phase}
WORDS = {
    "reason": st.sampled_from(["rent", "tax", "card", "casino_fee"]),
    "speed": st.sampled_from(["", "1", "2", "3", "city", "choice"]),
    "ended": st.sampled_from(["", "last_standing", "vote", "idle"]),
}
"""Of attributes that the engine keeps as plain text."""


def of(struct: type[msgspec.Struct], state: st.SearchStrategy[State] | None = None) -> st.SearchStrategy[Any]:
    """Any value of a struct; ``state``: what stands for a whole state inside it."""
    hints = hints_of(struct)
    attributes = [of_type(hints[name], name, state) for name in struct.__struct_fields__]
    return st.tuples(*attributes).map(lambda values: struct(*values))


def of_type(hint: Any, name: str, state: st.SearchStrategy[State] | None = None) -> st.SearchStrategy[Any]:
    """Any value of an attribute with that type and name."""
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin in (Union, types.UnionType):
        return st.one_of(*(st.none() if one is types.NoneType else of_type(one, name, state) for one in inner))
    if origin is Literal:
        return st.sampled_from(inner)
    if origin in (tuple, list):
        if origin is tuple and inner[-1] is not Ellipsis:
            return st.tuples(*(of_type(one, name, state) for one in inner))
        longest = 8 if name == "cards" else 12
        return st.lists(of_type(inner[0], name, state), max_size=longest).map(origin)
    if hint is State:
        assert state is not None
        return state
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        return st.sampled_from(list(hint))
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        return of(hint, state)
    return _plain(hint, name)


def _plain(hint: Any, name: str) -> st.SearchStrategy[Any]:
    simple: dict[Any, Callable[[], st.SearchStrategy[Any]]] = {
        bool: st.booleans,
        str: lambda: WORDS.get(name, TEXTS),
        int: lambda: _number(name),
    }
    return simple[hint]()


def _number(name: str) -> st.SearchStrategy[int]:
    if name in PLAIN_ENUMS:
        return st.sampled_from(list(PLAIN_ENUMS[name]))
    if name in MONEY:
        return AMOUNTS
    if name in MASKS:
        return st.integers(0, 2**64 - 1)
    return TIMES if name.endswith(("_ms", "_s", "_min")) else NUMBERS
