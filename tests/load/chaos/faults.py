"""What is done to the platform: one thing every few seconds, written down with its beginning and its end.

It is drawn; in a short run the first of it has a fixed order, so that none is without what matters most.
"""

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

from tests.services.proxy import Cut

from .stack import REPLICAS, Platform, send

COMMANDS = b"chaos-"
"""What the ids of persons' commands begin with."""
APPENDS = b"INSERT INTO commits"
"""What the statements that append them have in them; what looks them up is given their ids, too."""
SPRINGS_S = 10.0
"""So long a trap waits for an append."""
STOPPED_S = 13.0
"""Longer than any lease, and than a stream of frames is believed without a word."""
LEAST_STOPPED_S = 9.5
"""Longer than any lease, in a run that has no time for more."""
AWAY_S = 30.0
SHORT_S = 30.0
"""A run that is shorter has a fixed order."""
LATE_S = 6.0
"""So much longer it goes on until all of that has begun."""
ONE_AWAY_S, BOTH_AWAY_S = 60.0, 120.0
"""From how long a run has one of the outages of 30 s, by turns of the seed, and both."""
LONG = ("stop postgres", "swallow postgres", "refuse postgres", "stop nats")

Do = Callable[[], Awaitable[bool]]
"""Whether it could be done."""


class Faults:
    """The faults of one run."""

    def __init__(self, platform: Platform, folder: Path, random: Random, *, seconds: float) -> None:
        """seconds: how long the run is: one that is too short for it has no long outages."""
        self.done: Counter[str] = Counter()
        """What has happened; what could not be done is not among it."""
        self.ended: Counter[str] = Counter()
        """How often each service was ended, and so has to come back."""
        self._platform = platform
        self._file = (folder / "faults.jsonl").open("w", encoding="utf-8")
        self._random = random
        self._busy: set[str] = set()
        """What is being stopped or is away: no second fault befalls it."""
        self._running: set[asyncio.Task[None]] = set()
        self._over = asyncio.Event()
        """Nothing more is to be broken."""
        short = seconds < SHORT_S
        self._short_s = 3.0 if short else STOPPED_S
        self._pause_s = (0.3, 0.6) if short else (1.5, 4.0)
        self._kinds = self._all()
        self._first = self._in_order() if short else []
        """What comes before anything is drawn, in this order."""
        self._late_s = LATE_S if short else 0.0
        away = [("away postgres", self._away_postgres), ("away nats", self._away_nats)]
        one, other = random.sample(away, 2)
        if ONE_AWAY_S <= seconds < BOTH_AWAY_S:  # what is away for half the run need not stand still besides
            self._kinds = [kind for kind in self._kinds if kind[0] not in LONG or _subject(kind[0]) != _subject(one[0])]
        self._bag = self._drawn()
        if seconds >= ONE_AWAY_S:
            self._bag.insert(len(self._bag) - random.randint(1, 4), one)
        if seconds >= BOTH_AWAY_S:
            self._bag.insert(len(self._bag) - random.randint(16, 20), other)
            self._kinds += away

    def write(self, what: str, **more: object) -> None:
        """A line of what was done when."""
        line = {"t": time.time_ns() // 1_000_000, "what": what, **more}
        self._file.write(json.dumps(line) + "\n")
        self._file.flush()

    async def run(self, until: float) -> None:
        """Breaks something every few seconds until that time by the event loop's clock; returns at once then, or when
        what comes first in any case has begun.
        """
        loop = asyncio.get_running_loop()
        while (left_s := until + (self._late_s if self._first else 0) - loop.time()) > 0:
            await asyncio.sleep(min(left_s, self._random.uniform(*self._pause_s)))
            for task in self._running:
                if task.done():
                    task.result()  # what could not be undone ends the run here, not at its end
            if loop.time() < until or self._first:
                self._begin()

    async def undo(self) -> None:
        """Returns once everything is as it should be again."""
        self._over.set()
        await asyncio.gather(*self._running)
        await self._platform.all_serve(self.ended)
        self.write("calm")
        self._file.close()

    def _begin(self) -> None:
        waiting = self._first or self._bag
        for at in range(1, len(waiting) + 1):  # the next one whose subject nothing else befalls now
            what, do = waiting[-at]
            if _subject(what) not in self._busy:
                del waiting[-at]
                self._running.add(asyncio.create_task(self._do(what, do), name=what))
                break
        if not self._bag:
            self._bag = self._drawn()

    async def _do(self, what: str, do: Do) -> None:
        subject = _subject(what)
        self._busy.add(subject)
        self.write(what, edge="begin")
        done = False
        try:
            done = await do()
        finally:
            self.write(what, edge="end", done=done)
            self._busy.discard(subject)
        self.done[what.partition(" ")[0] + " " + subject.partition("-")[0]] += done

    # --- the kinds

    def _all(self) -> list[tuple[str, Do]]:
        kinds: list[tuple[str, Do]] = []
        for role, number in REPLICAS.items():
            for one in range(1, number + 1):
                name = role if one == 1 else f"{role}-{one}"
                kinds += (self._kill(name), self._stop(name, self._short_s))
            kinds.append(self._drain(role))
        kinds += [
            ("kill nats", self._kill_nats),
            ("stop nats", lambda: self._stopped([self._platform.nats.pid], self._short_s)),
            ("rob nats", self._rob_nats),
            ("kill postgres", self._kill_postgres),
            ("stop postgres", lambda: self._stopped(self._platform.family(), self._short_s)),
            ("refuse postgres", self._refuse),
            ("swallow postgres", self._swallow),
            ("cut postgres all", self._cut_all),
        ]
        return [*kinds, *(3 * [self._trap(cut) for cut in Cut])]

    def _drawn(self) -> list[tuple[str, Do]]:
        """Every kind, before one comes up again."""
        return self._random.sample(self._kinds, len(self._kinds))

    def _in_order(self) -> list[tuple[str, Do]]:
        """The order of a short run, the last one first: a bit of everything beside a replica that stands still."""
        kinds = dict(self._kinds)
        stopped = self._random.choice(("table", "presence", "clock", "auction"))
        others = [f"kill {role}-2" if role == stopped else f"kill {role}" for role in ("table", "presence", "clock")]
        order = [
            self._stop(stopped, LEAST_STOPPED_S),
            *(self._trap(cut) for cut in self._random.sample(list(Cut), 3)),
            ("kill postgres", kinds["kill postgres"]),
            ("rob nats", kinds["rob nats"]),
            self._kill("gateway-2"),
            *((what, kinds[what]) for what in self._random.sample(others, len(others))),
            self._kill("auction-2"),
            self._kill("trade"),
            self._kill("bots"),
        ]
        return order[::-1]

    def _kill(self, service: str) -> tuple[str, Do]:
        return f"kill {service}", lambda: self._end(service, signal.SIGKILL)

    def _drain(self, service: str) -> tuple[str, Do]:
        return f"drain {service}", lambda: self._end(service, signal.SIGTERM)

    def _stop(self, service: str, for_s: float) -> tuple[str, Do]:
        return f"stop {service}", lambda: self._stopped([self._platform.pid(service)], for_s)

    def _trap(self, cut: Cut) -> tuple[str, Do]:
        return f"cut-{cut.value} postgres", lambda: self._cut(cut)

    async def _end(self, service: str, number: signal.Signals) -> bool:
        pid = self._platform.pid(service)
        if not pid or not send([pid], number):
            return False
        self.ended[service] += 1
        await self._platform.all_serve({service: self.ended[service]})
        return True

    async def _stopped(self, pids: list[int], for_s: float) -> bool:
        pids = [pid for pid in pids if pid]
        stopped = send(pids, signal.SIGSTOP)
        try:
            if stopped:
                await asyncio.sleep(for_s)
        finally:
            send(pids, signal.SIGCONT)
        return stopped > 0

    async def _kill_nats(self) -> bool:
        await asyncio.to_thread(self._platform.nats.kill)
        await asyncio.sleep(self._random.choice((0.0, 3.0)))
        await asyncio.to_thread(self._platform.nats.start)
        return True

    async def _rob_nats(self) -> bool:
        """It comes back with nothing in its store."""
        nats = self._platform.nats
        await asyncio.to_thread(nats.kill)
        shutil.rmtree(nats.store)
        await asyncio.to_thread(nats.start)
        return True

    async def _away_nats(self) -> bool:
        await asyncio.to_thread(self._platform.nats.kill)
        await asyncio.sleep(AWAY_S)
        await asyncio.to_thread(self._platform.nats.start)
        return True

    async def _kill_postgres(self) -> bool:
        await asyncio.to_thread(self._platform.postgres.kill)
        await asyncio.to_thread(self._platform.postgres.start)
        return True

    async def _away_postgres(self) -> bool:
        await asyncio.to_thread(self._platform.postgres.kill)
        await asyncio.sleep(AWAY_S)
        await asyncio.to_thread(self._platform.postgres.start)
        return True

    async def _refuse(self) -> bool:
        await self._platform.proxy.stop()
        await asyncio.sleep(self._random.uniform(1, 6))
        await self._platform.proxy.start()
        return True

    async def _swallow(self) -> bool:
        self._platform.proxy.freeze()
        await asyncio.sleep(self._short_s)
        self._platform.proxy.thaw()
        return True

    async def _cut_all(self) -> bool:
        return self._platform.proxy.cut_all() > 0

    async def _cut(self, cut: Cut) -> bool:
        """The next append of a person's command that goes by; none of those after the end of the run."""
        trap = self._platform.proxy.cut_at(COMMANDS, cut, statement=APPENDS)
        sprung = asyncio.create_task(trap.sprung.wait(), name="sprung")
        over = asyncio.create_task(self._over.wait(), name="over")
        try:
            await asyncio.wait({sprung, over}, timeout=SPRINGS_S, return_when=asyncio.FIRST_COMPLETED)
        finally:
            sprung.cancel()
            over.cancel()
        if self._platform.proxy.disarm(trap):
            return False
        await (
            trap.done.wait()
        )  # an append that has gone on is answered, or its connection ends with its client's patience
        return True


def _subject(what: str) -> str:
    return what.split(" ")[1]
