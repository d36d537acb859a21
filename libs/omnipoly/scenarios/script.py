"""Scripted chance: what a scenario says is thrown, in order, and nothing else.

It is an ``entropy`` of the engine. What the script does not have is not made up: ``Unscripted`` says what was needed,
and the step is dropped. Cards lie in the order of the position, so that the engine draws them without asking.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

from omnipoly.rules.entropy import SpeedFace

from .errors import Unscripted
from .model import Throw

_DECK = "deck "
"""What the engine's labels for draws of cards begin with."""
_THIRD = 2
"""Doubles after which the next one is the third, whose speed die nobody looks at (GLO-Q-SPEED)."""


class Script:
    """The throws of one step, used in order.

    ``doubles`` is how many the turn owner has thrown before: the speed die of a third double may be left out.
    """

    def __init__(self, throws: Iterable[Throw] = (), doubles: int = 0) -> None:
        self._throws = list(throws)
        self._used = 0
        self._doubles = doubles
        self._last = Throw(0, 0)

    @property
    def rest(self) -> tuple[Throw, ...]:
        """The throws that nothing has used."""
        return tuple(self._throws[self._used :])

    @property
    def throws(self) -> tuple[Throw, ...]:
        """All its throws, the used ones included: what a stage elsewhere is told."""
        return tuple(self._throws)

    def take(self, number: int) -> None:
        """Say that so many throws were used, where somebody else has thrown them. Raises ``Unscripted``."""
        for _ in range(number):
            self._next("a throw")

    def throw(self, number: int, purpose: str) -> tuple[int, int]:
        """The next scripted throw. Raises ``Unscripted`` when there is none."""
        thrown = self._next(_PURPOSES.get(purpose, "a throw"))
        return thrown.first, thrown.second

    def speed(self, number: int) -> SpeedFace:
        """The speed die of the throw that was used last. Raises ``Unscripted`` when the scenario leaves it out."""
        thrown = self._last
        if not thrown.speed:
            third = self._used == 1 and self._doubles == _THIRD and thrown.first == thrown.second
            if third:
                return "1"
            raise Unscripted(f"the speed die of the throw [{thrown.first}, {thrown.second}] as its third entry")
        return cast("SpeedFace", thrown.speed)

    def pick(self, label: str, number: int, count: int) -> int:
        """The first of what is left: for who begins, and for lots that are dealt.

        Raises ``Unscripted`` for a card: a deck that is scripted is drawn from without asking.
        """
        if label.startswith(_DECK):
            raise Unscripted(f"a card of the deck {label.removeprefix(_DECK)!r}, whose top given.deck does not script")
        return 0

    def _next(self, what: str) -> Throw:
        if self._used == len(self._throws):
            raise Unscripted(f"{what} that nothing scripts")
        self._last = self._throws[self._used]
        self._used += 1
        return self._last


_PURPOSES = {
    "walk": "a throw of the turn owner",
    "order": "a throw for the order of play",
    "jail": "a throw in jail",
    "utility": "a fresh throw for the rent of a utility",
}
