"""Taking apart what came along: the messages of a stream one by one, as their own bytes."""

from __future__ import annotations

_ALONG = 0x7A


def each(data: bytes) -> list[bytes]:
    """A ``PlayResponse`` or ``WatchResponse``, and what it carries along, in order."""
    end = _end(data, 1)[1]
    if end == len(data):
        return [data]
    found = [data[:end]]
    while end < len(data):
        if data[end] != _ALONG:
            raise ValueError("a message has one kind, and others along")
        start, end = _end(data, end + 1)
        found.append(data[start:end])
    return found


def _end(data: bytes, at: int) -> tuple[int, int]:
    """Where a field's content begins and ends, whose length stands at `at`."""
    size = shift = 0
    while True:
        byte = data[at]
        at += 1
        size |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return at, at + size
