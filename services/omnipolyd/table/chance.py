"""Chance by a script, under ``--dev``; elsewhere it is the seed's (``omnipoly.rules.entropy``)."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, cast

from omnipoly.rules.entropy import SpeedFace

if TYPE_CHECKING:
    from omnipoly.rules.state import State
    from omnipoly.wire.gen.game.v1 import script_pb2


class ScriptRanOut(Exception):
    """A throw or card that was needed and not scripted; its text says which."""


class Scripted:
    """A script's throws and cards, used in order; nothing is left to chance."""

    def __init__(self, script: script_pb2.Script, state: State) -> None:
        self._state = state
        self._throws = deque((tuple(throw.dice), throw.speed) for throw in script.throws)
        self._decks = {deck.deck: deque(deck.cards) for deck in script.decks}
        self._speed = ""

    def throw(self, number: int, purpose: str) -> tuple[int, int]:
        if not self._throws:
            raise ScriptRanOut(f"a throw ({purpose}) is needed that nothing scripts")
        dice, self._speed = self._throws.popleft()
        if len(dice) != 2 or not all(1 <= die <= 6 for die in dice):
            raise ScriptRanOut("a scripted throw has two dice of 1 to 6")
        return dice[0], dice[1]

    def speed(self, number: int) -> SpeedFace:
        if self._speed not in ("1", "2", "3", "city", "choice"):
            raise ScriptRanOut("the speed die is needed and the throw scripts none")
        return cast("SpeedFace", self._speed)

    def pick(self, label: str, number: int, count: int) -> int:
        deck = label.removeprefix("deck ")
        if deck == label:
            return 0  # who begins, a lot that is dealt: the first there is, as scenario files have it
        cards = self._decks.get(deck)
        if not cards:
            raise ScriptRanOut(f"a draw ({label}) is needed that nothing scripts")
        card = cards.popleft()
        unseen = self._state.unseen[self._state.rules.deck_numbers[deck]]
        if card not in unseen:
            raise ScriptRanOut(f"the card {card} is not to be drawn from {deck}")
        return unseen.index(card)

    def left_over(self) -> int:
        """Throws that nothing took."""
        return len(self._throws)
