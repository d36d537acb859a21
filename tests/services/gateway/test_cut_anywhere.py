"""A connection is cut at every point of a command's way. Whoever goes to another gateway with what they had, and asks
again under the same id, has it done once, and is shown exactly what they missed, in order."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any, NamedTuple

import pytest

from omnipoly.rules import actions as act
from omnipoly.runtime.failures import Failure
from omnipoly.wire.gen.gateway.v1 import play_pb2, stream_pb2, watch_pb2
from tests.services.conftest import MakeDatabase
from tests.services.gateway.calling import Client, Playing, Stack, gateway, stack, unique_id
from tests.services.proxy import Cut, Proxy, Way

POINTS = [
    (where, way, cut)
    for where, way in (
        ("act at the client", Way.THERE),
        ("commit at the client", Way.BACK),
        ("answer at the client", Way.BACK),
        ("act at the table", Way.THERE),
        ("answer of the table", Way.BACK),
        ("append", Way.THERE),
    )
    for cut in Cut
]


class Lines(NamedTuple):
    """Two gateways before one table service; every line of the first one's can be cut."""

    client: Proxy
    """Between a client and the first gateway."""
    table: Proxy
    """Between the first gateway and the table."""
    database: Proxy
    """Between the table and Postgres."""
    first: Stack
    other: Stack

    def at(self, where: str) -> Proxy:
        if where == "append":
            return self.database
        return self.client if where.endswith("client") else self.table


@pytest.fixture(scope="module")
async def lines(make_module_database: MakeDatabase, nats_url: str) -> AsyncIterator[Lines]:
    url = await make_module_database("omnipolyd.table.migrations")
    async with (
        Proxy(url) as database,
        stack(database.url, nats_url) as other,
        Proxy(f"tcp://{other.table.address}") as table,
        gateway(other.table, nats_url, table_addr=table.address) as first,
        Proxy(f"tcp://{first.gateway.address}") as client,
    ):
        yield Lines(client, table, database, first, other)


class Seen:
    """What somebody was shown of a table, over all their streams."""

    def __init__(self) -> None:
        self.versions: list[int] = []
        self.bodies: list[bytes] = []
        self.epoch = 0
        self.pictures = 0
        self.accepted: dict[str, int] = {}

    def take(self, message: Any) -> str:
        """Takes a message in; its kind."""
        kind = str(message.WhichOneof("response"))
        if kind == "commit":
            self.versions.append(message.commit.version)
            self.bodies.append(message.commit.SerializeToString())
            self.epoch = message.commit.epoch
        elif kind == "snapshot":
            self.pictures += 1
            self.versions.append(message.snapshot.view.version)
            self.epoch = message.snapshot.resume.epoch
        elif kind == "accepted":
            self.accepted[message.accepted.command_id] = message.accepted.version
        return kind

    async def until(self, stream: Playing, *kinds: str) -> str:
        """Reads on until such a message, or the end; its kind, empty at the end."""
        with contextlib.suppress(Failure):
            while (message := await stream.read()) is not None:
                if (kind := self.take(message)) in kinds:
                    return kind
        return ""


def marker(where: str, command_id: str, table: str) -> bytes:
    if where == "answer at the client":
        return play_pb2.Accepted(command_id=command_id, table=table).SerializeToString()
    return command_id.encode()


@pytest.mark.parametrize(("where", "way", "cut"), POINTS, ids=lambda given: getattr(given, "value", given))
async def test_a_connection_that_is_cut(lines: Lines, unique: str, where: str, way: Way, cut: Cut) -> None:
    token = lines.other.token(f"guest:ann-{unique}", "Ann", guest=True)
    async with (
        Client(lines.client.address, token) as ann,
        Client(lines.other.gateway.address, token) as ann_elsewhere,
        lines.other.client(f"guest:bob-{unique}") as bob,
    ):
        table = await ann_elsewhere.create()
        seen = Seen()
        stream = ann.play()
        await stream.follow(table)
        assert await seen.until(stream, "progress")
        before = seen.versions[-1]

        command_id = unique_id("to-be-cut-")
        trap = lines.at(where).cut_at(marker(where, command_id, table), cut, way)
        with contextlib.suppress(Failure, asyncio.InvalidStateError):
            await stream.send_act(table, act.SetOptions(round_limit=5), command_id=command_id)
        await seen.until(stream, "accepted", "refused")
        async with asyncio.timeout(20):
            await trap.done.wait()

        await bob.act(table, act.Join("Bob"))
        await bob.act(table, act.Leave())
        stream.raw.cancel()
        again = ann_elsewhere.play()
        await again.follow(table, stream_pb2.Resume(epoch=seen.epoch, version=seen.versions[-1]))
        await again.send_act(table, act.SetOptions(round_limit=5), command_id=command_id)
        assert await seen.until(again, "accepted", "refused") == "accepted"
        last = await ann_elsewhere.act(table, act.SetOptions(round_limit=6))
        while seen.versions[-1] < last.version:
            assert await seen.until(again, "commit")

        page = await ann_elsewhere.call("Watch/History", watch_pb2.HistoryRequest(table=table))
        log = [commit.SerializeToString() for commit in page.commits]
        done = [commit.version for commit in page.commits if commit.command_id == command_id]
        assert len(done) == 1
        assert seen.accepted[command_id] == done[0]
        assert last.version == len(log) == before + 4
        assert seen.pictures == 1
        assert seen.versions == list(range(before, last.version + 1))
        assert seen.bodies == log[before:]
