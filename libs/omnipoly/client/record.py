"""The readable record of a game: what happened, event by event, in sentences.

A line is made of the event and of the state before it, and of nothing else: every amount in it is the event's own, so
that a record cannot say another sum than the log does. Names of fields and cards come from the edition, sentences from
``lines``, a file a language.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

import msgspec

from omnipoly.client import telling
from omnipoly.client.teller import Teller
from omnipoly.rules.events import Event, kind_of

if TYPE_CHECKING:
    from omnipoly.rules.state import State

Tell = bool | str
"""Whether a record is kept, and in which language; ``True``: in the edition's own."""

LONGEST = 300
"""Characters of a line; what is longer ends in an ellipsis."""


class Line(msgspec.Struct, frozen=True, gc=False):
    """One line of a record."""

    kind: str
    """The kind of event, as the contract names it."""
    text: str
    """One sentence, at most ``LONGEST`` characters."""


def line(s: State, event: Event, language: str = "") -> Line | None:
    """What an event says to people, told before it is applied to ``s``; ``None`` when it says nothing.

    Silent are bookkeeping (prompts, phases) and what the line of a neighbouring event says already. ``language``: where
    the edition has no texts in it, its own.
    """
    return _line(Teller(s, language), event)


def tell(s: State, happened: Iterable[Event], language: str = "") -> Iterator[Line]:
    """The lines of some events. Each event is applied to ``s`` behind its line: hand in a copy to keep a state.

    The head of the commit (``engine.enter``) is the caller's to apply.
    """
    teller = Teller(s, language)
    for event in happened:
        told = _line(teller, event)
        event.apply(s)
        if told is not None:
            yield told


def _line(teller: Teller, event: Event) -> Line | None:
    say = telling.SAYS.get(type(event))
    text = say(teller, event) if say is not None else ""
    if not text:
        return None
    return Line(kind_of(event), text if len(text) <= LONGEST else text[: LONGEST - 1] + "…")
