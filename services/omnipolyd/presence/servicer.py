"""The contract of the presence service: messages in, messages out, nothing else."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from omnipoly.rules.codes import Code
from omnipoly.runtime import page_tokens
from omnipoly.runtime.refusals import failure
from omnipoly.runtime.unary import Asked, Unary
from omnipoly.wire.gen.presence.v1 import presence_pb2

from .picture import BROKEN, CLOSED, MOVING, Key, Report, Row
from .telling import GRACE_MS

if TYPE_CHECKING:
    from .service import PresenceService

NAME = "omnipoly.presence.v1.PresenceService"
MOST_PEOPLE = 2000
MOST_TABLES = 100


def methods(service: PresenceService) -> Mapping[str, Unary]:
    """The methods."""

    async def report(request: presence_pb2.ReportRequest, _: Asked) -> presence_pb2.ReportResponse:
        full_wanted = await service.take(_report(request, service.clock.now_ms()))
        response = presence_pb2.ReportResponse(full_wanted=full_wanted)
        response.lease_for.FromMilliseconds(service.sharing.lease_ms)
        return response

    async def who(request: presence_pb2.WhoRequest, _: Asked) -> presence_pb2.WhoResponse:
        if not 1 <= len(request.tables) <= MOST_TABLES:
            raise failure(Code.BAD_REQUEST, f"Ask about 1 to {MOST_TABLES} tables.")
        if not 0 <= request.page_size <= MOST_PEOPLE:
            raise failure(Code.BAD_REQUEST, f"A page has 1 to {MOST_PEOPLE} persons.")
        most = request.page_size or MOST_PEOPLE
        after = _position(request.page_token)
        response = presence_pb2.WhoResponse()
        for (table, person), row in _there(service, sorted(set(request.tables)), after):
            if len(response.people) == most:
                last = response.people[-1]
                response.next_page_token = page_tokens.encode(last.table, last.person)
                break
            entry = response.people.add(person=person, table=table, status=_status(row))
            entry.since.FromMilliseconds(row.since_ms)
        return response

    return {
        "Report": Unary(presence_pb2.ReportRequest, report),
        "Who": Unary(presence_pb2.WhoRequest, who),
    }


def _there(service: PresenceService, tables: list[str], after: Key) -> Iterator[tuple[Key, Row]]:
    """Everybody who is there, or may be back within the grace, behind a place in the list."""
    graced_ms = service.clock.now_ms() - GRACE_MS
    for table in tables:
        if table < after[0]:
            continue
        for person, row in service.picture.persons(table):
            lost = row.status == CLOSED or (row.status in {BROKEN, MOVING} and row.since_ms <= graced_ms)
            if (table, person) > after and not lost and not (row.watched and row.status == BROKEN):
                yield (table, person), row


def _status(row: Row) -> presence_pb2.Status:
    return row.status  # type: ignore[return-value]


def _report(request: presence_pb2.ReportRequest, now_ms: int) -> Report:
    _text(request.lease, 64, "lease")
    if len(request.people) > MOST_PEOPLE:
        raise failure(Code.BAD_REQUEST, f"A report names at most {MOST_PEOPLE} persons.")
    people = []
    for entry in request.people:
        _text(entry.person, 64, "person")
        _text(entry.table, 36, "table")
        if not entry.status or entry.status not in presence_pb2.Status.values():
            raise failure(Code.BAD_REQUEST, "Say how each person is at the table.")
        since_ms = entry.since.ToMilliseconds() if entry.HasField("since") else now_ms
        people.append(((entry.table, entry.person), Row(entry.status, min(since_ms, now_ms))))
    return Report(request.lease, request.revision, request.full, people, request.draining)


def _text(value: str, longest: int, what: str) -> None:
    if not 0 < len(value) <= longest:
        raise failure(Code.BAD_REQUEST, f"The {what} has 1 to {longest} characters.")


def _position(page_token: str) -> Key:
    if not page_token:
        return ("", "")
    table, person = page_tokens.decode(page_token, 2)
    return (table, person)
