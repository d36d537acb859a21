"""The command line of the benchmark: ``make bench``, ``make profile``."""

from __future__ import annotations

import asyncio
import json
import os
import platform as machine
import signal
import time
from collections.abc import Callable
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from omnipoly.runtime import logging

from . import bidding, commands, engine, fanout, long, profiling, timing, whole
from .processes import Platform, platform
from .profiling import BUILD
from .rows import Asked, Measure, Row

ROWS: dict[str, Measure] = {
    "B-COMMAND": commands.command,
    "B-FANOUT": fanout.fanout,
    "B-ENGINE": engine.engine,
    "B-TABLES": long.tables,
    "B-LENGTH": long.length,
    "B-CLOCK": timing.clock,
    "B-BIDS": bidding.bids,
    "B-START": whole.start,
    "B-REPLICAS": commands.replicas,
}


def main(
    only: Annotated[list[str] | None, typer.Option(metavar="B-…", help="Only this row; may be given again.")] = None,
    seconds: Annotated[float, typer.Option(min=0.2, help="Length of one half of a pair.")] = 1.0,
    pairs: Annotated[int, typer.Option(min=1, help="Pairs of each comparison.")] = 5,
    compare: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="Instead: a command with and without this variable; or tree=FOLDER."),
    ] = None,
    profile: Annotated[
        bool, typer.Option("--profile", help="Flame graphs alone, of a command's way and the engine.")
    ] = False,
) -> None:
    """Measure what the platform costs, in ratios to the same work without a game in it."""
    logging.configure("bench", level="warning")
    console = Console(width=None if os.isatty(1) else 180)
    BUILD.mkdir(exist_ok=True)
    if profile:
        for path in asyncio.run(profiling.record(max(seconds, 10))):
            console.print(f"written: {path}")
        return
    if compare:
        given = dict(one.split("=", 1) for one in compare)
        other = given.pop("tree", "")

        async def compared(running: Platform, asked: Asked) -> list[Row]:
            return await commands.compared(running, asked, given, other)

        ROWS["compare"] = compared
    wanted = only or (["compare"] if compare else list(ROWS))
    for name in wanted:
        if name not in ROWS:
            raise typer.BadParameter(f"{name} is none of {', '.join(ROWS)}")
    began, load = time.perf_counter(), os.getloadavg()

    def keep(rows: list[Row]) -> None:
        document = {
            "machine": {"processors": os.cpu_count(), "system": machine.platform(), "python": machine.python_version()},
            "load_before": load,
            "load_after": os.getloadavg(),
            "seconds": seconds,
            "pairs": pairs,
            "took_s": time.perf_counter() - began,
            "rows": [row._asdict() for row in rows],
        }
        (BUILD / "bench.json").write_text(json.dumps(document, indent=1) + "\n")

    rows = asyncio.run(_measure(wanted, seconds, pairs, keep))
    console.print(_table(rows))
    console.print(
        f"{time.perf_counter() - began:.0f} s on {os.cpu_count()} processors; "
        f"load average {load[0]:.1f} before, {os.getloadavg()[0]:.1f} after"
    )


async def _measure(wanted: list[str], seconds: float, pairs: int, keep: Callable[[list[Row]], None]) -> list[Row]:
    """keep: is given all rows so far after each."""
    rows: list[Row] = []
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    screen = Console(stderr=True)
    with Progress(*columns, console=screen, disable=not screen.is_terminal) as progress:
        task = progress.add_task("starting", total=len(wanted))

        def tell(what: str) -> None:
            progress.update(task, description=what)
            if not screen.is_terminal:
                screen.print(what)

        this = asyncio.current_task()
        assert this is not None
        # asked to end, it takes along what it has started
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, this.cancel)
        async with platform() as running:
            for name in wanted:
                try:
                    rows += await ROWS[name](running, Asked(seconds, pairs, tell))
                except Exception as error:  # noqa: BLE001 - told in its row; the others are measured all the same
                    rows.append(Row(name, "could not be measured", repr(error)[:100], "", None, "", False, {}))
                    await running.clear()
                keep(rows)
                progress.advance(task)
    return rows


def _table(rows: list[Row]) -> Table:
    table = Table("row", "measured", "product", "against", "ratio", "aim", "", pad_edge=False)
    for row in rows:
        mark = "" if row.reached is None else "yes" if row.reached else "[red]no[/]"
        ratio = "" if row.ratio is None else f"{row.ratio:.2f}"
        table.add_row(row.id, row.what, row.measured, row.against, ratio, row.aim, mark)
    return table


if __name__ == "__main__":
    typer.run(main)
