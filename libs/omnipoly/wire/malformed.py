"""What reading bytes or messages from outside raises."""

from __future__ import annotations


class Malformed(Exception):
    """What came cannot be what it claims to be; ``sentence`` says why, for people, without anything secret."""

    def __init__(self, sentence: str) -> None:
        super().__init__(sentence)
        self.sentence = sentence


class Newer(Malformed):
    """What came is of a later version of the contracts, as far as can be seen: nothing is wrong with it, and it cannot
    be read here."""
