"""B-CLOCK: how late deadlines are played, from due to published commit, and how late a sleeper is at those moments.

Ten thousand games of two are started evenly within ten seconds and then left alone: half a minute later their first
clocks run out, within ten seconds again. Each is played once by the clock and table services; what comes after it
lies another half a minute ahead.
"""

from __future__ import annotations

import asyncio
import itertools
import time
from typing import Any

import nats

from omnipoly.rules import actions as act
from omnipoly.runtime.link import Link
from omnipoly.runtime.table_client import DEADLINE
from omnipoly.wire.gen.game.v1 import commit_pb2

from .games import acting, ask, open_tables
from .processes import Platform, cpu_s
from .rows import Asked, Row

DEADLINES = 10_000
SECONDS = 10.0
CLOCK_S = 30
AT_ONCE = 64
"""Starts under way."""
AFTER_S = 15.0
"""How long after the last deadline its commit may come; what has not come by then counts as late by now."""


class Heard:
    """When each table's first deadline is due, and when the commit that plays it was published."""

    def __init__(self) -> None:
        self.due_ms: dict[str, int] = {}
        self.late_ms: dict[str, float] = {}

    async def hear(self, message: Any) -> None:
        """A commit of any table."""
        now_ms = time.time() * 1000
        table = message.subject.rpartition(".")[2]
        expected = self.due_ms.get(table)
        if expected is None:
            if at_ms := int((message.headers or {}).get(DEADLINE, 0)):
                self.due_ms[table] = at_ms
        elif table not in self.late_ms and now_ms >= expected and not commit_pb2.Commit.FromString(message.data).actor:
            self.late_ms[table] = now_ms - expected


async def clock(running: Platform, asked: Asked) -> list[Row]:
    """B-CLOCK."""
    asked.tell(f"B-CLOCK: opening {DEADLINES} games")
    table = await running.table(await running.database())
    service = await running.serve("clock", OMNIPOLY_TABLE_ADDR=table.address)
    bus = await nats.connect(running.nats.url)
    heard = Heard()
    opened = list(await open_tables(table.address, DEADLINES, "clock", players=2, clock_s=CLOCK_S))
    subscription = await bus.subscribe("omnipoly.table.*", cb=heard.hear)
    await bus.flush()
    asked.tell("B-CLOCK: starting them")
    await _start(table.address, opened)
    sleeper = await running.generator("tests.load.bench.sleeper", due=[])
    sleeping = asyncio.create_task(sleeper.ask(due=list(heard.due_ms.values())))
    asked.tell("B-CLOCK: waiting for their clocks to run out")
    first, last = min(heard.due_ms.values()) / 1000, max(heard.due_ms.values()) / 1000
    await asyncio.sleep(max(0.0, first - time.time()))
    spent = cpu_s(table.pid), cpu_s(service.pid)
    asked.tell("B-CLOCK")
    await asyncio.sleep(max(0.0, last - time.time()))
    used = cpu_s(table.pid) - spent[0], cpu_s(service.pid) - spent[1]
    until = time.perf_counter() + AFTER_S
    while len(heard.late_ms) < DEADLINES and time.perf_counter() < until:  # noqa: ASYNC110 - ends by itself
        await asyncio.sleep(0.1)
    slept = (await sleeping)["late"]
    await subscription.unsubscribe()
    await bus.close()
    await running.clear()
    now_ms = time.time() * 1000
    unplayed = [now_ms - due_ms for table_id, due_ms in heard.due_ms.items() if table_id not in heard.late_ms]
    late = sorted([*heard.late_ms.values(), *unplayed])
    p99, floor = _percentile(late, 99), _percentile(slept, 99)
    return [
        Row(
            "B-CLOCK",
            f"lateness of {len(late)} deadlines within {last - first:.0f} s, p99",
            f"{p99:.1f} ms (p50 {_percentile(late, 50):.1f})",
            f"{floor:.1f} ms (p50 {_percentile(slept, 50):.1f}): a sleeper",
            p99 - floor,
            "<= 20 ms more",
            p99 - floor <= 20,
            {
                "table_us": 1e6 * used[0] / len(late),
                "clock_us": 1e6 * used[1] / len(late),
                "percentiles": {str(n): (_percentile(late, n), _percentile(slept, n)) for n in (50, 90, 95, 99)},
                "most": (late[-1], slept[-1]),
                "unplayed": len(unplayed),
            },
        )
    ]


async def _start(address: str, tables: list[str]) -> None:
    """Starts all games, evenly over the seconds that their deadlines are to take."""
    link = Link(address)
    began = time.perf_counter()
    numbers = itertools.count()

    async def starter() -> None:
        while (number := next(numbers)) < len(tables):
            await asyncio.sleep(max(0.0, began + number * SECONDS / len(tables) - time.perf_counter()))
            await ask(link, "Act", acting(tables[number], f"guest:clock{number}p0", act.Start()))

    await asyncio.gather(*(starter() for _ in range(AT_ONCE)))
    await link.close()


def _percentile(ordered: list[float], n: int) -> float:
    return ordered[min(len(ordered) - 1, len(ordered) * n // 100)]
