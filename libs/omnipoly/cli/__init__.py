"""The ``omnipoly`` command: what players, client authors and operators run by hand.

A command is a row in ``commands.COMMANDS`` and a module of its own; a row whose module is not there is not listed.
Modules of commands import nothing at their top but ``typer``, so that ``omnipoly --help`` is fast.
"""

from __future__ import annotations

import sys


def main() -> None:
    """The entry point: run the command line, and say what went wrong in one sentence, not in a stack trace."""
    from .commands import UserError, app

    try:
        app()(prog_name="omnipoly")
    except UserError as error:
        sys.stderr.write(f"omnipoly: {error}\n")
        sys.exit(error.exit_code)
