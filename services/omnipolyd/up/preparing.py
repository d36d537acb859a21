"""Inside the process of `up` that comes first: the schema and, while it waits for the database, all settings."""

from __future__ import annotations

import asyncio
import os
import sys
from multiprocessing.connection import Connection

from omnipoly.runtime import config, logging, migrations
from omnipoly.runtime.errors import StartError
from omnipolyd import roles

from .entry import MIGRATED, REFUSED


def prepare(environments: dict[str, dict[str, str]], owner: Connection) -> None:
    """Waits for the database's URL on `owner` and migrates; says `MIGRATED`, or `REFUSED` and why.

    environments: by role. Settings are looked at only while there is nothing else to do: a role finds its own faults
    when it starts, but that is after the database has been made.
    """
    logging.configure("up")
    try:
        if not owner.poll():
            _check(environments)
        url: str = owner.recv()
        ran = asyncio.run(migrate(url, list(environments)))
        owner.send((MIGRATED, ", ".join(f"{package} {number}" for package, numbers in ran for number in numbers)))
    except StartError as error:
        owner.send((REFUSED, str(error)))
    except EOFError:
        sys.exit(0)  # `up` has thought better of it


def _check(environments: dict[str, dict[str, str]]) -> None:
    roles.learn_variables()
    for role, environment in environments.items():
        os.environ.clear()
        os.environ.update(environment)
        config.read_settings(roles.ROLES[role].settings_class())


async def migrate(url: str, names: list[str]) -> list[tuple[str, list[str]]]:
    """Brings the schemas of these roles to their newest revisions; each package with those that ran.

    Raises `StartError`.
    """
    packages = [roles.ROLES[name].migrations for name in names]
    return [(package, await migrations.migrate(url, package)) for package in packages if package]
