"""The ``omnipolyd`` command: what operators run.

    omnipolyd up                 every service on this machine
    omnipolyd serve SERVICE      one service as this process
    omnipolyd migrate            the database's schema
    omnipolyd check              what would keep a start from going well

Exit codes: 0, also after a stop that was asked for; 1 when something cannot start or is wrong, in one line; 2 when the
command was called wrongly; 70 when a stop had to be forced.

The command line itself stands in ``commands``: each process that `up` makes imports this module once more.
"""

from __future__ import annotations

import sys


def main() -> None:
    """The entry point: what cannot start says why in one line, not in a stack trace."""
    try:
        _run()
    except ModuleNotFoundError as error:
        if str(error.name).partition(".")[0] in {"omnipoly", "omnipolyd"}:
            raise
        # The distribution's core is for clients; what services need besides is its extra.
        sys.stderr.write(f"omnipolyd: {error.name} is not installed; pip install 'omnipoly[server]'\n")
        sys.exit(1)


def _run() -> None:
    if sys.argv[1:2] != ["up"] or {"-h", "--help"} & set(sys.argv):
        _call()
        return
    from omnipolyd.up import forking

    forking.begin()  # it has more to import than this process: a second's work that may begin at once
    try:
        _call()
    finally:
        forking.end()


def _call() -> None:
    from omnipoly.runtime.errors import StartError
    from omnipolyd.commands import app

    try:
        app(prog_name="omnipolyd")
    except StartError as error:
        sys.stderr.write(f"omnipolyd: {error}\n")
        sys.exit(1)


if __name__ == "__main__":
    main()
