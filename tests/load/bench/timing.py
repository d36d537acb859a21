"""B-CLOCK: how late deadlines are played, from due to published commit, and how late a sleeper is at those moments."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import nats

from omnipoly.runtime.table_client import DEADLINE
from omnipoly.wire.gen.game.v1 import commit_pb2

from .games import open_tables
from .processes import Platform, cpu_s
from .rows import Asked, Row

TABLES = 300
"""Games that nobody plays: once their players count as away, each has a deadline every 2 s."""
SECONDS = 10.0
FIRST_S = 75.0
"""By then the first clock of every game has run out."""


async def clock(running: Platform, asked: Asked) -> list[Row]:
    """B-CLOCK."""
    asked.tell("B-CLOCK: opening games")
    table = await running.table(await running.database())
    service = await running.serve("clock", OMNIPOLY_TABLE_ADDR=table.address)
    bus = await nats.connect(running.nats.url)
    loop = asyncio.get_running_loop()
    due: dict[str, int] = {}
    late: list[float] = []
    slept: list[float] = []
    measuring = False

    def woke(at_ms: int) -> None:
        slept.append(time.time() * 1000 - at_ms)

    async def hear(message: Any) -> None:
        now_ms = time.time() * 1000
        name = message.subject.rpartition(".")[2]
        expected = due.get(name, 0)
        if measuring and expected and now_ms >= expected and not commit_pb2.Commit.FromString(message.data).actor:
            late.append(now_ms - expected)
        at_ms = due[name] = int((message.headers or {}).get(DEADLINE, 0))
        if measuring and at_ms:
            loop.call_later(max(0.0, (at_ms - time.time() * 1000) / 1000), woke, at_ms)

    subscription = await bus.subscribe("omnipoly.table.*", cb=hear)
    await bus.flush()
    begun = time.perf_counter()
    await open_tables(table.address, TABLES, "clock", players=2, start=True)
    asked.tell("B-CLOCK: waiting for the first clocks to run out")
    while time.perf_counter() - begun < FIRST_S and any(due.values()):  # noqa: ASYNC110
        await asyncio.sleep(0.5)
    asked.tell("B-CLOCK")
    measuring = True
    spent = cpu_s(table.pid), cpu_s(service.pid)
    await asyncio.sleep(SECONDS)
    measuring = False
    used = cpu_s(table.pid) - spent[0], cpu_s(service.pid) - spent[1]
    await subscription.unsubscribe()
    await bus.close()
    await running.clear()
    late.sort()
    slept.sort()
    if not late or not slept:
        raise RuntimeError("no deadline fell due")
    p99, floor = late[len(late) * 99 // 100], slept[len(slept) * 99 // 100]
    return [
        Row(
            "B-CLOCK",
            f"lateness of {len(late)} deadlines in {SECONDS:.0f} s, p99",
            f"{p99:.1f} ms (p50 {late[len(late) // 2]:.1f})",
            f"{floor:.1f} ms (p50 {slept[len(slept) // 2]:.1f}): a sleeper",
            p99 - floor,
            "<= 20 ms more",
            p99 - floor <= 20,
            {"table_us": 1e6 * used[0] / len(late), "clock_us": 1e6 * used[1] / len(late)},
        )
    ]
