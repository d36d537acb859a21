"""B-CLOCK: how late deadlines are played, from due to published commit, and how late a sleeper is meanwhile.

Two thousand games of two that nobody plays: once their players count as away the clock decides for them every two
seconds, a thousand decisions a second. The games are started evenly within two seconds, and so are their deadlines.
They play an edition of their own, the classic one with auctions that last as long as everything else.
"""

from __future__ import annotations

import asyncio
import itertools
import tempfile
import time
from pathlib import Path
from typing import Any

import nats

from omnipoly.rules import actions as act
from omnipoly.runtime.link import Link
from omnipoly.runtime.table_client import DEADLINE
from omnipoly.wire.gen.game.v1 import commit_pb2

from .games import acting, ask, open_tables, write_edition
from .processes import Platform, cpu_s
from .rows import Asked, Row

TABLES = 2000
EVERY_S = 2.0
"""From one deadline of a table to the next."""
SECONDS = 10.0
DEADLINES = round(TABLES * SECONDS / EVERY_S)
CLOCK_S = 30
"""Of the first decision, while nobody is away yet."""
SETTLED_S = 6.0
"""After it: whatever the first moments cost is over."""
EDITION = "short"
AT_ONCE = 64
"""Starts under way."""
AFTER_S = 15.0
"""How long after the last deadline its commit may come; what has not come by then counts as late by now."""


class Heard:
    """When each table is due, and how late what fell due while it was measured was played."""

    def __init__(self) -> None:
        self.late_ms: list[float] = []
        self.first_ms = 0.0
        self._due_ms: dict[str, int] = {}
        self._begin_ms = self._end_ms = float("inf")

    async def hear(self, message: Any) -> None:
        """A commit of any table."""
        now_ms = time.time() * 1000
        table = message.subject.rpartition(".")[2]
        due_ms = self._due_ms.get(table, 0)
        if self._measured(due_ms) and now_ms >= due_ms and not commit_pb2.Commit.FromString(message.data).actor:
            self.late_ms.append(now_ms - due_ms)
        self._due_ms[table] = int((message.headers or {}).get(DEADLINE, 0))

    def measure(self, begin_ms: float, end_ms: float) -> None:
        """What falls due in that time is measured."""
        self._begin_ms, self._end_ms = begin_ms, end_ms

    def unplayed(self) -> list[float]:
        """How late by now everything is that should have been played."""
        now_ms = time.time() * 1000
        return [now_ms - due_ms for due_ms in self._due_ms.values() if self._measured(due_ms)]

    def _measured(self, due_ms: int) -> bool:
        return self._begin_ms <= due_ms < self._end_ms


async def clock(running: Platform, asked: Asked) -> list[Row]:
    """B-CLOCK."""
    with tempfile.TemporaryDirectory(prefix="omnipoly-bench-") as folder:
        write_edition(Path(folder), EDITION, {r"first_s = .*": f"first_s = {EVERY_S:.0f}"})
        return await _clock(running, asked, folder)


async def _clock(running: Platform, asked: Asked, folder: str) -> list[Row]:
    asked.tell(f"B-CLOCK: opening {TABLES} games")
    table = await running.table(await running.database(), OMNIPOLY_EDITIONS=folder)
    service = await running.serve("clock", OMNIPOLY_TABLE_ADDR=table.address)
    sleeper = await running.generator("tests.load.bench.sleeper", due=[])
    opened = list(await open_tables(table.address, TABLES, "clock", players=2, edition=EDITION, clock_s=CLOCK_S))
    bus = await nats.connect(running.nats.url)
    heard = Heard()
    subscription = await bus.subscribe("omnipoly.table.*", cb=heard.hear)
    await bus.flush()
    await _start(table.address, opened)
    begin = time.time() + CLOCK_S + SETTLED_S
    heard.measure(1000 * begin, 1000 * (begin + SECONDS))
    moments = [round(1000 * begin + number * 1000 * SECONDS / DEADLINES) for number in range(DEADLINES)]
    sleeping = asyncio.create_task(sleeper.ask(due=moments))
    asked.tell("B-CLOCK: waiting for the first clocks to run out")
    await asyncio.sleep(begin - time.time())
    spent = cpu_s(table.pid), cpu_s(service.pid)
    asked.tell("B-CLOCK")
    await asyncio.sleep(begin + SECONDS - time.time())
    used = cpu_s(table.pid) - spent[0], cpu_s(service.pid) - spent[1]
    until = time.perf_counter() + AFTER_S
    while heard.unplayed() and time.perf_counter() < until:  # noqa: ASYNC110 - ends by itself
        await asyncio.sleep(0.1)
    slept, unplayed = (await sleeping)["late"], heard.unplayed()
    await subscription.unsubscribe()
    await bus.close()
    await running.clear()
    late = sorted([*heard.late_ms, *unplayed])
    p99, floor = _percentile(late, 99), _percentile(slept, 99)
    return [
        Row(
            "B-CLOCK",
            f"lateness of {len(late)} deadlines within {SECONDS:.0f} s, p99",
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
    """Starts all games, evenly over the time from one deadline to the next."""
    link = Link(address)
    began = time.perf_counter()
    numbers = itertools.count()

    async def starter() -> None:
        while (number := next(numbers)) < len(tables):
            await asyncio.sleep(max(0.0, began + number * EVERY_S / len(tables) - time.perf_counter()))
            await ask(link, "Act", acting(tables[number], f"guest:clock{number}p0", act.Start()))

    await asyncio.gather(*(starter() for _ in range(AT_ONCE)))
    await link.close()


def _percentile(ordered: list[float], n: int) -> float:
    return ordered[min(len(ordered) - 1, len(ordered) * n // 100)]
