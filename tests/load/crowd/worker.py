"""A process of the generator: `python -m tests.load.crowd.worker`, told what to do in one line of JSON.

It says `{"ready": n, "errors": {…}}` while people come in, waits for a line, then says once a second what happened, and
at the end what its histograms hold; or `{"failed": "…"}`, and ends, when they are not let in.
"""

from __future__ import annotations

import asyncio
import gc
import json
import sys
import time
from random import Random
from typing import Any

import grpc
import grpc.aio

from omnipoly.wire.gen.gateway.v1 import sessions_pb2
from omnipolyd.gateway import tokens

from .figures import Counts
from .pacing import Closed, Open, Pace
from .table import PACKAGE, NotLetIn, Person, Table, refused

STREAMS = 80
"""Streams on one connection."""
AT_ONCE = 16
TICK_S = 0.05


def say(**what: Any) -> None:
    """A line to whoever has started this process."""
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


class Crowd:
    """All people of this process."""

    def __init__(self, setup: dict[str, Any]) -> None:
        self._setup = setup
        self._gateways: list[str] = setup["gateways"]
        self._channels: list[Any] = []
        self._people = 0
        self._random = Random(setup["seed"])
        self.counts = Counts()
        rate = setup["rate"]
        self.pace: Pace = Open(rate) if rate else Closed(setup["think_s"], self._random)

    async def tables(self) -> list[Table]:
        """Everybody signed in, at their tables."""
        limit = asyncio.Semaphore(AT_ONCE)

        async def somebody(watches: bool) -> Person:
            async with limit:
                return await self._somebody(watches)

        async def table(watchers: int) -> Table:
            players = await asyncio.gather(*(somebody(False) for _ in range(self._setup["seats"])))
            watching = await asyncio.gather(*(somebody(True) for _ in range(watchers)))
            return Table(players, watching, self.counts, self.pace)

        return list(await asyncio.gather(*(table(watchers) for watchers in self._setup["watchers"])))

    async def _somebody(self, watches: bool) -> Person:
        if self._people % STREAMS == 0:
            gateway = self._gateways[len(self._channels) % len(self._gateways)]
            self._channels.append(grpc.aio.insecure_channel(gateway, [("grpc.use_local_subchannel_pool", 1)]))
        self._people += 1
        channel, key = self._channels[-1], self._setup["key"]
        name = f"{'Watcher' if watches else 'Player'} {self._random.getrandbits(40):x}"
        if key:
            person = f"oidc:{name.replace(' ', '-').lower()}"
            return Person(channel, tokens.issue(key, person, name, lifetime_s=14_400))
        request = sessions_pb2.SignInGuestRequest(name=name, request_id=name.replace(" ", "-"))
        rpc = channel.unary_unary(f"{PACKAGE}SessionsService/SignInGuest")
        while True:
            try:
                data = await rpc(request.SerializeToString(), timeout=30)
            except grpc.aio.AioRpcError as error:
                self.counts.error(f"sign-in: {refused(error)}")
                await asyncio.sleep(1)
            else:
                session = sessions_pb2.SignInGuestResponse.FromString(data).session
                return Person(channel, session.access_token)

    async def close(self) -> None:
        """Ends all connections."""
        await asyncio.gather(*(channel.close(None) for channel in self._channels))


async def run(setup: dict[str, Any], begin: asyncio.Event) -> None:
    """All of it."""
    loop = asyncio.get_running_loop()
    crowd = Crowd(setup)
    counts = crowd.counts
    waiting = asyncio.create_task(_wait(counts))
    tables = await crowd.tables()
    events = [asyncio.Event() for _ in tables]
    playing = [asyncio.create_task(table.play(event)) for table, event in zip(tables, events, strict=True)]
    for number, event in enumerate(events, 1):
        entered = asyncio.create_task(event.wait())
        await asyncio.wait((entered, *playing), return_when=asyncio.FIRST_COMPLETED)
        for task in playing:
            if task.done():
                await task  # nobody plays to an end: it was not let in
        say(ready=number, errors={})
    waiting.cancel()
    gc.collect()
    gc.freeze()
    await begin.wait()
    counts.since()
    counts.measuring = True
    began, cpu = time.perf_counter(), time.process_time()
    ticking = asyncio.create_task(_tick(counts))
    telling = asyncio.create_task(_tell(crowd))
    await crowd.pace.run(loop.time() + setup["seconds"])
    counts.measuring, counts.over = False, True
    took_s = time.perf_counter() - began
    core = (time.process_time() - cpu) / took_s
    for task in (ticking, telling, *playing):
        task.cancel()
    await asyncio.gather(ticking, telling, *playing, return_exceptions=True)
    say(rest=counts.since() | {"overdue": crowd.pace.overdue})
    say(done={"core": core, "took_s": took_s, "histograms": counts.encoded()})
    await crowd.close()


async def _wait(counts: Counts) -> None:
    """A line a second while people come in."""
    while True:
        await asyncio.sleep(1)
        say(errors=counts.since()["errors"])


async def _tick(counts: Counts) -> None:
    """How late this process wakes."""
    loop = asyncio.get_running_loop()
    while True:
        due = loop.time() + TICK_S
        await asyncio.sleep(TICK_S)
        counts.record("late", loop.time() - due)


async def _tell(crowd: Crowd) -> None:
    """A line a second."""
    cpu, at = time.process_time(), time.perf_counter()
    while True:
        await asyncio.sleep(1)
        now_cpu, now = time.process_time(), time.perf_counter()
        late = crowd.counts.histograms["late"]
        say(
            second=crowd.counts.since()
            | {
                "overdue": crowd.pace.overdue,
                "core": (now_cpu - cpu) / (now - at),
                "late_ms": late.get_value_at_percentile(99) / 1000 if late.get_total_count() else 0.0,
                "p50_ms": _now(crowd.counts, 50),
                "p99_ms": _now(crowd.counts, 99),
            }
        )
        cpu, at = now_cpu, now


def _now(counts: Counts, percentile: float) -> float:
    found = counts.histograms["due"]
    return found.get_value_at_percentile(percentile) / 1000 if found.get_total_count() else 0.0


async def main() -> None:
    """Reads the setup and what comes after it."""
    loop = asyncio.get_running_loop()
    setup = json.loads(await loop.run_in_executor(None, sys.stdin.readline))
    begin = asyncio.Event()
    working = asyncio.create_task(run(setup, begin))

    def read() -> None:
        if sys.stdin.readline():
            begin.set()
        else:  # whoever has started this is gone
            loop.remove_reader(sys.stdin.fileno())
            working.cancel()

    loop.add_reader(sys.stdin.fileno(), read)
    try:
        await working
    except NotLetIn as failure:
        say(failed=str(failure))


if __name__ == "__main__":
    asyncio.run(main())
