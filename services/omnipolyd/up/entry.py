"""Where the processes of `up` begin. `up` itself imports this module, and nothing of what they import."""

from __future__ import annotations

from multiprocessing.connection import Connection

from . import kin

# What a process tells `up`: one of these words, and a sentence or nothing.
SERVING = "serving"
MIGRATED = "migrated"
REFUSED = "refused"


def serve(name: str, role: str, log: str, environment: dict[str, str], owner: Connection) -> None:
    """A process of a role: says `SERVING` once it does. Ends with the role's exit code."""
    kin.begin(name, log, environment)
    from . import serving

    serving.serve(role, owner)


def prepare(log: str, environments: dict[str, dict[str, str]], owner: Connection) -> None:
    """The process that comes first, see `preparing.prepare`."""
    kin.begin("prepare", log, next(iter(environments.values()), {}))
    from . import preparing

    preparing.prepare(environments, owner)
