"""``AdminService``: the one gate for operators. Each call is looked at by the caller's roles, and audited."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from google.protobuf.message import Message

from omnipoly.rules import actions as act
from omnipoly.rules import engine
from omnipoly.rules.codes import Code
from omnipoly.runtime import logging, page_tokens, roles
from omnipoly.runtime.database import FAULTS
from omnipoly.runtime.failures import Failure
from omnipoly.runtime.refusals import failure
from omnipoly.runtime.unary import Asked, Unary
from omnipoly.wire import actions, views
from omnipoly.wire.gen.game.v1 import table_pb2 as game_pb
from omnipoly.wire.gen.table.v1 import accounts_pb2, table_pb2
from omnipoly.wire.gen.table.v1 import admin_pb2 as pb

from .. import requests, summaries
from ..accounts.servicer import role_names
from ..asking import asked as answered
from ..commands import Act, Look, content_digest
from ..ledger import servicer as wallets
from ..ledger.store import LAST
from .audit import Call, Row
from .commands import Freeze, Reload

if TYPE_CHECKING:
    from omnipoly.rules.actions import Action
    from omnipoly.rules.state import State
    from omnipoly.wire.gen.table.v1 import identity_pb2

    from ..accounts.servicer import AccountServicer
    from ..commands import Answer
    from ..ledger.store import LedgerStore
    from ..reading import Reader
    from ..tables import Tables
    from .audit import Audit
    from .store import AdminStore, Inspected

R = TypeVar("R", bound=Message)

log = logging.get(__name__)

SERVICE = pb.DESCRIPTOR.services_by_name["AdminService"].full_name
LONGEST_REASON = 300
LONGEST_NOTE = 200
LONGEST_BROKEN = 1000
MOST_CREDITS = 10**9
MOST_ROWS = 200
USUAL_ROWS = 50
END_WITHIN_S = 10.0
"""How long an outcome is tried to be written, whoever waits."""
REFUNDED = "This table is out of order and cannot be closed; its entry fees were given back."


class AdminServicer:
    """Requests to what does them, with a row in the audit log for each."""

    def __init__(
        self,
        tables: Tables,
        reader: Reader,
        store: AdminStore,
        audit: Audit,
        ledger: LedgerStore,
        accounts: AccountServicer,
        *,
        replica: str,
    ) -> None:
        """replica: what this process is called."""
        self._tables = tables
        self._reader = reader
        self._store = store
        self._audit = audit
        self._ledger = ledger
        self._accounts = accounts
        self._replica = replica

    def methods(self) -> Mapping[str, Unary]:
        """The methods."""
        return {
            "Inspect": Unary(pb.InspectRequest, self._inspect),
            "Close": Unary(pb.CloseRequest, self._close),
            "Freeze": Unary(pb.FreezeRequest, self._freeze),
            "Reload": Unary(pb.ReloadRequest, self._reload),
            "ExportTable": Unary(pb.ExportTableRequest, self._export),
            "RemovePlayer": Unary(pb.RemovePlayerRequest, self._remove),
            "Grant": Unary(pb.GrantRequest, self._grant),
            "BanPerson": Unary(pb.BanPersonRequest, self._ban),
            "GiveRoles": Unary(pb.GiveRolesRequest, self._give_roles),
            "InspectPerson": Unary(pb.InspectPersonRequest, self._person),
            "ListAudit": Unary(pb.ListAuditRequest, self._list_audit),
        }

    async def _audited(
        self, call: Call, identity: identity_pb2.Identity, asked: Asked, work: Callable[[str], Awaitable[R]]
    ) -> R:
        """Does what was asked, if the caller's roles allow it, and writes it down; ``work`` gets the actor's id."""
        actor, has = requests.admin(identity), _roles(identity)
        number = await answered(lambda: self._audit.begin(identity.person, has, call), asked.remaining_s())
        outcome = ""
        try:
            roles.require(call.what, has)
            answer = await work(actor)
            outcome = "ok"
        except Failure as refused:
            outcome = refused.reason
            raise
        except Exception:
            outcome = "internal"
            raise
        finally:
            if outcome:  # else it was cut short, and nobody knows
                await self._end(number, outcome)
        return answer

    async def _end(self, number: int, outcome: str) -> None:
        try:
            await answered(lambda: self._audit.end(number, outcome), END_WITHIN_S)
        except (Failure, *FAULTS) as error:
            log.error("audit_outcome_not_kept", number=number, outcome=outcome, error=repr(error))  # noqa: TRY400 - one line

    # --- tables -------------------------------------------------------------------------------------------------------

    async def _inspect(self, request: pb.InspectRequest, asked: Asked) -> pb.InspectResponse:
        table_id = requests.table_id(request.table)

        async def work(actor: str) -> pb.InspectResponse:
            in_memory, queue = self._tables.memory(table_id)
            response = pb.InspectResponse(replica=self._replica[:64], in_memory=in_memory, queue=queue)

            def see(s: State, answer: Answer) -> bytes:
                views.fill(s, response.view, version=answer.version, epoch=answer.epoch)
                try:
                    engine.check(s)
                except engine.Broken as broken:
                    response.violations.append(str(broken)[:LONGEST_BROKEN])
                return b""

            try:
                await self._tables.submit(table_id, Look(see, deadline=asked.deadline))
            except Failure as refused:
                if refused.reason != Code.TABLE_BROKEN:
                    raise
            found = await self._found(table_id, asked)
            head = response.head
            head.table, head.version, head.epoch = table_id, found.version, found.epoch
            head.status = game_pb.TableStatus.ValueType(found.status)
            if found.due_at is not None:
                head.next_deadline.FromDatetime(found.due_at)
            response.broken = found.broken[:LONGEST_BROKEN]
            response.snapshot_version, response.commits = found.snapshot_version, found.commits
            return response

        return await self._audited(Call("InspectTable", table_id), request.identity, asked, work)

    async def _close(self, request: pb.CloseRequest, asked: Asked) -> pb.CloseResponse:
        table_id, command_id = requests.table_id(request.table), requests.command_id(request.command_id)

        async def work(actor: str) -> pb.CloseResponse:
            try:
                answer = await self._act(table_id, act.CloseTable(), actor, command_id, asked)
            except Failure as refused:
                if refused.reason == Code.TABLE_BROKEN and await answered(
                    lambda: self._ledger.refund(table_id), asked.remaining_s()
                ):
                    raise failure(Code.TABLE_BROKEN, REFUNDED) from None
                raise
            return pb.CloseResponse(version=answer.version, commits=answer.commits, duplicate=answer.duplicate)

        call = Call("CloseTable", table_id, note=_reason(request.reason), request_id=command_id)
        return await self._audited(call, request.identity, asked, work)

    async def _freeze(self, request: pb.FreezeRequest, asked: Asked) -> pb.FreezeResponse:
        table_id, command_id = requests.table_id(request.table), requests.command_id(request.command_id)
        reason = _reason(request.reason)

        async def work(actor: str) -> pb.FreezeResponse:
            command = Freeze(thaw=request.thaw, actor=actor, command_id=command_id, deadline=asked.deadline)
            return pb.FreezeResponse.FromString(await self._tables.submit(table_id, command))

        note = f"thaw: {reason}".removesuffix(": ") if request.thaw else reason
        call = Call("FreezeTable", table_id, note=note, request_id=command_id)
        return await self._audited(call, request.identity, asked, work)

    async def _reload(self, request: pb.ReloadRequest, asked: Asked) -> pb.ReloadResponse:
        table_id, command_id = requests.table_id(request.table), requests.command_id(request.command_id)

        async def work(actor: str) -> pb.ReloadResponse:
            def see(s: State, answer: Answer) -> bytes:
                return pb.ReloadResponse(status=summaries.status(s), version=answer.version).SerializeToString()

            await answered(lambda: self._store.release(table_id), asked.remaining_s())
            try:
                reply = await self._tables.submit(table_id, Reload(see, deadline=asked.deadline))
            except Failure as refused:
                if refused.reason != Code.TABLE_BROKEN:
                    raise
                found = await self._found(table_id, asked)
                return pb.ReloadResponse(
                    status=game_pb.TABLE_STATUS_BROKEN, version=found.version, broken=found.broken[:LONGEST_BROKEN]
                )
            response = pb.ReloadResponse.FromString(reply)
            version, status = response.version, response.status
            await answered(lambda: self._store.released(table_id, version, status), asked.remaining_s())
            return response

        call = Call("ReloadTable", table_id, note=_reason(request.reason), request_id=command_id)
        return await self._audited(call, request.identity, asked, work)

    async def _export(self, request: pb.ExportTableRequest, asked: Asked) -> pb.ExportTableResponse:
        table_id = requests.table_id(request.table)

        async def work(actor: str) -> pb.ExportTableResponse:
            wanted = table_pb2.ExportRequest(table=table_id, page_size=request.page_size, page_token=request.page_token)
            page = await self._reader.export(wanted, asked.remaining_s())
            return pb.ExportTableResponse.FromString(page.SerializeToString())

        if request.page_token:  # the first page has written it down
            roles.require("ExportTable", _roles(request.identity))
            return await work("")
        return await self._audited(Call("ExportTable", table_id), request.identity, asked, work)

    async def _remove(self, request: pb.RemovePlayerRequest, asked: Asked) -> pb.RemovePlayerResponse:
        table_id, command_id = requests.table_id(request.table), requests.command_id(request.command_id)

        async def work(actor: str) -> pb.RemovePlayerResponse:
            answer = await self._act(table_id, act.Remove(request.seat), actor, command_id, asked)
            return pb.RemovePlayerResponse(version=answer.version, commits=answer.commits, duplicate=answer.duplicate)

        note = f"seat {request.seat}: {_reason(request.reason)}".removesuffix(": ")
        call = Call("RemovePlayer", table_id, note=note[:LONGEST_REASON], request_id=command_id)
        return await self._audited(call, request.identity, asked, work)

    async def _act(self, table_id: str, action: Action, actor: str, command_id: str, asked: Asked) -> Any:
        command = Act(
            action,
            actor=actor,
            command_id=command_id,
            content=actions.to_proto(action).SerializeToString(deterministic=True),
            deadline=asked.deadline,
            traceparent=requests.traceparent(asked.traceparent),
        )
        return table_pb2.ActResponse.FromString(await self._tables.submit(table_id, command))

    async def _found(self, table_id: str, asked: Asked) -> Inspected:
        found = await answered(lambda: self._store.inspect(table_id), asked.remaining_s())
        if found is None:
            raise failure(Code.UNKNOWN_TABLE)
        return found

    # --- persons and wallets ------------------------------------------------------------------------------------------

    async def _grant(self, request: pb.GrantRequest, asked: Asked) -> pb.GrantResponse:
        person, request_id = requests.person_id(request.person), requests.command_id(request.request_id)
        amount, note = request.amount, _text(request.note, LONGEST_NOTE)
        if not amount or abs(amount) > MOST_CREDITS:
            raise requests.bad("Credits given or taken are 1 to 1 000 000 000.")
        digest = content_digest(f"{person} {note}".encode(), amount, 0)

        async def work(actor: str) -> pb.GrantResponse:
            line, known = await answered(
                lambda: self._ledger.grant(
                    person, amount, actor=actor, request_id=request_id, digest=digest, note=note
                ),
                asked.remaining_s(),
            )
            return pb.GrantResponse(entry=wallets.message(line), duplicate=known)

        call = Call("Grant", person=person, note=f"{amount:+d}: {note}".removesuffix(": "), request_id=request_id)
        return await self._audited(call, request.identity, asked, work)

    async def _ban(self, request: pb.BanPersonRequest, asked: Asked) -> pb.BanPersonResponse:
        ban, identity = request.ban, request.identity
        person, request_id = requests.person_id(ban.person), requests.command_id(ban.request_id)
        reason = _reason(ban.reason)

        async def work(actor: str) -> pb.BanPersonResponse:
            if roles.ADMIN not in _roles(identity):
                known = await self._accounts.GetPerson(accounts_pb2.GetPersonRequest(person=person), asked)
                if roles.is_operator(known.person.roles):
                    raise roles.not_allowed("Those who run the site are banned by an admin alone.")
            ban.by = identity.person
            return pb.BanPersonResponse(person=(await self._accounts.Ban(ban, asked)).person)

        until = ""
        if ban.HasField("until") and not ban.lift:
            requests.moment(ban.until)  # what is no time cannot be written down
            until = f" until {ban.until.ToJsonString()}"
        note = f"{'lift' if ban.lift else 'ban'}{until}: {reason}".removesuffix(": ")[:LONGEST_REASON]
        call = Call("Ban", person=person, note=note, request_id=request_id)
        return await self._audited(call, identity, asked, work)

    async def _give_roles(self, request: pb.GiveRolesRequest, asked: Asked) -> pb.GiveRolesResponse:
        given, identity = request.roles, request.identity
        person, request_id = requests.person_id(given.person), requests.command_id(given.request_id)
        reason = _reason(request.reason)
        role_names(given.roles)  # what is no role cannot be written down

        async def work(actor: str) -> pb.GiveRolesResponse:
            given.by = identity.person
            return pb.GiveRolesResponse(person=(await self._accounts.SetRoles(given, asked)).person)

        note = f"{', '.join(given.roles) or 'none'}: {reason}".removesuffix(": ")[:LONGEST_REASON]
        call = Call("SetRoles", person=person, note=note, request_id=request_id)
        return await self._audited(call, identity, asked, work)

    async def _person(self, request: pb.InspectPersonRequest, asked: Asked) -> pb.InspectPersonResponse:
        person = requests.person_id(request.person)

        async def work(actor: str) -> pb.InspectPersonResponse:
            found = await self._accounts.GetPerson(accounts_pb2.GetPersonRequest(person=person), asked)
            balance = await answered(lambda: self._ledger.balance(person), asked.remaining_s())
            return pb.InspectPersonResponse(person=found.person, balance=balance)

        return await self._audited(Call("GetPerson", person=person), request.identity, asked, work)

    # --- the log itself -----------------------------------------------------------------------------------------------

    async def _list_audit(self, request: pb.ListAuditRequest, asked: Asked) -> pb.ListAuditResponse:
        limit = requests.page_size(request.page_size, MOST_ROWS, USUAL_ROWS)
        table_id = requests.table_id(request.table) if request.table else ""
        person = requests.person_id(request.person) if request.person else ""
        by = requests.person_id(request.by) if request.by else ""
        before = LAST
        if request.page_token:
            before = page_tokens.decode_number(page_tokens.decode(request.page_token, 1)[0])

        async def work(actor: str) -> pb.ListAuditResponse:
            rows = await answered(lambda: self._audit.page(table_id, person, by, before, limit), asked.remaining_s())
            response = pb.ListAuditResponse()
            for row in rows:
                _show(row, response.entries.add())
            if len(rows) == limit:
                response.next_page_token = page_tokens.encode(rows[-1].number)
            return response

        if request.page_token:  # the first page has written it down
            roles.require("ListAudit", _roles(request.identity))
            return await work("")
        note = f"by {by}" if by else ""
        return await self._audited(Call("ListAudit", table_id, person, note), request.identity, asked, work)


def _roles(identity: identity_pb2.Identity) -> list[str]:
    return sorted(set(identity.roles) | ({roles.ADMIN} if identity.admin else set()))


def _reason(text: str) -> str:
    return _text(text, LONGEST_REASON)


def _text(text: str, longest: int) -> str:
    if len(text) > longest or (text and not text.isprintable()):
        raise requests.bad(f"A reason or note has at most {longest} printable characters.")
    return text


def _show(row: Row, message: Any) -> None:
    message.number, message.by, message.what = row.number, row.by, row.what
    message.table, message.person, message.note = row.table_id, row.person, row.note
    message.request_id, message.outcome = row.request_id, row.outcome
    message.roles.extend(row.roles)
    message.at.FromDatetime(row.at)
