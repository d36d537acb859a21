"""How long to wait before the next try: longer each time, and never in step with others."""

from __future__ import annotations

import random

FIRST_S = 0.1
LONGEST_S = 5.0


class Backoff:
    """Pauses between tries: they double up to ``LONGEST_S``, and each is drawn from the upper half of its range."""

    def __init__(self) -> None:
        self._next_s = FIRST_S

    def pause_s(self, asked_s: float | None = None) -> float:
        """The next pause, in seconds; at least what the server asked for."""
        pause = self._next_s * random.uniform(0.5, 1.0)
        self._next_s = min(2 * self._next_s, LONGEST_S)
        if asked_s is not None:
            pause = max(pause, asked_s * random.uniform(1.0, 1.25))
        return pause

    def reset(self) -> None:
        """It went well: the next pause is a short one."""
        self._next_s = FIRST_S
