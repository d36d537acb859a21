"""Inside the process of `up` that comes first: does every role understand its settings, and is the schema theirs."""

from __future__ import annotations

import asyncio
import os
import sys
from multiprocessing.connection import Connection

from omnipoly.runtime import config, logging, migrations
from omnipoly.runtime.errors import StartError
from omnipolyd import roles

from .entry import MIGRATED, READABLE, REFUSED


def prepare(environments: dict[str, dict[str, str]], owner: Connection) -> None:
    """Checks the settings of each role; then waits for the database's URL on `owner` and migrates.

    environments: by role. Says `READABLE`, and after the URL `MIGRATED`; in place of either `REFUSED` and why.
    """
    logging.configure("up")
    try:
        _check(environments)
        owner.send((READABLE, ""))
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
