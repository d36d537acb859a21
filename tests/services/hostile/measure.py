"""Hostile clients at length: ``python -m tests.services.hostile.measure``, what `make hostile` does.

First odd messages at every RPC (``storm``), then what attacks cost everybody else. Sixteen persons play at an even
pace, over a gateway with its usual limits, before, during and after each attack; the p99 of what their commands take
then is compared with that before and after. All attacks come in each of several rounds, and the median of an attack's
ratios counts. The memory of gateway and table is looked at after each round: what grows once is a cache, what grows
again grows without bound.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import secrets
import sys
import time
from itertools import pairwise
from pathlib import Path
from statistics import median, quantiles
from typing import Any

from omnipoly.rules import actions as act
from omnipoly.runtime import logging
from omnipolyd.gateway import tokens
from tests.load.bench.processes import SECRET, Platform, Process, cpu_s, memory_bytes, platform
from tests.services.gateway.calling import Client, Playing
from tests.services.hostile import storm
from tests.services.hostile.attacks import ATTACKS
from tests.services.hostile.methods import RPCS

PERSONS = 16
ATTACKED = 4
"""Tables of theirs that are attacked."""
EVERY_S = 0.08
"""Of one person: five eighths of what they may do. All of them send some 200 commands a second."""
SECONDS = 11.0
"""Of a window: a p99 is that of some 2,200 commands."""
ROUNDS = 5
UNDER_WAY_S = 3.0
"""What an attack has before it is measured."""
REST_S = 10.0
"""After a round, before memory is looked at."""
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
        for number in range(PERSONS):
            token = tokens.issue(SECRET, f"oidc:other{number}", "Ann", lifetime_s=36_000)
            client = Client(self._gateway, token)
            self._clients.append(client)
            table = await client.create()
            self.tables.append(table)
            stream = client.play()
            await stream.follow(table)
            await stream.next("progress")
            self._streams.append((stream, table))
        del self.tables[ATTACKED:]

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
    await others.play(UNDER_WAY_S)
    took = await others.play(seconds)
    process.stdin.close()
    done = json.loads(await process.stdout.readline())["done"]
    await process.wait()
    return took, done


def took_s(seconds: float, rounds: int, attacks: int) -> float:
    """How long all of it takes, about."""
    starting_s = 1.5
    return 10 + rounds * (attacks * (3 * seconds + UNDER_WAY_S + starting_s) + REST_S)


async def measured(seconds: float, rounds: int, attacks: list[str]) -> int:
    """Prints the table and writes the report; the exit code."""
    async with platform() as servers:
        table, gateway = await _started(servers)
        others = Others(gateway.address)
        await others.sit_down()
        await others.play(5)
        rows: list[dict[str, Any]] = []
        memory = []
        for number in range(rounds):
            for name in attacks:
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
            await others.play(REST_S)
            memory.append((memory_bytes(gateway.pid), memory_bytes(table.pid)))
        medians = [of_rounds(name, [row for row in rows if row["attack"] == name]) for name in attacks]
        worst = max(one["ratio"] for one in medians)
        grown = {
            name: [round((last - first) / 2**20, 1) for first, last in pairwise(sizes)]
            for name, sizes in zip(("gateway", "table"), zip(*memory, strict=True), strict=True)
        }
        report = {"rows": rows, "medians": medians, "worst_ratio": worst, "grown_mib": grown}
        storm.write("attacks", report)
        for one in medians:
            print(json.dumps(one))  # noqa: T201
        print(f"worst of the medians of {rounds} rounds: {worst}; grown from round to round, MiB: {grown}")  # noqa: T201
        if grouped := sessions_grouped():
            print(grouped)  # noqa: T201
        return 0 if worst <= MOST else 1


def of_rounds(name: str, rows: list[dict[str, Any]]) -> dict[str, Any]:
    """The medians of an attack's rounds."""
    keys = ("done", "commands", "p99_quiet_ms", "p99_ms", "ratio", "gateway_cpu_quiet", "gateway_cpu")
    middle = {key: round(median(row[key] for row in rows), 2) for key in keys}
    return {"attack": name, **middle, "ratios": [row["ratio"] for row in rows]}


async def _started(servers: Platform) -> tuple[Process, Process]:
    database = await servers.database()
    table = await servers.table(database)
    gateway = await servers.serve("gateway", OMNIPOLY_SESSION_KEY=SECRET, OMNIPOLY_TABLE_ADDR=table.address)
    return table, gateway


def main() -> int:
    """The command."""
    minutes = took_s(SECONDS, ROUNDS, len(ATTACKS)) / 60
    parser = argparse.ArgumentParser(
        prog="python -m tests.services.hostile.measure",
        description=f"Throws odd messages at each RPC, and measures what {len(ATTACKS)} attacks cost everybody else.",
        epilog=f"The attacks alone (--messages 0) take {minutes:.0f} minutes.",
    )
    parser.add_argument("--messages", type=int, default=storm.MESSAGES, help="odd ones at each RPC; 0: attacks alone")
    parser.add_argument("--seed", type=int, default=secrets.randbelow(2**32), help="of the odd messages")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="of a window, three for each attack and round")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="of all attacks; the median of their ratios counts")
    parser.add_argument("--only", action="append", choices=ATTACKS, help="only this attack; may be given again")
    given = parser.parse_args()
    attacks = given.only or list(ATTACKS)
    logging.configure("hostile", level="error")
    bad = asyncio.run(storm.stormed(list(RPCS), given.messages, given.seed)) if given.messages else 0
    print(f"{len(attacks)} attacks, {took_s(given.seconds, given.rounds, len(attacks)) / 60:.0f} minutes")  # noqa: T201
    return asyncio.run(measured(given.seconds, given.rounds, attacks)) or bad


if __name__ == "__main__":
    sys.exit(main())
