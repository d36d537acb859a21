"""What is looked at in every request before anybody is asked: ids, sizes and ranges. Everything else is the table's."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from google.protobuf.message import DecodeError, Message

from omnipoly.rules.codes import Code
from omnipoly.runtime import refusals
from omnipoly.runtime.failures import Failure

if TYPE_CHECKING:
    from google.protobuf.duration_pb2 import Duration

MESSAGE_BYTES = 64 * 1024
"""The largest message taken."""
COMMAND_BYTES = 4 * 1024
"""The largest command; scripted chance, under ``--dev``, does not count."""
LONGEST_S = 60.0
USUAL_S = 10.0

# A table's id becomes a part of NATS subjects: neither dots nor wildcards may be in it.
_TABLE = re.compile(r"[0-9a-z-]{1,36}")
_COMMAND = re.compile(r"[\x21-\x7e]{1,64}")
_PIN = re.compile(r"[0-9]{1,8}")
_NEW_PIN = re.compile(r"[0-9]{4,8}")
_BOT = re.compile(r"bot:[0-9]{1,12}")
_TRACE = re.compile(r"[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}")
_DIGEST = re.compile(r"[0-9a-f]{64}")


def bad(sentence: str) -> Failure:
    """INVALID_ARGUMENT ``bad_request``: what came is malformed, and the sentence says how."""
    return refusals.failure(Code.BAD_REQUEST, sentence)


def parse(kind: type[Message], data: bytes) -> Any:
    """The message of some bytes. Raises ``Failure``: ``too_large``, ``bad_request``."""
    if len(data) > MESSAGE_BYTES:
        raise too_large(f"A message has at most {MESSAGE_BYTES} bytes.")
    try:
        return kind.FromString(data)
    except DecodeError:
        raise bad(f"These bytes are no {kind.DESCRIPTOR.name}.") from None


def too_large(sentence: str) -> Failure:
    """RESOURCE_EXHAUSTED ``too_large``."""
    return refusals.failure(Code.TOO_LARGE, sentence)


def table(value: str) -> None:
    """A table's id."""
    if not _TABLE.fullmatch(value):
        raise bad("table: 1 to 36 small letters, digits and hyphens.")


def command_id(value: str, field: str = "command_id") -> None:
    """What names a command or a call."""
    if not _COMMAND.fullmatch(value):
        raise bad(f"{field}: 1 to 64 printable ASCII characters without blanks.")


def command_size(size_bytes: int) -> None:
    """What a command weighs."""
    if size_bytes > COMMAND_BYTES:
        raise too_large(f"A command has at most {COMMAND_BYTES} bytes.")


def text(field: str, value: str, least: int, most: int) -> None:
    """A printable text of so many characters."""
    if not least <= len(value) <= most or not value.isprintable():
        raise bad(f"{field}: {least} to {most} printable characters.")


def name(value: str) -> str:
    """A person's name, without the blanks around it."""
    value = value.strip()
    text("name", value, 1, 40)
    return value


def pin(value: str) -> None:
    """A PIN as somebody who wants in gives it; may be empty."""
    if value and not _PIN.fullmatch(value):
        raise bad("pin: at most 8 digits.")


def new_pin(value: str) -> None:
    """A PIN to be set; may be empty."""
    if value and not _NEW_PIN.fullmatch(value):
        raise bad("pin: 4 to 8 digits.")


def bot(value: str) -> None:
    """A bot's id at its table."""
    if not _BOT.fullmatch(value):
        raise bad("as_bot: bot:<n>, as the table names it.")


def language(value: str) -> None:
    """A language's two letters; may be empty, and one that nothing is written in."""
    text("language", value, 0, 2)


def digest(value: str) -> None:
    """An edition's digest; may be empty."""
    if value and not _DIGEST.fullmatch(value):
        raise bad("digest: 64 hex digits.")


def traceparent(value: str) -> str:
    """W3C trace context; what is none is left out, never refused: the game goes on without it."""
    return value if value and _TRACE.fullmatch(value) else ""


def number(field: str, value: int, least: int = 0, most: int = 2**63 - 1) -> None:
    """A whole number within bounds."""
    if not least <= value <= most:
        wanted = f"{least} or more" if most == 2**63 - 1 else f"{least} to {most}"
        raise bad(f"{field}: {wanted}.")


def tied(prompt_id: int, if_version: int) -> None:
    """What a command may name as what it was decided on."""
    if prompt_id < 0:
        raise bad("prompt_id: 0 or more.")
    if if_version < 0:
        raise bad("if_version: 0 or more.")


def page(page_size: int, most: int, page_token: str = "") -> None:
    """What a list is asked for."""
    number("page_size", page_size, 0, most)
    text("page_token", page_token, 0, 256)


def seconds(field: str, value: Duration, *, least: float = 0.001, most: float = LONGEST_S) -> float:
    """A duration in seconds."""
    given = value.seconds + value.nanos / 1e9
    if not least <= given <= most:
        raise bad(f"{field}: {least:g} to {most:g} seconds.")
    return given
