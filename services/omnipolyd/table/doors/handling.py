"""What is asked of doors, on the wire: letting in, setting a PIN, sending viewers away."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from omnipoly.rules.codes import Code
from omnipoly.runtime.refusals import failure
from omnipoly.wire.gen.table.v1 import table_pb2 as pb

from .. import requests
from ..commands import content_digest
from .commands import SetPin
from .keeping import within

if TYPE_CHECKING:
    from omnipoly.wire.gen.table.v1 import identity_pb2

    from ..publishing import Publisher
    from ..tables import Tables
    from .keeping import Keeping
    from .pins import Hasher, Pin
    from .store import DoorStore, Rechecked

MOST_PERSONS = 2000


class Doors:
    """Requests of ``TableService`` that are about doors."""

    def __init__(
        self, tables: Tables, store: DoorStore, keeping: Keeping, hasher: Hasher, publisher: Publisher
    ) -> None:
        self._tables = tables
        self._store = store
        self._hasher = hasher
        self._publisher = publisher
        self.keeping = keeping

    def handlers(self) -> dict[str, Callable[[bytes, float, str], Awaitable[bytes]]]:
        """By method."""
        return {
            "Admit": self._admit,
            "Recheck": self._recheck,
            "SetPin": self._set_pin,
            "BarViewer": self._bar_viewer,
        }

    async def new_pin(self, digits: str, command: str, person: str, until: float) -> tuple[Pin | None, bytes]:
        """(what to keep of a PIN, what stands for it in its command's digest), as ``Hasher.new``; "" stands for
        itself."""
        return await self._hasher.new(digits, command, person, until) if digits else (None, b"")

    async def _admit(self, body: bytes, waits_s: float, traceparent: str) -> bytes:
        request = requests.parse(pb.AdmitRequest, body)
        table_id, person = requests.table_id(request.table), requests.person(request.identity)
        if request.purpose not in (pb.AdmitRequest.PURPOSE_FOLLOW, pb.AdmitRequest.PURPOSE_SIT):
            raise requests.bad("Say what the person wants to be let in for.")
        until = requests.usual_deadline(waits_s)
        standing = await self.keeping.admit(
            table_id, person, requests.shown_pin(request.pin), until, admin=request.identity.admin
        )
        return pb.AdmitResponse(
            seat=standing.seat,
            host=standing.host,
            may_chat=standing.belongs or standing.viewers_chat,
            version=standing.version,
        ).SerializeToString()

    async def _recheck(self, body: bytes, waits_s: float, traceparent: str) -> bytes:
        request = requests.parse(pb.RecheckRequest, body)
        table_id = requests.table_id(request.table)
        if not 1 <= len(request.persons) <= MOST_PERSONS:
            raise requests.bad(f"Ask about 1 to {MOST_PERSONS} persons.")
        persons = [requests.person_id(person) for person in request.persons]
        revision, seatless = await within(
            requests.usual_deadline(waits_s), lambda: self._store.recheck(table_id, persons)
        )
        response = pb.RecheckResponse(door=revision)
        for one in seatless:
            reason = _reason(one)
            if reason:
                response.turned_away.add(person=one.person, reason=reason)
            else:
                response.viewers.append(one.person)
        return response.SerializeToString()

    async def _set_pin(self, body: bytes, waits_s: float, traceparent: str) -> bytes:
        request = requests.parse(pb.SetPinRequest, body)
        table_id, person = requests.table_id(request.table), requests.person(request.identity)
        command_id = requests.command_id(request.command_id)
        digits = requests.new_pin(request.pin)
        until = requests.usual_deadline(waits_s)
        if digits and not (await self.keeping.standing(table_id, person, until)).host:
            raise failure(Code.NOT_HOST)  # before anything is hashed for them
        pin, content = await self.new_pin(digits, f"{table_id} {person} {command_id}", person, until)
        command = SetPin(table_id, pin, actor=person, command_id=command_id, content=content, deadline=until)
        answer = await self._tables.submit(table_id, command)
        await self._tell(table_id, until)
        return answer

    async def _bar_viewer(self, body: bytes, waits_s: float, traceparent: str) -> bytes:
        request = requests.parse(pb.BarViewerRequest, body)
        table_id, identity = requests.table_id(request.table), request.identity
        actor, command_id = requests.person(identity), requests.command_id(request.command_id)
        person = requests.person_id(request.person)
        until = requests.usual_deadline(waits_s)
        await self.may_rule(table_id, identity, until)
        if not request.lift and (await self.keeping.standing(table_id, person, until)).belongs:
            raise failure(Code.BAD_PARTNER, "Who has a seat, or is the host, is no viewer.")
        digest = content_digest(b"bar" + request.person.encode(), request.lift, 0)
        done = await within(
            until, lambda: self._store.bar(table_id, actor, command_id, digest, person, lift=request.lift)
        )
        if done.digest != digest:
            raise failure(Code.KEY_REUSED)
        await self._tell(table_id, until)
        return pb.BarViewerResponse(barred=done.answer).SerializeToString()

    async def may_rule(self, table_id: str, identity: identity_pb2.Identity, until: float) -> None:
        """Raises ``Failure`` ``not_host`` for who is neither host nor admin."""
        standing = await self.keeping.standing(table_id, identity.person, until)
        if not standing.host and not identity.admin:
            raise failure(Code.NOT_HOST)

    async def _tell(self, table_id: str, until: float) -> None:
        """Have every gateway look again, now: what is lost here they find in the heads."""
        revision = await within(until, lambda: self._store.revision(table_id))
        self._publisher.door(table_id, revision)


def _reason(one: Rechecked) -> pb.TurnedAway.Reason.ValueType:
    if one.barred:
        return pb.TurnedAway.REASON_BARRED
    return pb.TurnedAway.REASON_PRIVATE if one.unadmitted else pb.TurnedAway.REASON_UNSPECIFIED
