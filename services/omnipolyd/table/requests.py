"""What callers send, looked at before it goes anywhere: ids, sizes, times. Everything wrong is ``bad_request``."""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING, TypeVar

from google.protobuf.message import DecodeError, Message

from omnipoly.rules.codes import Code
from omnipoly.rules.seats import ADMIN, BOT
from omnipoly.runtime.refusals import failure

if TYPE_CHECKING:
    from google.protobuf.duration_pb2 import Duration

    from omnipoly.runtime.failures import Failure
    from omnipoly.wire.gen.table.v1 import identity_pb2

M = TypeVar("M", bound=Message)

TABLE_ID = re.compile(r"[a-z0-9-]{1,36}")
COMMAND_ID = re.compile(r"[\x21-\x7e]{1,64}")
PERSON = re.compile(r"[\x21-\x7e]{1,64}")
TRACEPARENT = re.compile(r"[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}")
LONGEST_NAME = 40
LONGEST_WAIT_S = 60.0
USUAL_WAIT_S = 10.0


def bad(sentence: str) -> Failure:
    """The refusal of something malformed."""
    return failure(Code.BAD_REQUEST, sentence)


def parse(kind: type[M], body: bytes) -> M:
    """A message of its bytes. Raises ``Failure``."""
    try:
        return kind.FromString(body)
    except DecodeError as error:
        raise bad(f"These bytes are no {kind.DESCRIPTOR.name}.") from error


def table_id(text: str) -> str:
    """A table's id. Raises ``Failure``."""
    if not TABLE_ID.fullmatch(text):
        raise bad("A table's id is 1 to 36 small letters, digits and hyphens.")
    return text


def command_id(text: str) -> str:
    """A command's id. Raises ``Failure``."""
    if not COMMAND_ID.fullmatch(text):
        raise bad("A command id is 1 to 64 printable ASCII characters without blanks.")
    return text


def person(identity: identity_pb2.Identity) -> str:
    """The id of a person, or of a bot of the platform's own. Raises ``Failure``."""
    text = identity.person
    if not PERSON.fullmatch(text) or text.startswith(ADMIN) or text.startswith(BOT) != identity.bot:
        raise bad("A person's id is 1 to 64 printable ASCII characters without blanks.")
    return text


def name(identity: identity_pb2.Identity) -> str:
    """The name shown of somebody. Raises ``Failure``."""
    if not 1 <= len(identity.name) <= LONGEST_NAME or not identity.name.isprintable():
        raise bad("A name is 1 to 40 printable characters.")
    return identity.name


def traceparent(text: str) -> str:
    """W3C trace context; what is none is left out, never refused: it is not the caller's business."""
    return text if text and TRACEPARENT.fullmatch(text) else ""


def deadline(timeout: Duration, waits_s: float) -> float:
    """When a caller gives up, by the event loop's clock: what they said, bounded, and what the link still waits."""
    wait_s = timeout.seconds + timeout.nanos / 1e9 or USUAL_WAIT_S
    if not 0 < wait_s <= LONGEST_WAIT_S:
        raise bad("A timeout is 1 ms to 60 s.")
    return asyncio.get_running_loop().time() + min(wait_s, waits_s)


def page_size(asked: int, most: int, usual: int) -> int:
    """The size of a page. Raises ``Failure``."""
    if not 0 <= asked <= most:
        raise bad(f"A page has 1 to {most} rows.")
    return asked or usual
