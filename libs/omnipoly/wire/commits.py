"""Commits as the bytes that are stored, published and shown, and what a reader makes of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import msgspec
from google.protobuf.message import DecodeError

from omnipoly.rules.events import Event
from omnipoly.wire import events
from omnipoly.wire.gen.game.v1 import commit_pb2
from omnipoly.wire.malformed import Malformed, nothing_newer

if TYPE_CHECKING:
    from omnipoly.rules.ring import Game


class Commit(msgspec.Struct, frozen=True, gc=False):
    """All that one command, wake-up or report did to a table."""

    table: str
    version: int
    """From 1, without gaps."""
    epoch: int
    """Of the log; from 1, never falling."""
    at_ms: int
    """What the rules took for "now": milliseconds since 1970 UTC of the table's clock."""
    actor: str
    """The person or bot whose command it was; "" for the platform's own."""
    command_id: str
    """"" for none."""
    traceparent: str
    """W3C trace context; "" when not traced."""
    events: tuple[Event, ...]


class NeedsSnapshot(msgspec.Struct, frozen=True, gc=False):
    """A commit that this reader does not understand: it takes a picture of the table at that version or later."""

    table: str
    version: int
    epoch: int


def encode(
    table: str,
    version: int,
    epoch: int,
    at_ms: int,
    happened: Iterable[Event],
    *,
    actor: str = "",
    command_id: str = "",
    traceparent: str = "",
) -> bytes:
    """A commit's bytes; the same values give the same bytes.

    Raises ``KeyError`` for a kind of event without a row and ``ValueError`` for a number that its field cannot hold.
    """
    message = commit_pb2.Commit(
        table=table, version=version, epoch=epoch, actor=actor, command_id=command_id, traceparent=traceparent
    )
    if at_ms:
        seconds, rest = divmod(at_ms, 1000)
        message.at.seconds = seconds
        message.at.nanos = rest * 1_000_000
    add, fill = message.events.add, events.fill
    for event in happened:
        fill(event, add())
    return message.SerializeToString()


def parse(data: bytes) -> commit_pb2.Commit:
    """A commit's message, its events unread. Raises ``Malformed``."""
    try:
        return commit_pb2.Commit.FromString(data)
    except DecodeError as error:
        raise Malformed("these bytes are no commit") from error


def decode(data: bytes, game: Game | None = None, *, whole: bool = False) -> Commit:
    """The commit of its bytes. ``game``: the edition of the table, without which a position cannot be read.

    Raises ``Malformed``; ``Newer`` for an event of a kind that is not known here: none is ever passed over. ``whole``:
    likewise for a field, by whoever goes on from what these commits make of the table.
    """
    message = parse(data)
    happened = tuple([events.from_proto(event, game) for event in message.events])
    if whole:
        nothing_newer(message)
    return _commit(message, happened)


def understand(data: bytes, game: Game | None = None) -> Commit | NeedsSnapshot:
    """The commit of its bytes as a client reads it: an event that it does not know is left out when that is allowed;
    one that must be understood and is not, or a position without its edition, needs a snapshot.

    Raises ``Malformed`` when the bytes are no commit.
    """
    message = parse(data)
    happened = []
    for event in message.events:
        if event.WhichOneof("kind") is None and not event.must_understand:
            continue
        try:
            happened.append(events.from_proto(event, game))
        except Malformed:
            return NeedsSnapshot(message.table, message.version, message.epoch)
    return _commit(message, tuple(happened))


def _commit(message: commit_pb2.Commit, happened: tuple[Event, ...]) -> Commit:
    at = message.at
    return Commit(
        message.table,
        message.version,
        message.epoch,
        at.seconds * 1000 + at.nanos // 1_000_000,
        message.actor,
        message.command_id,
        message.traceparent,
        happened,
    )
