"""Processes under measurement: started, watched through /proc, ended."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
import urllib.request
import uuid
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlsplit

import asyncpg
from prometheus_client.parser import text_string_to_metric_families

from omnipoly.runtime import migrations
from omnipoly.runtime.embedded import EmbeddedNats, EmbeddedPostgres

PLAYING = "tests.load.bench.playing"
"""The generator that plays."""
TICK_S = 1 / os.sysconf("SC_CLK_TCK")
SECRET = "a-secret-of-the-benchmark-alone-of-more-than-32-characters"
UNLIMITED = {
    "OMNIPOLY_COMMANDS_PER_SECOND": "1000000",
    "OMNIPOLY_COMMANDS_BURST": "1000000",
    "OMNIPOLY_STREAMS_PER_IDENTITY": "100000",
    "OMNIPOLY_STREAMS_PER_CONNECTION": "100",
    "OMNIPOLY_CONNECTION_CALLS_PER_SECOND": "1000000",
    "OMNIPOLY_CONNECTION_CALLS_BURST": "1000000",
    "OMNIPOLY_OPEN_TABLES": "1000000",
    "OMNIPOLY_BIDS_PER_SECOND": "1000000",
    "OMNIPOLY_BIDS_BURST": "1000000",
    "OMNIPOLY_LOG_LEVEL": "info",
}
"""What guards against one greedy client would bound the generator, which plays hundreds of persons."""


def cpu_s(pid: int) -> float:
    """Processor time of a process so far, its threads included; 0 for one that is gone."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) * TICK_S


def family_cpu_s(pid: int) -> float:
    """Processor time of a process and its children: Postgres has one for each connection."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return cpu_s(pid) + sum(cpu_s(int(child)) for child in children)


def memory_bytes(pid: int) -> int:
    """Resident memory that is a process's own (no shared pages of files)."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("RssAnon:"):
            return int(line.split()[1]) * 1024
    return 0


class Process:
    """A role in a process of its own that says on standard error, in one line of JSON, when and where it serves."""

    def __init__(self, name: str, process: asyncio.subprocess.Process, address: str, metrics_port: int) -> None:
        self.name = name
        self.address = address
        self._metrics_port = metrics_port
        self._process = process
        self._rest = asyncio.create_task(self._drain())

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    @classmethod
    async def serve(cls, role: str, nats_url: str, **variables: str) -> Self:
        """A service of the product, in plain text, at any port."""
        told = {"OMNIPOLY_PORT": "0", "OMNIPOLY_PLAINTEXT": "all", "OMNIPOLY_NATS_URL": nats_url}
        return await cls.start(role, "omnipolyd.main", "serve", role, **told, **variables)

    @classmethod
    async def start(cls, name: str, module: str, *arguments: str, **variables: str) -> Self:
        """Starts ``python -m module`` with these variables and none of Omnipoly's from around."""
        kept = {key: value for key, value in os.environ.items() if not key.startswith("OMNIPOLY_")}
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            module,
            *arguments,
            env=kept | variables,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.PIPE,
        )
        assert process.stderr is not None
        said = []
        async with asyncio.timeout(90):
            while line := await process.stderr.readline():
                said.append(line.decode(errors="replace"))
                if line.startswith(b"{") and (word := json.loads(line)).get("event") == "serving":
                    return cls(name, process, word["address"], int(variables.get("OMNIPOLY_METRICS_PORT", 0)))
        raise RuntimeError(f"{name} did not start: {''.join(said)}")

    async def metric(self, name: str) -> float:
        """The sum of a metric's samples; the process was started with a ``OMNIPOLY_METRICS_PORT``."""
        return await asyncio.to_thread(self._metric, name)

    def _metric(self, name: str) -> float:
        with urllib.request.urlopen(f"http://127.0.0.1:{self._metrics_port}/metrics", timeout=10) as answer:
            families = text_string_to_metric_families(answer.read().decode())
        found = [sample.value for family in families for sample in family.samples if sample.name == name]
        if not found:
            raise LookupError(f"{self.name} has no metric {name}")
        return sum(found)

    async def stop(self) -> None:
        """Ends it, in order where it does not take too long."""
        if self._process.returncode is None:
            self._process.terminate()
            try:
                async with asyncio.timeout(15):
                    await self._process.wait()
            except TimeoutError:
                self._process.kill()
                await self._process.wait()
        await self._rest

    async def _drain(self) -> None:
        assert self._process.stderr is not None
        while line := await self._process.stderr.readline():
            if b'"level": "info"' not in line:
                sys.stderr.write(f"{self.name}: {line.decode(errors='replace')}")


class Generator:
    """A load generator in a process of its own, told what to do in lines of JSON."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    @classmethod
    async def start(cls, module: str, **setup: Any) -> Generator:
        """Starts it and waits until it is ready to run."""
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            module,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            limit=64 * 1024 * 1024,
        )
        generator = cls(process)
        await generator.ask(**setup)
        return generator

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    async def ask(self, **what: Any) -> dict[str, Any]:
        """One order and what came of it."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(what).encode() + b"\n")
        line = await self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"a load generator ended at {what}")
        answer: dict[str, Any] = json.loads(line)
        return answer

    async def stop(self) -> None:
        """Ends it."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            async with asyncio.timeout(10):
                await self._process.wait()
        except TimeoutError:
            self._process.kill()
            await self._process.wait()


class Platform:
    """Postgres on a disk with fsync on, NATS, and whatever processes a row needs."""

    def __init__(self, postgres: EmbeddedPostgres, nats: EmbeddedNats) -> None:
        self.postgres = postgres
        self.nats = nats
        self._started: list[Process | Generator] = []

    async def database(self) -> str:
        """A new database with the schema of the log."""
        name = f"bench_{uuid.uuid4().hex[:12]}"
        connection = await asyncpg.connect(self.postgres.url)
        try:
            await connection.execute(f'CREATE DATABASE "{name}"')
        finally:
            await connection.close()
        url = urlsplit(self.postgres.url)._replace(path=f"/{name}").geturl()
        await migrations.migrate(url, "omnipolyd.table.migrations")
        return url

    async def serve(self, role: str, **variables: str) -> Process:
        """A service of the product."""
        process = await Process.serve(role, self.nats.url, **variables)
        self._started.append(process)
        return process

    async def table(self, database: str, **variables: str) -> Process:
        """A table service without the limits that guard against one greedy client."""
        return await self.serve("table", OMNIPOLY_DATABASE_URL=database, OMNIPOLY_OPEN_TABLES="1000000", **variables)

    async def gateway(self, tables: Iterable[Process], **variables: str) -> Process:
        """A gateway before those tables, likewise."""
        addresses = ",".join(table.address for table in tables)
        return await self.serve(
            "gateway", **UNLIMITED, OMNIPOLY_SESSION_KEY=SECRET, OMNIPOLY_TABLE_ADDR=addresses, **variables
        )

    async def process(self, name: str, module: str, *arguments: str, **variables: str) -> Process:
        """Any process; ended with the row."""
        process = await Process.start(name, module, *arguments, **variables)
        self._started.append(process)
        return process

    async def generator(self, module: str, **setup: Any) -> Generator:
        """A load generator; ended with the row."""
        generator = await Generator.start(module, **setup)
        self._started.append(generator)
        return generator

    async def clear(self) -> None:
        """Ends what a row has started, the last first."""
        while self._started:
            await self._started.pop().stop()


@asynccontextmanager
async def platform() -> AsyncIterator[Platform]:
    """Both servers for the length of the block, their data on a disk in the temporary folder."""
    folder = Path(tempfile.gettempdir())
    postgres, nats = EmbeddedPostgres(folder, ephemeral=True), EmbeddedNats(folder, ephemeral=True)
    await asyncio.to_thread(postgres.start)
    try:
        await asyncio.to_thread(nats.start)
        running = Platform(postgres, nats)
        try:
            yield running
        finally:
            await running.clear()
    finally:
        await asyncio.to_thread(nats.stop)
        await asyncio.to_thread(postgres.stop)
