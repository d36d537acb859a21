"""What one client has sent, was answered and was shown: a line each, written before anything is done with it.

The lines are JSON: `t` the time, milliseconds since 1970, `k` the kind, the rest by kind:

    person   who, name                       whose journal this is
    try      id table act on way n wait_ms   a command is sent (again); way: stream or call, n: which try
    accepted id table version way            it was answered, with the commits of the answer where there were any
    refused  id table n code status way      n: the try that was refused, on a stream that one or a later one
    lost     id table n how                  no answer to that try will come any more
    opened   id table n wait_ms              a table is asked for; `accepted` and the others follow likewise
    stream   s on                            a stream is opened
    follow   s table version epoch           a table is followed on it, from there on; 0: from a picture
    commit   s table version epoch sha       what it shows
    picture  s table version epoch cash owner casino bank
    level    s table version epoch           it says that this is all there is now
    closed   s how                           it has ended
    look     table version epoch began       a picture that was asked for at `began`
    grant    id who amount n                 credits are to be given (again)
    granted  id who amount balance           they have been
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from pathlib import Path


def now_ms() -> int:
    """Milliseconds since 1970."""
    return time.time_ns() // 1_000_000


def digest(body: bytes) -> str:
    """What names a commit's bytes in a journal."""
    return hashlib.sha256(body).hexdigest()[:24]


class Journal:
    """One client's journal."""

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def write(self, kind: str, **fields: object) -> None:
        """Adds a line; it is with the operating system when this returns."""
        os.write(self._file, json.dumps({"t": now_ms(), "k": kind, **fields}).encode() + b"\n")

    def close(self) -> None:
        """Nothing more is written."""
        os.close(self._file)
