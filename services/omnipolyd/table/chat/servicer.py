"""``ChatService``: who may write, and what (TUB-VIEWERS)."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from omnipoly.rules.codes import Code
from omnipoly.runtime.refusals import failure
from omnipoly.runtime.unary import Asked, Unary
from omnipoly.wire.gen.game.v1 import table_pb2
from omnipoly.wire.gen.table.v1 import chat_pb2 as pb

from .. import requests
from ..commands import content_digest
from ..doors.keeping import within
from ..store import LATEST
from .store import KEPT, Line

if TYPE_CHECKING:
    from omnipoly.wire.gen.table.v1 import identity_pb2

    from ..doors.handling import Doors
    from ..doors.keeping import Standing
    from ..publishing import Publisher
    from .store import ChatStore

SERVICE = pb.DESCRIPTOR.services_by_name["ChatService"].full_name
LONGEST = 300
_JOINERS = frozenset("\u200c\u200d")
"""Invisible, and yet what some scripts and pictures are written with."""


class ChatServicer:
    """Requests to rows, and lines to whoever listens."""

    def __init__(self, store: ChatStore, doors: Doors, publisher: Publisher, *, per_second: float) -> None:
        """per_second: lines of one person."""
        self._store = store
        self._doors = doors
        self._publisher = publisher
        self._pause = timedelta(seconds=1 / per_second)

    def methods(self) -> Mapping[str, Unary]:
        """The methods."""
        return {
            "Say": Unary(pb.SayRequest, self._say),
            "ChatLines": Unary(pb.ChatLinesRequest, self._lines),
            "Mute": Unary(pb.MuteRequest, self._mute),
        }

    async def _say(self, request: pb.SayRequest, asked: Asked) -> pb.SayResponse:
        table_id, person = requests.table_id(request.table), requests.person(request.identity)
        command_id, text = requests.command_id(request.command_id), _text(request.text)
        until = _until(asked)
        known = await within(until, lambda: self._store.known(table_id, person, command_id))
        if known is None:
            standing = await self._may_write(table_id, request.identity, until)
            name = standing.name or requests.name(request.identity)
            seat = standing.seat
            written = await within(
                until, lambda: self._store.write(table_id, command_id, person, name, seat, text, self._pause)
            )
            if isinstance(written, Line):
                line = _message(table_id, written)
                self._publisher.line(table_id, line.SerializeToString())
                return pb.SayResponse(line=line)
            known = await within(until, lambda: self._store.known(table_id, person, command_id))
            if known is None:
                wait_s = written.total_seconds() if written is not None else 0.0
                raise failure(Code.RATE_LIMITED, "One line after the other.", retry_after_s=wait_s)
        if known.text != text:
            raise failure(Code.KEY_REUSED)
        return pb.SayResponse(line=_message(table_id, known), duplicate=True)

    async def _may_write(self, table_id: str, identity: identity_pb2.Identity, until: float) -> Standing:
        """Who they are at the table. Raises ``Failure``: ``muted``, ``wrong_pin``, ``viewers_closed``."""
        person = identity.person
        standing = await self._doors.keeping.admit(table_id, person, "", until, admin=identity.admin)
        if not (standing.belongs or standing.viewers_chat or identity.admin):
            raise failure(Code.VIEWERS_CLOSED, "Only those who play write at this table.")
        muted_until = await within(until, lambda: self._store.muted_until(table_id, person))
        if muted_until is not None and not identity.admin:
            wait_s = (muted_until - datetime.now(UTC)).total_seconds()
            raise failure(Code.MUTED, retry_after_s=max(0.0, wait_s) if muted_until < LATEST else None)
        return standing

    async def _lines(self, request: pb.ChatLinesRequest, asked: Asked) -> pb.ChatLinesResponse:
        table_id = requests.table_id(request.table)
        limit = requests.page_size(request.page_size, KEPT, KEPT)
        after = max(0, request.after)
        lines, last = await within(_until(asked), lambda: self._store.lines(table_id, after, limit))
        return pb.ChatLinesResponse(lines=[_message(table_id, line) for line in lines], last=last)

    async def _mute(self, request: pb.MuteRequest, asked: Asked) -> pb.MuteResponse:
        table_id, identity = requests.table_id(request.table), request.identity
        actor, command_id = requests.person(identity), requests.command_id(request.command_id)
        person = requests.person_id(request.person)
        ends = requests.moment(request.until) if request.HasField("until") else LATEST
        until = _until(asked)
        await self._doors.may_rule(table_id, identity, until)
        if person == actor and not request.lift:
            raise failure(Code.BAD_PARTNER, "Nobody takes their own right to write.")
        content = pb.MuteRequest(person=person, until=request.until, lift=request.lift)
        digest = content_digest(b"mute" + content.SerializeToString(deterministic=True), 0, 0)
        muted_until = None if request.lift else min(ends, LATEST)
        done = await within(until, lambda: self._store.mute(table_id, actor, command_id, digest, person, muted_until))
        if done.digest != digest:
            raise failure(Code.KEY_REUSED)
        return pb.MuteResponse(muted=done.answer)


def _until(asked: Asked) -> float:
    return requests.usual_deadline(asked.remaining_s())


def _text(text: str) -> str:
    """A line without the blanks around it. Raises ``Failure``."""
    text = text.strip()
    if not 1 <= len(text) <= LONGEST:
        raise requests.bad(f"A line has 1 to {LONGEST} characters.")
    if not all(one.isprintable() or one in _JOINERS for one in text) or not any(map(_visible, text)):
        raise requests.bad("A line is of printable characters.")
    return text


def _visible(character: str) -> bool:
    """Not a blank, and no mark or joiner alone."""
    return unicodedata.category(character)[0] not in "ZCM"


def _message(table_id: str, line: Line) -> table_pb2.ChatLine:
    message = table_pb2.ChatLine(
        table=table_id, number=line.number, person=line.person, name=line.name, seat=line.seat, text=line.text
    )
    message.at.FromDatetime(line.at)
    return message
