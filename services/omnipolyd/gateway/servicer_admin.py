"""``AdminService``: what those who run the site do. Who may what, and the audit log, are the table service's.

Whoever has none of the roles is turned away here, so that the audit log is of those who have one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from omnipoly.runtime import roles, table_client
from omnipoly.wire.gen.gateway.v1 import admin_pb2 as pb
from omnipoly.wire.gen.table.v1 import accounts_pb2, admin_pb2

from . import checks

if TYPE_CHECKING:
    import grpc
    from google.protobuf.message import Message

    from .callers import Caller
    from .door import Door
    from .hub import Hub

SERVICE = pb.DESCRIPTOR.services_by_name["AdminService"].full_name


class AdminServicer:
    """Requests, with the caller's identity, to the table service; its answers are the responses, or made into them."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub

    def methods(self, door: Door) -> dict[str, grpc.RpcMethodHandler[Any, Any]]:
        """What is answered, by method."""
        return {
            "InspectTable": door.unary(pb.InspectTableRequest, self.InspectTable),
            "CloseTable": door.unary(pb.CloseTableRequest, self.CloseTable),
            "FreezeTable": door.unary(pb.FreezeTableRequest, self.FreezeTable),
            "ReloadTable": door.unary(pb.ReloadTableRequest, self.ReloadTable),
            "ExportTable": door.unary(pb.ExportTableRequest, self.ExportTable),
            "RemovePlayer": door.unary(pb.RemovePlayerRequest, self.RemovePlayer),
            "Grant": door.unary(pb.GrantRequest, self.Grant),
            "Ban": door.unary(pb.BanRequest, self.Ban),
            "SetRoles": door.unary(pb.SetRolesRequest, self.SetRoles),
            "GetPerson": door.unary(pb.GetPersonRequest, self.GetPerson),
            "ListAudit": door.unary(pb.ListAuditRequest, self.ListAudit),
        }

    async def _ask(self, caller: Caller, key: str, method: str, body: Message, timeout_s: float) -> bytes:
        if not roles.is_operator(caller.claims.roles):
            raise roles.not_allowed()
        tables = self._hub.upstream.tables
        return await tables.call(key, method, body, timeout_s, service=table_client.ADMIN)

    # --- tables

    async def InspectTable(
        self, request: pb.InspectTableRequest, caller: Caller, timeout_s: float
    ) -> pb.InspectTableResponse:
        """All about a table."""
        checks.table(request.table)
        body = admin_pb2.InspectRequest(table=request.table, identity=caller.identity)
        answer = admin_pb2.InspectResponse.FromString(
            await self._ask(caller, request.table, "Inspect", body, timeout_s)
        )
        head = answer.head
        response = pb.InspectTableResponse(
            status=head.status,
            version=head.version,
            epoch=head.epoch,
            replica=answer.replica,
            in_memory=answer.in_memory,
            queue=answer.queue,
            broken=answer.broken,
            violations=answer.violations,
            snapshot_version=answer.snapshot_version,
            commits=answer.commits,
        )
        if head.HasField("next_deadline"):
            response.next_deadline.CopyFrom(head.next_deadline)
        if answer.HasField("view"):
            response.view.CopyFrom(answer.view)
        return response

    async def CloseTable(self, request: pb.CloseTableRequest, caller: Caller, timeout_s: float) -> bytes:
        """Closes a table (TUB-CLOSE). The table's answer is the response."""
        body = admin_pb2.CloseRequest(identity=caller.identity, reason=request.reason)
        return await self._command(request, body, "Close", admin_pb2.CloseResponse, caller, timeout_s)

    async def FreezeTable(
        self, request: pb.FreezeTableRequest, caller: Caller, timeout_s: float
    ) -> pb.FreezeTableResponse:
        """Freezes a table, or lets it go on."""
        body = admin_pb2.FreezeRequest(identity=caller.identity, reason=request.reason, thaw=request.thaw)
        data = await self._command(request, body, "Freeze", admin_pb2.FreezeResponse, caller, timeout_s)
        answer = admin_pb2.FreezeResponse.FromString(data)
        return pb.FreezeTableResponse(status=answer.status, version=answer.version)

    async def ReloadTable(self, request: pb.ReloadTableRequest, caller: Caller, timeout_s: float) -> bytes:
        """Loads a table anew. The table's answer is the response."""
        _command(request)
        body = admin_pb2.ReloadRequest(
            table=request.table, identity=caller.identity, command_id=request.command_id, reason=request.reason
        )
        return await self._ask(caller, request.table, "Reload", body, timeout_s)

    async def ExportTable(self, request: pb.ExportTableRequest, caller: Caller, timeout_s: float) -> bytes:
        """A page of a game's export. The table's answer is the response."""
        checks.table(request.table)
        checks.page(request.page_size, 200, request.page_token)
        body = admin_pb2.ExportTableRequest(
            table=request.table,
            page_size=request.page_size,
            page_token=request.page_token,
            identity=caller.identity,
        )
        return await self._ask(caller, request.table, "ExportTable", body, timeout_s)

    async def RemovePlayer(self, request: pb.RemovePlayerRequest, caller: Caller, timeout_s: float) -> bytes:
        """Removes a seat (TUB-REMOVE). The table's answer is the response."""
        body = admin_pb2.RemovePlayerRequest(identity=caller.identity, seat=request.seat, reason=request.reason)
        return await self._command(request, body, "RemovePlayer", admin_pb2.RemovePlayerResponse, caller, timeout_s)

    async def _command(
        self, request: Any, body: Any, method: str, answer_type: Any, caller: Caller, timeout_s: float
    ) -> bytes:
        """Carries a command to a table and shows what it led to."""
        _command(request)
        body.table, body.command_id = request.table, request.command_id
        data = await self._ask(caller, request.table, method, body, timeout_s)
        room = self._hub.rooms.find(request.table)
        if room is not None:
            for commit in answer_type.FromString(data).commits:
                room.take(commit)
        return data

    # --- persons and wallets

    async def Grant(self, request: pb.GrantRequest, caller: Caller, timeout_s: float) -> bytes:
        """Gives or takes credits. The table's answer is the response."""
        checks.text("person", request.person, 1, 64)
        checks.command_id(request.request_id, "request_id")
        body = admin_pb2.GrantRequest(
            person=request.person,
            identity=caller.identity,
            request_id=request.request_id,
            amount=request.amount,
            note=request.note,
        )
        return await self._ask(caller, request.person, "Grant", body, timeout_s)

    async def Ban(self, request: pb.BanRequest, caller: Caller, timeout_s: float) -> pb.BanResponse:
        """Bans a person, or lifts the ban."""
        checks.text("person", request.person, 1, 64)
        checks.command_id(request.request_id, "request_id")
        ban = accounts_pb2.BanRequest(
            person=request.person, request_id=request.request_id, reason=request.reason, lift=request.lift
        )
        if request.HasField("until"):
            ban.until.CopyFrom(request.until)
        body = admin_pb2.BanPersonRequest(identity=caller.identity, ban=ban)
        data = await self._ask(caller, request.person, "BanPerson", body, timeout_s)
        return pb.BanResponse(person=_person(admin_pb2.BanPersonResponse.FromString(data).person))

    async def SetRoles(self, request: pb.SetRolesRequest, caller: Caller, timeout_s: float) -> pb.SetRolesResponse:
        """Gives a person roles."""
        checks.text("person", request.person, 1, 64)
        checks.command_id(request.request_id, "request_id")
        given = accounts_pb2.SetRolesRequest(person=request.person, request_id=request.request_id, roles=request.roles)
        body = admin_pb2.GiveRolesRequest(identity=caller.identity, roles=given, reason=request.reason)
        data = await self._ask(caller, request.person, "GiveRoles", body, timeout_s)
        return pb.SetRolesResponse(person=_person(admin_pb2.GiveRolesResponse.FromString(data).person))

    async def GetPerson(self, request: pb.GetPersonRequest, caller: Caller, timeout_s: float) -> pb.GetPersonResponse:
        """A person, with what is in their wallet."""
        checks.text("person", request.person, 1, 64)
        body = admin_pb2.InspectPersonRequest(identity=caller.identity, person=request.person)
        answer = admin_pb2.InspectPersonResponse.FromString(
            await self._ask(caller, request.person, "InspectPerson", body, timeout_s)
        )
        return pb.GetPersonResponse(person=_person(answer.person), balance=answer.balance)

    # --- the audit log

    async def ListAudit(self, request: pb.ListAuditRequest, caller: Caller, timeout_s: float) -> bytes:
        """A page of the audit log. The table's answer is the response."""
        checks.page(request.page_size, 200, request.page_token)
        body = admin_pb2.ListAuditRequest(
            table=request.table,
            person=request.person,
            by=request.by,
            page_size=request.page_size,
            page_token=request.page_token,
            identity=caller.identity,
        )
        return await self._ask(caller, "", "ListAudit", body, timeout_s)


def _command(request: Any) -> None:
    checks.table(request.table)
    checks.command_id(request.command_id)


def _person(person: accounts_pb2.Person) -> pb.PersonInfo:
    shown = pb.PersonInfo(
        person=person.person, name=person.name, guest=person.guest, roles=person.roles, ban_reason=person.ban_reason
    )
    shown.created.CopyFrom(person.created)
    if person.HasField("banned_until"):
        shown.banned_until.CopyFrom(person.banned_until)
    return shown
