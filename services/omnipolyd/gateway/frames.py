"""Protobuf by hand, where a message is only a wrapper round bytes that stand already.

A commit's bytes are made once, in the table; what goes to a thousand streams is those bytes behind a tag and a length.
Fields of one message may come in any order, so a ready-made field can be put behind a serialized message.
"""

from __future__ import annotations

from collections import deque
from typing import TypeVar

from omnipoly.wire.gen.game.v1 import commit_pb2

T = TypeVar("T")

COMMIT, SNAPSHOT, PROGRESS, CHAT, RECONNECT, LEFT = 1, 2, 3, 4, 5, 6
"""Kinds that PlayResponse and WatchResponse share, by field number."""
PROMPT, ACCEPTED, REFUSED, LEGAL, RENEWED = 10, 11, 12, 13, 14
"""Kinds of PlayResponse alone."""
ALONG = 15
"""The field of both that carries further messages."""

ALONG_BYTES = 65_536
ALONG_MESSAGES = 64
_ALONG_TAG = b"\x7a"  # 15 << 3 | 2

_TABLE_TAG, _VERSION_TAG, _EPOCH_TAG = 0x0A, 0x10, 0x18


def varint(value: int) -> bytes:
    """A number of 0 or more as protobuf writes it."""
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def field(number: int, body: bytes) -> bytes:
    """A field that holds a message or bytes."""
    return varint(number << 3 | 2) + varint(len(body)) + body


def commit(data: bytes) -> bytes:
    """A commit as PlayResponse or WatchResponse carries it."""
    return b"\x0a" + varint(len(data)) + data


def together(first: bytes, waiting: deque[tuple[T, bytes]]) -> tuple[bytes, int, int]:
    """`first`, with what waits behind it along as far as it fits, taken off `waiting`; how many messages that is, and
    how many bytes they have by themselves.

    What costs is writing a message, not its bytes: one with three along costs about as much as one.
    """
    room = space = ALONG_BYTES - len(first)
    parts = [first]
    count = 1
    while waiting and count < ALONG_MESSAGES and len(waiting[0][1]) <= room:
        data = waiting.popleft()[1]
        parts += (_ALONG_TAG, varint(len(data)), data)
        room -= len(data)
        count += 1
    return b"".join(parts), count, len(first) + space - room


def head(data: bytes) -> tuple[int, int]:
    """Version and epoch of a commit, without reading its events.

    They stand in front where protobuf writes fields by number, as it does; where not, the whole message is read. Raises
    ``google.protobuf.message.DecodeError`` for bytes that are no commit.
    """
    try:
        front = _front(data)
    except IndexError:
        front = None
    if front is not None:
        return front
    message = commit_pb2.Commit.FromString(data)
    return message.version, message.epoch


def _front(data: bytes) -> tuple[int, int] | None:
    if data[0] != _TABLE_TAG or data[1] > 0x7F:
        return None
    at = 2 + data[1]
    if data[at] != _VERSION_TAG:
        return None
    version, at = _varint(data, at + 1)
    if data[at] != _EPOCH_TAG:
        return None
    return version, _varint(data, at + 1)[0]


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7
