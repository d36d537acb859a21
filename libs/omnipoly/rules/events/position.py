"""The event that sets a table up from a position, under ``--dev`` only."""

from __future__ import annotations

from ..state import State
from .base import Event


class PositionSet(Event, frozen=True, gc=False, tag="position_set"):
    """The whole state of a scripted table, as a scenario gives it."""

    state: State

    def apply(self, s: State) -> None:
        given = self.state.copy()
        for name in given.__struct_fields__:
            if name not in _KEPT:
                setattr(s, name, getattr(given, name))


_KEPT = frozenset(("table", "commitment", "dev"))
