"""B-LENGTH and B-TABLES: whether a command costs more in a long game, or beside many tables."""

from __future__ import annotations

import asyncio
import itertools
import statistics
import time
from typing import Any

import asyncpg

from omnipoly.rules import actions as act
from omnipoly.runtime.link import Link
from omnipoly.wire.gen.table.v1 import table_pb2
from tests.services.playing import free_port

from .games import acting, ask, open_tables
from .playing import RATHER
from .processes import Platform, Process, cpu_s, memory_bytes
from .rows import Asked, Half, Row, median, paired

SHORT, LONG = 100, 20_000
"""Events."""
CLOSE = (10, 1000, 10_000)
AT_ONCE = 10
ACTIVE, FIRST, COME_AND_GO = 400, 3200, 8000
"""Tables in memory at once, those after which the allocator has what it needs, and all that come and go."""
NOISE_BYTES = 64
"""What an allocator's rounding comes to, spread over the tables: less than the smallest thing kept for one would be."""


class Game:
    """One game of two, played over a link, a command at a time."""

    def __init__(self, link: Link, table: str, persons: list[str]) -> None:
        self.link = link
        self.table = table
        self.events = 0
        self._persons = persons
        self._waits: list[tuple[str, Any]] = []

    @classmethod
    async def open(cls, address: str, prefix: str) -> Game:
        """A game whose first decisions are open."""
        opened = await open_tables(address, 1, prefix, players=2, start=True)
        game = cls(Link(address), next(iter(opened)), [f"guest:{prefix}0p{seat}" for seat in range(2)])
        await game._ask()
        return game

    async def command(self) -> None:
        """The next decision, answered."""
        while not self._waits:
            await self._ask()
        person, prompt = self._waits.pop()
        listed = {action.kind: action for action in prompt.actions}
        kind = next(name for name in RATHER if name in listed)
        request = acting(self.table, person, act.Roll())
        request.action.Clear()
        body = getattr(request.action, kind)
        body.SetInParent()
        if kind == "pass":
            body.auction = listed[kind].auction
        request.prompt_id = prompt.prompt_id
        answer = await ask(self.link, "Act", request)
        self.events += sum(_events(commit) for commit in answer.commits)
        self._waits = [(one.person, _prompt(one.prompt)) for one in answer.prompts]

    async def _ask(self) -> None:
        for person in self._persons:
            answer = await ask(self.link, "Legal", table_pb2.LegalRequest(table=self.table, person=person))
            if answer.prompt.prompt_id:
                self._waits.append((person, answer.prompt))


def _prompt(data: bytes) -> Any:
    from omnipoly.wire.gen.game.v1 import legal_pb2

    return legal_pb2.Prompt.FromString(data)


def _events(data: bytes) -> int:
    from omnipoly.wire.gen.game.v1 import commit_pb2

    return len(commit_pb2.Commit.FromString(data).events)


async def length(running: Platform, asked: Asked) -> list[Row]:
    """B-LENGTH; the long game is played up to its 20 000th event first."""
    database = await running.database()
    table = await running.table(database)
    long = await Game.open(table.address, "long")
    while long.events < LONG:
        if not long.events % 1000:
            asked.tell(f"B-LENGTH: at event {long.events}")
        await long.command()
    short = [await Game.open(table.address, f"short{number}") for number in range(asked.pairs)]
    for game in short:
        while game.events < SHORT:
            await game.command()
    turn = itertools.cycle(short)
    asked.tell("B-LENGTH")

    async def commands(game: Game) -> Half:
        took, cpu = [], cpu_s(table.pid)
        until = time.perf_counter() + asked.seconds
        while time.perf_counter() < until:
            began = time.perf_counter()
            await game.command()
            took.append(time.perf_counter() - began)
        return Half(statistics.median(took), {"cpu_us": 1e6 * (cpu_s(table.pid) - cpu) / len(took)})

    ratio, ones, others = await paired(asked, lambda: commands(next(turn)), lambda: commands(long))
    rows = [
        Row(
            "B-LENGTH",
            "a command at event 20 000",
            f"{1000 * median(others):.2f} ms",
            f"{1000 * median(ones):.2f} ms at event 100",
            ratio,
            "<= 1.1",
            ratio <= 1.1,
            {"cpu_us": median(others, "cpu_us"), "cpu_us_short": median(ones, "cpu_us")},
        ),
    ]
    await table.stop()
    # a replica that has never seen the tables: each read is a cold load of one of many copies
    cold = await running.table(database, OMNIPOLY_EVICT_AFTER_S="0.05")
    link = Link(cold.address)

    async def load(game: Game) -> Half:
        took = []
        for _ in range(8):
            await asyncio.sleep(0.15)  # evicted meanwhile
            began = time.perf_counter()
            await ask(link, "Read", table_pb2.ReadRequest(table=game.table))
            took.append(time.perf_counter() - began)
        return Half(statistics.median(took), {})

    ratio, ones, others = await paired(asked, lambda: load(next(turn)), lambda: load(long))
    rows.append(
        Row(
            "B-LENGTH",
            "a cold load at event 20 000",
            f"{1000 * median(others):.1f} ms",
            f"{1000 * median(ones):.1f} ms at event 100",
            ratio,
            "<= 2",
            ratio <= 2,
            {},
        )
    )
    for game in (long, *short):
        await game.link.close()
    await link.close()
    await running.clear()
    return rows


async def tables(running: Platform, asked: Asked) -> list[Row]:
    """B-TABLES: ten commands under way, spread over all open tables of a replica."""
    rows = []
    few = await running.table(await running.database())
    ten = list(await open_tables(few.address, CLOSE[0], "few", players=2, start=True))
    for count in CLOSE[1:]:
        asked.tell(f"B-TABLES: opening {count}")
        database = await running.database()
        many = await running.table(database)
        before = memory_bytes(many.pid)
        opened = list(await open_tables(many.address, count, f"many{count}-"))
        used = (memory_bytes(many.pid) - before) / count
        await _read(many, opened)  # opening one leaves it to whichever replica it will be played at
        asked.tell(f"B-TABLES at {count}")
        lobby = list(await open_tables(few.address, CLOSE[0], f"lobby{count}-"))
        ratio, ones, others = await paired(
            asked,
            lambda ids=lobby, c=count: _spread(few, ids, f"lobby{c}-", asked.seconds),
            lambda ids=opened, process=many, c=count: _spread(process, ids, f"many{c}-", asked.seconds),
        )
        rows.append(
            Row(
                "B-TABLES",
                f"commands/s with {count} open tables",
                f"{median(others):.0f}/s",
                f"{median(ones):.0f}/s with 10",
                ratio,
                ">= 0.95",
                ratio >= 0.95,
                {"cpu_us": median(others, "cpu_us"), "cpu_us_few": median(ones, "cpu_us"), "opened_bytes": used},
            )
        )
        await many.stop()
    del ten
    rows += await _memory(running, asked)
    await running.clear()
    return rows


async def _spread(process: Process, ids: list[str], prefix: str, seconds: float) -> Half:
    """Options set at all tables in turn: a command that is always allowed."""
    link = Link(process.address)
    count = 0
    turn = itertools.cycle(range(len(ids)))
    until = time.perf_counter() + seconds
    cpu = cpu_s(process.pid)

    async def one() -> None:
        nonlocal count
        while time.perf_counter() < until:
            number = next(turn)
            action = act.SetOptions(clock_s=(30, 45, 60)[count % 3])
            await ask(link, "Act", acting(ids[number], f"guest:{prefix}{number}p0", action))
            count += 1

    await one() if len(ids) < AT_ONCE else await asyncio.gather(*(one() for _ in range(AT_ONCE)))
    await link.close()
    return Half(count / seconds, {"cpu_us": 1e6 * (cpu_s(process.pid) - cpu) / max(1, count)})


async def _memory(running: Platform, asked: Asked) -> list[Row]:
    """What an active table takes, and what is left of one that was evicted.

    What is freed is not given back to the system: tables that came and went must make room for those that come next.
    The first of them find nothing freed yet; all sizes stand in the details.
    """
    asked.tell("B-TABLES: memory")
    database = await running.database()
    table = await running.table(database)
    await open_tables(table.address, COME_AND_GO, "warm", players=2, start=True)
    await table.stop()
    connection = await asyncpg.connect(database)
    ids = [row[0] for row in await connection.fetch("SELECT table_id FROM heads")]
    await connection.close()
    # other processes, which have had none of them in memory
    table = await running.table(database)
    await _read(table, ids[:1])
    empty = memory_bytes(table.pid)
    await _read(table, ids[:ACTIVE])
    each = (memory_bytes(table.pid) - empty) / ACTIVE / 1024
    await table.stop()
    asked.tell("B-TABLES: memory after eviction")
    table = await running.table(database, OMNIPOLY_EVICT_AFTER_S="0.05", OMNIPOLY_METRICS_PORT=str(free_port()))
    sizes = []
    for at in range(0, COME_AND_GO, ACTIVE):
        await _read(table, ids[at : at + ACTIVE])
        async with asyncio.timeout(30):
            while await table.metric("omnipoly_tables_in_memory"):  # noqa: ASYNC110 - of another process
                await asyncio.sleep(0.05)
        sizes.append(memory_bytes(table.pid))
    left = (sizes[-1] - sizes[FIRST // ACTIVE - 1]) / (COME_AND_GO - FIRST)
    return [
        Row(
            "B-TABLES",
            "memory of an active table",
            f"{each:.1f} KiB",
            "64 KiB",
            each / 64,
            "< 1",
            each < 64,
            {},
        ),
        Row(
            "B-TABLES",
            f"memory left of {COME_AND_GO - FIRST} evicted tables, each",
            f"{left:.0f} bytes",
            "",
            left,
            f"0 (< {NOISE_BYTES})",
            left < NOISE_BYTES,
            {"sizes": sizes},
        ),
    ]


async def _read(table: Process, ids: list[str]) -> None:
    """Has a replica load these tables."""
    link = Link(table.address)
    for at in range(0, len(ids), 32):
        await asyncio.gather(*(ask(link, "Read", table_pb2.ReadRequest(table=one)) for one in ids[at : at + 32]))
    await link.close()
