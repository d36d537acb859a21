"""``LobbyService``: editions, and tables before their start."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from omnipoly.runtime import page_tokens, tracing
from omnipoly.wire import editions, views
from omnipoly.wire.gen.gateway.v1 import lobby_pb2 as pb
from omnipoly.wire.gen.table.v1 import table_pb2

from . import acting, checks, limits
from .hub import watching_refused

if TYPE_CHECKING:
    import grpc

    from .callers import Caller
    from .door import Door
    from .hub import Hub

SERVICE = pb.DESCRIPTOR.services_by_name["LobbyService"].full_name
EDITIONS_PAGE = 256
TABLES_PAGE = 100
VIEWERS_PAGE = 200


class LobbyServicer:
    """What is no action; actions before the start are ``acting``'s."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub

    def methods(self, door: Door) -> dict[str, grpc.RpcMethodHandler[Any, Any]]:
        """What is answered, by method."""
        return {
            **acting.handlers(self._hub, door, SERVICE),
            "ListEditions": door.unary(pb.ListEditionsRequest, self.ListEditions),
            "GetEdition": door.unary(pb.GetEditionRequest, self.GetEdition),
            "CreateTable": door.unary(pb.CreateTableRequest, self.CreateTable),
            "GetTable": door.unary(pb.GetTableRequest, self.GetTable),
            "GetFieldCard": door.unary(pb.GetFieldCardRequest, self.GetFieldCard),
            "ListTables": door.unary(pb.ListTablesRequest, self.ListTables),
            "SetPin": door.unary(pb.SetPinRequest, self.SetPin),
            "ListViewers": door.unary(pb.ListViewersRequest, self.ListViewers),
            "BarViewer": door.unary(pb.BarViewerRequest, self.BarViewer),
        }

    async def ListEditions(
        self, request: pb.ListEditionsRequest, caller: Caller, timeout_s: float
    ) -> pb.ListEditionsResponse:
        """A page of what is played here."""
        checks.page(request.page_size, EDITIONS_PAGE, request.page_token)
        page, token = self._hub.catalogue.page(request.page_size or EDITIONS_PAGE, request.page_token)
        return pb.ListEditionsResponse(editions=page, next_page_token=token)

    async def GetEdition(
        self, request: pb.GetEditionRequest, caller: Caller, timeout_s: float
    ) -> pb.GetEditionResponse:
        """One edition."""
        checks.text("edition", request.edition, 0, 65)
        checks.digest(request.digest)
        checks.language(request.language)
        edition = self._hub.catalogue.find(request.edition, request.digest)
        shown = editions.to_proto(edition, with_text=request.with_text, language=request.language)
        return pb.GetEditionResponse(edition=shown)

    async def CreateTable(self, request: pb.CreateTableRequest, caller: Caller, timeout_s: float) -> bytes:
        """Opens a table. The table's answer is the response."""
        checks.command_id(request.request_id, "request_id")
        checks.text("edition", request.edition, 1, 65)
        checks.new_pin(request.pin)
        checks.command_size(request.ByteSize())
        if request.pin:
            self._hub.limits.command(caller, limits.NEW_PIN)
        if request.dev and not self._hub.settings.dev:
            raise checks.bad("dev: this server does not run under --dev.")
        body = table_pb2.OpenRequest(
            identity=caller.identity,
            command_id=request.request_id,
            edition=request.edition,
            pin=request.pin,
            unseated=request.unseated,
            dev=request.dev,
            traceparent=tracing.current_traceparent() or caller.traceparent,
        )
        if request.HasField("options"):
            body.options.CopyFrom(request.options)
        body.timeout.FromMilliseconds(max(1, round(timeout_s * 1000)))
        answer = await self._hub.upstream.tables.call(f"{caller.person} {request.request_id}", "Open", body, timeout_s)
        if not request.unseated:
            self._hub.called(caller, table_pb2.OpenResponse.FromString(answer).table, seated=True)
        return answer

    async def GetTable(self, request: pb.GetTableRequest, caller: Caller, timeout_s: float) -> bytes:
        """A table's picture. The table's answer is the response."""
        return await self._read(request, caller, timeout_s)

    async def GetFieldCard(
        self, request: pb.GetFieldCardRequest, caller: Caller, timeout_s: float
    ) -> pb.GetFieldCardResponse:
        """A field's card at a table, made of its picture (TUB-RENT-CARDINFO)."""
        checks.language(request.language)
        view = table_pb2.ReadResponse.FromString(await self._read(request, caller, timeout_s)).view
        state = views.from_view(view, await self._hub.records.game(request.table))
        checks.number("field", request.field, 0, state.rules.fields_n - 1)
        card = editions.field_card(
            state, request.field, version=view.version, epoch=view.epoch, language=request.language
        )
        return pb.GetFieldCardResponse(card=card)

    async def _read(
        self, request: pb.GetTableRequest | pb.GetFieldCardRequest, caller: Caller, timeout_s: float
    ) -> bytes:
        """A table's picture as the table answers it, for who may see it."""
        checks.table(request.table)
        checks.pin(request.pin)
        checks.number("at_least", request.at_least)
        hub = self._hub
        admitted = await hub.admit(caller, request.table, request.pin, timeout_s)
        body = table_pb2.ReadRequest(table=request.table, at_least=request.at_least)
        answer = await hub.upstream.look("Read", request.table, body, timeout_s)
        if not admitted.may_watch and table_pb2.ReadResponse.FromString(answer).view.in_play:
            raise watching_refused()
        hub.called(caller, request.table, seated=admitted.seated)
        return answer

    async def ListTables(self, request: pb.ListTablesRequest, caller: Caller, timeout_s: float) -> bytes:
        """A page of tables. The table's answer is the response."""
        checks.page(request.page_size, TABLES_PAGE, request.page_token)
        checks.text("edition", request.edition, 0, 65)
        body = table_pb2.ListRequest(
            status=request.status,
            edition=request.edition,
            person=caller.person if request.mine else "",
            open_only=request.open_only,
            page_size=request.page_size,
            page_token=request.page_token,
        )
        return await self._hub.upstream.tables.call("", "List", body, timeout_s)

    async def SetPin(self, request: pb.SetPinRequest, caller: Caller, timeout_s: float) -> bytes:
        """Makes a table private, or opens it (TUB-PRIVATE). The table's answer is the response."""
        checks.table(request.table)
        checks.command_id(request.command_id)
        checks.new_pin(request.pin)
        self._hub.limits.command(caller, limits.NEW_PIN)
        body = table_pb2.SetPinRequest(
            table=request.table, identity=caller.identity, command_id=request.command_id, pin=request.pin
        )
        answer = await self._hub.upstream.tables.call(request.table, "SetPin", body, timeout_s)
        for commit in table_pb2.SetPinResponse.FromString(answer).commits:
            self._hub.rooms.take_commit(request.table, commit)
        return answer

    async def ListViewers(
        self, request: pb.ListViewersRequest, caller: Caller, timeout_s: float
    ) -> pb.ListViewersResponse:
        """A page of who watches a table (TUB-VIEWERS), for whoever may see it themselves."""
        checks.table(request.table)
        checks.page(request.page_size, VIEWERS_PAGE, request.page_token)
        hub = self._hub
        if not (await hub.admit(caller, request.table, "", timeout_s)).may_watch:
            raise watching_refused()
        after = page_tokens.decode(request.page_token, 1)[0] if request.page_token else ""
        viewers = [viewer for viewer in await hub.viewers.of(request.table) if viewer.person > after]
        page = viewers[: request.page_size or VIEWERS_PAGE]
        response = pb.ListViewersResponse()
        now_ms = round(time.time() * 1000)
        for viewer in page:
            one = response.viewers.add(person=viewer.person)
            one.watching.FromMilliseconds(max(0, now_ms - viewer.since_ms))
        if len(page) < len(viewers):
            response.next_page_token = page_tokens.encode(page[-1].person)
        return response

    async def BarViewer(self, request: pb.BarViewerRequest, caller: Caller, timeout_s: float) -> bytes:
        """Sends a viewer away, or lets them come back (TUB-VIEWERS). The table's answer is the response."""
        checks.table(request.table)
        checks.command_id(request.command_id)
        checks.text("person", request.person, 1, 64)
        body = table_pb2.BarViewerRequest(
            table=request.table,
            identity=caller.identity,
            command_id=request.command_id,
            person=request.person,
            lift=request.lift,
        )
        return await self._hub.upstream.tables.call(request.table, "BarViewer", body, timeout_s)
