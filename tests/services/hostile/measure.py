"""Hostile clients at length: ``python -m tests.services.hostile.measure``, what `make hostile` does.

First odd messages at every RPC (``storm``), then what attacks cost everybody else. Eight persons at four tables play at
an even pace, over a gateway with its usual limits, before, during and after each attack; what their commands take is
compared with and without it. All attacks come twice, and the memory of gateway and table is looked at after each round:
what grows once is a cache, what grows again grows without bound.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import secrets
import sys
import time
from pathlib import Path
from statistics import median, quantiles

from omnipoly.rules import actions as act
from omnipoly.runtime import logging
from omnipolyd.gateway import tokens
from tests.load.bench.processes import SECRET, Platform, Process, cpu_s, memory_bytes, platform
from tests.services.gateway.calling import Client, Playing
from tests.services.hostile import storm
from tests.services.hostile.attacks import ATTACKS
from tests.services.hostile.methods import RPCS

TABLES = 4
EVERY_S = 0.1
"""Of one person: half of what they may do."""
ROUNDS = 2
MOST = 2.0
"""How many times longer the others' p99 may be."""


class Others:
    """Those who only want to play."""

    def __init__(self, gateway: str) -> None:
        self._gateway = gateway
        self.tables: list[str] = []
        self._streams: list[tuple[Playing, str]] = []
        self._clients: list[Client] = []

    async def sit_down(self) -> None:
        for number in range(2 * TABLES):
            token = tokens.issue(SECRET, f"oidc:other{number}", "Ann", lifetime_s=36_000)
            client = Client(self._gateway, token)
            self._clients.append(client)
            table = await client.create()
            self.tables.append(table)
            stream = client.play()
            await stream.follow(table)
            await stream.next("progress")
            self._streams.append((stream, table))
        del self.tables[TABLES:]

    async def play(self, seconds: float) -> list[float]:
        """What each command took, seconds."""
        took: list[float] = []
        until = time.perf_counter() + seconds

        async def playing(stream: Playing, table: str, offset: float) -> None:
            await asyncio.sleep(offset)
            rounds = 1
            while (began := time.perf_counter()) < until:
                rounds = rounds % 200 + 1
                answer = await stream.act(table, act.SetOptions(round_limit=rounds))
                assert answer.version
                took.append(time.perf_counter() - began)
                await asyncio.sleep(max(0.0, began + EVERY_S - time.perf_counter()))

        count = len(self._streams)
        await asyncio.gather(
            *(playing(stream, table, n * EVERY_S / count) for n, (stream, table) in enumerate(self._streams))
        )
        return took


def sessions_grouped() -> str:
    """What to say where the kernel gives each session, not each process, its share of the processors.

    Being nice to others means nothing there: with an attacker of hundreds of streams, a sleeper in another session woke
    5 s late. Within containers the setting has no effect. Empty: it is off.
    """
    setting = Path("/proc/sys/kernel/sched_autogroup_enabled")
    if not setting.exists() or setting.read_text("utf-8").strip() == "0":
        return ""
    return "kernel.sched_autogroup_enabled is 1: the figures say more of that than of the platform"


def p99_ms(took: list[float]) -> float:
    return quantiles(took, n=100)[98] * 1000


async def attacked(name: str, others: Others, gateway: str, seconds: float) -> tuple[list[float], int]:
    """What commands took meanwhile, and how much the attacker did."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "tests.services.hostile.attacks",
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    told = {"attack": name, "gateway": gateway, "secret": SECRET, "tables": others.tables}
    process.stdin.write(json.dumps(told).encode() + b"\n")
    await others.play(3)  # until it is under way
    took = await others.play(seconds)
    process.stdin.close()
    done = json.loads(await process.stdout.readline())["done"]
    await process.wait()
    return took, done


async def measured(seconds: float) -> int:
    """Prints the table and writes the report; the exit code."""
    async with platform() as servers:
        table, gateway = await _started(servers)
        others = Others(gateway.address)
        await others.sit_down()
        await others.play(5)
        rows, memory = [], []
        for number in range(ROUNDS):
            for name in ATTACKS:
                before = await others.play(seconds)
                cpu, began = cpu_s(gateway.pid), time.perf_counter()
                during, done = await attacked(name, others, gateway.address, seconds)
                share = (cpu_s(gateway.pid) - cpu) / (time.perf_counter() - began)
                cpu, began = cpu_s(gateway.pid), time.perf_counter()
                after = await others.play(seconds)
                quiet_share = (cpu_s(gateway.pid) - cpu) / (time.perf_counter() - began)
                quiet = median((p99_ms(before), p99_ms(after)))
                row = {
                    "round": number + 1,
                    "attack": name,
                    "done": done,
                    "commands": len(during),
                    "p99_quiet_ms": round(quiet, 2),
                    "p99_ms": round(p99_ms(during), 2),
                    "ratio": round(p99_ms(during) / quiet, 2),
                    "gateway_cpu_quiet": round(quiet_share, 2),
                    "gateway_cpu": round(share, 2),
                    "gateway_mib": round(memory_bytes(gateway.pid) / 2**20, 1),
                    "table_mib": round(memory_bytes(table.pid) / 2**20, 1),
                }
                rows.append(row)
                print(json.dumps(row), flush=True)  # noqa: T201
            await others.play(10)
            memory.append((memory_bytes(gateway.pid), memory_bytes(table.pid)))
        worst = max(min(row["ratio"] for row in rows if row["attack"] == name) for name in ATTACKS)
        growth = [round((last - first) / 2**20, 1) for first, last in zip(memory[0], memory[-1], strict=True)]
        report = {"rows": rows, "worst_ratio": worst, "grown_mib": dict(zip(("gateway", "table"), growth, strict=True))}
        storm.write("attacks", report)
        print(f"worst ratio of p99 (the better of {ROUNDS} rounds): {worst}; grown in the last round: {growth} MiB")  # noqa: T201
        if grouped := sessions_grouped():
            print(grouped)  # noqa: T201
        return 0 if worst <= MOST else 1


async def _started(servers: Platform) -> tuple[Process, Process]:
    database = await servers.database()
    table = await servers.table(database)
    gateway = await servers.serve("gateway", OMNIPOLY_SESSION_KEY=SECRET, OMNIPOLY_TABLE_ADDR=table.address)
    return table, gateway


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m tests.services.hostile.measure")
    parser.add_argument("--messages", type=int, default=storm.MESSAGES, help="odd ones at each RPC; 0: attacks alone")
    parser.add_argument("--seed", type=int, default=secrets.randbelow(2**32), help="of the odd messages")
    parser.add_argument("--seconds", type=float, default=8, help="of each measurement of attacks; there are 36")
    given = parser.parse_args()
    logging.configure("hostile", level="error")
    bad = asyncio.run(storm.stormed(list(RPCS), given.messages, given.seed)) if given.messages else 0
    return asyncio.run(measured(given.seconds)) or bad


if __name__ == "__main__":
    sys.exit(main())
