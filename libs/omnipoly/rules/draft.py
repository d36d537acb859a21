"""A state being changed by one command: what handlers write through."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .entropy import Entropy
    from .events import Event
    from .state import State


class Draft:
    """A state of one's own (a copy, or in a simulation the state itself) and the events that changed it.

    Later steps of a command see what earlier ones did, because every event is applied as it is emitted. The draft
    becomes the state when its events are stored, and is dropped otherwise.
    """

    __slots__ = ("_rank", "_ranked_ms", "answered", "entropy", "events", "state")

    def __init__(self, state: State, entropy: Entropy) -> None:
        self.state = state
        self.entropy = entropy
        self.events: list[Event] = []
        self.answered = 0
        """Bit mask of seats whose open decision was answered, so that the next one begins with a fresh clock."""
        self._rank = self._ranked_ms = 0

    def emit(self, event: Event) -> None:
        """Apply an event and keep it."""
        event.apply(self.state)
        self.events.append(event)

    def rank(self) -> int:
        """The rank of all who go out by this command, or at this moment of the clock (CORE-WIN)."""
        if not self._rank or self._ranked_ms != self.state.now_ms:
            self._rank = max(self.state.out_rank) + 1
            self._ranked_ms = self.state.now_ms
        return self._rank

    def next_command(self) -> None:
        """What was due has been played: who goes out from here on goes out later than by that."""
        self._rank = 0


def seats_in(s: State) -> list[int]:
    """Seats still in the game, in seating order."""
    return [seat for seat, out in enumerate(s.out) if not out]


def in_play_order(s: State, first: int) -> list[int]:
    """Seats still in, in order of play, from ``first`` on (or from the one after it, when it is out)."""
    order = s.order or list(range(s.seats))
    at = order.index(first)
    return [seat for seat in order[at:] + order[:at] if not s.out[seat]]


def clock_now(s: State) -> int:
    """The time from which clocks run: that of the commit, or since when the table stands still or is frozen."""
    return s.paused_ms or s.frozen_ms or s.now_ms
