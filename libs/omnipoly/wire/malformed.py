"""The one exception that reading bytes or messages from outside raises."""

from __future__ import annotations


class Malformed(Exception):
    """What came cannot be what it claims to be; ``sentence`` says why, for people, without anything secret."""

    def __init__(self, sentence: str) -> None:
        super().__init__(sentence)
        self.sentence = sentence
