"""``omnipoly play``: a plain client for a terminal, or for a script on standard input."""

from __future__ import annotations

from typing import Annotated

import typer

from . import connecting


def command(
    table: Annotated[str, typer.Argument(metavar="TABLE", help="A table to join; none: a new one is opened.")] = "",
    gateway: connecting.Gateway = connecting.GATEWAY,
    edition: Annotated[str, typer.Option(help="What to play at a new table.")] = "tubbypoly",
    bots: Annotated[int, typer.Option(min=0, max=63, help="Bots at a new table; 0: wait for others.")] = 3,
    round_limit: Annotated[int, typer.Option(min=0, max=1000, help="Rounds at a new table; 0: the edition's.")] = 0,
    name: connecting.Name = "Guest",
    pin: connecting.Pin = "",
    token: connecting.Token = "",
    language: connecting.Language = "",
    plain: connecting.Plain = False,
) -> None:
    """Play: choose from what may be done, by its number or in words; on a terminal with the board drawn.

    Words besides: more (all that may be done), look (the position), card FIELD (its rents), say TEXT, quit.
    """
    from .terminal import Asked, play

    connecting.run(play(Asked(table, gateway, edition, bots, round_limit, name, pin, token, language, plain)))
