"""The whole platform in one loop, people at a table of it, and the throwing of messages at its public face."""

from __future__ import annotations

import asyncio
import itertools
import random
import uuid
from collections.abc import AsyncIterator, Iterable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any, NamedTuple

import grpc
from google.protobuf.message import DecodeError

from omnipoly.rules import actions as act
from omnipoly.runtime import app, metrics
from omnipoly.runtime.failures import Failure, from_rpc_error, from_status
from omnipoly.runtime.server import EOF
from omnipoly.wire.gen.gateway.v1 import play_pb2, watch_pb2
from omnipolyd.auction.config import AuctionSettings
from omnipolyd.auction.service import AuctionService
from omnipolyd.gateway.checks import MESSAGE_BYTES
from omnipolyd.presence.config import PresenceSettings
from omnipolyd.presence.service import PresenceService
from omnipolyd.table.config import TableSettings
from omnipolyd.table.service import TableService
from omnipolyd.trade.config import TradeSettings
from omnipolyd.trade.service import TradeService
from tests.services.gateway.calling import Client, Stack, game, gateway
from tests.services.hostile import mutating
from tests.services.hostile.methods import RPCS, Rpc, fault_in

WITHIN_S = 30.0
AT_ONCE = 16
ON_ONE_STREAM = 12
EVENING = 400
"""Messages after which there is another table with other people at it: the old one is in whatever state."""
CLIENTS_OWN = "Internal error from Core"
"""What the client library makes of a write to a stream that ends at that very moment: no answer of the server's."""
_numbers = itertools.count(1)


class Fault(NamedTuple):
    """An answer that no client may get."""

    rpc: str
    message: bytes
    what: str


class Evening(NamedTuple):
    """A table and those who throw messages about it."""

    table: str
    people: tuple[Client, ...]

    async def close(self) -> None:
        for client in self.people:
            await client.channel.close(None)


@asynccontextmanager
async def platform(database_url: str, nats_url: str, **settings: Any) -> AsyncIterator[Stack]:
    """Table, auction, trade, presence and gateway; the gateway's limits do not bound what is thrown."""
    shared: dict[str, Any] = {"port": 0, "nats_url": nats_url, "reflection": False}
    async with AsyncExitStack() as up:
        tables = TableSettings(
            database_url=database_url, dev=True, open_tables=1_000_000, chat_lines_per_second=1000, **shared
        )
        table = await up.enter_async_context(app.running(TableService(tables)))
        shared["table_addr"] = table.address
        bucket = f"presence_{uuid.uuid4().hex}"
        others = {
            "auction_addr": AuctionService(AuctionSettings(bids_per_second=1e6, bids_burst=1_000_000, **shared)),
            "trade_addr": TradeService(TradeSettings(repeats_for_s=0, **shared)),
            "presence_addr": PresenceService(PresenceSettings(presence_bucket=bucket, **shared)),
        }
        addresses = {name: (await up.enter_async_context(app.running(one))).address for name, one in others.items()}
        given: dict[str, Any] = {
            "streams_per_identity": 1000,
            "sign_ins_per_second": 1e6,
            "sign_ins_burst": 1_000_000,
            "guests_watch": True,
            "connection_calls_per_second": 1e6,
            "connection_calls_burst": 1_000_000,
        }
        yield await up.enter_async_context(gateway(table, nats_url, **addresses, **{**given, **settings}))


class Thrower:
    """Throws messages at the public RPCs, as several people, and looks at every answer."""

    def __init__(self, stack: Stack, rng: random.Random) -> None:
        self.stack = stack
        self.rng = rng
        self.thrown = 0
        self.faults: list[Fault] = []
        self.statuses: dict[str, int] = {}
        self._evening: Evening | None = None
        self._over: list[Evening] = []
        """Of whom somebody may still wait for an answer."""
        self._left = 0
        self._lock = asyncio.Lock()
        self._crashes = crashes()

    async def evening(self) -> Evening:
        """The present table; another one when this one has had enough."""
        async with self._lock:
            self._left -= 1
            if self._evening is None or self._left < 0 or (self._left % 50 == 0 and not await self._usable()):
                await self._begin()
            assert self._evening is not None
            return self._evening

    async def _usable(self) -> bool:
        assert self._evening is not None
        try:
            view = await self._evening.people[0].view(self._evening.table)
        except Failure:
            return False
        return not view.ended and not view.HasField("frozen")

    async def _begin(self) -> None:
        if self._evening is not None:
            self._over.append(self._evening)
        number, stack = next(_numbers), self.stack
        host, other = (stack.client(f"guest:{name}{number}-{uuid.uuid4().hex[:8]}") for name in ("host", "other"))
        people = (
            host,
            other,
            host,
            other,
            stack.client(f"oidc:viewer{number}", guest=False),
            stack.client(f"oidc:root{number}", guest=False, roles=["admin"]),
            stack.anonymous(),
        )
        edition = self.rng.choice(("tubbypoly", "laspoly", "rugpull", "globopoly/classic"))
        if self.rng.random() < 0.3:
            table = await host.create(edition)
            await other.act(table, act.Join(""))
        else:
            table = await game(host, other, edition=edition)
        self._evening, self._left = Evening(table, people), EVENING

    async def close(self) -> None:
        """Sends everybody home."""
        if self._evening is not None:
            self._over.append(self._evening)
            self._evening = None
        await self._send_home()

    async def _send_home(self) -> None:
        while self._over:
            await self._over.pop().close()

    async def all_of(self, rpc: Rpc, messages: Iterable[bytes]) -> None:
        """Throws these at an RPC, several at once."""
        waiting = iter(messages)
        size = ON_ONE_STREAM if rpc.streams_in else 1

        async def throwing() -> None:
            while some := list(itertools.islice(waiting, size)):
                await self.throw(rpc, some)

        await asyncio.gather(*(throwing() for _ in range(AT_ONCE)))
        await self._send_home()

    async def throw(self, rpc: Rpc, messages: list[bytes]) -> None:
        """Throws messages at an RPC; more than one only where it takes a stream."""
        evening = await self.evening()
        ready = [
            mutating.told_apart(message, evening.table, f"c{next(_numbers):011d}", f"oidc:{next(_numbers):032x}")
            for message in messages
        ]
        client = self.rng.choice(evening.people)
        if rpc.method in ("SetUp", "Advance"):
            client = evening.people[0]
        self.thrown += len(ready)
        try:
            async with asyncio.timeout(WITHIN_S):
                if rpc.streams_in:
                    await self._stream(rpc, client, ready)
                elif rpc.streams_out:
                    await self._watch(rpc, client, ready[0])
                else:
                    await self._call(rpc, client, ready[0])
        except TimeoutError:
            self.faults.append(Fault(rpc.name, b"|".join(ready), f"no answer within {WITHIN_S} s"))

    def _look(self, rpc: Rpc, message: bytes, failure: Failure | None) -> None:
        status, reason = (failure.status, failure.reason) if failure is not None else (grpc.StatusCode.OK, "")
        key = f"{status.name} {reason}".strip()
        self.statuses[key] = self.statuses.get(key, 0) + 1
        fault = fault_in(status, reason)
        if fault:
            assert failure is not None
            self.faults.append(Fault(rpc.name, message, f"{fault}: {failure.sentence}"))

    async def _call(self, rpc: Rpc, client: Client, message: bytes) -> None:
        try:
            rpc.response.FromString(await client.raw(f"{rpc.service}/{rpc.method}", message, WITHIN_S))
        except Failure as failure:
            self._look(rpc, message, failure)
        else:
            self._look(rpc, message, None)

    async def _watch(self, rpc: Rpc, client: Client, message: bytes) -> None:
        call = client.channel.unary_stream(rpc.path)(message, metadata=client.metadata)
        try:
            data = await call.read()
            if data is not EOF:
                watch_pb2.WatchResponse.FromString(data)
        except grpc.aio.AioRpcError as error:
            self._look(rpc, message, from_rpc_error(error))
        else:
            self._look(rpc, message, None)
        finally:
            call.cancel()

    async def _stream(self, rpc: Rpc, client: Client, messages: list[bytes]) -> None:
        call = client.channel.stream_stream(rpc.path)(metadata=client.metadata)
        messages.sort(key=_ends_the_stream)
        try:
            for message in messages:
                await call.write(message)
            await call.done_writing()
            while (data := await call.read()) is not EOF:
                response = play_pb2.PlayResponse.FromString(data)
                for one in (response, *response.along):
                    if one.WhichOneof("response") == "refused":
                        self._look(rpc, b"|".join(messages), from_status(one.refused.status))
                    else:
                        self._look(rpc, b"", None)
        except grpc.aio.AioRpcError as error:
            if error.details() != CLIENTS_OWN:
                self._look(rpc, messages[-1], from_rpc_error(error))
        except asyncio.InvalidStateError:
            self._look(rpc, messages[-1], None)  # written to a stream that has ended: of who has no session

    async def still_well(self) -> None:
        """Fails unless everything serves, and a game can be played, and nothing has crashed."""
        assert crashes() == self._crashes, "a background task has crashed"
        ann, bob = (self.stack.client(f"guest:{name}-{uuid.uuid4().hex[:8]}") for name in ("ann", "bob"))
        async with ann, bob:
            table = await game(ann, bob, edition="rugpull")
            stream = ann.play()
            await stream.follow(table)
            await stream.next("prompt")
            assert (await stream.act(table, act.Roll())).version > 3
            stream.raw.cancel()


def _ends_the_stream(message: bytes) -> bool:
    """Whether no other message is taken after this one."""
    try:
        RPCS["PlayService.Play"].request.FromString(message)
    except DecodeError:
        return True
    return len(message) > MESSAGE_BYTES


def crashes() -> float:
    """How often background tasks have crashed in this process."""
    return sum(sample.value for family in metrics.TASK_CRASHES.collect() for sample in family.samples)
