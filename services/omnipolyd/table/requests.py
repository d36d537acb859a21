"""What callers send, looked at before it goes anywhere: ids, sizes, times. Everything wrong is ``bad_request``."""

from __future__ import annotations

import asyncio
import re
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, TypeVar

from google.protobuf.message import DecodeError, Message

from omnipoly.rules import actions as act
from omnipoly.rules.codes import Code
from omnipoly.rules.seats import ADMIN, BOT
from omnipoly.runtime.refusals import failure
from omnipoly.wire import actions
from omnipoly.wire.gen.game.v1 import script_pb2, table_pb2
from omnipoly.wire.malformed import Malformed

if TYPE_CHECKING:
    from google.protobuf.duration_pb2 import Duration
    from google.protobuf.timestamp_pb2 import Timestamp

    from omnipoly.rules.actions import Action
    from omnipoly.runtime.failures import Failure
    from omnipoly.wire.gen.table.v1 import identity_pb2

M = TypeVar("M", bound=Message)

TABLE_ID = re.compile(r"[a-z0-9-]{1,36}")
COMMAND_ID = re.compile(r"[\x21-\x7e]{1,64}")
PERSON = re.compile(r"[\x21-\x7e]{1,64}")
EDITION = re.compile(r"[\x21-\x7e]{0,65}")
SHOWN_PIN = re.compile(r"[0-9]{0,8}")
NEW_PIN = re.compile(r"(?:[0-9]{4,8})?")
TRACEPARENT = re.compile(r"[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}")
LONGEST_NAME = 40
LONGEST_WAIT_S = 60.0
USUAL_WAIT_S = 10.0
MOST_THROWS = 64
MOST_DECKS = 16
LAST_S = 253_402_300_799
"""The last second of the year 9999: no clock goes further."""


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


def admin(identity: identity_pb2.Identity) -> str:
    """The actor's id of somebody who acts as an admin. Raises ``Failure``."""
    actor = ADMIN + person(identity)
    if not PERSON.fullmatch(actor):
        raise bad("An admin's id is 1 to 58 printable ASCII characters without blanks.")
    return actor


def person_id(text: str) -> str:
    """The id of somebody who is spoken of. Raises ``Failure``."""
    if not PERSON.fullmatch(text):
        raise bad("A person's id is 1 to 64 printable ASCII characters without blanks.")
    return text


def edition(text: str) -> str:
    """An edition's id that is looked for; "" for any. Raises ``Failure``."""
    if not EDITION.fullmatch(text):
        raise bad("An edition's id has at most 65 characters.")
    return text


def name(identity: identity_pb2.Identity) -> str:
    """The name shown of somebody. Raises ``Failure``."""
    return shown_name(identity.name)


def shown_name(text: str) -> str:
    """A name as it is shown at a table. Raises ``Failure``."""
    if not 1 <= len(text) <= LONGEST_NAME or not text.isprintable() or text.isspace():
        raise bad("A name is 1 to 40 printable characters.")
    return text


def shown_pin(text: str) -> str:
    """A PIN as somebody shows it who wants in; "" for none. Raises ``Failure``."""
    if not SHOWN_PIN.fullmatch(text):
        raise bad("A PIN has at most 8 digits.")
    return text


def new_pin(text: str) -> str:
    """A PIN that is to be set; "" for none. Raises ``Failure``."""
    if not NEW_PIN.fullmatch(text):
        raise bad("A PIN has 4 to 8 digits.")
    return text


def action(message: Any) -> Action:
    """The action of a message. Raises ``Failure``."""
    try:
        found = actions.from_proto(message)
    except Malformed as error:
        raise bad(f"{str(error)[:1].upper()}{str(error)[1:]}.") from error
    if isinstance(found, act.Join | act.AddBot | act.TakeSeat) and found.name:
        shown_name(found.name)
    return found


def script(message: Any) -> script_pb2.Script | None:
    """The script of a request, if it has one. Raises ``Failure``."""
    if not message.HasField("script"):
        return None
    given: script_pb2.Script = message.script
    if len(given.throws) > MOST_THROWS or len(given.decks) > MOST_DECKS:
        raise bad(f"A script has at most {MOST_THROWS} throws and {MOST_DECKS} decks.")
    if any(len(deck.cards) > MOST_THROWS for deck in given.decks):
        raise bad(f"A script has at most {MOST_THROWS} cards of a deck.")
    return given


def status(value: int) -> list[int] | None:
    """A table's state to look for; ``None`` for any. Raises ``Failure``."""
    if value not in table_pb2.TableStatus.values():
        raise bad("That is not a state of a table.")
    return [value] if value else None


def traceparent(text: str) -> str:
    """W3C trace context; what is none is left out, never refused: it is not the caller's business."""
    return text if text and TRACEPARENT.fullmatch(text) else ""


def deadline(timeout: Duration, waits_s: float) -> float:
    """When a caller gives up, by the event loop's clock: what they said, bounded, and what the link still waits."""
    wait_s = timeout.seconds + timeout.nanos / 1e9 or USUAL_WAIT_S
    if not 0.001 <= wait_s <= LONGEST_WAIT_S:
        raise bad("A timeout is 1 ms to 60 s.")
    return asyncio.get_running_loop().time() + min(wait_s, waits_s)


def usual_deadline(waits_s: float) -> float:
    """When a caller who names no time of their own gives up, by the event loop's clock."""
    return asyncio.get_running_loop().time() + min(USUAL_WAIT_S, waits_s)


def moment_ms(at: Timestamp) -> int:
    """A time on the platform's clock, in milliseconds since 1970 UTC. Raises ``Failure``."""
    if not 0 <= at.seconds <= LAST_S or not 0 <= at.nanos < 1_000_000_000:
        raise bad("A time is of the years 1970 to 9999.")
    return at.seconds * 1000 + at.nanos // 1_000_000


def moment(at: Timestamp) -> datetime:
    """A time on the platform's clock. Raises ``Failure``."""
    moment_ms(at)
    return at.ToDatetime(UTC)


def page_size(asked: int, most: int, usual: int) -> int:
    """The size of a page. Raises ``Failure``."""
    if not 0 <= asked <= most:
        raise bad(f"A page has 1 to {most} rows.")
    return asked or usual
