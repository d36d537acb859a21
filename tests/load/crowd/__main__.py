"""The command line: `make load TABLES=… CLIENTS=… SECONDS=… [RATE=…] [THINK=…] [GATEWAY=…]`."""

from __future__ import annotations

import asyncio
import json
import os
import random
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.live import Live
from rich.table import Table

from omnipoly.runtime.errors import ConfigError
from omnipolyd.gateway import tokens
from tests.load.bench.processes import UNLIMITED
from tests.services.conftest import roomy_folder
from tests.system.stack import running as stack_running

from . import report
from .running import Asked, Ran, Second, Told, run

FOLDER = Path("build/load")


def main(
    tables: Annotated[int, typer.Option(min=1, help="Games at once.")] = 20,
    clients: Annotated[int, typer.Option(min=1, help="Connections: players first, the others watch.")] = 60,
    seconds: Annotated[float, typer.Option(min=1, help="How long is measured, once everybody is in.")] = 20,
    rate: Annotated[
        float, typer.Option(min=0, help="Open model: so many commands a second, however long answers take.")
    ] = 0,
    think: Annotated[float, typer.Option(min=0, help="Closed model: seconds between a decision and its answer.")] = 0.5,
    seats: Annotated[int, typer.Option(min=2, max=6, help="Players at a table.")] = 2,
    gateway: Annotated[
        list[str] | None,
        typer.Option(metavar="HOST:PORT", help="A gateway; several: give it again. None: a stack of its own."),
    ] = None,
    session_key_file: Annotated[
        Path | None,
        typer.Option(
            help="What signs sessions there. Without it everybody is a guest, and guests may not watch.",
            exists=True,
            dir_okay=False,
            readable=True,
        ),
    ] = None,
    processes: Annotated[int, typer.Option(min=1, help="Processes of the generator.")] = max(
        1, (os.cpu_count() or 2) // 2
    ),
    seed: Annotated[int, typer.Option(help="Of whatever is drawn.")] = random.SystemRandom().randrange(2**32),
    folder: Annotated[Path, typer.Option(help="Where the report goes.")] = FOLDER,
) -> None:
    """Have players play and watchers watch, and report what they were given."""
    if clients < tables * seats:
        raise typer.BadParameter(f"{tables} tables of {seats} players are {tables * seats} clients already")
    with _gateways(gateway or [], session_key_file) as (gateways, key):
        asked = Asked(gateways, tables, clients, seconds, rate, think, seats, processes, seed, key)
        console = Console()
        try:
            ran = _watched(asked, console)
        except RuntimeError as error:
            console.print(f"[red]{error}[/]")
            raise typer.Exit(1) from None
    folder.mkdir(parents=True, exist_ok=True)
    said = report.text(ran)
    (folder / "report.txt").write_text(said, "utf-8")
    (folder / "report.json").write_text(json.dumps(report.document(ran), indent=1) + "\n", "utf-8")
    (folder / "report.html").write_text(report.page(ran), "utf-8")
    console.print(said, highlight=False, markup=False, soft_wrap=True)
    console.print(f"written: {folder}/report.txt, .json, .html")


@contextmanager
def _gateways(given: list[str], key_file: Path | None) -> Iterator[tuple[list[str], str]]:
    """Those that were named, or the gateways of a stack that lives as long as the block; and what signs sessions."""
    if given:
        yield given, _key(key_file) if key_file is not None else ""
        return
    key = tokens.new_secret()
    with tempfile.TemporaryDirectory(prefix="omnipoly-load-") as folder:
        arguments = ("--ephemeral", "--data", str(roomy_folder()))
        # All people come from one machine: what guards against one of them would bound the run.
        variables = {**UNLIMITED, "OMNIPOLY_SESSION_KEY": key}
        with stack_running(*arguments, errors=Path(folder, "up"), **variables) as stack:
            yield [stack.gateway], key


def _key(file: Path) -> str:
    """The first of the keys of a file, as gateways read it."""
    words = file.read_text("utf-8", "replace").split()
    try:
        tokens.Keys(words[:1])
    except ConfigError as error:
        raise typer.BadParameter(f"{file}: {error}") from None
    return words[0]


def _watched(asked: Asked, console: Console) -> Ran:
    """A run, shown while it goes on."""
    seconds: list[Second] = []
    ready, in_the_way = 0, ""

    def shown() -> Table:
        table = Table(
            "", "sent", "accepted", "shown", "errors", "due", "p50 ms", "p99 ms", "own core", "own lateness ms"
        )
        if len(seconds) < 1:
            table.caption = f"{ready} of {asked.tables} tables have everybody{in_the_way}"
        for second in seconds[-12:]:
            table.add_row(
                f"{second.at} of {asked.seconds:g} s",
                *(
                    str(number)
                    for number in (second.sent, second.accepted, second.shown, second.errors, second.overdue)
                ),
                *(f"{number:.1f}" for number in (second.p50_ms, second.p99_ms)),
                f"{second.core:.0%}",
                f"{second.late_ms:.1f}",
            )
        return table

    with Live(shown(), console=console, refresh_per_second=4, transient=True) as live:

        def got(number: int, refusals: Counter[str]) -> None:
            nonlocal ready, in_the_way
            said = "".join(f"; {reason} {count} times" for reason, count in refusals.most_common())
            if not console.is_terminal and said != in_the_way:
                console.print(f"{number} of {asked.tables} tables have everybody{said}")
            ready, in_the_way = number, said
            live.update(shown())

        def second(one: Second) -> None:
            seconds.append(one)
            live.update(shown())
            if not console.is_terminal:
                told = f"{one.accepted} accepted, {one.shown} shown, {one.errors} errors, p99 {one.p99_ms:.1f} ms"
                console.print(f"{one.at:4} s  {told}")

        return asyncio.run(run(asked, Told(got, second)))


if __name__ == "__main__":
    typer.run(main)
