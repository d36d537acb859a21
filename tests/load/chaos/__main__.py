"""`make chaos`: `python -m tests.load.chaos [--seconds 60] [--tables 50] [--seed N] [--folder build/chaos]`.

Prints what was done and what was found; exits with 0 when nothing is wrong, else with 1.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
import time
from pathlib import Path

from .checker.report import check
from .dump import dump
from .faults import AWAY_S, BOTH_AWAY_S, ONE_AWAY_S, SHORT_S, Faults
from .stack import KEY, People, alone, fresh, platform

BOTS_THINK_S = "0.5"
SNAPSHOT_EVERY = "10"
"""Commits between two snapshots of a table: each game here has some, from which it is loaded, and which are checked."""


async def chaos(folder: Path, *, seconds: float, tables: int, seed: int, faulty: bool = True) -> bool:
    """One run, everything about it in the folder; whether all was well."""
    fresh(folder)
    begun = time.monotonic()

    def tell(line: str) -> None:
        sys.stdout.write(f"{time.monotonic() - begun:6.1f} s  {line}\n")
        sys.stdout.flush()

    variables = {"OMNIPOLY_BOTS_THINKING_S": BOTS_THINK_S, "OMNIPOLY_SNAPSHOT_EVERY": SNAPSHOT_EVERY}
    async with platform(folder, **variables) as up:
        tell(f"{len(up.services)} processes, seed {seed}, everything in {folder}")
        people = await People.start(
            gateways=up.gateways, folder=str(folder / "journals"), tables=tables, seed=seed, key=KEY
        )
        try:
            faults = Faults(up, folder, random.Random(seed), seconds=seconds)
            faults.write("services", services=up.stack.services)
            faults.write("load", edge="begin")
            if faulty:
                await faults.run(asyncio.get_running_loop().time() + seconds)
            else:
                await asyncio.sleep(seconds)
            await faults.undo()
            done = sorted((what, times) for what, times in faults.done.items() if times)
            tell("done to it: " + ", ".join(f"{what} {times}" for what, times in done))
            tell("all is whole again; the games come to their ends")
            counts = await people.stop()
        finally:
            people.kill()
        tell("people: " + ", ".join(f"{what} {number}" for what, number in counts.items()))
        rows = await dump(up.postgres.url, folder / "dump.jsonl")
        tell(f"{rows} rows dumped")
    found = await asyncio.to_thread(check, folder)
    for line in found.lines:
        tell(line)
    return found.good and not counts["failed"] and not counts["late"]


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(prog="make chaos")
    parser.add_argument(
        "--seconds",
        type=float,
        default=60,
        help=f"from {ONE_AWAY_S:.0f} on Postgres or NATS is away for {AWAY_S:.0f} s, by turns of the seed, from"
        f" {BOTH_AWAY_S:.0f} on both are; below {SHORT_S:.0f} the first faults have a fixed order (60)",
    )
    parser.add_argument("--tables", type=int, default=50)
    parser.add_argument(
        "--seed", type=int, default=random.SystemRandom().randrange(2**32), help="else a new one, which is shown"
    )
    parser.add_argument("--folder", type=Path, default=Path("build/chaos"))
    parser.add_argument("--calm", action="store_true", help="break nothing")
    given = parser.parse_args()
    folder = given.folder.resolve()
    with alone(folder):
        good = asyncio.run(
            chaos(folder, seconds=given.seconds, tables=given.tables, seed=given.seed, faulty=not given.calm)
        )
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
