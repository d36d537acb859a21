"""A gateway and a table service in one loop, and clients that speak the contract to it, message by message."""

from __future__ import annotations

import asyncio
import itertools
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Self

import grpc
import grpc.aio
from google.rpc import error_details_pb2, status_pb2

from omnipoly.rules import actions as act
from omnipoly.rules.actions import Action
from omnipoly.runtime import app, server
from omnipoly.runtime.failures import Failure, from_rpc_error, from_status
from omnipoly.wire import actions, calls
from omnipoly.wire.gen.gateway.v1 import (
    chat_pb2,
    dev_pb2,
    lobby_pb2,
    play_pb2,
    sessions_pb2,
    stream_pb2,
    trades_pb2,
    watch_pb2,
)
from omnipolyd.gateway import tokens
from omnipolyd.gateway.config import GatewaySettings
from omnipolyd.gateway.service import GatewayService
from omnipolyd.table.config import TableSettings
from omnipolyd.table.service import TableService

SECRET = "a secret that only these tests have: 44 char."
PACKAGE = "omnipoly.gateway.v1"
MODULES = {
    "Sessions": sessions_pb2,
    "Lobby": lobby_pb2,
    "Play": play_pb2,
    "Chat": chat_pb2,
    "Trades": trades_pb2,
    "Watch": watch_pb2,
    "Dev": dev_pb2,
}
WITHIN_S = 20.0
SLOW = {"grpc.http2.bdp_probe": 0, "grpc.http2.lookahead_bytes": 16 * 1024}
"""Options of a channel that takes little in before it is read: a reader that stalls is felt soon."""
_numbers = itertools.count(1)


def unique_id(prefix: str = "g") -> str:
    """A command id that no other test has, those of the table service included, whose begin with a c."""
    return f"{prefix}{next(_numbers)}"


class Stack:
    """What runs."""

    def __init__(self, table: app.App, gateway: app.App, service: GatewayService) -> None:
        self.table = table
        self.gateway = gateway
        self.service = service

    @property
    def hub(self) -> Any:
        """The gateway's insides."""
        return self.service.hub

    def token(self, person: str = "oidc:ann", name: str = "Ann", *, guest: bool = False, **more: Any) -> str:
        """A session's token."""
        more.setdefault("lifetime_s", 3600)
        return tokens.issue(SECRET, person, name, guest=guest, **more)

    def client(self, person: str = "guest:ann", *, guest: bool = True, slow: bool = False, **more: Any) -> Client:
        """A client with a session of its own."""
        token = self.token(person, person.partition(":")[2].title(), guest=guest, **more)
        return Client(self.gateway.address, token, **(SLOW if slow else {}))

    def anonymous(self, token: str = "") -> Client:
        """A client with that token, or without one."""
        return Client(self.gateway.address, token)


@asynccontextmanager
async def stack(
    database_url: str, nats_url: str, *, table: dict[str, Any] | None = None, **settings: Any
) -> AsyncIterator[Stack]:
    """A table service and a gateway before it."""
    shared = {"port": 0, "nats_url": nats_url, "drain_s": 10, "reflection": False}
    tables = TableSettings(database_url=database_url, **{**shared, "dev": True, "open_tables": 1000, **(table or {})})
    async with app.running(TableService(tables)) as table_app, gateway(table_app, nats_url, **settings) as stack:
        yield stack


@asynccontextmanager
async def gateway(table: app.App, nats_url: str, **settings: Any) -> AsyncIterator[Stack]:
    """A gateway before a table service that runs."""
    given: dict[str, Any] = {
        "port": 0,
        "nats_url": nats_url,
        "table_addr": table.address,
        "session_key": SECRET,
        "drain_s": 10,
        "reflection": False,
        "dev": True,
        "reconnect_within_s": 0,
        "commands_per_second": 10_000,
        "commands_burst": 10_000,
    }
    service = GatewayService(GatewaySettings(**{**given, **settings}))
    async with app.running(service) as running:
        await running.bus.wait_connected(WITHIN_S)
        yield Stack(table, running, service)


class Client:
    """One channel and one session."""

    def __init__(self, address: str, token: str, *, ca: Path | None = None, name: str = "", **options: Any) -> None:
        """ca, name: over TLS, of a gateway whose certificate bears that name."""
        self.token = token
        self.metadata = (("authorization", f"Bearer {token}"),) if token else ()
        # The least pause between two attempts to connect is also what an attempt gets: many connect at once here.
        given = {**dict(server.channel_options()), "grpc.min_reconnect_backoff_ms": 20_000, **options}
        arguments: Any = [("grpc.use_local_subchannel_pool", 1), *given.items()]
        if ca is None:
            self.channel = grpc.aio.insecure_channel(address, arguments)
        else:
            arguments.append(("grpc.ssl_target_name_override", name))
            self.channel = grpc.aio.secure_channel(address, grpc.ssl_channel_credentials(ca.read_bytes()), arguments)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.channel.close(None)

    async def raw(self, method: str, data: bytes, timeout_s: float | None = WITHIN_S) -> bytes:
        """A plain call of bytes; ``method`` without the package: ``LobbyService/Join``. Raises ``Failure``."""
        call = self.channel.unary_unary(f"/{PACKAGE}.{method}")
        try:
            return bytes(await call(data, metadata=self.metadata, timeout=timeout_s))
        except grpc.aio.AioRpcError as error:
            raise from_rpc_error(error) from None

    async def call(self, method: str, request: Any, timeout_s: float | None = WITHIN_S) -> Any:
        """A plain call; ``method`` without package and "Service": ``Lobby/Join``. Raises ``Failure``."""
        service, _, name = method.partition("/")
        data = await self.raw(f"{service}Service/{name}", request.SerializeToString(), timeout_s)
        return getattr(MODULES[service], f"{name}Response").FromString(data)

    async def create(self, edition: str = "tubbypoly", **more: Any) -> str:
        """Opens a table; its id."""
        request = lobby_pb2.CreateTableRequest(request_id=unique_id("r"), edition=edition, **more)
        return str((await self.call("Lobby/CreateTable", request)).table)

    async def act(self, table: str, action: Action, *, command_id: str = "", pin: str = "", **more: Any) -> Any:
        """An action as its plain call."""
        call = calls.CALLS[act.kind_of(action)]
        request = calls.to_request(action, table, command_id or unique_id(), **more)
        if pin:
            request.pin = pin
        data = await self.raw(call.path.removeprefix(f"/{PACKAGE}."), request.SerializeToString())
        return call.response.FromString(data)

    async def view(self, table: str, **more: Any) -> Any:
        """A table's picture."""
        return (await self.call("Lobby/GetTable", lobby_pb2.GetTableRequest(table=table, **more))).view

    def play(self) -> Playing:
        """A ``Play`` stream."""
        return Playing(self.channel.stream_stream(f"/{PACKAGE}.PlayService/Play")(metadata=self.metadata))

    def watch(self, table: str, **more: Any) -> Watching:
        """A ``Watch`` stream."""
        request = watch_pb2.WatchRequest(table=table, **more)
        call = self.channel.unary_stream(f"/{PACKAGE}.WatchService/Watch")
        return Watching(call(request.SerializeToString(), metadata=self.metadata))


class Watching:
    """A stream being read."""

    response: Any = watch_pb2.WatchResponse

    def __init__(self, call: Any) -> None:
        self.raw = call
        self.heard: list[bytes] = []
        """All that came, as it came."""
        self._along: deque[Any] = deque()

    async def read(self) -> Any:
        """The next message; None at the end. Raises ``Failure`` when the stream ends with one."""
        if self._along:
            return self._along.popleft()
        async with asyncio.timeout(WITHIN_S):
            try:
                data = await self.raw.read()
            except grpc.aio.AioRpcError as error:
                raise from_rpc_error(error) from None
            if data is server.EOF:
                return None
            self.heard.append(data)
            message = self.response.FromString(data)
            self._along.extend(message.along)
            return message

    async def next(self, *kinds: str) -> Any:
        """The next message of one of these kinds, or any: the member itself. Others are passed over."""
        async with asyncio.timeout(WITHIN_S):
            while True:
                message = await self.read()
                assert message is not None, f"the stream ended before {kinds}"
                kind = message.WhichOneof("response")
                if not kinds or kind in kinds:
                    return getattr(message, kind)

    async def kinds_until(self, last: str) -> list[str]:
        """The kinds of what comes, up to the first of that kind."""
        kinds: list[str] = []
        while not kinds or kinds[-1] != last:
            message = await self.read()
            assert message is not None, f"the stream ended after {kinds}"
            kinds.append(str(message.WhichOneof("response")))
        return kinds

    async def up_to(self, version: int) -> list[Any]:
        """The commits that come next, up to that version."""
        commits = []
        while not commits or commits[-1].version < version:
            commits.append(await self.next("commit"))
        return commits

    async def ended(self) -> Failure | None:
        """How it ends, whatever comes before."""
        try:
            async with asyncio.timeout(WITHIN_S):
                while await self.read() is not None:
                    continue
        except Failure as failure:
            return failure
        return None


class Playing(Watching):
    """A ``Play`` stream being read and written."""

    response: Any = play_pb2.PlayResponse

    async def send(self, **request: Any) -> None:
        """Writes a request. Raises ``Failure`` when the stream has ended with one."""
        try:
            await self.raw.write(play_pb2.PlayRequest(**request).SerializeToString())
        except grpc.aio.AioRpcError as error:
            raise from_rpc_error(error) from None

    async def follow(self, table: str, resume: stream_pb2.Resume | None = None) -> None:
        """Asks to follow a table."""
        await self.send(follow=play_pb2.Follow(table=table, resume=resume))

    async def send_act(self, table: str, action: Action, *, command_id: str = "", **more: Any) -> str:
        """Acts; the command id."""
        command_id = command_id or unique_id()
        request = play_pb2.Act(table=table, command_id=command_id, action=actions.to_proto(action), **more)
        await self.send(act=request)
        return command_id

    async def act(self, table: str, action: Action, *, command_id: str = "", **more: Any) -> Any:
        """Acts; the answer, ``accepted`` or ``refused``. What comes before it is passed over."""
        command_id = await self.send_act(table, action, command_id=command_id, **more)
        while True:
            answer = await self.next("accepted", "refused")
            if answer.command_id == command_id:
                return answer

    async def refused(self, table: str, action: Action, **more: Any) -> Failure:
        """The refusal of an action."""
        answer = await self.act(table, action, **more)
        assert isinstance(answer, play_pb2.Refused), f"{action} was accepted"
        return from_status(answer.status)

    async def close(self) -> None:
        """Half-closes, as somebody does who means to leave."""
        await self.raw.done_writing()


async def game(*clients: Client, edition: str = "tubbypoly", **more: Any) -> str:
    """A table where these play, the first of them its host; its id. The game has begun, and everybody throws."""
    host = clients[0]
    table = await host.create(edition, **more)
    for client in clients[1:]:
        await client.act(table, act.Join(""))
    await host.act(table, act.Start())
    return table


def retry_after_ms(status: status_pb2.Status) -> int:
    """What RetryInfo says; -1: there is none."""
    info = error_details_pb2.RetryInfo()
    for detail in status.details:
        if detail.Unpack(info):
            return info.retry_delay.ToMilliseconds()
    return -1
