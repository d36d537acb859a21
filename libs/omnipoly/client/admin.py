"""What those who run the site do. Every call raises ``Refused``: ``not_admin`` for who has not the role that it needs.

Each call stands in the audit log. ``reason`` is for it, as ``note`` of a grant is for the ledger.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from typing import TYPE_CHECKING, NamedTuple

from omnipoly.client import names
from omnipoly.client.lobby import Answer
from omnipoly.wire.gen.gateway.v1 import admin_pb2, admin_pb2_grpc, watch_pb2

if TYPE_CHECKING:
    from datetime import datetime

    from omnipoly.client.connection import Calls
    from omnipoly.wire.gen.game.v1 import platform_pb2, table_pb2


class Standing(NamedTuple):
    """How a table stands after a call."""

    status: table_pb2.TableStatus.ValueType
    version: int
    broken: str = ""
    """Why it is out of order; "": it is not."""


class Admin:
    """Operators' calls, for one session."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls
        self._stub = admin_pb2_grpc.AdminServiceStub(calls.connection.channel)

    # --- tables

    async def inspect(self, table: str) -> admin_pb2.InspectTableResponse:
        """All that is known about a table, but its seed and PIN."""
        return await self._calls.call(self._stub.InspectTable, admin_pb2.InspectTableRequest(table=table))

    async def close(self, table: str, *, reason: str = "", command_id: str = "") -> Answer:
        """Close a table at once: places as it stands (TUB-CLOSE); a paid one gives its fees back (RUG-WIN)."""
        request = admin_pb2.CloseTableRequest(table=table, command_id=command_id or names.fresh(), reason=reason)
        answer = await self._calls.call(self._stub.CloseTable, request)
        return Answer(answer.version, answer.duplicate)

    async def freeze(self, table: str, *, reason: str = "", command_id: str = "") -> Standing:
        """Keep a table as it is: nothing is played, and every clock stands still."""
        return await self._freeze(table, reason, command_id, thaw=False)

    async def thaw(self, table: str, *, reason: str = "", command_id: str = "") -> Standing:
        """Let it go on; the time it was frozen does not count."""
        return await self._freeze(table, reason, command_id, thaw=True)

    async def _freeze(self, table: str, reason: str, command_id: str, *, thaw: bool) -> Standing:
        request = admin_pb2.FreezeTableRequest(
            table=table, command_id=command_id or names.fresh(), reason=reason, thaw=thaw
        )
        answer = await self._calls.call(self._stub.FreezeTable, request)
        return Standing(answer.status, answer.version)

    async def reload(self, table: str, *, reason: str = "", command_id: str = "") -> Standing:
        """Have a table read anew from its log; where that goes well, it is out of order no longer."""
        request = admin_pb2.ReloadTableRequest(table=table, command_id=command_id or names.fresh(), reason=reason)
        answer = await self._calls.call(self._stub.ReloadTable, request)
        return Standing(answer.status, answer.version, answer.broken)

    async def export(self, table: str) -> watch_pb2.ExportResponse:
        """Everything that a game can be replayed from, also while it runs; as ``Games.export`` gives it."""
        whole = watch_pb2.ExportResponse()
        async for page in self._calls.pages(self._stub.ExportTable, admin_pb2.ExportTableRequest(table=table)):
            whole.MergeFrom(watch_pb2.ExportResponse.FromString(page.SerializeToString()))
        whole.next_page_token = ""
        return whole

    async def remove(self, table: str, seat: int, *, reason: str = "", command_id: str = "") -> Answer:
        """Remove anybody's seat (TUB-REMOVE)."""
        request = admin_pb2.RemovePlayerRequest(
            table=table, command_id=command_id or names.fresh(), seat=seat, reason=reason
        )
        answer = await self._calls.call(self._stub.RemovePlayer, request)
        return Answer(answer.version, answer.duplicate)

    # --- persons and wallets

    async def grant(
        self, person: str, amount: int, *, note: str = "", request_id: str = ""
    ) -> platform_pb2.LedgerEntry:
        """Give somebody credits, or take some (negative). The same ``request_id`` again gives nothing twice."""
        request = admin_pb2.GrantRequest(
            person=person, request_id=request_id or names.fresh(), amount=amount, note=note
        )
        return (await self._calls.call(self._stub.Grant, request)).entry

    async def ban(self, person: str, *, until: datetime | None = None, reason: str = "") -> admin_pb2.PersonInfo:
        """Ban somebody; ``until``: an aware time, ``None`` for ever."""
        request = admin_pb2.BanRequest(person=person, request_id=names.fresh(), reason=reason)
        if until is not None:
            request.until.FromDatetime(until)
        return (await self._calls.call(self._stub.Ban, request)).person

    async def unban(self, person: str, *, reason: str = "") -> admin_pb2.PersonInfo:
        """Lift a ban."""
        request = admin_pb2.BanRequest(person=person, request_id=names.fresh(), reason=reason, lift=True)
        return (await self._calls.call(self._stub.Ban, request)).person

    async def set_roles(self, person: str, roles: Iterable[str], *, reason: str = "") -> admin_pb2.PersonInfo:
        """Give somebody roles: all that they have from now on."""
        request = admin_pb2.SetRolesRequest(person=person, request_id=names.fresh(), roles=roles, reason=reason)
        return (await self._calls.call(self._stub.SetRoles, request)).person

    async def person(self, person: str) -> admin_pb2.GetPersonResponse:
        """Somebody, with what is in their wallet."""
        return await self._calls.call(self._stub.GetPerson, admin_pb2.GetPersonRequest(person=person))

    # --- the audit log

    async def audit(self, *, table: str = "", person: str = "", by: str = "") -> AsyncIterator[platform_pb2.AuditEntry]:
        """Calls of operators, the latest first; about a table, about a person, by one of them."""
        request = admin_pb2.ListAuditRequest(table=table, person=person, by=by)
        async for page in self._calls.pages(self._stub.ListAudit, request):
            for entry in page.entries:
                yield entry
