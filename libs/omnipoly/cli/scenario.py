"""``omnipoly scenario``: play scenario files, and say which rules none of them shows."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from .commands import UserError, present

if TYPE_CHECKING:
    from rich.console import Console

    from omnipoly.scenarios.runner import Report, Result
    from omnipoly.scenarios.stage import MakeStage

_WIRE = "omnipoly.scenarios.wire_stage"

app = typer.Typer(no_args_is_help=True, help="Positions, moves, and what must hold after them.")


@app.command("run")
def run(
    paths: Annotated[list[Path], typer.Argument(metavar="PATH", help="Scenario files, or folders of them.")],
    gateway: Annotated[
        str, typer.Option(metavar="HOST:PORT", help="Play over the wire on a stack started with --dev.")
    ] = "",
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Name the scenarios that hold, too.")] = False,
) -> None:
    """Play scenarios: on the pure engine, or on a running stack.

    Exits with 0 when all hold, 1 when one does not, 2 when a file cannot be read or played.
    """
    import asyncio

    from rich.console import Console

    if gateway and not present(_WIRE):
        raise UserError("this build cannot play scenarios over the wire")
    console = Console(soft_wrap=True, highlight=False)
    report = asyncio.run(_run(paths, gateway, console, verbose))
    _summary(report, console)
    raise typer.Exit(report.exit_code)


@app.command("rules")
def rules(
    pages: Annotated[Path, typer.Option(help="The folder of the rule book's pages.")] = Path("docs/rules"),
    scenarios: Annotated[
        list[Path] | None, typer.Option(help="A folder of scenarios or tests; may be given several times.")
    ] = None,
) -> None:
    """List the rules that no scenario names, nor a module of tests. Exits with 1 when there are any."""
    from omnipoly.scenarios import coverage

    folders = scenarios or [Path("tests/scenarios"), Path("tests/services")]
    for folder in (pages, *folders):
        if not folder.is_dir():
            raise UserError(f"{folder}: no such folder")
    try:
        missing = coverage.unnamed(pages, folders)
        unknown = coverage.unknown(pages, folders)
    except (OSError, ValueError) as error:
        raise UserError(str(error)) from error
    for rule in missing:
        typer.echo(rule)
    for rule, file in unknown.items():
        typer.echo(f"{file}: {rule} is no rule of {pages}", err=True)
    raise typer.Exit(1 if missing or unknown else 0)


async def _run(paths: list[Path], gateway: str, console: Console, verbose: bool) -> Report:
    from omnipoly.scenarios import runner

    def tell(result: Result) -> None:
        if result.differences or (verbose and result.holds):
            _line(result, console)

    async with _stages(gateway) as make_stage:
        return await runner.run_paths(paths, make_stage, tell)


@contextlib.asynccontextmanager
async def _stages(gateway: str) -> AsyncIterator[MakeStage]:
    """What makes the stages: the engine's, or those of a running stack."""
    if not gateway:
        from omnipoly.scenarios.stage import EngineStage

        yield EngineStage
        return
    import importlib

    wire = importlib.import_module(_WIRE)
    try:
        async with wire.stages(gateway) as make_stage:
            yield cast("MakeStage", make_stage)
    except OSError as error:
        raise UserError(f"{gateway}: {error}") from error


def _line(result: Result, console: Console) -> None:
    """One line for a scenario, and one below it for each difference."""
    from rich.markup import escape

    mark = "[green]holds[/]" if result.holds else "[red]fails[/]"
    console.print(f"{mark}  {escape(f'{result.path}:{result.line}')}  {escape(result.name)}")
    for difference in result.differences:
        console.print(f"       {escape(str(difference))}")


def _summary(report: Report, console: Console) -> None:
    """Faults of files, then one line of counts."""
    from rich.markup import escape

    for error in report.errors:
        console.print(f"[red]error[/]  {escape(str(error))}")
    counts = [f"{sum(result.holds for result in report.results)} hold"]
    if report.failed:
        counts.append(f"{len(report.failed)} fail")
    if report.errors:
        counts.append(f"{len(report.errors)} cannot be read or played")
    number = len(report.results)
    console.print(f"[bold]{number} scenario{'' if number == 1 else 's'}:[/] {', '.join(counts)}")
