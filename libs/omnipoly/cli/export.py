"""``omnipoly export``: a finished game as a file, for ``omnipoly replay`` and ``omnipoly verify``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from . import connecting
from .commands import UserError

if TYPE_CHECKING:
    from omnipoly.wire.gen.gateway.v1 import watch_pb2


def command(
    table: Annotated[str, typer.Argument(metavar="TABLE", help="The table's id.")],
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Where to; as JSON where it ends in .json.")],
    running: Annotated[
        bool, typer.Option("--running", help="Of a game that still goes on, as those who run the site may.")
    ] = False,
    gateway: connecting.Gateway = connecting.GATEWAY,
    token: connecting.Token = "",
    pin: connecting.Pin = "",
) -> None:
    """Write a game to a file: its edition and every commit, all that it can be replayed and checked from."""
    from . import showing

    export = connecting.run(fetched(gateway, token, table, pin=pin, running=running))
    write(file, export)
    showing.console().print(f"{file}: {len(export.commits)} commits of {export.edition}", markup=False)


async def fetched(
    gateway: str, token: str, table: str, *, pin: str = "", running: bool = False
) -> watch_pb2.ExportResponse:
    """The export of a table. Raises ``UserError``."""
    async with connecting.connected(gateway) as client:
        session = await connecting.signed_in(client, token, "Reader")
        if running:
            return await session.admin.export(table)
        return await session.games.export(table, pin=pin)


def write(file: Path, export: watch_pb2.ExportResponse) -> None:
    """Keep an export. Raises ``UserError``."""
    from omnipoly.client import exports

    try:
        file.write_bytes(exports.written(export, as_json=file.suffix == ".json"))
    except OSError as error:
        raise UserError(f"{file}: {error.strerror}") from error


def read(file: Path) -> watch_pb2.ExportResponse:
    """An export from a file. Raises ``UserError``."""
    from omnipoly.client import exports
    from omnipoly.wire.malformed import Malformed

    try:
        return exports.parse(file.read_bytes())
    except OSError as error:
        raise UserError(f"{file}: {error.strerror}") from error
    except Malformed as error:
        raise UserError(f"{file}: {error.sentence}") from error
