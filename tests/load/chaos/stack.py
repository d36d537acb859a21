"""The platform under chaos: one Postgres behind a proxy, one NATS, and `omnipolyd up` with several replicas of all."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import json
import os
import shutil
import signal
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, ExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

from omnipoly.runtime.embedded import EmbeddedNats, EmbeddedPostgres
from tests.services.conftest import roomy_folder
from tests.services.proxy import Proxy
from tests.services.waiting import eventually
from tests.system.stack import Stack, below, running

REPLICAS = {"table": 3, "auction": 2, "trade": 2, "clock": 2, "presence": 2, "gateway": 2, "bots": 2}
KEY = "a-key-of-chaos-alone-that-is-longer-than-32-characters"
BACK_S = 90.0
"""How long whatever was broken may take to be back; it only guards."""


class Platform:
    """What is played on, and all that can be done to it."""

    def __init__(self, postgres: EmbeddedPostgres, nats: EmbeddedNats, proxy: Proxy, stack: Stack) -> None:
        self.postgres = postgres
        self.nats = nats
        self.proxy = proxy
        self.stack = stack

    @property
    def services(self) -> list[str]:
        """The processes by name: `table`, `table-2`."""
        return list(self.stack.services)

    @property
    def gateways(self) -> list[str]:
        """host:port of each."""
        return [address for name, address in self.stack.services.items() if name.startswith("gateway")]

    def pid(self, service: str) -> int:
        """The process that serves under that name now; 0: none does."""
        found = self.stack.find(service)
        return found.pid.number if found is not None else 0

    def family(self) -> list[int]:
        """Postgres and its processes."""
        return [process.pid.number for process in below(self.postgres.pid)]

    def came_back(self, service: str) -> int:
        """How often `up` has said that it serves again."""
        return self.stack.errors.count(f"omnipolyd: {service} serves again\n")

    async def all_serve(self, expected: dict[str, int]) -> None:
        """Returns once each service has come back as often as it was ended."""
        await eventually(lambda: all(self.came_back(name) >= times for name, times in expected.items()), BACK_S)


def send(pids: list[int], number: signal.Signals) -> int:
    """A signal to those that still live; how many that are."""
    sent = 0
    for pid in pids:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            continue
        sent += 1
    return sent


@asynccontextmanager
async def platform(folder: Path, **variables: str) -> AsyncIterator[Platform]:
    """All of it, up for the length of the block; its logs are kept in the folder."""
    async with AsyncExitStack() as up:
        postgres, nats = EmbeddedPostgres(roomy_folder(), ephemeral=True), EmbeddedNats(folder / "nats")
        up.push_async_callback(asyncio.to_thread, postgres.stop)
        up.push_async_callback(asyncio.to_thread, nats.stop)
        await asyncio.gather(asyncio.to_thread(postgres.start), asyncio.to_thread(nats.start))
        proxy = await up.enter_async_context(Proxy(postgres.url, reads=True))
        replicas = [text for role, number in REPLICAS.items() for text in ("--replicas", f"{role}={number}")]
        made = ExitStack()
        up.push_async_callback(asyncio.to_thread, made.close)
        arguments = ("--data", str(folder / "up"), "--database-url", proxy.url, "--nats-url", nats.url, *replicas)
        start = running(*arguments, errors=folder / "up.txt", OMNIPOLY_SESSION_KEY=KEY, **variables)
        stack = await asyncio.to_thread(made.enter_context, start)
        yield Platform(postgres, nats, proxy, stack)


class People:
    """The load, in a process of its own."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    @classmethod
    async def start(cls, **setup: Any) -> People:
        """Starts them; returns once they play."""
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "tests.load.chaos.load",
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
        )
        people = cls(process)
        await people._write(json.dumps(setup))
        await people._said()
        return people

    async def stop(self) -> dict[str, int]:
        """Has the games come to their ends; the counts."""
        with contextlib.suppress(ConnectionError):  # who has ended before has said so
            await self._write("stop")
        counts = await self._said()
        await self._process.wait()
        return counts

    def kill(self) -> None:
        """Ends them at once, if they still live."""
        if self._process.returncode is None:
            self._process.kill()

    async def _write(self, line: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(line.encode() + b"\n")
        await self._process.stdin.drain()

    async def _said(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = await self._process.stdout.readline()
        if not line:
            raise RuntimeError("the people have gone without a word")
        said: dict[str, Any] = json.loads(line)
        return said


@contextlib.contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Nobody else's run is in the folder: one would take the other's NATS for a server that was left behind."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with folder.with_name(f"{folder.name}.lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise SystemExit(f"another run is in {folder}; give --folder another one") from None
        yield


def fresh(folder: Path) -> Path:
    """An empty folder."""
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "journals").mkdir(parents=True)
    return folder
