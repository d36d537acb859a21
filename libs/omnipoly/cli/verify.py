"""``omnipoly verify``: replay a finished game from its log, and check every throw against the seed committed to."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from . import connecting, export
from .commands import UserError

if TYPE_CHECKING:
    from omnipoly.client.exports import Exported
    from omnipoly.client.verify import Verdict
    from omnipoly.wire.gen.gateway.v1 import watch_pb2


def command(
    game: Annotated[str, typer.Argument(metavar="FILE|TABLE", help="An exported game, or the id of a table.")],
    gateway: connecting.Gateway = connecting.GATEWAY,
    token: connecting.Token = "",
    pin: connecting.Pin = "",
    save: Annotated[Path | None, typer.Option(metavar="FILE", help="Keep the table's export here.")] = None,
) -> None:
    """Replay a finished game from its log alone and check every throw and card.

    Exits with 0 when all of them are the seed's, 1 when one is not, 2 when there is nothing to check.
    """
    from . import showing

    file = Path(game)
    exported = export.read(file) if file.is_file() else connecting.run(export.fetched(gateway, token, game, pin=pin))
    if save is not None:
        export.write(save, exported)
    out = showing.console()
    verdict = check(exported)
    for line in told(verdict):
        out.print(line, markup=False)
    raise typer.Exit(0 if verdict.holds else 1)


def read(exported: watch_pb2.ExportResponse) -> Exported:
    """The game of an export. Raises ``UserError``."""
    from omnipoly.client import Refused, exports
    from omnipoly.wire.malformed import Malformed

    try:
        return exports.read(exported)
    except (Malformed, Refused) as error:
        raise UserError(f"this game cannot be read: {error}") from error


def check(exported: watch_pb2.ExportResponse) -> Verdict:
    """The verdict on an export. Raises ``UserError`` when it cannot be read."""
    from omnipoly.client import verify

    game = read(exported)
    return verify.check(game.game, game.log)


def told(verdict: Verdict) -> list[str]:
    """The verdict in sentences."""
    s = verdict.state
    counted = f"{verdict.commits} commits, {verdict.throws} throws and {verdict.draws} draws recomputed"
    if verdict.holds:
        return [
            f"The seed {s.seed}",
            f"is the one committed to as {s.commitment};",
            f"{counted}: every one of them is the seed's.",
        ]
    problems = [f"commit {problem.version}: {problem.sentence}" for problem in verdict.problems]
    return [f"{counted}, and not all is as the seed and the rules have it:", *problems]
