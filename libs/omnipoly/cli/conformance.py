"""``omnipoly conformance``: take a client through what a client must be able to take, and say what it did right."""

from __future__ import annotations

from typing import Annotated

import typer

from . import connecting
from .commands import UserError

SYMBOLS = {True: "right", False: "WRONG", None: "-    "}


def command(
    program: Annotated[
        list[str] | None,
        typer.Argument(metavar="[-- COMMAND …]", help="The client; {address} and {table} in it are filled in."),
    ] = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Where to listen; 0: any free port.")] = 7199,
    edition: Annotated[str, typer.Option(help="A shipped edition, which the table on offer is of.")] = "rugpull",
    only: Annotated[list[str] | None, typer.Option(metavar="TRIAL", help="Only this one; may be repeated.")] = None,
    patience: Annotated[float, typer.Option(min=0.1, help="Seconds a client may take for anything.")] = 10.0,
    slow: Annotated[float, typer.Option(min=0.0, help="Seconds that a slow answer takes.")] = 2.0,
    seed: Annotated[str, typer.Option(help="Chance: the same seed, the same dice.")] = "0",
    list_: Annotated[bool, typer.Option("--list", help="List the trials and end.")] = False,
) -> None:
    """Try a client: a scripted server breaks, repeats, refuses and delays, and reports what the client did.

    The client signs in as a guest, plays at a table that it opens or at the one on offer, and ends when the game
    is over. Exits with 0 when all was right, 1 when something was not, 2 when it was called wrongly.
    """
    from omnipoly.conformance import running
    from omnipoly.conformance.trials import TRIALS
    from omnipoly.editions import loader
    from omnipoly.editions.problems import EditionError
    from omnipoly.rules.ring import Game

    if list_:
        for name, trial in TRIALS.items():
            typer.echo(f"{name:16} {' '.join((trial.__doc__ or '').split())}")
        return
    if unknown := [name for name in only or () if name not in TRIALS]:
        raise UserError(f"there is no trial {unknown[0]}; there are: {', '.join(TRIALS)}")
    try:
        game = Game(loader.edition(edition))
    except EditionError as error:
        raise UserError(str(error)) from error

    def listening(address: str, table: str) -> None:
        typer.echo(f"listening on {address}; the table on offer is {table}")

    def told(finding: running.Finding) -> None:
        typer.echo(f"{SYMBOLS[finding.right]}  {finding.trial:16} {finding.sentence}")

    try:
        report = connecting.run(
            running.run(
                game,
                only or list(TRIALS),
                program or (),
                told,
                address=listening,
                port=port,
                patience_s=patience,
                slow_s=slow,
                seed=seed,
            )
        )
    except OSError as error:
        raise UserError(str(error), exit_code=1) from error
    wrong = sum(finding.right is False for finding in report.findings)
    untried = sum(finding.right is None for finding in report.findings)
    typer.echo(f"{len(report.findings) - wrong - untried} right, {wrong} wrong, {untried} not tried")
    raise typer.Exit(0 if report.passed else 1)
