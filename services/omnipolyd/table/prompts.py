"""The decisions of persons that a commit opened or changed, as they go to those persons' streams."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnipoly.rules import listing
from omnipoly.rules.events import Advanced, Asked, ClocksMoved, Resumed, Shortened, Thawed
from omnipoly.rules.state import Phase
from omnipoly.wire import legal

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from omnipoly.rules.events import Event
    from omnipoly.rules.state import State

_ALL_CLOCKS = frozenset((Advanced, ClocksMoved, Resumed, Thawed))
"""What moves every clock; what stood still, besides, had no legal actions meanwhile (TUB-PAUSE)."""
_SHARED = frozenset((Phase.AUCTION, Phase.DEBT))
"""Phases in which what one may answer changes with what others do."""


def prompts(s: State, happened: Sequence[Event], actor: str) -> list[tuple[str, bytes]]:
    """Open decisions that are new, or whose legal actions may have changed: (person, serialized ``Prompt``).

    Bots look for themselves. Who is not connected may be there all the same: their stream stands before presence says
    so. While a table stands still there is nothing to answer; all are told when it goes on.
    """
    if not s.prompt or s.phases[-1] is Phase.OVER or s.rests:
        return []
    asked = [seat for seat, number in enumerate(s.prompt) if number and not s.bot[seat]]
    if not asked:
        return []
    if s.phases[-1] not in _SHARED:
        touched = _touched(happened) if not _ALL_CLOCKS.intersection(map(type, happened)) else set(asked)
        asked = [seat for seat in asked if seat in touched or s.holder[seat] == actor]
    found = []
    for seat in asked:
        listed = listing.prompt_actions(s, seat, s.now_ms)
        message = legal.to_prompt(s.table, legal.prompt_of(s, seat), listed)
        found.append((s.holder[seat], message.SerializeToString()))
    return found


def _touched(happened: Iterable[Event]) -> set[int]:
    """Seats whose decision is another, or has another deadline."""
    touched: set[int] = set()
    for event in happened:
        kind = type(event)
        if kind is Asked:
            touched.update(prompt.seat for prompt in event.opened)  # type: ignore[attr-defined]
        elif kind is Shortened:
            touched.add(event.seat)  # type: ignore[attr-defined]
    return touched
