"""The corpus: per RPC one file of messages that each reached something no message before it had reached.

A line is a message: protobuf's bytes as text where they are readable, escaped where not. `python -m
tests.services.hostile.grow` adds to it; whoever finds a message that breaks something adds it by hand.
"""

from __future__ import annotations

import codecs
from pathlib import Path

FOLDER = Path(__file__).parent / "corpus"


def file_of(name: str) -> Path:
    """Where the messages for an RPC stand."""
    return FOLDER / f"{name}.txt"


def read(name: str) -> list[bytes]:
    """The messages for an RPC."""
    file = file_of(name)
    return [decode(line) for line in file.read_text("ascii").splitlines()] if file.exists() else []


def write(name: str, messages: list[bytes]) -> None:
    """Keeps these, in this order."""
    FOLDER.mkdir(exist_ok=True)
    file_of(name).write_text("".join(f"{encode(message)}\n" for message in messages), "ascii")


def encode(message: bytes) -> str:
    """A message as a line; long runs of one byte are written as such."""
    out, at = [], 0
    while at < len(message):
        run = 1
        while at + run < len(message) and message[at + run] == message[at]:
            run += 1
        one = codecs.escape_encode(message[at : at + 1])[0].decode("ascii").replace(" ", "\\x20").replace("{", "\\x7b")
        out.append(f"{{{run}}}{one}" if run > 8 else one * run)
        at += run
    return "".join(out) or "{0}"


def decode(line: str) -> bytes:
    """The message of a line."""
    out, rest = [], line
    while rest:
        plain, brace, rest = rest.partition("{")
        out.append(codecs.escape_decode(plain.encode("ascii"))[0])
        if brace:
            number, _, rest = rest.partition("}")
            size = 4 if rest.startswith("\\x") else 2 if rest.startswith("\\") else 1
            out.append(codecs.escape_decode(rest[:size].encode("ascii"))[0] * int(number))
            rest = rest[size:]
    return b"".join(out)
