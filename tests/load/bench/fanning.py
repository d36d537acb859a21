"""The load generator of B-FANOUT: publishes commits of a table and counts them on as many streams as asked for.

What is published is a real commit under rising versions, a window of it at a time, so that nobody falls behind. On
standard input:  {"to": "product" | "floor", "address": …, "nats": …, "tables": {id: commit in hex}, "watchers": n,
"stalled": bool}  then any number of  {"seconds": s}
"""

from __future__ import annotations

import asyncio
import gc
import json
import sys
import time
from typing import Any

import grpc
import grpc.aio
import nats

from omnipoly.wire.gen.game.v1 import commit_pb2
from omnipoly.wire.gen.gateway.v1 import watch_pb2
from omnipolyd.gateway import tokens
from tests.load.along import each

from .processes import SECRET

WINDOW = 64
"""Commits of one table under way: a stream of the product falls behind at 256."""
STREAMS = 80
COMMIT = 0x0A
EOF: Any = grpc.aio.EOF  # type: ignore[attr-defined]


class Source:
    """One table: what is published of it, and who has got how much."""

    def __init__(self, table: str, commit: bytes, *, floor: bool) -> None:
        self.table = table
        self.floor = floor
        self._message = commit_pb2.Commit.FromString(commit)
        self.version = self._message.version
        self.got: list[int] = []
        self.moved = asyncio.Event()

    def bytes(self) -> tuple[str, bytes]:
        """The next commit and its subject."""
        self.version += 1
        self._message.version = self.version
        data = self._message.SerializeToString()
        if self.floor:
            return f"floor.{self.table}", b"\x0a" + len(data).to_bytes(2, "big") + data
        return f"omnipoly.table.{self.table}", data


class Run:
    """All sources and streams."""

    def __init__(self) -> None:
        self.received = 0
        self._going = False
        self._ready = 0
        self._sources: list[Source] = []
        self._tasks: list[asyncio.Task[None]] = []
        self._channels: list[Any] = []
        self._bus: Any = None

    async def set_up(
        self, *, to: str, address: str, nats_url: str, tables: dict[str, str], watchers: int, stalled: bool = False
    ) -> None:
        """Opens all streams and returns when each has its first picture."""
        self._bus = await nats.connect(nats_url)
        floor = to == "floor"
        self._sources = [Source(table, bytes.fromhex(commit), floor=floor) for table, commit in tables.items()]
        token = tokens.issue(SECRET, "oidc:watcher", "watcher", lifetime_s=7200)
        count = watchers + (1 if stalled else 0)
        for number in range(count):
            if number % STREAMS == 0:
                self._channels.append(
                    grpc.aio.insecure_channel(address, options=[("grpc.use_local_subchannel_pool", 1)])
                )
            source = self._sources[number % len(self._sources)]
            if floor:
                open_ = self._channels[-1].unary_stream("/floor/Watch", None, None)
                stream = open_(f"floor.{source.table}".encode())
            else:
                open_ = self._channels[-1].unary_stream("/omnipoly.gateway.v1.WatchService/Watch", None, None)
                request = watch_pb2.WatchRequest(table=source.table).SerializeToString()
                stream = open_(request, metadata=(("authorization", f"Bearer {token}"),))
            if number == watchers:
                await stream.read()
                self._stalled = stream  # never read again
            else:
                self._tasks.append(asyncio.create_task(self._listen(source, stream, bare=floor)))
        while self._ready < watchers:  # noqa: ASYNC110 - a generator that ends anyway
            await asyncio.sleep(0.05)

    async def _listen(self, source: Source, stream: Any, *, bare: bool) -> None:
        read = stream.read
        await read()
        self._ready += 1
        at = len(source.got)
        source.got.append(0)
        while (data := await read()) is not EOF:
            commits = 1 if bare else sum(one[0] == COMMIT for one in each(data))
            if commits:
                self.received += commits
                before = source.got[at]
                source.got[at] = before + commits
                if before // (WINDOW // 2) != source.got[at] // (WINDOW // 2):
                    source.moved.set()

    async def seconds(self, seconds: float) -> dict[str, Any]:
        """Publishes for a while, as fast as everybody takes it."""
        self.received, self._going = 0, True
        began, cpu = time.perf_counter(), time.process_time()
        publishing = [asyncio.create_task(self._publish(source)) for source in self._sources]
        await asyncio.sleep(seconds)
        self._going = False
        received, took_s = self.received, time.perf_counter() - began
        cpu_s = time.process_time() - cpu
        await asyncio.gather(*publishing)
        return {"commands": received, "per_s": received / took_s, "cpu_s": cpu_s, "took_s": took_s}

    async def _publish(self, source: Source) -> None:
        sent = min(source.got, default=0)
        while self._going:
            while sent - min(source.got) < WINDOW:
                subject, data = source.bytes()
                await self._bus.publish(subject, data)
                sent += 1
            source.moved.clear()
            try:
                async with asyncio.timeout(1):
                    await source.moved.wait()
            except TimeoutError:
                continue
        until = time.perf_counter() + 5
        while min(source.got) < sent and time.perf_counter() < until:  # noqa: ASYNC110 - a generator that ends anyway
            await asyncio.sleep(0.01)


async def main() -> None:
    """Orders in, figures out."""
    loop = asyncio.get_running_loop()
    run = Run()
    first = True
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        order = json.loads(line)
        answer: dict[str, Any] = {}
        if first:
            await run.set_up(**order)
            gc.collect()
            gc.freeze()
            first = False
        else:
            answer = await run.seconds(order["seconds"])
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(main())
