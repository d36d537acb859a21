"""``omnipoly leaderboard``: who stands where by their finished games."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from . import connecting

if TYPE_CHECKING:
    from omnipoly.wire.gen.game.v1 import platform_pb2

Rows = Annotated[int, typer.Option(min=1, help="At most so many.")]
Edition = Annotated[str, typer.Option(metavar="EDITION", help="Of this edition, as it is played; none: of all.")]


def command(
    edition: Edition = "",
    month: Annotated[str, typer.Option(metavar="YYYY-MM", help="Of games that ended in this month (UTC).")] = "",
    rows: Rows = 20,
    gateway: connecting.Gateway = connecting.GATEWAY,
    token: connecting.Token = "",
) -> None:
    """Show who stands where: by players left behind, then by games won."""
    from rich import box
    from rich.markup import escape
    from rich.table import Table

    from . import showing

    table = Table(box=box.SIMPLE, pad_edge=False)
    for heading in ("place", "", "games", "won", "left behind", "person"):
        table.add_column(heading, justify="left" if heading in ("", "person") else "right")
    for one in connecting.run(_standings(gateway, token, edition, month, rows)):
        figures = (str(one.games), str(one.wins), str(one.points))
        table.add_row(str(one.place), escape(one.name), *figures, escape(one.person))
    showing.console(columns=showing.LIST_COLUMNS).print(
        table if table.row_count else "Nobody has finished such a game yet."
    )


async def _standings(gateway: str, token: str, edition: str, month: str, rows: int) -> list[platform_pb2.Standing]:
    async with connecting.connected(gateway) as client:
        session = await connecting.signed_in(client, token, "Reader")
        return await connecting.first(session.games.leaderboard(edition=edition, month=month), rows)
