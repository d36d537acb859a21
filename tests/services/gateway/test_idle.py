"""Connections without a call are closed; nobody who has one notices."""

from __future__ import annotations

import asyncio

from omnipoly.runtime.server import server_options
from omnipoly.wire.gen.gateway.v1 import lobby_pb2, sessions_pb2
from omnipolyd.gateway.config import GatewaySettings
from omnipolyd.table.config import TableSettings
from tests.services.gateway.calling import PACKAGE, Stack, gateway
from tests.services.hostile.http2 import Connection
from tests.services.waiting import eventually

IDLE_S = 0.2
INFO = f"/{PACKAGE}.SessionsService/GetServerInfo"


def test_the_gateways_are_after_five_minutes_and_those_among_services_never() -> None:
    name = "grpc.max_connection_idle_ms"
    assert dict(server_options(GatewaySettings(), 1))[name] == 300_000
    assert name not in dict(server_options(GatewaySettings(max_connection_idle_s=0), 1))
    assert name not in dict(server_options(TableSettings(), 1))


async def test_a_connection_without_a_call_is_closed_and_one_with_a_stream_is_not(
    running: Stack, nats_url: str, unique: str
) -> None:
    async with gateway(running.table, nats_url, max_connection_idle_s=IDLE_S) as hasty:
        silent = await Connection.open(hasty.gateway.address)
        asked = await Connection.open(hasty.gateway.address)
        await asked.ask(INFO, b"")
        async with hasty.client(f"guest:ann-{unique}") as ann:
            table = await ann.create()
            stream = ann.play()
            await stream.follow(table)
            await stream.next("progress")
            await eventually(lambda: silent.closed and asked.closed)
            await stream.follow(table)  # over the connection that was there before those
            await stream.next("progress")
            assert len(hasty.hub.streams) == 1
            stream.raw.cancel()


async def test_who_calls_just_when_a_connection_is_closed_is_answered(
    running: Stack, nats_url: str, unique: str
) -> None:
    async with (
        gateway(running.table, nats_url, max_connection_idle_s=IDLE_S / 4) as hasty,
        hasty.client(f"guest:ann-{unique}") as ann,
    ):
        first = await Connection.open(hasty.gateway.address)
        for number in range(12):
            await ann.call("Sessions/GetServerInfo", sessions_pb2.GetServerInfoRequest())
            other = await Connection.open(hasty.gateway.address)  # closed at about the same moment as the client's
            await eventually(lambda other=other: other.closed)
            if number % 2:
                await asyncio.gather(*(ann.call("Lobby/ListTables", lobby_pb2.ListTablesRequest()) for _ in range(5)))
        assert first.closed
