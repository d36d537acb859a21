"""Running replicas of the table service, in the test's own loop or as processes."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from omnipoly.runtime import app
from omnipoly.runtime.app import App
from omnipolyd.table.config import TableSettings
from omnipolyd.table.service import TableService
from omnipolyd.table.table import Table
from omnipolyd.table.tables import Tables
from tests.services.table.calling import Caller


class Replica:
    """One running service, and a link to it."""

    def __init__(self, running: App, service: TableService, caller: Caller) -> None:
        self.app = running
        self.service = service
        self.caller = caller

    @property
    def tables(self) -> Tables:
        assert self.service.tables is not None
        return self.service.tables

    def memory(self, table: str) -> Table:
        """What the replica has in memory of a table."""
        return self.tables._tables[table]

    def forget(self, table: str) -> None:
        """As if it had left memory."""
        self.tables._tables.pop(table, None)

    async def sql(self, text: str, *args: object) -> Any:
        """Ask the log by hand; all rows."""
        return await self.app.database.fetch(text, *args)


@asynccontextmanager
async def serving(database_url: str, nats_url: str, **settings: Any) -> AsyncIterator[Replica]:
    """A replica up for the length of the block."""
    settings = {"dev": True, "open_tables": 1_000_000, "drain_s": 5, **settings}
    service = TableService(TableSettings(database_url=database_url, nats_url=nats_url, **settings))
    async with app.running(service) as running:
        caller = Caller.to(running)
        try:
            yield Replica(running, service, caller)
        finally:
            await caller.close()


class Child:
    """A replica in a process of its own, which can be killed."""

    def __init__(self, process: asyncio.subprocess.Process, address: str) -> None:
        self.process = process
        self.address = address
        self.caller = Caller(address)
        self._rest = asyncio.create_task(self._drain())

    @classmethod
    async def start(cls, database_url: str, nats_url: str, **settings: object) -> Child:
        """Start one and wait until it serves."""
        settings = {"database_url": database_url, "nats_url": nats_url, "open_tables": 1_000_000, **settings}
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "tests.services.table.replicas",
            env={
                "PATH": os.environ["PATH"],
                "OMNIPOLY_PLAINTEXT": "all",
                **{f"OMNIPOLY_{name.upper()}": str(on) for name, on in settings.items()},
            },
            stderr=asyncio.subprocess.PIPE,
        )
        assert process.stderr is not None
        async with asyncio.timeout(30):
            while line := await process.stderr.readline():
                said = json.loads(line)
                if said["event"] == "serving":
                    return cls(process, said["address"])
        raise AssertionError("it did not start")

    async def kill(self) -> None:
        """End it as a power cut would."""
        if self.process.returncode is None:
            self.process.kill()
            await self.process.wait()
        await self._rest
        await self.caller.close()

    async def _drain(self) -> None:
        assert self.process.stderr is not None
        while await self.process.stderr.readline():
            pass


if __name__ == "__main__":
    raise SystemExit(app.main(TableService, TableSettings))
