"""Games at a real table service, for the tests of the services around it: opened, scripted, driven."""

from __future__ import annotations

import itertools
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from google.protobuf.message import Message

from omnipoly.rules import actions as act
from omnipoly.runtime import app
from omnipoly.runtime.link import Link
from omnipoly.wire import actions
from omnipoly.wire.gen.game.v1 import script_pb2
from omnipoly.wire.gen.table.v1 import identity_pb2, table_pb2
from omnipolyd.table.config import TableSettings
from omnipolyd.table.service import TableService

MIGRATIONS = "omnipolyd.table.migrations"
TABLE = "/omnipoly.table.v1.TableService/"
ANN, BOB, CID = "guest:ann", "guest:bob", "guest:cid"
_numbers = itertools.count(1)


def new_id() -> str:
    """A command id that was not used before."""
    return f"c{next(_numbers)}"


def free_port() -> int:
    """A port that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def identity(person: str) -> identity_pb2.Identity:
    """Somebody whom a gateway has verified."""
    return identity_pb2.Identity(person=person, name=person.partition(":")[2] or person)


def acting(
    table: str, person: str, action: act.Action, *, command_id: str = "", throws: list[tuple[int, int]] | None = None
) -> table_pb2.ActRequest:
    """What a gateway hands on for one action."""
    request = table_pb2.ActRequest(
        table=table, identity=identity(person), action=actions.to_proto(action), command_id=command_id or new_id()
    )
    if throws:
        request.script.CopyFrom(script_pb2.Script(throws=[script_pb2.ScriptedThrow(dice=dice) for dice in throws]))
    return request


class Asking:
    """Calls of one service's methods over a link, as other services make them."""

    def __init__(self, address: str, service: str, messages: Any) -> None:
        self.link = Link(address)
        self._service = service
        self._messages = messages

    async def __call__(self, method: str, request: Message, timeout_s: float = 20) -> Any:
        body = await self.link.call(f"/{self._service}/{method}", request.SerializeToString(), timeout_s)
        return getattr(self._messages, f"{method}Response").FromString(body)

    async def close(self) -> None:
        await self.link.close()


class Tables:
    """A table service and the games at it."""

    def __init__(self, running: app.App) -> None:
        self.app = running
        self.address = running.address
        self.ask = Asking(running.address, "omnipoly.table.v1.TableService", table_pb2)
        self._revision = 0

    async def act(self, table: str, person: str, action: act.Action, **more: Any) -> table_pb2.ActResponse:
        answer: table_pb2.ActResponse = await self.ask("Act", acting(table, person, action, **more))
        return answer

    async def view(self, table: str) -> Any:
        return (await self.ask("Read", table_pb2.ReadRequest(table=table))).view

    async def head(self, table: str) -> Any:
        (head,) = (await self.ask("Heads", table_pb2.HeadsRequest(tables=[table]))).heads
        return head

    async def advance(self, table: str, by_ms: int) -> None:
        """Lets time pass at a table."""
        request = table_pb2.AdvanceRequest(table=table, identity=identity("admin"), command_id=new_id())
        request.by.FromMilliseconds(by_ms)
        await self.ask("Advance", request)

    async def open(self, edition: str = "tubbypoly", persons: tuple[str, ...] = (ANN, BOB, CID)) -> str:
        """A table whose clock stands still unless moved, with these persons in its lobby; the first is the host."""
        request = table_pb2.OpenRequest(identity=identity(persons[0]), command_id=new_id(), edition=edition, dev=True)
        table = str((await self.ask("Open", request)).table)
        for person in persons[1:]:
            await self.act(table, person, act.Join(""))
        return table

    async def start(self, edition: str = "tubbypoly") -> str:
        """A game of three whose first turn is Ann's, who throws."""
        table = await self.open(edition)
        await self.act(table, ANN, act.Start())
        if edition == "tubbypoly":
            for person, dice in ((ANN, (6, 5)), (BOB, (4, 3)), (CID, (2, 1))):
                await self.act(table, person, act.Roll(), throws=[dice])
        return table

    async def real(self) -> str:
        """A game of three whose clocks run by themselves: all throw for the order, each within 45 s."""
        request = table_pb2.OpenRequest(identity=identity(ANN), command_id=new_id(), edition="tubbypoly")
        table = str((await self.ask("Open", request)).table)
        for person in (BOB, CID):
            await self.act(table, person, act.Join(""))
        await self.act(table, ANN, act.Start())
        return table

    async def close(self, table: str, person: str = ANN) -> int:
        """Somebody closes their connection: 2 s are left of their decision. The table's version."""
        self._revision += 1
        request = table_pb2.ReportRequest(table=table, revision=self._revision)
        request.persons.add(person=person, status=table_pb2.PersonPresence.STATUS_CLOSED)
        return int((await self.ask("Report", request)).version)

    async def auction(self, table: str, dice: tuple[int, int] = (1, 2)) -> None:
        """The one whose turn it is throws, reaches a lot and declines it: an auction runs."""
        view = await self.view(table)
        person = view.seats[view.turn].holder
        await self.act(table, person, act.Roll(), throws=[dice])
        await self.act(table, person, act.Decline())


@asynccontextmanager
async def table_service(database_url: str, nats_url: str, *, port: int = 0) -> AsyncIterator[Tables]:
    """A table service whose clocks can be driven."""
    settings = TableSettings(database_url=database_url, nats_url=nats_url, port=port, dev=True, open_tables=1000)
    async with app.running(TableService(settings)) as running:
        tables = Tables(running)
        yield tables
        await tables.ask.close()
