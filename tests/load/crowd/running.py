"""The processes of a run: started, told when to begin, watched second by second, and what came of it."""

from __future__ import annotations

import asyncio
import json
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from hdrh.histogram import HdrHistogram

from . import figures

READY_S = 300.0
LINE_BYTES = 16 * 1024 * 1024


class Asked(NamedTuple):
    """What a run is to be."""

    gateways: list[str]
    tables: int
    clients: int
    seconds: float
    rate: float
    """Commands a second, come what may; 0: each player acts after the answer to the last."""
    think_s: float
    seats: int
    processes: int
    seed: int
    key: str
    """What signs sessions there; empty: everybody signs in as a guest."""

    @property
    def model(self) -> str:
        """open or closed."""
        return "open" if self.rate else "closed"

    @property
    def watchers(self) -> int:
        """Clients that have no seat."""
        return self.clients - self.tables * self.seats

    def shares(self) -> list[dict[str, Any]]:
        """The setup of each process."""
        at_table = [self.watchers // self.tables + (n < self.watchers % self.tables) for n in range(self.tables)]
        count = min(self.processes, self.tables)
        mine = [at_table[number::count] for number in range(count)]
        return [
            {
                "gateways": self.gateways,
                "watchers": watchers,
                "seats": self.seats,
                "seconds": self.seconds,
                "rate": self.rate * len(watchers) / self.tables,
                "think_s": self.think_s,
                "key": self.key,
                "seed": self.seed + number,
            }
            for number, watchers in enumerate(mine)
        ]


class Second(NamedTuple):
    """One second of a run, all processes together."""

    at: int
    sent: int
    accepted: int
    shown: int
    errors: int
    overdue: int
    core: float
    """The most that one process used of a core."""
    late_ms: float
    p50_ms: float
    p99_ms: float
    """So far, of the process that has it worst."""


class Ran(NamedTuple):
    """A run that is over."""

    asked: Asked
    took_s: float
    sent: int
    accepted: int
    shown: int
    games: int
    overdue: int
    errors: dict[str, int]
    seconds: list[Second]
    cores: list[float]
    histograms: dict[str, HdrHistogram]

    @property
    def in_the_way(self) -> str:
        """Why the generator was the bottleneck; empty: it was not."""
        return figures.in_the_way(self.cores, self.histograms["late"], self.histograms["answer"])


class Told(NamedTuple):
    """Whom a run tells how far it is."""

    ready: Callable[[int, Counter[str]], None]
    """So many tables have everybody; what stood in the way so far."""
    second: Callable[[Second], None]


async def run(asked: Asked, told: Told) -> Ran:
    """One run. Raises ``RuntimeError`` when a process ends before its time, or people do not get in."""
    setups = asked.shares()
    workers = [await Worker.start(setup) for setup in setups]

    def refusals() -> Counter[str]:
        return sum((worker.errors for worker in workers), Counter[str]())

    def came() -> None:
        told.ready(sum(worker.ready for worker in workers), refusals())

    try:
        async with asyncio.timeout(READY_S):
            await asyncio.gather(*(worker.people(came) for worker in workers))
        for worker in workers:
            await worker.write("begin")
        seconds: list[Second] = []

        def note() -> None:
            """Once every process has told of the second."""
            while len(seconds) < min(len(worker.seconds) for worker in workers):
                at = len(seconds)
                seconds.append(_second(at, [worker.seconds[at] for worker in workers]))
                told.second(seconds[-1])

        await asyncio.gather(*(worker.rest(note) for worker in workers))
    except TimeoutError:
        raise RuntimeError(f"not everybody got in within {READY_S:.0f} s: {dict(refusals())}") from None
    finally:
        await asyncio.gather(*(worker.end() for worker in workers))
    every = [second for worker in workers for second in (*worker.seconds, worker.last)]
    errors = sum((Counter(second["errors"]) for second in every), Counter[str]())
    done = [worker.done for worker in workers]
    return Ran(
        asked,
        max(one["took_s"] for one in done),
        *(sum(second[what] for second in every) for what in ("sent", "accepted", "shown", "games")),
        overdue=sum(worker.last["overdue"] for worker in workers),
        errors=dict(errors.most_common()),
        seconds=seconds,
        cores=[one["core"] for one in done],
        histograms=figures.merged([one["histograms"] for one in done]),
    )


def _second(at: int, parts: Sequence[dict[str, Any]]) -> Second:
    def most(what: str) -> float:
        return max((part.get(what, 0.0) for part in parts), default=0.0)

    return Second(
        at + 1,
        *(sum(part[what] for part in parts) for what in ("sent", "accepted", "shown")),
        errors=sum(sum(part["errors"].values()) for part in parts),
        overdue=sum(part["overdue"] for part in parts),
        core=most("core"),
        late_ms=most("late_ms"),
        p50_ms=most("p50_ms"),
        p99_ms=most("p99_ms"),
    )


class Worker:
    """One process with its share of the tables."""

    def __init__(self, process: asyncio.subprocess.Process, tables: int) -> None:
        self._process = process
        self._tables = tables
        self.ready = 0
        self.seconds: list[dict[str, Any]] = []
        self.last: dict[str, Any] = {}
        """What came after the last whole second."""
        self.done: dict[str, Any] = {}
        self.errors: Counter[str] = Counter()

    @classmethod
    async def start(cls, setup: dict[str, Any]) -> Worker:
        """Starts it and says what it is to do."""
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "tests.load.crowd.worker"),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            limit=LINE_BYTES,
        )
        worker = cls(process, len(setup["watchers"]))
        await worker.write(json.dumps(setup))
        return worker

    async def people(self, told: Callable[[], None]) -> None:
        """Until everybody is in."""
        while self.ready < self._tables:
            said = await self._said()
            self.ready = said.get("ready", self.ready)
            self.errors.update(said["errors"])
            told()

    async def rest(self, note: Callable[[], None]) -> None:
        """Until the run is over; note: after each second."""
        while not self.done:
            said = await self._said()
            if "second" in said:
                self.seconds.append(said["second"])
                note()
            self.last = said.get("rest", self.last)
            self.done = said.get("done", {})

    async def write(self, line: str) -> None:
        """A line to it."""
        assert self._process.stdin is not None
        self._process.stdin.write(line.encode() + b"\n")
        await self._process.stdin.drain()

    async def end(self) -> None:
        """Ends it, if it still lives."""
        if not self.done and self._process.returncode is None:
            self._process.kill()
        await self._process.wait()

    async def _said(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = await self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"a process of the generator has ended with {await self._process.wait()}")
        said: dict[str, Any] = json.loads(line)
        if "failed" in said:
            raise RuntimeError(f"people are not let in: {said['failed']}")
        return said
