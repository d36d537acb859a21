"""What a hostile client does all day, in a process of its own: ``measure`` starts and stops it."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import os
import random
import sys
from collections.abc import Callable, Coroutine
from typing import Any

import grpc.aio

from omnipoly.runtime.failures import Failure
from omnipoly.wire.gen.gateway.v1 import play_pb2, sessions_pb2, watch_pb2
from omnipolyd.gateway import tokens
from tests.services.gateway.calling import PACKAGE, SLOW, Client
from tests.services.hostile import corpus, mutating
from tests.services.hostile.methods import RPCS

ENDED = (grpc.aio.AioRpcError, asyncio.InvalidStateError, Failure)
HELLO = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0\4\0\0\0\0\0"
SETTINGS_TAKEN = b"\0\0\0\4\1\0\0\0\0"
"""What a client of HTTP/2 says first, and to the server's settings (RFC 9113, 3.4 and 6.5)."""
NICE = 5
"""The attacker's computer is not the victim's: here it may have what is left of one."""

Attack = Callable[["Setup"], Coroutine[Any, Any, None]]


class Setup:
    """Whom it is done to."""

    def __init__(self, gateway: str, secret: str, tables: list[str]) -> None:
        self.gateway = gateway
        self._secret = secret
        self.tables = tables
        self.done = 0
        """What was done, in messages, calls or streams."""

    def client(self, person: str, **options: Any) -> Client:
        token = tokens.issue(self._secret, person, "Mallory", lifetime_s=3600)
        return Client(self.gateway, token, **options)

    def nobody(self) -> Client:
        """Somebody without a session, on a connection of their own."""
        return Client(self.gateway, "")


async def slow_readers(setup: Setup) -> None:
    """240 viewers of everybody's tables who read nothing."""
    streams = []
    for number in range(60):
        client = setup.client(f"oidc:slow{number}", **SLOW)
        for table in setup.tables:
            call = client.channel.unary_stream(f"/{PACKAGE}.WatchService/Watch")
            streams.append(call(watch_pb2.WatchRequest(table=table).SerializeToString(), metadata=client.metadata))
            setup.done += 1
    await asyncio.Event().wait()


async def half_open(setup: Setup) -> None:
    """2000 calls that never say what they ask, on ten connections."""
    calls: list[Any] = []
    for number in range(10):
        client = setup.client(f"oidc:half{number}")
        for _ in range(200):
            calls.append(client.channel.stream_unary(f"/{PACKAGE}.LobbyService/ListTables")(metadata=client.metadata))
            setup.done += 1
    await asyncio.Event().wait()


async def flood_of_commands(setup: Setup) -> None:
    """Eight streams and as many connections with calls, each as fast as it can."""

    async def on_a_stream(number: int) -> None:
        client = setup.client(f"oidc:flood{number % 2}")
        while True:
            with contextlib.suppress(*ENDED):
                stream = client.play()
                while True:
                    await stream.send(ask_legal=play_pb2.AskLegal(table=setup.tables[0]))
                    setup.done += 1

    async def in_calls(number: int) -> None:
        client = setup.client(f"oidc:calls{number % 2}")

        async def calling() -> None:
            while True:
                with contextlib.suppress(*ENDED):
                    await client.raw("LobbyService/ListTables", b"")
                setup.done += 1

        await asyncio.gather(*(calling() for _ in range(100)))

    await asyncio.gather(*(on_a_stream(number) for number in range(8)), *(in_calls(number) for number in range(8)))


async def flood_of_streams(setup: Setup) -> None:
    """Streams opened and dropped again, without end, on four connections."""

    async def opening(number: int) -> None:
        client = setup.client(f"oidc:open{number}")
        while True:
            with contextlib.suppress(*ENDED):
                stream = client.play().raw
                await stream.wait_for_connection()
                stream.cancel()
            setup.done += 1

    await asyncio.gather(*(opening(number) for number in range(4)))


async def odd_messages(setup: Setup) -> None:
    """The corpus and what becomes of it, at every RPC, on four connections."""
    rng = random.Random(os.getpid())
    rpcs = [rpc for rpc in RPCS.values() if not rpc.streams_in and not rpc.streams_out]
    known = {rpc.name: corpus.read(rpc.name) for rpc in rpcs}

    async def throwing(number: int) -> None:
        client = setup.client(f"oidc:odd{number}")
        while True:
            rpc = rng.choice(rpcs)
            data = mutating.told_apart(
                mutating.odd(rpc.request, rng, known[rpc.name]), rng.choice(setup.tables), "c" * 12, mutating.PERSON
            )
            with contextlib.suppress(*ENDED):
                await client.raw(f"{rpc.service}/{rpc.method}", data)
            setup.done += 1

    await asyncio.gather(*(throwing(number) for number in range(4) for _ in range(8)))


async def large_messages(setup: Setup) -> None:
    """Texts of 60 and of 250 thousand characters, on four connections."""

    async def throwing(number: int) -> None:
        client = setup.client(f"oidc:large{number}")
        large = [play_pb2.RollRequest(table=setup.tables[0], command_id="x" * size) for size in (60_000, 250_000)]
        while True:
            for request in large:
                with contextlib.suppress(*ENDED):
                    await client.raw("PlayService/Roll", request.SerializeToString())
                setup.done += 1

    await asyncio.gather(*(throwing(number) for number in range(4) for _ in range(4)))


async def flood_of_sign_ins(setup: Setup) -> None:
    """New guests, on sixteen connections, as fast as they are let in or refused."""

    async def signing_in(client: Client, number: int) -> None:
        for again in itertools.count():
            request = sessions_pb2.SignInGuestRequest(name="Mallory", request_id=f"{os.getpid()}-{number}-{again}")
            with contextlib.suppress(*ENDED):
                await client.raw("SessionsService/SignInGuest", request.SerializeToString())
            setup.done += 1

    clients = [setup.nobody() for _ in range(16)]
    await asyncio.gather(*(signing_in(client, 8 * i + j) for i, client in enumerate(clients) for j in range(8)))


async def idle_connections(setup: Setup) -> None:
    """600 connections that are held: every third without a word, the others ready for calls that never come. They
    answer no probe, and whatever the gateway closes is opened again."""
    host, _, port = setup.gateway.rpartition(":")

    async def holding(hello: bytes) -> None:
        while True:
            with contextlib.suppress(OSError):
                reader, writer = await asyncio.open_connection(host, int(port))
                setup.done += 1
                writer.write(hello)
                if hello and await reader.read(4096):
                    writer.write(SETTINGS_TAKEN)
                while await reader.read(4096):
                    pass
                writer.close()

    await asyncio.gather(*(holding(HELLO if number % 3 else b"") for number in range(600)))


ATTACKS: dict[str, Attack] = {
    "slow readers": slow_readers,
    "half-open calls": half_open,
    "flood of commands": flood_of_commands,
    "flood of streams": flood_of_streams,
    "odd messages": odd_messages,
    "large messages": large_messages,
    "flood of sign-ins": flood_of_sign_ins,
    "idle connections": idle_connections,
}


async def main() -> None:
    """One attack, told in a line of JSON; ends with its standard input, and says how much it did."""
    loop = asyncio.get_running_loop()
    given = json.loads(await loop.run_in_executor(None, sys.stdin.readline))
    setup = Setup(given["gateway"], given["secret"], given["tables"])
    attack = asyncio.create_task(ATTACKS[given["attack"]](setup))
    await loop.run_in_executor(None, sys.stdin.read)
    sys.stdout.write(json.dumps({"done": setup.done}) + "\n")
    sys.stdout.flush()
    attack.cancel()
    os._exit(0)  # thousands of calls are open: they end as those of somebody who has gone


if __name__ == "__main__":
    os.setpriority(os.PRIO_PROCESS, 0, NICE)
    asyncio.run(main())
