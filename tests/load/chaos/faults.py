"""What is done to the platform: one thing every few seconds, drawn, written down with its beginning and its end."""

from __future__ import annotations

import asyncio
import json
import shutil
import signal
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path
from random import Random
from typing import Any

from tests.services.proxy import Cut

from .stack import REPLICAS, Platform, send

COMMANDS = b"chaos-"
"""What the ids of persons' commands begin with: it stands in the statement that appends them."""
STOPPED_S = 13.0
"""Longer than any lease, and than a stream of frames is believed without a word."""
AWAY_S = 30.0

Do = Callable[[], Awaitable[None]]


class Faults:
    """The faults of one run."""

    def __init__(self, platform: Platform, folder: Path, random: Random, *, seconds: float) -> None:
        """seconds: how long the run is: one that is too short for it has no long outages."""
        self.done: Counter[str] = Counter()
        self.ended: Counter[str] = Counter()
        """How often each service was ended, and so has to come back."""
        self._platform = platform
        self._file = (folder / "faults.jsonl").open("w", encoding="utf-8")
        self._random = random
        self._busy: set[str] = set()
        """What is being stopped or is away: no second fault befalls it."""
        self._running: set[asyncio.Task[None]] = set()
        self._short_s = min(STOPPED_S, max(3.0, seconds / 4))
        self._pause_s = (1.5, 4.0) if seconds >= 30 else (0.5, 1.5)
        self._kinds = self._all(seconds)
        self._bag: list[tuple[str, Do]] = []

    def write(self, what: str, **more: object) -> None:
        """A line of what was done when."""
        line = {"t": time.time_ns() // 1_000_000, "what": what, **more}
        self._file.write(json.dumps(line) + "\n")
        self._file.flush()

    async def run(self, until: float) -> None:
        """Breaks something every few seconds until that time by the event loop's clock; returns at once then."""
        loop = asyncio.get_running_loop()
        while (left_s := until - loop.time()) > 0:
            await asyncio.sleep(min(left_s, self._random.uniform(*self._pause_s)))
            for task in self._running:
                if task.done():
                    task.result()  # what could not be done or undone ends the run here, not at its end
            if loop.time() < until:
                self._begin()

    async def undo(self) -> None:
        """Returns once everything is as it should be again."""
        await asyncio.gather(*self._running)
        await self._platform.all_serve(self.ended)
        self.write("calm")
        self._file.close()

    def _begin(self) -> None:
        if not self._bag:  # every kind comes up before one comes up again
            self._bag = self._random.sample(self._kinds, len(self._kinds))
        what, do = self._bag.pop()
        subject = what.partition(" ")[2].split(" ")[0]
        if subject in self._busy:
            self._bag.insert(0, (what, do))
            return
        self.done[what.partition(" ")[0] + " " + subject.partition("-")[0]] += 1
        task = asyncio.create_task(self._do(what, subject, do), name=what)
        self._running.add(task)

    async def _do(self, what: str, subject: str, do: Do) -> None:
        self._busy.add(subject)
        self.write(what, edge="begin")
        try:
            await do()
        finally:
            self.write(what, edge="end")
            self._busy.discard(subject)

    # --- the kinds

    def _all(self, seconds: float) -> list[tuple[str, Do]]:
        kinds: list[tuple[str, Do]] = []

        def add(what: str, do: Callable[..., Awaitable[None]], *arguments: Any) -> None:
            kinds.append((what, lambda: do(*arguments)))

        for role, number in REPLICAS.items():
            for one in range(1, number + 1):
                name = role if one == 1 else f"{role}-{one}"
                add(f"kill {name}", self._end, name, signal.SIGKILL)
                add(f"stop {name}", self._stop, name)
            add(f"drain {role}", self._end, role, signal.SIGTERM)
        add("kill nats", self._kill_nats)
        add("stop nats", self._stop_nats)
        add("rob nats", self._rob_nats)
        add("kill postgres", self._kill_postgres)
        add("stop postgres", self._stop_postgres)
        add("refuse postgres", self._refuse)
        add("swallow postgres", self._swallow)
        add("cut postgres all", self._cut_all)
        for cut in Cut:
            for _ in range(3):
                add(f"cut-{cut.value} postgres", self._cut, cut)
        if seconds >= 120:
            add("away postgres", self._away_postgres)
            add("away nats", self._away_nats)
        return kinds

    async def _end(self, service: str, number: signal.Signals) -> None:
        pid = self._platform.pid(service)
        if not pid:
            return
        self.ended[service] += 1
        send([pid], number)
        await self._platform.all_serve({service: self.ended[service]})

    async def _stop(self, service: str) -> None:
        await self._stopped([self._platform.pid(service)])

    async def _stopped(self, pids: list[int], for_s: float = 0) -> None:
        pids = [pid for pid in pids if pid]
        send(pids, signal.SIGSTOP)
        try:
            await asyncio.sleep(for_s or self._short_s)
        finally:
            send(pids, signal.SIGCONT)

    async def _kill_nats(self) -> None:
        await asyncio.to_thread(self._platform.nats.kill)
        await asyncio.sleep(self._random.choice((0.0, 3.0)))
        await asyncio.to_thread(self._platform.nats.start)

    async def _stop_nats(self) -> None:
        await self._stopped([self._platform.nats.pid])

    async def _rob_nats(self) -> None:
        """It comes back with nothing in its store."""
        nats = self._platform.nats
        await asyncio.to_thread(nats.kill)
        shutil.rmtree(nats.store)
        await asyncio.to_thread(nats.start)

    async def _away_nats(self) -> None:
        await asyncio.to_thread(self._platform.nats.kill)
        await asyncio.sleep(AWAY_S)
        await asyncio.to_thread(self._platform.nats.start)

    async def _kill_postgres(self) -> None:
        await asyncio.to_thread(self._platform.postgres.kill)
        await asyncio.to_thread(self._platform.postgres.start)

    async def _away_postgres(self) -> None:
        await asyncio.to_thread(self._platform.postgres.kill)
        await asyncio.sleep(AWAY_S)
        await asyncio.to_thread(self._platform.postgres.start)

    async def _stop_postgres(self) -> None:
        await self._stopped(self._platform.family())

    async def _refuse(self) -> None:
        await self._platform.proxy.stop()
        await asyncio.sleep(self._random.uniform(1, 6))
        await self._platform.proxy.start()

    async def _swallow(self) -> None:
        self._platform.proxy.freeze()
        await asyncio.sleep(self._short_s)
        self._platform.proxy.thaw()

    async def _cut_all(self) -> None:
        self._platform.proxy.cut_all()

    async def _cut(self, cut: Cut) -> None:
        """The next append of a person's command that goes by."""
        trap = self._platform.proxy.cut_at(COMMANDS, cut)
        try:
            async with asyncio.timeout(10):
                await trap.done.wait()
        except TimeoutError:
            return
