"""The table service on the wire: bytes in, bytes out, the same methods in link frames and as plain RPCs."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from datetime import UTC
from typing import TYPE_CHECKING, Any

import grpc
import grpc.aio

from omnipoly.rules import actions as act
from omnipoly.rules import listing
from omnipoly.rules.codes import Code
from omnipoly.rules.seats import ADMIN
from omnipoly.runtime.failures import Failure
from omnipoly.runtime.link import Call
from omnipoly.runtime.refusals import failure
from omnipoly.wire import actions, legal, views
from omnipoly.wire.gen.game.v1 import actions_pb2
from omnipoly.wire.gen.table.v1 import table_pb2 as pb
from omnipoly.wire.malformed import Malformed

from . import paging, requests
from .commands import Act, Advance, Answer, Look, Report, SetUp, Wake
from .opening import Opening
from .store import EARLIEST, LATEST

if TYPE_CHECKING:
    from omnipoly.rules.state import State

    from .catalogue import Catalogue
    from .opening import Opener
    from .store import Head, Store
    from .tables import Tables

Reply = bytes | Awaitable[bytes]

COMMITS_A_PAGE = 200
PAGE_BYTES = 1024 * 1024
EARLY_MS = 1000
"""A wake-up that is no more than this early is waited for."""
LONGEST_ADVANCE_MS = 30 * 86_400_000
PLATFORMS = (act.Connect, act.Disconnect, act.MoveClocks, act.Advance)
"""Actions that nobody sends as their own."""
ADMINS = (act.CloseTable, act.Remove)
"""Actions that an admin plays as one."""


class TableServicer:
    """Requests to commands, and what they led to back."""

    SERVICE = pb.DESCRIPTOR.services_by_name["TableService"].full_name

    def __init__(self, tables: Tables, store: Store, catalogue: Catalogue, opener: Opener, *, dev: bool) -> None:
        self._tables = tables
        self._store = store
        self._catalogue = catalogue
        self._opener = opener
        self._dev = dev
        self._handlers: dict[str, Callable[[bytes, float, str], Reply]] = {
            "Open": self._open,
            "Act": self._act,
            "Read": self._read,
            "Admit": self._admit,
            "Legal": self._legal,
            "Commits": self._commits,
            "Heads": self._heads,
            "ListHeads": self._list_heads,
            "Wake": self._wake,
            "Report": self._report,
            "List": self._list,
            "SetUp": self._set_up,
            "Advance": self._advance,
            "Export": self._export,
        }

    def methods(self) -> dict[str, Callable[[bytes, Call], Reply]]:
        """For link frames, by full name."""

        def method(handler: Callable[[bytes, float, str], Reply]) -> Callable[[bytes, Call], Reply]:
            return lambda body, call: handler(body, call.remaining_s(), call.traceparent)

        return {f"/{self.SERVICE}/{name}": method(handler) for name, handler in self._handlers.items()}

    def handler(self) -> grpc.GenericRpcHandler[Any, Any]:
        """For plain RPCs."""

        def rpc(handler: Callable[[bytes, float, str], Reply]) -> Any:
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
        if request.pin or request.options.private:
            raise failure(Code.BAD_OPTION, "Private tables cannot be opened here.")
        if request.dev and not self._dev:
            raise requests.bad("Tables of that kind are opened under --dev only.")
        game = self._catalogue.by_name(request.edition)
        person, name = requests.person(request.identity), requests.name(request.identity)
        options = _action(actions_pb2.Action(set_options=request.options))
        assert isinstance(options, act.SetOptions)
        content = pb.OpenRequest(
            edition=request.edition, options=request.options, unseated=request.unseated, dev=request.dev
        )
        opening = Opening(
            game,
            options,
            person,
            name,
            requests.command_id(request.command_id),
            content.SerializeToString(deterministic=True),
            seated=not request.unseated,
            dev=request.dev,
            traceparent=requests.traceparent(request.traceparent or traceparent),
        )
        async with asyncio.timeout_at(requests.deadline(request.timeout, waits_s)):
            table, answer = await self._opener.open(opening)
        return pb.OpenResponse(
            table=table, version=answer.version, commits=answer.commits, duplicate=answer.duplicate
        ).SerializeToString()

    def _act(self, body: bytes, waits_s: float, traceparent: str) -> Reply:
        request = requests.parse(pb.ActRequest, body)
        table_id = requests.table_id(request.table)
        action = _action(request.action)
        if isinstance(action, PLATFORMS):
            raise requests.bad("That is not for anybody to send.")
        identity = request.identity
        actor = requests.person(identity)
        if isinstance(action, ADMINS) and identity.admin:
            actor = ADMIN + actor
        if isinstance(action, act.Join) and not action.name:
            action = act.Join(requests.name(identity))
        command = Act(
            action,
            actor=actor,
            command_id=requests.command_id(request.command_id),
            content=request.action.SerializeToString(deterministic=True),
            deadline=requests.deadline(request.timeout, waits_s),
            prompt=request.prompt_id,
            if_version=request.if_version,
            script=request.script if request.HasField("script") else None,
            traceparent=requests.traceparent(request.traceparent or traceparent),
        )
        return self._tables.submit(table_id, command)

    async def _wake(self, body: bytes, waits_s: float, traceparent: str) -> bytes:
        request = requests.parse(pb.WakeRequest, body)
        table_id = requests.table_id(request.table)
        due_ms = request.due.ToMilliseconds()
        early_ms = due_ms - time.time() * 1000
        if early_ms > EARLY_MS:
            raise Failure(
                grpc.StatusCode.FAILED_PRECONDITION,
                Code.TOO_EARLY,
                "Nothing has fallen due yet.",
                retry_after_s=early_ms / 1000,
            )
        if early_ms > 0:
            await asyncio.sleep(early_ms / 1000)
        deadline = asyncio.get_running_loop().time() + min(requests.USUAL_WAIT_S, waits_s)
        traceparent = requests.traceparent(request.traceparent or traceparent)
        return await self._tables.submit(
            table_id, Wake(at_least=request.at_least, deadline=deadline, traceparent=traceparent)
        )

    def _report(self, body: bytes, waits_s: float, traceparent: str) -> Reply:
        request = requests.parse(pb.ReportRequest, body)
        table_id = requests.table_id(request.table)
        if not 1 <= len(request.persons) <= 100:
            raise requests.bad("A report is of 1 to 100 persons.")
        command = Report(
            [(row.person, _presence(row.status)) for row in request.persons],
            revision=request.revision,
            deadline=asyncio.get_running_loop().time() + min(requests.USUAL_WAIT_S, waits_s),
            traceparent=requests.traceparent(request.traceparent or traceparent),
        )
        return self._tables.submit(table_id, command)

    def _set_up(self, body: bytes, waits_s: float, traceparent: str) -> Reply:
        request = requests.parse(pb.SetUpRequest, body)
        self._require_dev()
        command = SetUp(
            request.view,
            actor=ADMIN + requests.person(request.identity),
            command_id=requests.command_id(request.command_id),
            deadline=asyncio.get_running_loop().time() + min(requests.USUAL_WAIT_S, waits_s),
        )
        return self._tables.submit(requests.table_id(request.table), command)

    def _advance(self, body: bytes, waits_s: float, traceparent: str) -> Reply:
        request = requests.parse(pb.AdvanceRequest, body)
        self._require_dev()
        by_ms = request.by.seconds * 1000 + request.by.nanos // 1_000_000
        if not 0 <= by_ms <= LONGEST_ADVANCE_MS:
            raise requests.bad("A clock is moved forward by at most 30 days.")
        command = Advance(
            by_ms=by_ms,
            actor=ADMIN + requests.person(request.identity),
            command_id=requests.command_id(request.command_id),
            deadline=asyncio.get_running_loop().time() + min(requests.USUAL_WAIT_S, waits_s),
            script=request.script if request.HasField("script") else None,
        )
        return self._tables.submit(requests.table_id(request.table), command)

    def _require_dev(self) -> None:
        if not self._dev:
            raise requests.bad("That is answered under --dev only.")

    # --- looking ------------------------------------------------------------------------------------------------------

    def _look(
        self, table: str, waits_s: float, see: Callable[[State, Answer], bytes], *, at_least: int = 0
    ) -> asyncio.Future[bytes]:
        deadline = asyncio.get_running_loop().time() + min(requests.USUAL_WAIT_S, waits_s)
        return self._tables.submit(requests.table_id(table), Look(see, at_least=at_least, deadline=deadline))

    def _read(self, body: bytes, waits_s: float, traceparent: str) -> Reply:
        request = requests.parse(pb.ReadRequest, body)

        def see(s: State, answer: Answer) -> bytes:
            response = pb.ReadResponse()
            views.fill(s, response.view, version=answer.version, epoch=answer.epoch)
            return response.SerializeToString()

        return self._look(request.table, waits_s, see, at_least=request.at_least)

    def _admit(self, body: bytes, waits_s: float, traceparent: str) -> Reply:
        request = requests.parse(pb.AdmitRequest, body)
        person = requests.person(request.identity)
        if request.purpose == pb.AdmitRequest.PURPOSE_UNSPECIFIED:
            raise requests.bad("Say what the person wants to be let in for.")

        def see(s: State, answer: Answer) -> bytes:
            seat = s.holder.index(person) if person in s.holder else -1
            return pb.AdmitResponse(
                seat=seat, host=person == s.host, may_chat=seat >= 0, version=answer.version
            ).SerializeToString()

        return self._look(request.table, waits_s, see)

    def _legal(self, body: bytes, waits_s: float, traceparent: str) -> Reply:
        request = requests.parse(pb.LegalRequest, body)

        def see(s: State, answer: Answer) -> bytes:
            if request.person not in s.holder:
                raise failure(Code.NOT_SEATED)
            seat = s.holder.index(request.person)
            listed = listing.legal_actions(s, seat, s.now_ms)
            return pb.LegalResponse(
                version=answer.version, prompt=legal.to_prompt(s.table, legal.prompt_of(s, seat), listed)
            ).SerializeToString()

        return self._look(request.table, waits_s, see, at_least=request.at_least)

    async def _commits(self, body: bytes, waits_s: float, traceparent: str) -> bytes:
        request = requests.parse(pb.CommitsRequest, body)
        table_id = requests.table_id(request.table)
        limit = requests.page_size(request.page_size, COMMITS_A_PAGE, COMMITS_A_PAGE)
        heads = await self._store.heads([table_id])
        if not heads:
            raise failure(Code.UNKNOWN_TABLE)
        response = pb.CommitsResponse(version=heads[0].version, epoch=heads[0].epoch)
        size = 0
        for commit in await self._store.commits(table_id, max(0, request.after), limit):
            size += len(commit)
            if size > PAGE_BYTES and response.commits:
                break
            response.commits.append(commit)
        return response.SerializeToString()

    async def _export(self, body: bytes, waits_s: float, traceparent: str) -> bytes:
        request = requests.parse(pb.ExportRequest, body)
        table_id = requests.table_id(request.table)
        limit = requests.page_size(request.page_size, COMMITS_A_PAGE, COMMITS_A_PAGE)
        after = _number(request.page_token)
        response = pb.ExportResponse()
        loaded = await self._store.load(table_id) if not after else None
        if not after:
            if loaded is None:
                raise failure(Code.UNKNOWN_TABLE)
            kept = await self._store.edition(loaded.digest)
            if kept is None:
                raise failure(Code.TABLE_BROKEN)
            response.edition, response.digest, response.edition_text = kept[0], loaded.digest, kept[1]
        rows = await self._store.commits(table_id, after, limit)
        response.commits.extend(rows)
        if len(rows) == limit:
            response.next_page_token = str(after + limit)
        return response.SerializeToString()

    async def _heads(self, body: bytes, waits_s: float, traceparent: str) -> bytes:
        request = requests.parse(pb.HeadsRequest, body)
        if not 1 <= len(request.tables) <= 1000:
            raise requests.bad("Heads are asked for of 1 to 1000 tables.")
        response = pb.HeadsResponse()
        response.server_time.GetCurrentTime()
        for head in await self._store.heads([requests.table_id(table) for table in request.tables]):
            _fill(response.heads.add(), head)
        return response.SerializeToString()

    async def _list_heads(self, body: bytes, waits_s: float, traceparent: str) -> bytes:
        request = requests.parse(pb.ListHeadsRequest, body)
        limit = requests.page_size(request.page_size, 1000, 1000)
        response = pb.ListHeadsResponse()
        response.server_time.GetCurrentTime()
        before = request.due_before.ToDatetime(UTC) if request.HasField("due_before") else None
        after = paging.position(request.page_token, EARLIEST)
        if request.HasField("changed_since"):
            since = request.changed_since.ToDatetime(UTC)
            heads = await self._store.heads_changed(since, before, after, limit)
        else:
            heads = await self._store.heads_due(before, after, limit)
        for head in heads:
            _fill(response.heads.add(), head)
        if len(heads) == limit:
            response.next_page_token = paging.token(heads[-1].due_at or LATEST, heads[-1].table_id)
        return response.SerializeToString()

    async def _list(self, body: bytes, waits_s: float, traceparent: str) -> bytes:
        request = requests.parse(pb.ListRequest, body)
        limit = requests.page_size(request.page_size, 100, 50)
        rows = await self._store.list_tables(
            [request.status] if request.status else None,
            request.edition,
            request.person,
            request.host,
            request.open_only,
            paging.position(request.page_token, LATEST),
            limit,
        )
        response = pb.ListResponse()
        for row in rows:
            summary = response.tables.add()
            summary.ParseFromString(row["summary"])
            summary.version = row["version"]
        if len(rows) == limit:
            response.next_page_token = paging.token(rows[-1]["opened_at"], rows[-1]["table_id"])
        return response.SerializeToString()


def _action(message: Any) -> act.Action:
    try:
        return actions.from_proto(message)
    except Malformed as error:
        raise requests.bad(f"{str(error)[:1].upper()}{str(error)[1:]}.") from error


def _presence(status: int) -> act.Action:
    if status == pb.PersonPresence.STATUS_CONNECTED:
        return act.Connect()
    if status == pb.PersonPresence.STATUS_CLOSED:
        return act.Disconnect()
    if status == pb.PersonPresence.STATUS_BROKEN:
        return act.Disconnect(broken=True)
    raise requests.bad("Say how each person is at the table.")


def _fill(message: Any, head: Head) -> None:
    message.table, message.version, message.epoch = head.table_id, head.version, head.epoch
    message.status = head.status
    if head.due_at is not None:
        message.next_deadline.FromDatetime(head.due_at)


def _number(page_token: str) -> int:
    if not page_token:
        return 0
    if not page_token.isascii() or not page_token.isdecimal() or len(page_token) > 18:
        raise requests.bad("That page token is not one of ours.")
    return int(page_token)
