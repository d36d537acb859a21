"""``omnipoly history``: finished games, the latest first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from . import connecting
from .leaderboard import Edition, Rows

if TYPE_CHECKING:
    from omnipoly.wire.gen.game.v1 import table_pb2


def command(
    person: Annotated[str, typer.Option(metavar="PERSON", help="Played by this person, by id; none: by anybody.")] = "",
    edition: Edition = "",
    rows: Rows = 20,
    gateway: connecting.Gateway = connecting.GATEWAY,
    token: connecting.Token = "",
) -> None:
    """Show finished games: when, of which edition, why they ended, who came where."""
    from rich import box
    from rich.markup import escape
    from rich.table import Table

    from omnipoly.wire.gen.game.v1 import types_pb2

    from . import showing

    table = Table(box=box.SIMPLE, pad_edge=False)
    for heading in ("ended (UTC)", "edition", "why", "rounds", "places", "table"):
        table.add_column(heading, justify="right" if heading == "rounds" else "left")
    for one in connecting.run(_results(gateway, token, person, edition, rows)):
        ended = f"{one.finished.ToDatetime():%Y-%m-%d %H:%M}"
        why = types_pb2.Ending.Name(one.ended).removeprefix("ENDING_").lower().replace("_", " ")
        seats = sorted(one.seats, key=lambda seat: seat.place)
        places = ", ".join(f"{seat.place}. {seat.name}" for seat in seats)
        table.add_row(ended, escape(one.edition), why, str(one.rounds), escape(places), one.table)
    showing.console(columns=showing.LIST_COLUMNS).print(
        table if table.row_count else "No such game has been finished yet."
    )


async def _results(gateway: str, token: str, person: str, edition: str, rows: int) -> list[table_pb2.GameResult]:
    async with connecting.connected(gateway) as client:
        session = await connecting.signed_in(client, token, "Reader")
        return await connecting.first(session.games.results(person=person, edition=edition), rows)
