"""The floor: the same hops as a command's with no game in them, as bare as Python makes them.

A two-way stream of a client → frames over one two-way stream between two processes → the product's own append
statement, fsync on → one NATS publish that is not awaited → the bytes written to every stream of that table.

    python -m tests.load.bench.floor table DATABASE_URL NATS_URL
    python -m tests.load.bench.floor gateway TABLE_ADDRESS
    python -m tests.load.bench.floor watch NATS_URL          the bare server stream of B-FANOUT
"""

from __future__ import annotations

import asyncio
import gc
import json
import os
import sys
import traceback
from collections import deque
from collections.abc import Coroutine
from datetime import UTC, datetime
from typing import Any

import asyncpg
import grpc
import grpc.aio
import nats

from omnipoly.wire.gen.link.v1 import link_pb2
from omnipolyd.table.store import Entry, Store

BODY = b"c" * 220
"""As many bytes as a commit of the product has on average."""
BATCH = 256
OPTIONS = [("grpc.max_concurrent_streams", 10_000), ("grpc.so_reuseport", 0)]
HEAD = """
WITH kept AS (INSERT INTO editions (digest, edition, body) VALUES ('', '', '') ON CONFLICT DO NOTHING)
INSERT INTO heads (
    table_id, version, epoch, status, edition, digest, opener, opened_at, summary, host, persons, free_seats
) VALUES ($1, 1, 1, 1, '', '', '', now(), '', '', '{}', false)
"""
EOF: Any = grpc.aio.EOF  # type: ignore[attr-defined]


def _begin(work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
    """A task; a fault in it ends the process, so that no figure is made of a floor that stands still."""
    task = asyncio.create_task(work)

    def ended(done: asyncio.Task[None]) -> None:
        if not done.cancelled() and (error := done.exception()) is not None:
            traceback.print_exception(error)
            os._exit(1)

    task.add_done_callback(ended)
    return task


class Writer:
    """A queue and one writer: what waits goes out as it came."""

    def __init__(self, write: Any) -> None:
        self._write = write
        self.waiting: deque[bytes] = deque()
        self._wake = asyncio.Event()

    def put(self, data: bytes) -> None:
        self.waiting.append(data)
        self._wake.set()

    async def run(self) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            while self.waiting:
                await self._write(self.waiting.popleft())


class Frames:
    """Items that wait leave together in one frame the moment the last write returns."""

    def __init__(self, write: Any, kind: Any) -> None:
        self._write = write
        self._kind = kind
        self._items: list[Any] = []
        self._wake = asyncio.Event()

    def put(self, item: Any) -> None:
        self._items.append(item)
        self._wake.set()

    async def run(self) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            while self._items:
                items, self._items = self._items[:BATCH], self._items[BATCH:]
                await self._write(self._kind(items=items).SerializeToString())


class Log:
    """The product's append for all that waits, the next the moment it returns."""

    def __init__(self, connection: Any, bus: Any) -> None:
        self._connection = connection
        self._bus = bus
        self._store = Store(connection)  # for its append alone, which is given the connection
        self._versions: dict[str, int] = {}
        self._waiting: list[tuple[str, Any, int]] = []
        self._wake = asyncio.Event()

    def append(self, table: str, answers: Frames, call: int) -> None:
        self._waiting.append((table, answers, call))
        self._wake.set()

    async def run(self) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            while self._waiting:
                batch, self._waiting = self._waiting[:BATCH], self._waiting[BATCH:]
                await self._write(batch)

    async def _write(self, batch: list[tuple[str, Any, int]]) -> None:
        batch.sort(key=lambda item: item[0])
        at = datetime.now(UTC)
        new = [(table,) for table, _, _ in batch if table not in self._versions]
        if new:
            await self._connection.executemany(HEAD, new)
            self._versions.update((table, 1) for (table,) in new)
        rows = []
        for table, _, _ in batch:
            version = self._versions[table] = self._versions[table] + 1
            rows.append(Entry(table, version, 1, "guest:floor", f"c{version}", b"d" * 16, at, "", BODY, 2, at, 0))
        moved = await self._store.append(self._connection, rows)
        if len(moved) != len(batch):
            raise RuntimeError("the floor's append was not whole")
        for table, answers, call in batch:
            await self._bus.publish(f"omnipoly.floor.{table}", BODY)
            answers.put(link_pb2.ResponseItem(call=call, body=BODY))


async def serve_table(database: str, nats_url: str) -> None:
    """Frames in, appends, frames out."""
    connection = await asyncpg.connect(database)
    bus = await nats.connect(nats_url)
    log = Log(connection, bus)

    async def frames(_requests: object, context: Any) -> None:
        answers = Frames(context.write, link_pb2.FramesResponse)
        writer = _begin(answers.run())
        while (data := await context.read()) is not EOF:
            for item in link_pb2.FramesRequest.FromString(data).items:
                log.append(item.body[: item.body.index(b" ")].decode(), answers, item.call)
        writer.cancel()

    running = _begin(log.run())
    handler: Any = frames
    await _serve({"Frames": grpc.stream_stream_rpc_method_handler(handler)})
    running.cancel()


async def serve_gateway(address: str) -> None:
    """Streams of clients to frames and back."""
    channel = grpc.aio.insecure_channel(address)
    open_stream: Any = channel.stream_stream("/floor/Frames", None, None)
    stream = open_stream()
    requests = Frames(stream.write, link_pb2.FramesRequest)
    calls: dict[int, tuple[str, Writer]] = {}
    rooms: dict[str, list[Writer]] = {}
    last = 0

    async def read() -> None:
        while (data := await stream.read()) is not EOF:
            for item in link_pb2.FramesResponse.FromString(data).items:
                table, asker = calls.pop(item.call)
                for writer in rooms[table]:
                    writer.put(b"\x0a" + item.body)
                asker.put(b"\x5a")

    async def play(_requests: object, context: Any) -> None:
        nonlocal last
        writer = Writer(context.write)
        task = _begin(writer.run())
        while (data := await context.read()) is not EOF:
            table = data[: data.index(b" ")].decode()
            room = rooms.setdefault(table, [])
            if writer not in room:
                room.append(writer)
                writer.put(b"\x1a")
                continue
            last += 1
            calls[last] = (table, writer)
            requests.put(link_pb2.RequestItem(call=last, method="Act", body=data, timeout_ms=10_000))
        task.cancel()

    tasks = [_begin(read()), _begin(requests.run())]
    handler: Any = play
    await _serve({"Play": grpc.stream_stream_rpc_method_handler(handler)})
    for task in tasks:
        task.cancel()


async def serve_watch(nats_url: str) -> None:
    """What is published under a subject, to every stream that asks for it."""
    bus = await nats.connect(nats_url)
    rooms: dict[bytes, list[Writer]] = {}

    async def watch(subject: bytes, context: Any) -> None:
        writer = Writer(context.write)
        room = rooms.get(subject)
        if room is None:
            room = rooms[subject] = []

            async def hear(message: Any, room: list[Writer] = room) -> None:
                for one in room:
                    one.put(message.data)

            await bus.subscribe(subject.decode(), cb=hear)
            await bus.flush()
        room.append(writer)
        writer.put(b"\x1a")
        await writer.run()

    handler: Any = watch
    await _serve({"Watch": grpc.unary_stream_rpc_method_handler(handler)})


async def _serve(methods: dict[str, Any]) -> None:
    server = grpc.aio.server(options=OPTIONS)
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("floor", methods),))
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    gc.collect()
    gc.freeze()
    sys.stderr.write(json.dumps({"event": "serving", "address": f"127.0.0.1:{port}"}) + "\n")
    sys.stderr.flush()
    await server.wait_for_termination()


ROLES = {"table": serve_table, "gateway": serve_gateway, "watch": serve_watch}

if __name__ == "__main__":
    asyncio.run(ROLES[sys.argv[1]](*sys.argv[2:]))
