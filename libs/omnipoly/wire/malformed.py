"""What reading bytes or messages from outside raises."""

from __future__ import annotations

from google.protobuf.message import Message


class Malformed(Exception):
    """What came cannot be what it claims to be; ``sentence`` says why, for people, without anything secret."""

    def __init__(self, sentence: str) -> None:
        super().__init__(sentence)
        self.sentence = sentence


class Newer(Malformed):
    """What came is of a later version of the contracts, as far as can be seen: nothing is wrong with it, and it cannot
    be read here."""


def nothing_newer(message: Message) -> None:
    """Raises ``Newer`` for a message with fields that are not known here, at any depth: a later version wrote them."""
    size = message.ByteSize()
    message.DiscardUnknownFields()
    if message.ByteSize() != size:
        raise Newer(f"{message.DESCRIPTOR.name} has fields that are not known here")
