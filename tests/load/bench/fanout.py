"""B-FANOUT: events to watchers of one table and of many, against a bare server stream of the same bytes."""

from __future__ import annotations

import statistics

from .games import open_tables
from .processes import Platform
from .rows import Asked, Row, median, medians_of_cpu, paired, played

FANNING = "tests.load.bench.fanning"
FLOOR = "tests.load.bench.floor"
CASES = ((1, 1), (100, 1), (1000, 1), (1000, 100))
"""(watchers, tables)."""


async def fanout(running: Platform, asked: Asked) -> list[Row]:
    """B-FANOUT, and what a watcher that stands still costs the others."""
    rows = []
    for watchers, tables in CASES:
        asked.tell(f"B-FANOUT to {watchers} watchers of {tables} tables")
        bare = await running.process("watch", FLOOR, "watch", running.nats.url)
        table = await running.table(await running.database())
        # the heads say nothing of what is only published
        gateway = await running.gateway([table], OMNIPOLY_HEADS_EVERY_S="60")
        opened = await open_tables(table.address, tables)
        commits = {name: answer.commits[-1].hex() for name, answer in opened.items()}
        setup = {"nats_url": running.nats.url, "tables": commits, "watchers": watchers}
        floor = await running.generator(FANNING, to="floor", address=bare.address, **setup)
        product = await running.generator(FANNING, to="product", address=gateway.address, **setup)
        for generator in (floor, product):
            await generator.ask(seconds=min(1.0, asked.seconds))
        ratio, ones, others = await paired(
            asked,
            lambda f=floor, p=(bare,): played(running, f, p, asked.seconds),
            lambda g=product, p=(gateway,): played(running, g, p, asked.seconds),
        )
        cpu, floor_cpu = medians_of_cpu(others)["gateway"], medians_of_cpu(ones)["watch"]
        rows.append(
            Row(
                "B-FANOUT",
                f"events/s to {watchers} watchers of {tables} tables",
                f"{median(others):.0f}/s, {cpu:.1f} us each",
                f"{median(ones):.0f}/s, {floor_cpu:.1f} us each",
                ratio,
                ">= 0.9",
                ratio >= 0.9,
                {
                    "cpu_ratio": floor_cpu / max(cpu, 1e-9),
                    "generator_busy": median(others, "generator_busy"),
                    "floor_generator_busy": median(ones, "generator_busy"),
                },
            )
        )
        if (watchers, tables) == (100, 1):
            slowed = await running.generator(
                FANNING,
                to="product",
                address=gateway.address,
                stalled=True,
                **(
                    setup
                    | {
                        "tables": {
                            name: answer.commits[-1].hex()
                            for name, answer in (await open_tables(table.address, 1, "stalled")).items()
                        }
                    }
                ),
            )
            await slowed.ask(seconds=min(1.0, asked.seconds))
            cost, alone, beside = await paired(
                asked._replace(pairs=3 * asked.pairs),  # a difference smaller than that between two like halves
                lambda g=product, p=(gateway,): played(running, g, p, asked.seconds),
                lambda g=slowed, p=(gateway,): played(running, g, p, asked.seconds),
            )
            rows.append(
                Row(
                    "B-FANOUT",
                    "100 watchers beside one that stands still",
                    f"{median(beside):.0f}/s",
                    f"{median(alone):.0f}/s without",
                    cost,
                    "> 0.95",
                    cost > 0.95,
                    {"spread": statistics.pstdev([half.figure for half in alone]) / median(alone)},
                )
            )
        await running.clear()
    return rows
