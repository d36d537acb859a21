"""The table service on the wire: bytes in, bytes out, the same methods in link frames and as plain RPCs.

Here is what is asked of one table; what is read of many, or from the log alone, stands in ``reading``.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

import grpc
import grpc.aio

from omnipoly.rules import actions as act
from omnipoly.rules import listing
from omnipoly.rules.codes import Code
from omnipoly.runtime.failures import Failure
from omnipoly.runtime.link import Call
from omnipoly.runtime.refusals import failure
from omnipoly.wire import legal, views
from omnipoly.wire.gen.game.v1 import actions_pb2
from omnipoly.wire.gen.table.v1 import table_pb2 as pb

from . import requests
from .commands import Act, Advance, Answer, Look, Report, SetUp, Wake
from .opening import Opening

if TYPE_CHECKING:
    from omnipoly.rules.state import State

    from .catalogue import Catalogue
    from .doors.handling import Doors
    from .opening import Opener
    from .reading import Reader
    from .results.reading import ResultReader
    from .tables import Tables

Reply = bytes | Awaitable[bytes]
Handler = Callable[[bytes, float, str], Reply]
"""Answers a request's bytes; told how long its caller waits, in seconds, and the trace it belongs to."""

NOT_PRIVATE = "A table is made private by its PIN alone."
EARLY_MS = 1000
"""A wake-up that is no more than this early is waited for."""
LONGEST_RETRY_S = 86_400.0
LONGEST_ADVANCE_MS = 30 * 86_400_000
PLATFORMS = (act.Connect, act.Disconnect, act.MoveClocks, act.Advance)
"""Actions that nobody sends as their own."""
SITS = (act.Join, act.TakeSeat)
"""Actions that the door is looked at for."""


class TableServicer:
    """Requests to commands, and what they led to back."""

    SERVICE = pb.DESCRIPTOR.services_by_name["TableService"].full_name

    def __init__(
        self,
        tables: Tables,
        catalogue: Catalogue,
        opener: Opener,
        reader: Reader,
        results: ResultReader,
        doors: Doors,
        *,
        dev: bool,
    ) -> None:
        self._tables = tables
        self._catalogue = catalogue
        self._opener = opener
        self._reader = reader
        self._doors = doors
        self._dev = dev
        self._handlers: dict[str, Handler] = {
            "Open": self._open,
            "Act": self._act,
            "Read": self._read,
            "Legal": self._legal,
            "Wake": self._wake,
            "Report": self._report,
            "SetUp": self._set_up,
            "Advance": self._advance,
            **reader.handlers(),
            **results.handlers(),
            **doors.handlers(),
        }

    def methods(self) -> dict[str, Callable[[bytes, Call], Reply]]:
        """For link frames, by full name."""

        def method(handler: Handler) -> Callable[[bytes, Call], Reply]:
            return lambda body, call: handler(body, call.remaining_s(), call.traceparent)

        return {f"/{self.SERVICE}/{name}": method(handler) for name, handler in self._handlers.items()}

    def handler(self) -> grpc.GenericRpcHandler[Any, Any]:
        """For plain RPCs."""

        def rpc(handler: Handler) -> Any:
            async def call(body: bytes, context: Any) -> bytes:
                waits_s = context.time_remaining()
                reply = handler(body, requests.LONGEST_WAIT_S if waits_s is None else waits_s, "")
                return reply if isinstance(reply, bytes) else await reply

            return grpc.unary_unary_rpc_method_handler(call)

        handlers = {name: rpc(handler) for name, handler in self._handlers.items()}
        return grpc.method_handlers_generic_handler(self.SERVICE, handlers)

    # --- commands -----------------------------------------------------------------------------------------------------

    async def _open(self, body: bytes, waits_s: float, traceparent: str) -> bytes:
        request = requests.parse(pb.OpenRequest, body)
        if request.options.private and not request.pin:
            raise failure(Code.BAD_OPTION, NOT_PRIVATE)
        if request.dev and not self._dev:
            raise requests.bad("Tables of that kind are opened under --dev only.")
        person, name = requests.person(request.identity), requests.name(request.identity)
        command_id = requests.command_id(request.command_id)
        deadline = requests.deadline(request.timeout, waits_s)
        options = requests.action(actions_pb2.Action(set_options=request.options))
        assert isinstance(options, act.SetOptions)
        content = pb.OpenRequest(
            edition=request.edition, options=request.options, unseated=request.unseated, dev=request.dev
        )
        pin, for_digest = await self._doors.new_pin(
            requests.new_pin(request.pin), f"open {person} {command_id}", person, deadline
        )
        opening = Opening(
            self._catalogue.by_name(request.edition),
            options,
            person,
            name,
            command_id,
            content.SerializeToString(deterministic=True) + for_digest,
            seated=not request.unseated,
            dev=request.dev,
            traceparent=requests.traceparent(traceparent or request.traceparent),
            pin=pin,
        )
        table, answer = await self._opener.open(opening, deadline)
        return pb.OpenResponse(
            table=table, version=answer.version, commits=answer.commits, duplicate=answer.duplicate
        ).SerializeToString()

    def _act(self, body: bytes, waits_s: float, traceparent: str) -> Reply:
        request = requests.parse(pb.ActRequest, body)
        table_id = requests.table_id(request.table)
        action = requests.action(request.action)
        if isinstance(action, PLATFORMS):
            raise requests.bad("That is not for anybody to send.")
        if isinstance(action, act.SetOptions) and action.private is not None:
            raise failure(Code.BAD_OPTION, NOT_PRIVATE)
        identity = request.identity
        actor = requests.person(identity)  # admins do what they may as such by calls of their own, which are audited
        if isinstance(action, act.Join) and not action.name:
            action = act.Join(requests.name(identity))
        if request.HasField("script"):
            self._require_dev()
        command = Act(
            action,
            actor=actor,
            command_id=requests.command_id(request.command_id),
            content=request.action.SerializeToString(deterministic=True),
            deadline=requests.deadline(request.timeout, waits_s),
            prompt=request.prompt_id,
            if_version=request.if_version,
            script=requests.script(request),
            traceparent=requests.traceparent(traceparent or request.traceparent),
        )
        if isinstance(action, SITS) and not identity.admin:
            return self._sit(table_id, command, requests.shown_pin(request.pin))
        return self._tables.submit(table_id, command)

    async def _sit(self, table_id: str, command: Act, pin: str) -> bytes:
        """For who is let in, by the PIN where there is one (TUB-PRIVATE)."""
        try:
            await self._doors.keeping.may_sit(table_id, command.actor, pin, command.deadline)
        except Failure:
            # what was accepted once is answered again, however the door stands now
            if not await self._reader.knows(table_id, command.actor, command.command_id, command.deadline):
                raise
        return await self._tables.submit(table_id, command)

    async def _wake(self, body: bytes, waits_s: float, traceparent: str) -> bytes:
        request = requests.parse(pb.WakeRequest, body)
        table_id = requests.table_id(request.table)
        due_ms = requests.moment_ms(request.due)
        early_ms = due_ms - time.time() * 1000
        if early_ms > EARLY_MS:
            raise Failure(
                grpc.StatusCode.FAILED_PRECONDITION,
                Code.TOO_EARLY,
                "Nothing has fallen due yet.",
                retry_after_s=min(early_ms / 1000, LONGEST_RETRY_S),
            )
        deadline = requests.usual_deadline(waits_s)
        while early_ms > 0:
            await asyncio.sleep(early_ms / 1000)
            early_ms = due_ms - time.time() * 1000
        traceparent = requests.traceparent(traceparent or request.traceparent)
        return await self._tables.submit(
            table_id, Wake(at_least=request.at_least, deadline=deadline, traceparent=traceparent)
        )

    def _report(self, body: bytes, waits_s: float, traceparent: str) -> Reply:
        request = requests.parse(pb.ReportRequest, body)
        table_id = requests.table_id(request.table)
        if request.revision < 1:
            raise requests.bad("A report's revision is 1 or more.")
        if not 1 <= len(request.persons) <= 100:
            raise requests.bad("A report is of 1 to 100 persons.")
        if len({row.person for row in request.persons}) < len(request.persons):
            raise requests.bad("A report names nobody twice.")
        command = Report(
            [(requests.person_id(row.person), _presence(row.status), _since_ms(row)) for row in request.persons],
            revision=request.revision,
            deadline=requests.usual_deadline(waits_s),
            traceparent=requests.traceparent(traceparent or request.traceparent),
        )
        return self._tables.submit(table_id, command)

    def _set_up(self, body: bytes, waits_s: float, traceparent: str) -> Reply:
        request = requests.parse(pb.SetUpRequest, body)
        self._require_dev()
        command = SetUp(
            request.view,
            actor=requests.admin(request.identity),
            command_id=requests.command_id(request.command_id),
            deadline=requests.usual_deadline(waits_s),
        )
        return self._tables.submit(requests.table_id(request.table), command)

    def _advance(self, body: bytes, waits_s: float, traceparent: str) -> Reply:
        request = requests.parse(pb.AdvanceRequest, body)
        self._require_dev()
        by_ms = request.by.seconds * 1000 + request.by.nanos // 1_000_000
        if not 1 <= by_ms <= LONGEST_ADVANCE_MS:
            raise requests.bad("A clock is moved forward by 1 ms to 30 days.")
        command = Advance(
            by_ms=by_ms,
            actor=requests.admin(request.identity),
            command_id=requests.command_id(request.command_id),
            deadline=requests.usual_deadline(waits_s),
            script=requests.script(request),
        )
        return self._tables.submit(requests.table_id(request.table), command)

    def _require_dev(self) -> None:
        if not self._dev:
            raise requests.bad("That is answered under --dev only.")

    # --- looking ------------------------------------------------------------------------------------------------------

    def _look(
        self, table: str, waits_s: float, see: Callable[[State, Answer], bytes], *, at_least: int = 0
    ) -> asyncio.Future[bytes]:
        look = Look(see, at_least=at_least, deadline=requests.usual_deadline(waits_s))
        return self._tables.submit(requests.table_id(table), look)

    def _read(self, body: bytes, waits_s: float, traceparent: str) -> Reply:
        request = requests.parse(pb.ReadRequest, body)

        def see(s: State, answer: Answer) -> bytes:
            response = pb.ReadResponse()
            views.fill(s, response.view, version=answer.version, epoch=answer.epoch)
            return response.SerializeToString()

        return self._look(request.table, waits_s, see, at_least=request.at_least)

    def _legal(self, body: bytes, waits_s: float, traceparent: str) -> Reply:
        request = requests.parse(pb.LegalRequest, body)

        def see(s: State, answer: Answer) -> bytes:
            if request.person not in s.holder:
                raise failure(Code.NOT_SEATED)
            seat = s.holder.index(request.person)
            list_ = listing.prompt_actions if request.answers_only else listing.legal_actions
            listed = list_(s, seat, s.now_ms)
            return pb.LegalResponse(
                version=answer.version, prompt=legal.to_prompt(s.table, legal.prompt_of(s, seat), listed)
            ).SerializeToString()

        return self._look(request.table, waits_s, see, at_least=request.at_least)


def _since_ms(row: pb.PersonPresence) -> int:
    if row.status != pb.PersonPresence.STATUS_BROKEN or not row.HasField("since"):
        return 0
    return round(requests.moment(row.since).timestamp() * 1000)


def _presence(status: int) -> act.Action:
    if status == pb.PersonPresence.STATUS_CONNECTED:
        return act.Connect()
    if status == pb.PersonPresence.STATUS_CLOSED:
        return act.Disconnect()
    if status == pb.PersonPresence.STATUS_BROKEN:
        return act.Disconnect(broken=True)
    raise requests.bad("Say how each person is at the table.")
