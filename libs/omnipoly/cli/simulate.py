"""``omnipoly simulate``: many games of bots on the engine alone, and what they amount to."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from .commands import UserError

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table as RichTable

    from omnipoly.bots.simulation import Series, Spread, Tally
    from omnipoly.bots.table import Played
    from omnipoly.editions.model import Edition

CHUNK = 20
"""Games that a worker plays before it tells of them."""
SHOWN_FIELDS = 10


def command(
    games: Annotated[int, typer.Option(min=1, help="How many games.")] = 1000,
    edition: Annotated[str, typer.Option(help="A shipped edition by name, or a file.")] = "tubbypoly",
    players: Annotated[int, typer.Option(min=2, help="Bots at each table.")] = 4,
    seed: Annotated[str, typer.Option(help="Chance: the same seed, the same games.")] = "0",
    first: Annotated[int, typer.Option(min=0, help="The number of the first game of the seed.")] = 0,
    jobs: Annotated[int, typer.Option(min=0, help="Processes; 0: one for each processor.")] = 0,
    check: Annotated[bool, typer.Option("--check", help="Look at every invariant after each action.")] = False,
    json: Annotated[Path | None, typer.Option(metavar="FILE", help="Write the figures there, too.")] = None,
) -> None:
    """Play games of bots on the engine alone: how long they last, who wins, how they end.

    Exits with 1 when a game goes wrong, and says how to see it again.
    """
    import os

    from omnipoly.bots.simulation import Series, Tally

    from .showing import console

    chosen = _edition(edition)
    _must_seat(chosen, players)
    series = Series(players=players, seed=seed, check=check)
    played: list[Played] = []
    cpu_s, began = 0.0, time.perf_counter()
    for chunk in _played(edition, series, range(first, first + games), jobs or os.cpu_count() or 1):
        if chunk.wrong:
            again = f"--edition {edition} --players {players} --seed {seed} --first {chunk.number} --games 1 --check"
            raise UserError(f"{chunk.wrong}; to see it again: omnipoly simulate {again}", exit_code=1)
        played += chunk.played
        cpu_s += chunk.cpu_s
    tally = Tally.of(played)
    speed = Speed(games / cpu_s, sum(g.turns for g in played) / cpu_s, sum(g.actions for g in played) / cpu_s)
    if json is not None:
        _write(json, chosen, series, tally, speed)
    _show(console(), chosen, series, tally, speed, time.perf_counter() - began)


class Speed(NamedTuple):
    """How much was played in each second of one processor."""

    games: float
    turns: float
    actions: float


class Chunk(NamedTuple):
    """What a worker tells: games, the processor time they took, or the game that went wrong."""

    played: list[Played]
    cpu_s: float
    number: int = 0
    wrong: str = ""


def _edition(name: str) -> Edition:
    from omnipoly.editions import loader
    from omnipoly.editions.problems import EditionError

    try:
        return loader.load(name) if name.endswith(".toml") else loader.edition(name)
    except EditionError as error:
        raise UserError(str(error)) from error


def _must_seat(edition: Edition, players: int) -> None:
    least = min(board.players[0] for board in edition.boards)
    most = max(board.players[1] for board in edition.boards)
    if not least <= players <= most:
        raise UserError(f"{edition.title} is for {least} to {most} players")


# --- playing ----------------------------------------------------------------------------------------------------------


def _played(edition: str, series: Series, numbers: range, jobs: int) -> Iterator[Chunk]:
    """All games, as they come, with a bar of progress on the terminal."""
    import concurrent.futures
    import multiprocessing

    from .showing import console

    chunks = [numbers[at : at + CHUNK] for at in range(0, len(numbers), CHUNK)]
    with _bar(console(stderr=True), len(numbers)) as advance:
        if jobs == 1 or len(chunks) == 1:
            for chunk in chunks:
                yield advance(_play(edition, series, chunk))
            return
        # started anew, not forked: a fork copies whatever threads the caller has
        context = multiprocessing.get_context("spawn")
        workers = concurrent.futures.ProcessPoolExecutor(min(jobs, len(chunks)), mp_context=context)
        try:
            tasks = [workers.submit(_play, edition, series, chunk) for chunk in chunks]
            for task in tasks:
                yield advance(task.result())
        finally:
            workers.shutdown(cancel_futures=True)


def _play(edition: str, series: Series, numbers: range) -> Chunk:
    """What a worker does. Collections of garbage are left out: a game makes none that needs them."""
    import gc

    from omnipoly.bots import simulation, table
    from omnipoly.rules.invariants import Broken
    from omnipoly.rules.ring import Game

    game = Game(_edition(edition))
    collecting = gc.isenabled()
    gc.disable()
    began = time.process_time()
    played: list[Played] = []
    number = numbers[0]
    try:
        for number in numbers:
            played.append(simulation.play(game, series, number))
    except (Broken, table.Stuck) as error:
        return Chunk([], 0.0, number, f"game {number} went wrong: {error}")
    finally:
        if collecting:
            gc.enable()
    return Chunk(played, time.process_time() - began)


# --- showing ----------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def _bar(out: Console, total: int) -> Iterator[Callable[[Chunk], Chunk]]:
    """A bar of progress where somebody looks at a terminal; what it gives is called with each chunk."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("games"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=out, transient=True, disable=not out.is_terminal) as progress:
        task = progress.add_task("games", total=total)

        def advance(chunk: Chunk) -> Chunk:
            progress.advance(task, len(chunk.played))
            return chunk

        yield advance


def _show(out: Console, edition: Edition, series: Series, tally: Tally, speed: Speed, took_s: float) -> None:
    games = tally.games
    out.print(f"[bold]{edition.title}[/], {series.players} bots, {games} games in {took_s:.1f} s, seed {series.seed}")
    out.print(_lengths(tally))
    ends = ", ".join(f"{why.replace('_', ' ')} {_percent(number, games)}" for why, number in tally.ends.items())
    out.print(f"ended:         {ends}")
    out.print("won by seat:   " + "  ".join(_percent(wins, games) for wins in tally.wins))
    out.print("won by order:  " + "  ".join(_percent(wins, games) for wins in tally.wins_in_order))
    out.print(_landings(edition, series, tally))
    if tally.refused or tally.cut:
        out.print(f"[red]refused actions: {tally.refused}, turns with too many: {tally.cut}[/]")
    out.print(
        f"for each second of one processor: [bold]{speed.games:.0f}[/] games, "
        f"[bold]{speed.turns:.0f}[/] turns, [bold]{speed.actions:.0f}[/] actions"
    )


def _lengths(tally: Tally) -> RichTable:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE, pad_edge=False)
    for heading in ("a game has", "mean", "least", "5 %", "median", "95 %", "most"):
        table.add_column(heading, justify="left" if heading == "a game has" else "right")
    for name in ("rounds", "turns", "actions", "auctions", "offers", "trades"):
        spread: Spread = getattr(tally, name)
        figures = (spread.least, spread.p5, spread.median, spread.p95, spread.most)
        table.add_row(name, f"{spread.mean:.1f}", *map(str, figures))
    return table


def _landings(edition: Edition, series: Series, tally: Tally) -> RichTable:
    from rich import box
    from rich.table import Table

    from omnipoly.rules.ring import Game

    total = sum(tally.landings)
    board = Game(edition).ring_for(series.players)
    names = [*(field.name for field in board.fields), "(in jail)"]
    ranked = sorted(enumerate(tally.landings), key=lambda landed: -landed[1])
    table = Table(box=box.SIMPLE, pad_edge=False)
    for heading in ("field", "", "landings"):
        table.add_column(heading, justify="right" if heading == "landings" else "left")
    for at, times in ranked[:SHOWN_FIELDS]:
        table.add_row(str(at) if at < len(names) - 1 else "", names[at], _percent(times, total))
    return table


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f} %"


def _write(path: Path, edition: Edition, series: Series, tally: Tally, speed: Speed) -> None:
    import msgspec

    document = {
        "edition": {"id": edition.id, "digest": edition.digest},
        "series": series,
        "tally": tally,
        "speed": speed._asdict(),
    }
    try:
        path.write_bytes(msgspec.json.format(msgspec.json.encode(document)) + b"\n")
    except OSError as error:
        raise UserError(f"{path}: {error.strerror or error}") from error
