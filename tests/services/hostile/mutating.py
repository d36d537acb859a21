"""Odd messages: valid ones made from a contract, and what becomes of any by chance.

Chance is a seeded ``random.Random``: the same seed makes the same messages.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from typing import Any

from google.protobuf.descriptor import FieldDescriptor

TABLE = "t" * 24
"""Stands for the id of a table in the corpus; as long as a real one, so that lengths around it stay right."""
COMMAND = "c" * 12
"""Stands for a command id that was not used before."""
PERSON = "oidc:" + "p" * 32
"""Stands for a person whom nobody else plays."""
LONGEST = 96 * 1024

_NUMBERS = (0, 1, 2, 3, 7, 39, 40, 41, 100, 255, 256, 1500, 2**31 - 1, 2**31, 2**32 - 1, 2**63 - 1)
_TEXTS = (
    "",
    " ",
    "\0",
    "a\nb",
    "\u202eleft",
    "😀",
    "ä" * 40,
    "x" * 65,
    "x" * 300,
    "x" * 5000,
    "x" * 70_000,
    "'; DROP TABLE commits; --",
    "%s%n{}",
    "*",
    ">",
    "a.b",
    "../../etc/passwd",
    "bot:1",
    "admin:x",
    "guest:x",
    "null",
    "-1",
    "1e309",
    "MjAyNg==",
    "en",
    "tubbypoly",
    "globopoly/classic",
    "rugpull",
    TABLE,
    COMMAND,
    PERSON,
)
_KNOWN: dict[str, Any] = {
    "table": TABLE,
    "command_id": COMMAND,
    "request_id": COMMAND,
    "person": PERSON,
    "by": PERSON,
    "name": "Zoe",
    "pin": "4815",
    "edition": "tubbypoly",
    "language": "en",
    "text": "Hello.",
    "reason": "a reason",
    "note": "a note",
    "page_size": 3,
    "roles": "read_only",
    "month": "2026-11",
    "draft": "d1",
    "seed": "luck",
    "field": 1,
    "amount": 10,
    "seat": 1,
    "to": 1,
    "partner": 1,
}
"""Values with which a message goes further than its first check, by the name of the field."""
_OMITTED = frozenset(("page_token", "digest", "as_bot", "traceparent", "script", "prompt_id", "if_version", "at_least"))
"""Fields without which it goes further."""


def sensible(kind: Any, rng: random.Random, depth: int = 0) -> Any:
    """A message that a client might send, of a class of messages."""
    message = kind()
    taken: set[str] = set()
    for field in message.DESCRIPTOR.fields:
        group = field.containing_oneof
        if group is not None:
            if group.name in taken:
                continue
            taken.add(group.name)
            field = rng.choice(group.fields)
        if field.name in _OMITTED and rng.random() < 0.9:
            continue
        if depth and group is None and rng.random() < 0.3:
            continue
        _fill(message, field, rng, depth)
    return message


def _fill(message: Any, field: FieldDescriptor, rng: random.Random, depth: int) -> None:
    if field.is_repeated:
        values = getattr(message, field.name)
        for _ in range(rng.randrange(3)):
            if field.type == FieldDescriptor.TYPE_MESSAGE:
                if depth < 4:
                    one = values.add()
                    one.CopyFrom(sensible(type(one), rng, depth + 1))
            else:
                values.append(_scalar(field, rng))
    elif field.type == FieldDescriptor.TYPE_MESSAGE:
        if depth < 4:
            inner = getattr(message, field.name)
            inner.SetInParent()
            inner.CopyFrom(sensible(type(inner), rng, depth + 1))
    else:
        setattr(message, field.name, _scalar(field, rng))


def _scalar(field: FieldDescriptor, rng: random.Random) -> Any:
    known = _KNOWN.get(field.name)
    kind = field.cpp_type
    if kind == FieldDescriptor.CPPTYPE_STRING:
        if field.type == FieldDescriptor.TYPE_BYTES:
            return rng.randbytes(rng.randrange(9))
        return str(known) if known is not None else "word"
    if kind == FieldDescriptor.CPPTYPE_BOOL:
        return rng.random() < 0.5
    if kind == FieldDescriptor.CPPTYPE_ENUM:
        return rng.choice(field.enum_type.values).number
    if kind in (FieldDescriptor.CPPTYPE_DOUBLE, FieldDescriptor.CPPTYPE_FLOAT):
        return rng.random()
    return known if isinstance(known, int) else rng.randrange(12)


# --- by the bytes


def varint(value: int) -> bytes:
    out = bytearray()
    value &= 2**64 - 1
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def field(number: int, body: bytes) -> bytes:
    """A field that has a length."""
    return varint(number << 3 | 2) + varint(len(body)) + body


def _flip(data: bytes, rng: random.Random, _pool: Sequence[bytes]) -> bytes:
    out = bytearray(data or b"\0")
    for _ in range(rng.choice((1, 1, 2, 8))):
        out[rng.randrange(len(out))] ^= 1 << rng.randrange(8)
    return bytes(out)


def _set(data: bytes, rng: random.Random, _pool: Sequence[bytes]) -> bytes:
    out = bytearray(data or b"\0")
    out[rng.randrange(len(out))] = rng.choice((0, 1, 0x7F, 0x80, 0xFF, rng.randrange(256)))
    return bytes(out)


def _cut(data: bytes, rng: random.Random, _pool: Sequence[bytes]) -> bytes:
    return data[: rng.randrange(len(data) + 1)]


def _insert(data: bytes, rng: random.Random, _pool: Sequence[bytes]) -> bytes:
    at = rng.randrange(len(data) + 1)
    return data[:at] + rng.randbytes(rng.choice((1, 2, 4, 32))) + data[at:]


def _remove(data: bytes, rng: random.Random, _pool: Sequence[bytes]) -> bytes:
    at = rng.randrange(len(data) + 1)
    return data[:at] + data[at + rng.choice((1, 2, 4, 16)) :]


def _twice(data: bytes, rng: random.Random, _pool: Sequence[bytes]) -> bytes:
    at = rng.randrange(len(data) + 1)
    piece = data[at : at + rng.choice((2, 8, 64))]
    return (data[:at] + piece * rng.choice((2, 3, 50)) + data[at:])[:LONGEST]


def _splice(data: bytes, rng: random.Random, pool: Sequence[bytes]) -> bytes:
    other = rng.choice(pool) if pool else b""
    return (data[: rng.randrange(len(data) + 1)] + other[rng.randrange(len(other) + 1) :])[:LONGEST]


def _append_text(data: bytes, rng: random.Random, _pool: Sequence[bytes]) -> bytes:
    """The last of several values of a field is the one that counts."""
    text = rng.choice(_TEXTS).encode()
    return (data + field(rng.randrange(1, 20), text))[:LONGEST]


def _append_number(data: bytes, rng: random.Random, _pool: Sequence[bytes]) -> bytes:
    value = rng.choice(_NUMBERS) * rng.choice((1, 1, -1))
    return data + varint(rng.randrange(1, 20) << 3) + varint(value)


def _append_fixed(data: bytes, rng: random.Random, _pool: Sequence[bytes]) -> bytes:
    wire, size = rng.choice(((1, 8), (5, 4)))
    return data + varint(rng.randrange(1, 20) << 3 | wire) + rng.randbytes(size)


def _wrap(data: bytes, rng: random.Random, _pool: Sequence[bytes]) -> bytes:
    """Deep nesting: a message in a field in a field …"""
    tag, inner, size = varint(rng.randrange(1, 16) << 3 | 2), data[:64], len(data[:64])
    around: list[bytes] = []
    for _ in range(rng.choice((1, 2, 10, 99, 101, 2000))):
        if size > LONGEST // 2:
            break
        around.append(tag + varint(size))
        size += len(around[-1])
    return b"".join(reversed(around)) + inner


def _groups(data: bytes, rng: random.Random, _pool: Sequence[bytes]) -> bytes:
    """Deep nesting of groups, which nobody uses and every parser follows."""
    number, deep = rng.randrange(1, 16), rng.choice((1, 50, 101, 20_000))
    end = varint(number << 3 | 4) * deep if rng.random() < 0.5 else b""
    return (data[:64] + varint(number << 3 | 3) * deep + end)[:LONGEST]


def _many(_data: bytes, rng: random.Random, _pool: Sequence[bytes]) -> bytes:
    """Very many values of one field."""
    one = field(rng.randrange(1, 16), rng.randbytes(rng.randrange(3)))
    return one * rng.choice((30, 300, 10_000))


def _noise(_data: bytes, rng: random.Random, _pool: Sequence[bytes]) -> bytes:
    return rng.randbytes(rng.choice((0, 1, 2, 7, 64, 1000)))


def _text_in_text(data: bytes, rng: random.Random, _pool: Sequence[bytes]) -> bytes:
    """Another text in the place of one of the known ones, its length set right where it is the outermost field's."""
    for known in rng.sample((TABLE, COMMAND, PERSON, "tubbypoly", "Zoe", "4815"), 6):
        before, found, behind = data.partition(varint(len(known)) + known.encode())
        if found:
            text = rng.choice(_TEXTS).encode()[:LONGEST]
            return before + varint(len(text)) + text + behind
    return data


_MUTATIONS: tuple[Callable[[bytes, random.Random, Sequence[bytes]], bytes], ...] = (
    _flip,
    _flip,
    _set,
    _cut,
    _insert,
    _remove,
    _twice,
    _splice,
    _splice,
    _append_text,
    _append_text,
    _append_number,
    _append_number,
    _append_fixed,
    _wrap,
    _groups,
    _many,
    _noise,
    _text_in_text,
    _text_in_text,
)


def mutated(data: bytes, rng: random.Random, pool: Sequence[bytes]) -> bytes:
    """What becomes of some bytes; pool: other messages, of which pieces may be taken."""
    for _ in range(rng.choice((1, 1, 1, 2, 4))):
        data = rng.choice(_MUTATIONS)(data, rng, pool)[:LONGEST]
    return data


def odd(kind: Any, rng: random.Random, pool: Sequence[bytes]) -> bytes:
    """An odd message for a method whose requests are of a class: of the pool, of the contract, or of nothing."""
    chance = rng.random()
    if chance < 0.6 and pool:
        return mutated(rng.choice(pool), rng, pool)
    made = sensible(kind, rng).SerializeToString()
    return made if chance < 0.7 else mutated(made, rng, pool)


def told_apart(data: bytes, table: str, command_id: str, person: str) -> bytes:
    """The bytes with what stands for a table, a command and a person replaced by real ones, of the same length."""
    data = data.replace(TABLE.encode(), table.encode())
    return data.replace(COMMAND.encode(), command_id.encode()).replace(PERSON.encode(), person.encode())
