"""The table of commands, and the command line made of it."""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
from typing import Any, NamedTuple

import typer
import typer.main


class Row(NamedTuple):
    """A command: its name, the module that has it.

    The module has ``app``, a ``typer.Typer`` with commands below this one, or ``command``, a function with typer's
    annotations; its docstring's first line is the help.
    """

    name: str
    module: str


COMMANDS = (
    Row("conformance", "omnipoly.cli.conformance"),
    Row("demo", "omnipoly.cli.demo"),
    Row("edition", "omnipoly.cli.edition"),
    Row("export", "omnipoly.cli.export"),
    Row("history", "omnipoly.cli.history"),
    Row("leaderboard", "omnipoly.cli.leaderboard"),
    Row("play", "omnipoly.cli.play"),
    Row("replay", "omnipoly.cli.replay"),
    Row("scenario", "omnipoly.cli.scenario"),
    Row("simulate", "omnipoly.cli.simulate"),
    Row("verify", "omnipoly.cli.verify"),
    Row("watch", "omnipoly.cli.watch"),
)
"""In the order in which they are listed. A new command is a row here."""


class UserError(Exception):
    """Something the caller can mend: one sentence, and the code to exit with (2: how the command was called)."""

    def __init__(self, sentence: str, exit_code: int = 2) -> None:
        super().__init__(sentence)
        self.exit_code = exit_code


def present(module: str) -> bool:
    """Whether a module is there, without importing it."""
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def app(rows: tuple[Row, ...] = COMMANDS) -> Any:
    """The command line of all rows whose module is there; call it to run it."""
    root = typer.Typer(
        name="omnipoly",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    root.callback()(_root)
    for row in rows:
        if not present(row.module):
            continue
        module = importlib.import_module(row.module)
        if hasattr(module, "command"):
            root.command(row.name)(module.command)
        else:
            root.add_typer(module.app, name=row.name)
    return typer.main.get_command(root)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"omnipoly {importlib.metadata.version('omnipoly')}")
        raise typer.Exit


def _root(
    version: bool = typer.Option(False, "--version", callback=_version, is_eager=True, help="Print the version."),
) -> None:
    """Games of property, trade and debt: try them, check them, look into them."""
