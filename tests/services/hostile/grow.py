"""Grows the corpus: ``python -m tests.services.hostile.grow [--messages N] [--only RPC] [--seed S]``.

Per RPC, the messages of the corpus are thrown first and those kept that reach a line which none before them reached;
then N new ones, each made by chance from those kept. It plays on embedded servers of its own; what it finds wrong it
prints, and exits with 1.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import secrets
import sys

from omnipoly.runtime import logging, migrations
from omnipoly.runtime.embedded import EmbeddedNats, EmbeddedPostgres
from tests.services.conftest import roomy_folder
from tests.services.hostile import corpus, mutating
from tests.services.hostile.methods import RPCS, Rpc
from tests.services.hostile.reach import Line, Reach
from tests.services.hostile.stage import Thrower, platform

IDLE_S = 5.0
LONGEST_LINE = 1500
"""Of the corpus: what is longer says the same as something shorter."""
SEEDS = 12


async def grow(names: list[str], messages: int, seed: int) -> int:
    """The exit code."""
    rng = random.Random(seed)
    with EmbeddedPostgres(roomy_folder(), ephemeral=True) as postgres, EmbeddedNats() as nats:
        await migrations.migrate(postgres.url, "omnipolyd.table.migrations")
        async with platform(postgres.url, nats.url) as stack:
            thrower = Thrower(stack, rng)
            with Reach() as reach:
                # What runs by itself is nobody's merit.
                await thrower.evening()
                await asyncio.sleep(IDLE_S)
                idle = reach.taken()
                for name in names:
                    before = len(corpus.read(name))
                    kept = await _grow_one(RPCS[name], thrower, reach, idle, messages)
                    corpus.write(name, kept)
                    print(f"{name}: {before} -> {len(kept)}", flush=True)  # noqa: T201
            await thrower.close()
            for fault in thrower.faults:
                print(f"FAULT {fault.rpc}: {fault.what}\n  {corpus.encode(fault.message)[:2000]}")  # noqa: T201
    return 1 if thrower.faults else 0


async def _grow_one(rpc: Rpc, thrower: Thrower, reach: Reach, idle: set[Line], messages: int) -> list[bytes]:
    rng, known, kept = thrower.rng, set(idle), []
    first = [*corpus.read(rpc.name), *(mutating.sensible(rpc.request, rng).SerializeToString() for _ in range(SEEDS))]
    for number in range(len(first) + messages):
        message = first[number] if number < len(first) else mutating.odd(rpc.request, rng, kept)
        await thrower.evening()
        reach.taken()
        await thrower.throw(rpc, [message])
        lines = reach.taken() - known
        # Twice: a line that something else has run in the meantime is not its own.
        if lines:
            await thrower.throw(rpc, [message])
            lines &= reach.taken()
        if lines and len(corpus.encode(message)) <= LONGEST_LINE:
            known |= lines
            kept.append(message)
    return kept


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m tests.services.hostile.grow")
    parser.add_argument("--messages", type=int, default=2000, help="new messages for each RPC")
    parser.add_argument("--only", action="append", choices=RPCS, help="this RPC alone; may be given several times")
    parser.add_argument("--seed", type=int, default=secrets.randbelow(2**32))
    given = parser.parse_args()
    print(f"--seed {given.seed}")  # noqa: T201
    logging.configure("grow", level="error")
    return asyncio.run(grow(given.only or list(RPCS), given.messages, given.seed))


if __name__ == "__main__":
    sys.exit(main())
