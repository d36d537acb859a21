"""Finding, opening and filling tables. Every call raises ``Refused`` when the answer is no."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any, NamedTuple

from omnipoly.client import names
from omnipoly.client.refused import Refused
from omnipoly.rules import actions
from omnipoly.rules.codes import Code
from omnipoly.wire import calls as plain
from omnipoly.wire import views
from omnipoly.wire.actions import to_proto
from omnipoly.wire.gen.game.v1 import table_pb2
from omnipoly.wire.gen.gateway.v1 import lobby_pb2, lobby_pb2_grpc

if TYPE_CHECKING:
    from omnipoly.client.connection import Calls
    from omnipoly.client.editions import Editions
    from omnipoly.rules.actions import Action
    from omnipoly.rules.ring import Game
    from omnipoly.rules.state import State
    from omnipoly.wire.gen.game.v1 import edition_pb2


class Answer(NamedTuple):
    """A command that was accepted and is committed."""

    version: int
    """The table's version after it."""
    duplicate: bool
    """It was known: this is the first answer again."""


class View(NamedTuple):
    """A table at one version."""

    state: State
    version: int
    epoch: int


class Lobby:
    """The lobby, for one session."""

    def __init__(self, calls: Calls, editions: Editions) -> None:
        self._calls = calls
        self._editions = editions
        self._stub = lobby_pb2_grpc.LobbyServiceStub(calls.connection.channel)

    # --- editions

    async def editions(self) -> list[edition_pb2.EditionSummary]:
        """What is played here, by id."""
        pages = self._calls.pages(self._stub.ListEditions, lobby_pb2.ListEditionsRequest())
        return [edition async for page in pages for edition in page.editions]

    async def game(self, edition: str, digest: str = "") -> Game:
        """An edition compiled for play: the current one of that id, or the one of a digest."""
        if digest:
            return await self._editions.game(self._calls, edition, digest)
        return await self._editions.current(self._calls, edition)

    # --- tables

    async def create(
        self,
        edition: str,
        *,
        options: actions.SetOptions | None = None,
        pin: str = "",
        unseated: bool = False,
        dev: bool = False,
        request_id: str = "",
    ) -> str:
        """Open a table and be its host; its id. ``unseated``: without taking the first seat."""
        request = lobby_pb2.CreateTableRequest(
            request_id=request_id or names.fresh(), edition=edition, pin=pin, unseated=unseated, dev=dev
        )
        if options is not None:
            request.options.CopyFrom(to_proto(options).set_options)
        answer = await self._calls.call(self._stub.CreateTable, request)
        return answer.table

    async def view(self, table: str, *, pin: str = "", at_least: int = 0) -> View:
        """The whole picture of a table, at that version or later."""
        request = lobby_pb2.GetTableRequest(table=table, pin=pin, at_least=at_least)
        view = (await self._calls.call(self._stub.GetTable, request)).view
        game = await self.game(view.edition, view.digest)
        return View(views.from_view(view, game), view.version, view.epoch)

    async def tables(
        self,
        *,
        status: table_pb2.TableStatus.ValueType = table_pb2.TABLE_STATUS_UNSPECIFIED,
        edition: str = "",
        mine: bool = False,
        open_only: bool = False,
    ) -> AsyncIterator[table_pb2.TableSummary]:
        """Tables, the latest opened first, page by page as they are read."""
        request = lobby_pb2.ListTablesRequest(
            status=status, edition=edition, mine=mine, open_only=open_only, page_size=100
        )
        async for page in self._calls.pages(self._stub.ListTables, request):
            for table in page.tables:
                yield table

    # --- what one does there

    async def act(
        self,
        table: str,
        action: Action,
        *,
        command_id: str = "",
        prompt: int = 0,
        if_version: int = 0,
        pin: str = "",
    ) -> Answer:
        """Any action that has a plain call of its own. Tried again where nobody answers, under the same command id."""
        call = plain.CALLS.get(actions.kind_of(action))
        if call is None:
            raise Refused(Code.BAD_REQUEST, f"{actions.kind_of(action)} is no player's action.")
        command_id = command_id or names.fresh()
        request: Any = plain.to_request(action, table, command_id, prompt_id=prompt, if_version=if_version)
        if pin:
            request.pin = pin
        response_type: Any = call.response
        method = self._calls.connection.channel.unary_unary(
            call.path, request_serializer=call.request.SerializeToString, response_deserializer=response_type.FromString
        )
        try:
            answer: Any = await self._calls.call(method, request)
        except Refused as refused:
            refused.command_id = command_id
            raise
        return Answer(answer.version, answer.duplicate)

    async def join(self, table: str, *, name: str = "", pin: str = "") -> Answer:
        """Take the next free seat before the start; ``name``: the session's where it is empty."""
        return await self.act(table, actions.Join(name), pin=pin)

    async def leave(self, table: str) -> Answer:
        """Get up before the start, or leave the game (CORE-LEAVE)."""
        return await self.act(table, actions.Leave())

    async def set_options(self, table: str, options: actions.SetOptions) -> Answer:
        """Change options before the start; the host."""
        return await self.act(table, options)

    async def set_pin(self, table: str, pin: str) -> Answer:
        """Set the PIN, or open the table with ""; the host."""
        request = lobby_pb2.SetPinRequest(table=table, command_id=names.fresh(), pin=pin)
        answer = await self._calls.call(self._stub.SetPin, request)
        return Answer(answer.version, answer.duplicate)

    async def add_bot(self, table: str, name: str = "") -> Answer:
        """Seat a bot before the start; the host."""
        return await self.act(table, actions.AddBot(name))

    async def remove(self, table: str, seat: int) -> Answer:
        """Remove a bot or somebody away; the host (TUB-REMOVE)."""
        return await self.act(table, actions.Remove(seat))

    async def contribute(self, table: str, text: str) -> Answer:
        """Add a text to what the dice are made of, before the start."""
        return await self.act(table, actions.Contribute(text))

    async def start(self, table: str) -> Answer:
        """Start the game; the host."""
        return await self.act(table, actions.Start())
