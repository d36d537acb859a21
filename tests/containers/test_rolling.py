"""A rolling restart under load: each container stopped in order and started again while people play at the gateways.

The people and the checks are those of chaos: whatever a client was told to be done must stand in the log, once, where
it was told.
"""

from __future__ import annotations

import functools
import json
import time
from pathlib import Path

from tests.load.chaos.checker.report import check
from tests.load.chaos.dump import dump
from tests.load.chaos.stack import People, fresh

from .images import ROOT
from .stack import KEY, Stack

TABLES = 6
ORDER = ("table", "auction", "trade", "clock", "presence", "gateway", "bots")


async def test_no_acknowledged_command_is_lost(stack: Stack) -> None:
    folder = fresh(ROOT / "build/containers/rolling")
    people = await People.start(
        gateways=stack.gateways, folder=str(folder / "journals"), tables=TABLES, seed=time.time_ns() % 2**32, key=KEY
    )
    done = functools.partial(note, folder / "faults.jsonl")
    done("services", services={stack.published(name): name for name in stack.of("gateway")})
    try:
        for service in ORDER:
            for name in stack.of(service):
                done(f"drain {name}", edge="begin")
                assert await stack.boxes[name].leave_in_order() == 0, stack.boxes[name].log()
                await stack.boxes[name].again()
                done(f"drain {name}", edge="end")
        done("calm")
        counts = await people.stop()
    finally:
        people.kill()
    await dump(stack.database_url(), folder / "dump.jsonl")
    keep_own_tables(folder)
    report = check(folder)
    assert report.good, "\n".join(report.lines)
    assert counts["failed"] == counts["late"] == 0, counts
    assert counts["ended"] >= TABLES
    acknowledged = next(int(line.split()[0]) for line in report.lines if line.endswith("commands acknowledged"))
    assert acknowledged > 100


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


def note(path: Path, what: str, **more: object) -> None:
    """Writes down what was done when, as the checks of chaos read it."""
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps({"t": time.time_ns() // 1_000_000, "what": what, **more}) + "\n")
