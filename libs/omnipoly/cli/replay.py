"""``omnipoly replay``: the whole record of a game from its file, without any server."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from . import connecting, export, verify
from .commands import UserError


def command(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="An exported game.")],
    language: connecting.Language = "",
) -> None:
    """Tell a game from its file: what happened, in sentences, and who came where."""
    from omnipoly.client import exports

    from . import showing

    exported = verify.read(export.read(file))
    out, state = showing.console(), None
    try:
        for lines, position in exports.told(exported, language):
            showing.lines(out, lines)
            state = position
    except exports.Unfit as error:
        raise UserError(f"{file}: {error}", exit_code=1) from error
    if state is not None:
        out.print(showing.places(state, language) if state.places else showing.position(state, language))
