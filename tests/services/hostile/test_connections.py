"""Odd connections: what nobody's client library would do. Everybody else is served, and nothing is left over."""

from __future__ import annotations

import asyncio
import gc
import random
from collections.abc import AsyncIterator
from typing import Any

import grpc
import pytest

from omnipoly.runtime.failures import Failure, from_rpc_error
from omnipoly.wire.gen.gateway.v1 import lobby_pb2, play_pb2, sessions_pb2
from tests.services.conftest import MakeDatabase
from tests.services.gateway.calling import PACKAGE, Client, Stack, gateway, stack
from tests.services.hostile.http2 import Connection
from tests.services.waiting import eventually

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
SETTINGS = b"\0\0\0\x04\0\0\0\0\0"


@pytest.fixture(scope="module")
async def running(make_module_database: MakeDatabase, nats_url: str) -> AsyncIterator[Stack]:
    url = await make_module_database("omnipolyd.table.migrations")
    async with stack(url, nats_url, handshake_s=0.5, connection_calls_burst=10_000) as up:
        yield up


@pytest.fixture
async def ann(running: Stack) -> AsyncIterator[Client]:
    """Somebody who only wants to play."""
    async with running.client("guest:ann") as client:
        yield client
        await served(client)


async def served(client: Client) -> None:
    await client.call("Lobby/ListTables", lobby_pb2.ListTablesRequest())


async def connected(stack: Stack) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    host, _, port = stack.gateway.address.rpartition(":")
    return await asyncio.open_connection(host, int(port))


@pytest.mark.parametrize(
    "said",
    {
        "nothing": b"",
        "half a preface": PREFACE[:9],
        "a preface alone": PREFACE,
        "HTTP/1": b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
        "TLS": bytes.fromhex("16030100c8010000c40303"),
        "a frame too long": PREFACE + SETTINGS + b"\xff\xff\xff\0\0\0\0\0\1",
        "headers that are none": PREFACE + SETTINGS + b"\0\0\x08\x01\x04\0\0\0\1" + b"\xff" * 8,
        "noise": random.Random(7).randbytes(5000),
    }.items(),
    ids=lambda said: said[0],
)
async def test_what_is_no_http2_is_closed(running: Stack, ann: Client, said: tuple[str, bytes]) -> None:
    """Also who connects and says nothing, within the time for a handshake."""
    reader, writer = await connected(running)
    writer.write(said[1])
    async with asyncio.timeout(20):
        try:
            while await reader.read(65536):
                continue
        except ConnectionError:
            pass
        await served(ann)
    writer.close()


async def test_calls_that_never_say_what_they_ask(running: Stack, ann: Client) -> None:
    """Half-open: as many as a connection may have, on several connections; they go with their connections."""
    token = running.token("guest:half", guest=True)
    clients = [running.anonymous(token) for _ in range(5)]
    calls: list[Any] = []
    for client in clients:
        for number in range(200):
            method = f"/{PACKAGE}.LobbyService/ListTables" if number % 2 else f"/{PACKAGE}.WatchService/Watch"
            calls.append(client.channel.stream_stream(method)(metadata=client.metadata))
    await asyncio.gather(*(call.wait_for_connection() for call in calls[::50]))
    for _ in range(20):
        await served(ann)
    for client in clients:
        await client.channel.close(None)


async def test_streams_opened_and_dropped_at_once(running: Stack, ann: Client) -> None:
    """Thousands of them: nothing is kept of any."""
    async with running.client("oidc:hasty", guest=False) as hasty:
        table = await ann.create()
        for number in range(40):
            calls: list[Any] = []
            for _ in range(25):
                if number % 2:
                    stream = hasty.play().raw
                    await stream.wait_for_connection()
                    calls.append(stream)
                else:
                    calls.append(hasty.watch(table).raw)
            for call in calls:
                call.cancel()
        await served(ann)
    await eventually(lambda: not running.hub.streams)
    assert running.hub.rooms.find(table) is None
    assert not [one for one in running.hub.limits._persons.values() if one.streams]
    gc.collect()
    await eventually(lambda: len(asyncio.all_tasks()) < 200)


@pytest.mark.parametrize(
    "metadata",
    [
        (("authorization", ""),),
        (("authorization", "Bearer"),),
        (("authorization", "Bearer " + "x" * 5000),),
        (("authorization", "Basic YTpi"),),
        (("authorization", "Bearer a.b.c"),),
        (("authorization", "Bearer eyJhbGciOiJub25lIn0.eyJzdWIiOiJhIn0."),),
        (("authorization", "Bearer eyJhbGciOiJIUzI1NiIsImtpZCI6W119.e30.x"),),
    ],
    ids=lambda metadata: metadata[0][1][:24] or "empty",
)
async def test_sessions_that_are_none(running: Stack, ann: Client, metadata: tuple[tuple[str, str]]) -> None:
    ann.metadata, good = metadata, ann.metadata
    try:
        for method in ("LobbyService/ListTables", "PlayService/Roll", "AdminService/Grant"):
            with pytest.raises(Failure) as caught:
                await ann.raw(method, b"")
            assert caught.value.reason == "sign_in_required"
        failure = await ann.play().ended()
        assert failure is not None
        assert failure.reason == "sign_in_required"
    finally:
        ann.metadata = good


@pytest.mark.parametrize("value", ["", "x" * 900, "00-zz-zz-01", "00-" + "0" * 32 + "-" + "0" * 16 + "-00", "a,b;c=d"])
async def test_what_stands_beside_a_call_may_be_anything(running: Stack, ann: Client, value: str) -> None:
    odd = (("traceparent", value), ("x-forwarded-for", value), ("user-agent", value), ("odd-bin", value.encode()))
    good = ann.metadata
    ann.metadata = (*good, *odd, *odd)
    await served(ann)
    ann.metadata = good


async def test_metadata_without_end_is_refused_before_it_is_kept(running: Stack, ann: Client) -> None:
    call = ann.channel.unary_unary(f"/{PACKAGE}.LobbyService/ListTables")
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await call(b"", metadata=(*ann.metadata, *((f"x-{number}", "y" * 900) for number in range(100))))
    assert from_rpc_error(caught.value).status is grpc.StatusCode.RESOURCE_EXHAUSTED


async def test_methods_that_are_none(running: Stack, ann: Client) -> None:
    rng = random.Random(11)
    for path in ("/", "//", "/x", f"/{PACKAGE}.PlayService/", f"/{PACKAGE}.PlayService/../Play", "/a/b/c", "/%00/%ff"):
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await ann.channel.unary_unary(path)(rng.randbytes(20), metadata=ann.metadata, timeout=20)
        assert caught.value.code() is grpc.StatusCode.UNIMPLEMENTED


async def test_a_flood_of_requests_on_a_stream_waits_in_the_network(running: Stack, ann: Client) -> None:
    """Nobody's limits here: what is under way is bounded all the same, and each is answered."""
    table = await ann.create()
    stream = ann.play()
    await stream.follow(table)
    await stream.next("progress")
    (served_,) = running.hub.streams
    most = 0
    for number in range(700):
        await stream.send(ask_legal=play_pb2.AskLegal(table=table))
        most = max(most, len(served_.tasks))
        if number % 100 == 0:
            await served(ann)
    for _ in range(700):
        await stream.next("legal", "refused")
    assert most <= 256
    stream.raw.cancel()


async def test_what_is_not_read_stays_with_who_has_sent_it(running: Stack, nats_url: str) -> None:
    """However fast it comes; whatever else comes over the connection is answered."""
    request = play_pb2.PlayRequest(ask_legal=play_pb2.AskLegal(table="t")).SerializeToString()
    async with (
        gateway(running.table, nats_url, commands_per_second=0.01, commands_burst=1) as strict,
        strict.client("guest:ann") as ann,
    ):
        connection = await Connection.open(strict.gateway.address, strict.token("guest:hasty", guest=True))
        answers: list[bytes] = []
        stream = connection.start(f"/{PACKAGE}.PlayService/Play", None, answers.append, lambda _: None)
        said = 0
        for _ in range(200_000):
            connection.say(stream, request)
            said += 5 + len(request)
        await eventually(lambda: len(answers) >= 2)  # and for a while it is not read
        for _ in range(20):
            await ann.call("Sessions/GetServerInfo", sessions_pb2.GetServerInfoRequest())
            await connection.ask(f"/{PACKAGE}.SessionsService/GetServerInfo", b"")
        taken = said - sum(len(data) for _, data, _ in connection._waiting)
        assert taken <= 2 * 65_535
        connection.close()
