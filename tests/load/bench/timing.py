"""B-CLOCK: how late deadlines are played, from due to published commit, and in turn with it how late a sleeper wakes.

Two thousand games of two that nobody plays: once their players count as away the clock decides for them every two
seconds, a thousand decisions a second. The games are started evenly within two seconds, and so are their deadlines.
They play an edition of their own, the classic one with shorter clocks and auctions that last as long as everything
else.
"""

from __future__ import annotations

import asyncio
import itertools
import statistics
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
from .processes import Generator, Platform, cpu_s
from .rows import Asked, Half, Row, median, paired

TABLES = 2000
EVERY_S = 2.0
"""From one deadline of a table to the next."""
SECONDS = 10.0
"""Of a window: ten thousand deadlines fall due in it."""
ASLEEP_S = 2.0
"""Of the sleeper's, with as many moments a second."""
AHEAD_S = 0.2
"""From when the sleeper is told to its first moment."""
CLOCK_S = 10
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
        """What falls due in that time is measured, and nothing before."""
        self.late_ms = []
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
        lines = {
            r"first_s = .*": f"first_s = {EVERY_S:.0f}",
            r"clock = .*": f"clock = {{ default = {CLOCK_S}, values = [{CLOCK_S}] }}",
        }
        write_edition(Path(folder), EDITION, lines)
        return await _clock(running, asked, folder)


async def _clock(running: Platform, asked: Asked, folder: str) -> list[Row]:
    asked.tell(f"B-CLOCK: opening {TABLES} games")
    table = await running.table(await running.database(), OMNIPOLY_EDITIONS=folder)
    service = await running.serve("clock", OMNIPOLY_TABLE_ADDR=table.address)
    sleeper = await running.generator("tests.load.bench.sleeper", due=[])
    opened = list(await open_tables(table.address, TABLES, "clock", players=2, edition=EDITION))
    bus = await nats.connect(running.nats.url)
    heard = Heard()
    subscription = await bus.subscribe("omnipoly.table.*", cb=heard.hear)
    await bus.flush()
    await _start(table.address, opened)
    asked.tell("B-CLOCK: waiting for the first clocks to run out")
    await asyncio.sleep(CLOCK_S + SETTLED_S)
    asked.tell("B-CLOCK")
    _, slept, played = await paired(
        asked, lambda: _asleep(sleeper), lambda: _due(heard, {"table": table.pid, "clock": service.pid})
    )
    await subscription.unsubscribe()
    await bus.close()
    await running.clear()
    more = statistics.median(one.figure - other.figure for one, other in zip(played, slept, strict=True))
    return [
        Row(
            "B-CLOCK",
            f"p99 lateness of {median(played, 'count'):.0f} deadlines within {SECONDS:.0f} s, {len(played)} times",
            f"{median(played):.1f} ms (p50 {median(played, 'p50'):.1f})",
            f"{median(slept):.1f} ms (p50 {median(slept, 'p50'):.1f}): a sleeper",
            more,
            "<= 20 ms more",
            more <= 20,
            {
                "table_us": median(played, "table_us"),
                "clock_us": median(played, "clock_us"),
                "windows": [half.details for half in played],
                "sleeper": [half.details for half in slept],
            },
        )
    ]


async def _due(heard: Heard, pids: dict[str, int]) -> Half:
    """One window: the p99 of how late what falls due in it is played."""
    begin = time.time()
    heard.measure(1000 * begin, 1000 * (begin + SECONDS))
    before = {name: cpu_s(pid) for name, pid in pids.items()}
    await asyncio.sleep(begin + SECONDS - time.time())
    used = {name: cpu_s(pid) - before[name] for name, pid in pids.items()}
    until = time.perf_counter() + AFTER_S
    while heard.unplayed() and time.perf_counter() < until:  # noqa: ASYNC110 - ends by itself
        await asyncio.sleep(0.1)
    unplayed = heard.unplayed()
    half = _late([*heard.late_ms, *unplayed])
    for name, spent_s in used.items():
        half.details[f"{name}_us"] = 1e6 * spent_s / half.details["count"]
    half.details["unplayed"] = len(unplayed)
    return half


async def _asleep(sleeper: Generator) -> Half:
    """Another window: the p99 of how late the sleeper wakes, as often a second, while the games go on."""
    begin_ms = 1000 * (time.time() + AHEAD_S)
    count = round(TABLES * ASLEEP_S / EVERY_S)
    moments = [round(begin_ms + number * 1000 * ASLEEP_S / count) for number in range(count)]
    return _late((await sleeper.ask(due=moments))["late"])


def _late(late_ms: list[float]) -> Half:
    ordered = sorted(late_ms) or [0.0]
    percentiles: dict[str, float] = {f"p{n}": _percentile(ordered, n) for n in (50, 90, 95, 99)}
    return Half(percentiles["p99"], {**percentiles, "most": ordered[-1], "count": len(ordered)})


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
