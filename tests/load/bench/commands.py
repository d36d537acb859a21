"""B-COMMAND and B-REPLICAS: commands through gateway, table, Postgres and NATS on Play streams."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

import asyncpg

from tests.services.playing import free_port

from . import profiling
from .processes import PLAYING, Platform, Process
from .rows import Asked, Row, median, medians_of_cpu, paired, played

FLOOR = "tests.load.bench.floor"
TABLES = (1, 16, 64, 256)
PROFILE_S = 5


async def command(running: Platform, asked: Asked) -> list[Row]:
    """B-COMMAND."""
    rows = []
    for tables in TABLES:
        asked.tell(f"B-COMMAND at {tables} tables")
        floor_log = await running.process("table", FLOOR, "table", await running.database(), running.nats.url)
        floor_face = await running.process("gateway", FLOOR, "gateway", floor_log.address)
        table = await running.table(await running.database())
        gateway = await running.gateway([table])
        floor = await running.generator(PLAYING, to="floor", gateway=floor_face.address, tables=tables)
        product = await running.generator(
            PLAYING, to="product", gateway=gateway.address, table=table.address, tables=tables
        )
        for generator in (floor, product):
            await generator.ask(seconds=min(1.0, asked.seconds))  # warm
        ratio, ones, others = await paired(
            asked,
            lambda f=floor, p=(floor_log, floor_face): played(running, f, p, asked.seconds),
            lambda g=product, p=(table, gateway): played(running, g, p, asked.seconds),
        )
        late = statistics.median(
            other.details["p99_ms"] / max(one.details["p99_ms"], 1e-9) for one, other in zip(ones, others, strict=True)
        )
        cpu, floor_cpu = medians_of_cpu(others), medians_of_cpu(ones)
        rows.append(
            Row(
                "B-COMMAND",
                f"commands/s, {tables} tables",
                f"{median(others):.0f}/s p50 {median(others, 'p50_ms'):.1f} p99 {median(others, 'p99_ms'):.1f} ms",
                f"{median(ones):.0f}/s p50 {median(ones, 'p50_ms'):.1f} p99 {median(ones, 'p99_ms'):.1f} ms",
                ratio,
                ">= 0.7" if tables == 64 else "",
                ratio >= 0.7 if tables == 64 else None,
                {
                    "p99_ratio": late,
                    "cpu_us": cpu,
                    "floor_cpu_us": floor_cpu,
                    "messages_per_command": median(others, "messages") / max(1, median(others, "commands")),
                    "floor_messages_per_command": median(ones, "messages") / max(1, median(ones, "commands")),
                    "refused": sum(half.details["refused"] for half in others),
                    "stuck": sum(half.details["stuck"] for half in others),
                    "generator_busy": median(others, "generator_busy"),
                },
            )
        )
        if tables == 64:
            rows.append(
                Row(
                    "B-COMMAND",
                    "p99 at 64 tables",
                    f"{median(others, 'p99_ms'):.1f} ms",
                    f"{median(ones, 'p99_ms'):.1f} ms",
                    late,
                    "<= 2",
                    late <= 2,
                    {},
                )
            )
            total, floor_total = sum(cpu.values()), sum(floor_cpu.values())
            shares = ", ".join(f"{name} {cpu[name]:.0f}" for name in cpu)
            rows.append(
                Row(
                    "B-COMMAND",
                    "processor time of a command, us",
                    f"{total:.0f}: {shares}",
                    f"{floor_total:.0f}: " + ", ".join(f"{name} {floor_cpu[name]:.0f}" for name in floor_cpu),
                    floor_total / total,
                    "",
                    None,
                    {},
                )
            )
            asked.tell("B-COMMAND: flame graphs")
            recorded = profiling.of_processes((table, gateway), product, PROFILE_S)
            rows.append(await profiling.row("B-COMMAND", "where a command's time goes", recorded))
        await running.clear()
    return rows


async def replicas(running: Platform, asked: Asked) -> list[Row]:
    """B-REPLICAS: 2 and 4 table replicas against 1, each with a gateway of its own."""
    rows = []
    for number in (2, 4):
        asked.tell(f"B-REPLICAS with {number}")
        halves = []
        for count in (1, number):
            database = await running.database()
            tables = [await running.table(database, OMNIPOLY_METRICS_PORT=str(free_port())) for _ in range(count)]
            gateway = await running.gateway(tables)
            generator = await running.generator(
                PLAYING, to="product", gateway=gateway.address, table=tables[0].address, tables=64
            )
            await generator.ask(seconds=min(1.0, asked.seconds))
            halves.append((generator, [*tables, gateway], database))
        (one, ones_are, _), (many, many_are, database) = halves
        at_start = await _conflicts(many_are[:-1]), await _commits(database)
        ratio, ones, others = await paired(
            asked,
            lambda g=one, p=ones_are: played(running, g, p, asked.seconds),
            lambda g=many, p=many_are: played(running, g, p, asked.seconds),
        )
        commits, gaps, twice = await _looked_through(database)
        conflicts = await _conflicts(many_are[:-1]) - at_start[0]
        thousandth = 1000 * conflicts / max(1, commits - at_start[1])
        rows.append(
            Row(
                "B-REPLICAS",
                f"commands/s, {number} table replicas",
                f"{median(others):.0f}/s, {commits} commits, {gaps} gaps, {twice} twice",
                f"{median(ones):.0f}/s with 1",
                ratio,
                "no gap, none twice",
                gaps == 0 and twice == 0,
                {"refused": sum(half.details["refused"] for half in others)},
            )
        )
        rows.append(
            Row(
                "B-REPLICAS",
                f"conflicts per thousand commits, {number} table replicas",
                f"{thousandth:.2f} ({conflicts:.0f} in {commits - at_start[1]})",
                "",
                thousandth,
                "< 1",
                thousandth < 1,
                {},
            )
        )
        await running.clear()
    return rows


async def _conflicts(tables: Sequence[Process]) -> float:
    """Commands that were decided anew because another replica was faster."""
    return sum([await table.metric("omnipoly_commit_conflicts_total") for table in tables])


async def _commits(database: str) -> int:
    connection = await asyncpg.connect(database)
    try:
        return int(await connection.fetchval("SELECT count(*) FROM commits"))
    finally:
        await connection.close()


async def compared(running: Platform, asked: Asked, variables: dict[str, str], other: str = "") -> list[Row]:
    """What a setting, or another tree of the program, makes of a command at 64 tables: A as it is, B with it.

    other: a folder with another copy of the project, which B runs from.
    """
    where = {"PYTHONPATH": f"{other}/libs:{other}/services"} if other else {}
    halves = []
    for more in ({}, variables | where):
        table = await running.table(await running.database(), **more)
        gateway = await running.gateway([table], **more)
        generator = await running.generator(
            PLAYING, to="product", gateway=gateway.address, table=table.address, tables=64
        )
        await generator.ask(seconds=min(1.0, asked.seconds))
        halves.append((generator, (table, gateway)))
    (one, ones_are), (two, others_are) = halves
    ratio, ones, others = await paired(
        asked,
        lambda: played(running, one, ones_are, asked.seconds),
        lambda: played(running, two, others_are, asked.seconds),
    )
    rows = [
        Row("B", "commands/s, 64 tables", f"{median(others):.0f}/s", f"{median(ones):.0f}/s", ratio, "", None, {}),
        Row(
            "B",
            "p99",
            f"{median(others, 'p99_ms'):.0f} ms",
            f"{median(ones, 'p99_ms'):.0f} ms",
            median(others, "p99_ms") / median(ones, "p99_ms"),
            "",
            None,
            {},
        ),
    ]
    cpu, before = medians_of_cpu(others), medians_of_cpu(ones)
    rows += [
        Row("B", f"us of {name}", f"{cpu[name]:.0f}", f"{before[name]:.0f}", cpu[name] / before[name], "", None, {})
        for name in cpu
    ]
    await running.clear()
    return rows


async def _looked_through(database: str) -> tuple[int, int, int]:
    """(commits, tables whose versions have gaps, commands that are there twice)."""
    connection = await asyncpg.connect(database)
    try:
        row = await connection.fetchrow(
            """
            SELECT (SELECT count(*) FROM commits),
                   (SELECT count(*) FROM (SELECT FROM commits GROUP BY table_id HAVING max(version) <> count(*)) AS g),
                   (SELECT count(*) FROM (SELECT FROM commits WHERE command_id <> ''
                                          GROUP BY table_id, actor, command_id HAVING count(*) > 1) AS t)
            """
        )
        return row[0], row[1], row[2]
    finally:
        await connection.close()
