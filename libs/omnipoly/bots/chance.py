"""Chance for games that nobody has to check: a plain generator, seeded, fast."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from omnipoly.rules.entropy import SpeedFace

_SPEED_FACES: tuple[SpeedFace, ...] = ("1", "2", "3", "city", "city", "choice")
_THROWS = tuple((first, second) for first in range(1, 7) for second in range(1, 7))


class Chance:
    """An ``Entropy`` of ``random.Random``: the same seed and the same questions give the same answers.

    Unlike the fair maker's, an answer depends on the questions before it, not on its number.
    """

    __slots__ = ("_uniform",)

    def __init__(self, seed: int | str) -> None:
        self._uniform = random.Random(seed).random

    def throw(self, number: int, purpose: str) -> tuple[int, int]:
        """Two dice."""
        return _THROWS[int(self._uniform() * 36)]

    def speed(self, number: int) -> SpeedFace:
        """The speed die (GLO-Q-SPEED)."""
        return _SPEED_FACES[int(self._uniform() * 6)]

    def pick(self, label: str, number: int, count: int) -> int:
        """One of ``count`` things, from 0."""
        return int(self._uniform() * count)
