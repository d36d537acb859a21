"""Odd messages at every public RPC, very many: ``python -m tests.services.hostile.storm [--messages N] [--only RPC]``.

Postgres, NATS, a table service, auction, trade, presence and two gateways run as processes, with their limits raised so
that messages are answered for what they are and not for how many they are; two more processes throw. A run is good
when every answer is a proper one, nothing is logged as an error, every process lives, its memory stays within bounds,
and a game can be played after each RPC. It goes round all RPCs ten times, shows how far it is, says a line for each RPC
at the end, and writes its part of ``build/hostile.json`` as it goes.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import os
import secrets
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from omnipoly.runtime import logging, migrations
from omnipoly.runtime.embedded import EmbeddedNats, EmbeddedPostgres
from tests.load.bench.processes import SECRET, UNLIMITED, Generator, Process, cpu_s, memory_bytes
from tests.services.conftest import roomy_folder
from tests.services.hostile.methods import RPCS

MESSAGES = int(os.environ.get("HOSTILE_MESSAGES") or 100_000)
THROWERS = 2
"""As many as gateways: each throws at its own."""
AT_A_TIME = 1000
"""Messages of one order; after each it is said how far the run is."""
FEWER: dict[str, tuple[int, str]] = {}
"""RPCs at which fewer messages are thrown, how many at most, and why: none."""
ROUNDS = 10
"""In each a share of the messages is thrown at every RPC: what grows from one to the next grows without bound."""
MOST_FAULTS = 40
"""Told of one RPC; all are counted."""
MOST_MIB = 1024
"""What a process may grow to: all that it keeps in memory is bounded, and this is far above it."""
REPORT = Path("build/hostile.json")
RAISED = {
    **UNLIMITED,
    "OMNIPOLY_DEV": "true",
    "OMNIPOLY_REFLECTION": "false",
    "OMNIPOLY_SIGN_INS_PER_SECOND": "1000000",
    "OMNIPOLY_SIGN_INS_BURST": "1000000",
    "OMNIPOLY_GUESTS_WATCH": "true",
    "OMNIPOLY_CHAT_LINES_PER_SECOND": "1000",
    "OMNIPOLY_REPEATS_FOR_S": "0",
}
"""With the limits of a person and of a connection in place most messages would be refused unread."""


class Watched(Process):
    """A service of which everything is kept that it logs above its usual course."""

    def __init__(self, *given: Any) -> None:
        self.errors: list[str] = []
        self.warnings: Counter[str] = Counter()
        super().__init__(*given)

    @property
    def gone(self) -> bool:
        """Whether it has ended."""
        return self._process.returncode is not None

    def mib(self) -> float:
        """Memory of its own, 2**20 bytes; 0 when it has ended."""
        return 0.0 if self.gone else memory_bytes(self.pid) / 2**20

    async def ended(self) -> None:
        """Until it has, and all it has said is read."""
        await self._process.wait()
        await self._rest

    async def _drain(self) -> None:
        assert self._process.stderr is not None
        while line := await self._process.stderr.readline():
            if b'"level": "info"' in line or b'"level": "debug"' in line:
                continue
            text = line.decode(errors="replace").strip()
            try:
                said = json.loads(text)
            except ValueError:
                said = {}  # what is no line of a log is a crash of something
            if said.get("level") == "warning":
                self.warnings[str(said.get("event"))] += 1
            elif text:
                self.errors.append(text[:4000])


class Storm:
    """What runs, and who throws."""

    def __init__(self, services: dict[str, Watched], throwers: list[Generator]) -> None:
        self.services = services
        self._throwers = throwers

    @property
    def gone(self) -> bool:
        """Whether a service has ended."""
        return any(one.gone for one in self.services.values())

    async def at(self, name: str, messages: int, seed: str) -> dict[str, Any]:
        """Throws so many at an RPC; its line of the report."""
        began, cpu = time.perf_counter(), {key: cpu_s(one.pid) for key, one in self.services.items()}
        statuses: Counter[str] = Counter()
        faults: list[str] = []
        thrown = faulty = 0

        async def throwing(number: int, thrower: Generator, share: int) -> None:
            nonlocal thrown, faulty
            while share and not self.gone:
                some = min(AT_A_TIME, share)
                share -= some
                came = await thrower.ask(what="throw", rpc=name, messages=some, seed=f"{seed} {name} {number}")
                thrown += came["thrown"]
                faulty += came["faulty"]
                statuses.update(came["statuses"])
                told = (f"{what}\n    {message}" for what, message in came["faults"])
                faults.extend(itertools.islice(told, MOST_FAULTS - len(faults)))
                _progress(name, thrown, messages, time.perf_counter() - began)

        count = len(self._throwers)
        await asyncio.gather(
            *(
                throwing(number, thrower, messages // count + (number < messages % count))
                for number, thrower in enumerate(self._throwers)
            )
        )
        seconds = time.perf_counter() - began
        unwell = (await self._throwers[0].ask(what="still_well"))["unwell"]
        if unwell:
            faults.append(f"no game can be played any more: {unwell}")
        faults += self.what_is_wrong()
        return {
            "rpc": name,
            "messages": thrown,
            "seconds": round(seconds, 1),
            "statuses": dict(statuses.most_common()),
            "faulty": faulty,
            "faults": faults,
            "cpu_us": {
                key: round((cpu_s(one.pid) - cpu[key]) / max(thrown, 1) * 1e6) for key, one in self.services.items()
            },
            "mib": {key: round(one.mib(), 1) for key, one in self.services.items()},
        }

    def what_is_wrong(self) -> list[str]:
        """With the services, since the last time: errors logged, processes ended or grown."""
        wrong = []
        for key, one in self.services.items():
            wrong += [f"{key} has logged: {line}" for line in one.errors[:MOST_FAULTS]]
            one.errors.clear()
            if one.gone:
                wrong.append(f"{key} has ended")
            elif one.mib() > MOST_MIB:
                wrong.append(f"{key} has grown to {one.mib():.0f} MiB")
        return wrong


@asynccontextmanager
async def storm() -> AsyncIterator[Storm]:
    """Everything, for the length of the block."""
    started: list[Process | Generator] = []

    async def serve(role: str, **variables: str) -> Watched:
        process = await Watched.serve(role, nats.url, **RAISED, **variables)
        started.append(process)
        return process

    with EmbeddedPostgres(roomy_folder(), ephemeral=True) as postgres, EmbeddedNats() as nats:
        await migrations.migrate(postgres.url, "omnipolyd.table.migrations")
        try:
            table = await serve("table", OMNIPOLY_DATABASE_URL=postgres.url)
            services = {"table": table}
            addresses = {"OMNIPOLY_TABLE_ADDR": table.address}
            for role in ("auction", "trade", "presence"):
                services[role] = await serve(role, OMNIPOLY_TABLE_ADDR=table.address)
                addresses[f"OMNIPOLY_{role.upper()}_ADDR"] = services[role].address
            throwers = []
            for number in range(THROWERS):
                gateway = await serve("gateway", OMNIPOLY_SESSION_KEY=SECRET, **addresses)
                services[f"gateway {number + 1}"] = gateway
                thrower = await Generator.start(
                    "tests.services.hostile.throwing",
                    gateway=gateway.address,
                    table=table.address,
                    secret=SECRET,
                    name=str(number),
                )
                started.append(thrower)
                throwers.append(thrower)
            yield Storm(services, throwers)
        finally:
            while started:
                await started.pop().stop()


async def stormed(names: list[str], messages: int, seed: int, *, first: int = 1) -> int:
    """Throws so many at each, in rounds, so that a run that is cut short has been everywhere; says what came of it and
    writes the report. first: the round to go on with, behind what is in the report. The exit code."""
    rounds = max(1, min(ROUNDS, messages // AT_A_TIME))
    _say(f"{messages} messages at each of {len(names)} RPCs in {rounds} rounds, --seed {seed}")
    for name, (most, why) in FEWER.items():
        _say(f"  at most {most} at {name}: {why}")
    done: list[dict[str, Any]] = []
    rows: dict[str, dict[str, Any]] = {}
    if first > 1:
        report = read("messages")
        done, rows = report["rounds"], {row["rpc"]: row for row in report["rows"]}

    def keep() -> None:
        write("messages", {"seed": seed, "rows": list(rows.values()), "rounds": done})

    async with storm() as running:
        for number in range(first, rounds + 1):
            began = time.perf_counter()
            for name in names:
                share = min(messages, FEWER.get(name, (messages, ""))[0]) // rounds
                row = await running.at(name, share, f"{seed} {number}")
                _say_faults(row)
                rows[name] = _added(rows[name], row) if name in rows else row
                keep()
                if running.gone:
                    return _told(rows)  # who throws on would throw at nobody
            memory = {key: round(one.mib(), 1) for key, one in running.services.items()}
            seconds = round(time.perf_counter() - began)
            done.append({"round": number, "seconds": seconds, "mib": memory})
            keep()
            _say(f"{time.strftime('%H:%M:%S')} round {number} of {rounds}: {seconds} s; MiB {json.dumps(memory)}")
        warnings = {key: dict(one.warnings) for key, one in running.services.items() if one.warnings}
        _say(f"warnings logged: {json.dumps(warnings)}")
    return _told(rows)


def _added(before: dict[str, Any], row: dict[str, Any]) -> dict[str, Any]:
    """What came of two rounds at one RPC; of the processes' shares and memory, the latter's."""
    counted = {key: round(before[key] + row[key], 1) for key in ("messages", "seconds", "faulty")}
    statuses = Counter(before["statuses"]) + Counter(row["statuses"])
    faults = [*before["faults"], *row["faults"]][:MOST_FAULTS]
    return {**row, **counted, "statuses": dict(statuses.most_common()), "faults": faults}


def _told(rows: dict[str, dict[str, Any]]) -> int:
    """Says a line for each RPC, and two for all; the exit code."""
    total: Counter[str] = Counter()
    for row in rows.values():
        total.update(row["statuses"])
        word = f"FAULTY {row['faulty']}" if row["faults"] else "good"
        _say(f"{row['rpc']}: {word}; {row['messages']} in {row['seconds']:.0f} s; {_counts(row['statuses'])}")
    bad = [row["rpc"] for row in rows.values() if row["faults"]]
    messages, seconds = (sum(row[key] for row in rows.values()) for key in ("messages", "seconds"))
    _say(f"{messages} messages at {len(rows)} RPCs in {seconds:.0f} s; {len(rows) - len(bad)} RPCs good; bad: {bad}")
    _say(f"answers: {_counts(total)}")
    return 1 if bad else 0


def read(part: str) -> dict[str, Any]:
    """A part of the report; empty where there is none."""
    found: dict[str, Any] = json.loads(REPORT.read_text("utf-8")) if REPORT.exists() else {}
    return dict(found.get(part, {}))


def write(part: str, what: dict[str, Any]) -> None:
    """Writes a part of the report, and keeps the others."""
    REPORT.parent.mkdir(exist_ok=True)
    report = {name: read(name) for name in ("messages", "attacks")}
    REPORT.write_text(json.dumps({**report, part: what}, indent=1) + "\n", "utf-8")


def _progress(name: str, thrown: int, messages: int, seconds: float) -> None:
    if sys.stderr.isatty():
        sys.stderr.write(f"\r{name}: {thrown} of {messages}, {thrown / seconds:.0f} a second \x1b[K")


def _say_faults(row: dict[str, Any]) -> None:
    if row["faults"]:
        _say(f"{row['rpc']}: FAULTY {row['faulty']}")
        for fault in row["faults"]:
            _say(f"  FAULT {fault}")


def _say(line: str) -> None:
    if sys.stderr.isatty():
        sys.stderr.write("\r\x1b[K")
    print(line, flush=True)  # noqa: T201


def _counts(statuses: dict[str, int]) -> str:
    return ", ".join(f"{status} {count}" for status, count in sorted(statuses.items(), key=lambda one: -one[1]))


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m tests.services.hostile.storm")
    parser.add_argument("--messages", type=int, default=MESSAGES, help="at each RPC")
    parser.add_argument(
        "--only", action="append", choices=RPCS, metavar="RPC", help="this one alone; may be given several times"
    )
    parser.add_argument("--seed", type=int, default=secrets.randbelow(2**32))
    parser.add_argument("--round", type=int, default=1, help="the one to go on with, after a run that was cut short")
    given = parser.parse_args()
    logging.configure("storm", level="error")
    try:
        return asyncio.run(stormed(given.only or list(RPCS), given.messages, given.seed, first=given.round))
    except KeyboardInterrupt:
        return _told({row["rpc"]: row for row in read("messages").get("rows", ())}) or 130


if __name__ == "__main__":
    sys.exit(main())
