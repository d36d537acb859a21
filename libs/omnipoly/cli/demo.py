"""``omnipoly demo``: a whole platform on this machine, four bots at a table, and a check of every throw."""

from __future__ import annotations

from typing import Annotated

import typer

from . import connecting


def command(
    edition: Annotated[str, typer.Option(help="What to play, e.g. tubbypoly or globopoly/quick.")] = "tubbypoly",
    players: Annotated[int, typer.Option(min=2, max=64, help="Bots at the table.")] = 4,
    round_limit: Annotated[int, typer.Option(min=0, max=1000, help="Rounds; 0: the edition's.")] = 200,
    seed_check: Annotated[
        bool, typer.Option("--seed-check/--no-seed-check", help="Recompute every throw from the revealed seed.")
    ] = True,
    language: connecting.Language = "",
) -> None:
    """Start everything on this machine, let bots play a game, follow it, check its dice, and stop everything.

    Exits with 0 when the game ended and all its throws are the seed's.
    """
    from .demonstrating import Asked, demonstrate

    raise typer.Exit(connecting.run(demonstrate(Asked(edition, players, round_limit, seed_check, language))))
