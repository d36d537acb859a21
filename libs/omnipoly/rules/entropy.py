"""Where chance comes from: the protocol that the engine asks, and the provably fair maker.

A throw or a draw is a function of a secret seed, what the players contributed before Start, a label and a running
number. The seed's SHA-256 stands in the first event of the log, the seed itself in the last: whoever has the log can
recompute every throw. Decks are never put in order beforehand: a draw picks one of the cards nobody has seen, which is
the same as having shuffled them, and leaves nothing to be read out of a state.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Sequence
from typing import Literal, Protocol

SpeedFace = Literal["1", "2", "3", "city", "choice"]
_SPEED_FACES: tuple[SpeedFace, ...] = ("1", "2", "3", "city", "city", "choice")


class Entropy(Protocol):
    """What the engine asks for chance. Numbers rise by one with each throw, or each draw of a label."""

    def throw(self, number: int, purpose: str) -> tuple[int, int]:
        """Two dice, 1-6 each, of the throw with that number."""
        ...

    def speed(self, number: int) -> SpeedFace:
        """The speed die of the throw with that number (GLO-Q-SPEED)."""
        ...

    def pick(self, label: str, number: int, count: int) -> int:
        """One of ``count`` things, from 0, for the draw with that label and number."""
        ...


class FairEntropy:
    """The provably fair maker: HMAC-SHA-256 of the seed over label, contributions and number, mapped without bias."""

    def __init__(self, seed: bytes, contributions: Sequence[str]) -> None:
        self._key = seed
        joined = hashlib.sha256()
        for text in contributions:
            data = text.encode()
            joined.update(len(data).to_bytes(4, "big") + data)
        self._salt = joined.hexdigest()

    def throw(self, number: int, purpose: str) -> tuple[int, int]:
        value = self._below("dice", number, 36)
        return value // 6 + 1, value % 6 + 1

    def speed(self, number: int) -> SpeedFace:
        return _SPEED_FACES[self._below("speed", number, 6)]

    def pick(self, label: str, number: int, count: int) -> int:
        return self._below(label, number, count)

    def _below(self, label: str, number: int, count: int) -> int:
        # a block that would make small results likelier than others is dropped for the next one
        limit = 2**64 - 2**64 % count
        attempt = 0
        while True:
            message = f"{label}\n{self._salt}\n{number}\n{attempt}".encode()
            value = int.from_bytes(hmac.digest(self._key, message, "sha256")[:8], "big")
            if value < limit:
                return value % count
            attempt += 1


def commitment(seed: bytes) -> str:
    """What a log's first event says of the seed: its SHA-256 in hex."""
    return hashlib.sha256(seed).hexdigest()
