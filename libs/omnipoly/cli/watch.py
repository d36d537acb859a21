"""``omnipoly watch``: follow a table and print its record as it happens."""

from __future__ import annotations

from typing import Annotated

import typer

from . import connecting


def command(
    table: Annotated[str, typer.Argument(metavar="TABLE", help="The table's id.")],
    gateway: connecting.Gateway = connecting.GATEWAY,
    token: connecting.Token = "",
    pin: connecting.Pin = "",
    name: connecting.Name = "Viewer",
    language: connecting.Language = "",
    plain: connecting.Plain = False,
) -> None:
    """Follow a table: what happens, in sentences, until the game is over."""
    connecting.run(_watch(table, gateway, token, pin, name, language, plain))


async def _watch(table: str, gateway: str, token: str, pin: str, name: str, language: str, plain: bool) -> None:
    from omnipoly.client.happenings import Gone, Happened, Said

    from . import showing

    out = showing.console()
    async with connecting.connected(gateway) as client:
        session = await connecting.signed_in(client, token, name)
        async with session.watch(table, pin=pin, tell=language or True) as watch:
            feed = aiter(watch)
            replica = await watch.replica()
            if connecting.drawn(plain=plain):
                from .drawn.app import TableApp, shown

                app = TableApp(replica, feed, language=language)
                showing.last(out, await shown(app), replica.state, language)
                return
            out.print(showing.position(replica.state, language))
            if showing.over(replica.state):
                out.print(showing.places(replica.state, language))
                return
            async for happening in feed:
                if isinstance(happening, Happened):
                    showing.lines(out, happening.lines)
                elif isinstance(happening, Said):
                    out.print(f"{happening.name}: {happening.text}", markup=False, style="dim")
                elif isinstance(happening, Gone):
                    out.print(happening.sentence, markup=False)
                    return
                if showing.over(replica.state):
                    out.print(showing.places(replica.state, language))
                    return
