"""The contract of the clock service: messages in, messages out, nothing else."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING

from omnipoly.rules.codes import Code
from omnipoly.runtime import page_tokens
from omnipoly.runtime.refusals import failure
from omnipoly.runtime.unary import Asked, Unary
from omnipoly.wire.gen.clock.v1 import clock_pb2

from .agenda import Entry

if TYPE_CHECKING:
    from .service import ClockService

NAME = "omnipoly.clock.v1.ClockService"
MOST_TABLES = 100
MOST_DEADLINES = 1000


def methods(service: ClockService) -> Mapping[str, Unary]:
    """The methods."""

    async def deadlines(request: clock_pb2.DeadlinesRequest, _: Asked) -> clock_pb2.DeadlinesResponse:
        if not 0 <= request.page_size <= MOST_DEADLINES:
            raise failure(Code.BAD_REQUEST, f"A page has 1 to {MOST_DEADLINES} deadlines.")
        most = request.page_size or 100
        before_ms = request.due_before.ToMilliseconds() if request.HasField("due_before") else 0
        found = service.deadlines(before_ms, _position(request.page_token), most + 1)
        response = clock_pb2.DeadlinesResponse(
            deadlines=[_deadline(entry) for entry in found[:most]],
            next_page_token=page_tokens.encode(found[most - 1].due_ms, found[most - 1].table)
            if len(found) > most
            else "",
            tables=len(service.agenda),
            overdue=service.overdue(),
            replica=service.replica,
        )
        response.lateness.FromMilliseconds(max(service.waker.latest_ms, 0))
        return response

    async def reading(request: clock_pb2.ReadingRequest, _: Asked) -> clock_pb2.ReadingResponse:
        if len(request.tables) > MOST_TABLES:
            raise failure(Code.BAD_REQUEST, f"At most {MOST_TABLES} tables are read at once.")
        response = clock_pb2.ReadingResponse()
        response.server_time.FromNanoseconds(time.time_ns())
        for table in dict.fromkeys(request.tables):
            entry = service.agenda.entry(table)
            if entry is not None:
                response.deadlines.append(_deadline(entry))
            elif version := service.agenda.quiet(table):
                response.deadlines.add(table=table, version=version)
        return response

    return {
        "Deadlines": Unary(clock_pb2.DeadlinesRequest, deadlines),
        "Reading": Unary(clock_pb2.ReadingRequest, reading),
    }


def _deadline(entry: Entry) -> clock_pb2.Deadline:
    deadline = clock_pb2.Deadline(table=entry.table, version=entry.version)
    deadline.due.FromMilliseconds(entry.due_ms)
    return deadline


def _position(page_token: str) -> tuple[int, str]:
    if not page_token:
        return (0, "")
    due_ms, table = page_tokens.decode(page_token, 2)
    return (page_tokens.decode_number(due_ms), table)
