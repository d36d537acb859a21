"""A rolling upgrade under load, from the image under test to the next release, as docs/operations/upgrades.md has it.

People play at the gateways while the schema is migrated, and while each container is stopped in order and comes again
from the newer image. The people and the checks are those of chaos: whatever a client was told to be done must stand in
the log, once, where it was told. In the end the platform of these tests is the newer one: this file comes last.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import docker

from omnipoly.runtime import migrations
from tests.load.chaos.checker.reading import Run
from tests.load.chaos.checker.report import check
from tests.load.chaos.dump import dump
from tests.load.chaos.stack import People, fresh
from tests.services.table import next_revision
from tests.services.waiting import eventually

from . import images
from .stack import KEY, UP_S, Stack

TABLES = 6
READERS = ("auction", "trade", "clock", "presence")
PLAYED_AT = ("gateway", "bots")
ORDER = (*READERS, *PLAYED_AT, "table")
GUIDE = images.ROOT / "docs/operations/upgrades.md"
WRITTEN = 'omnipoly_commits_total{outcome="moved"}'


async def test_no_acknowledged_command_is_lost(stack: Stack) -> None:
    assert ", ".join(ORDER) in " ".join(GUIDE.read_text("utf-8").split())
    await asyncio.to_thread(images.build_next)
    upgrade = Upgrade(stack, fresh(images.ROOT / "build/containers/upgrade"))
    people = await People.start(
        gateways=stack.gateways,
        folder=str(upgrade.folder / "journals"),
        tables=TABLES,
        seed=time.time_ns() % 2**32,
        key=KEY,
    )
    upgrade.note("services", services={name: stack.published(name) for name in stack.of("gateway")})
    try:
        await upgrade.newer_is_refused()
        await upgrade.migrate()
        for service in READERS:
            await upgrade.replace(service)
        older = stack.of("table")[0]
        await upgrade.older_starts_again(older)
        for service in PLAYED_AT:
            await upgrade.replace(service)
        await upgrade.older_writes(older)
        await upgrade.replace("table")
        upgrade.note("calm")
        counts = await people.stop()
    finally:
        people.kill()
    await upgrade.all_are_newer()
    await dump(stack.database_url(), upgrade.folder / "dump.jsonl")
    keep_own_tables(upgrade.folder)
    report = check(upgrade.folder)
    assert report.good, "\n".join(report.lines)
    assert counts["failed"] == counts["late"] == 0, counts
    assert counts["ended"] >= TABLES
    still = [step for step, acknowledged in steps(upgrade.folder).items() if not acknowledged]
    assert not still, f"nothing was acknowledged during {still}"


class Upgrade:
    """Its steps. What was done when is written down as the checks of chaos read it."""

    def __init__(self, stack: Stack, folder: Path) -> None:
        self.folder = folder
        self._stack = stack
        self._newest = next_revision.newest()

    async def newer_is_refused(self) -> None:
        """Before the migration: what it writes would not fit."""
        with self._step("start newer"):
            code, said = await self._stack.once("table", images.NEXT)
        assert code == 1, said
        (line,) = said.splitlines()
        found, needed = f"{self._newest:04}", f"{self._newest + 1:04}"
        assert json.loads(line)["error"] == (
            f"the database is at {found}, this program needs {needed}: run omnipolyd migrate"
        )

    async def migrate(self) -> None:
        """As the newer release's Job does it."""
        with self._step("migrate"):
            code, said = await self._stack.once("migrate", images.NEXT)
        assert code == 0, said
        assert await migrations.version(self._stack.database_url(), next_revision.PACKAGE) == f"{self._newest + 1:04}"

    async def replace(self, service: str) -> None:
        """Each of its containers."""
        for name in self._stack.of(service):
            with self._step(f"replace {name}"):
                await self._stack.replace(name, images.NEXT)

    async def older_starts_again(self, table: str) -> None:
        """Over the next schema, as after a rollback."""
        box = self._stack.boxes[table]
        with self._step(f"drain {table}"):
            assert await box.leave_in_order() == 0, box.log()
            await box.again()
        assert box.said('"schema_is_the_next"') == 1

    async def older_writes(self, table: str) -> None:
        """Since it has started again; games have gone on meanwhile."""
        box = self._stack.boxes[table]

        async def writes() -> bool:
            return await box.measured(WRITTEN) > 0

        await eventually(writes, UP_S)

    async def all_are_newer(self) -> None:
        """Each container of each service is of the newer image, and says so."""
        client = docker.from_env()
        newer = client.images.get(images.NEXT)
        client.close()
        assert newer.labels["org.opencontainers.image.version"] == images.next_version()
        for service in ORDER:
            for name in self._stack.of(service):
                box = self._stack.boxes[name]
                assert box.get_wrapped_container().image.id == newer.id, name
                version = f'omnipoly_build_info{{service="{service}",version="{images.next_version()}"}}'
                assert await box.measured(version) == 1

    def note(self, what: str, **more: object) -> None:
        """Writes down what was done."""
        with (self.folder / "faults.jsonl").open("a", encoding="utf-8") as file:
            file.write(json.dumps({"t": time.time_ns() // 1_000_000, "what": what, **more}) + "\n")

    @contextmanager
    def _step(self, what: str) -> Iterator[None]:
        self.note(what, edge="begin")
        yield
        self.note(what, edge="end")


def steps(folder: Path) -> dict[str, int]:
    """How many commands were acknowledged during each step."""
    run = Run(folder)
    times = [line["t"] for lines in run.journals.values() for line in lines if line["k"] == "accepted"]
    begun = {line["what"]: line["t"] for line in run.done if line.get("edge") == "begin"}
    ended = {line["what"]: line["t"] for line in run.done if line.get("edge") == "end"}
    return {what: sum(since <= at <= ended[what] for at in times) for what, since in begun.items()}


def keep_own_tables(folder: Path) -> None:
    """Other tests' games stand in the same database, and some of theirs never end."""
    own = {
        json.loads(line).get("table")
        for journal in (folder / "journals").glob("*.jsonl")
        for line in journal.read_text("utf-8").splitlines()
    }
    path = folder / "dump.jsonl"
    lines = path.read_text("utf-8").splitlines(keepends=True)
    kept = [line for line in lines if (table := json.loads(line).get("table_id")) is None or table in own]
    path.write_text("".join(kept), "utf-8")
