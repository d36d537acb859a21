"""What a run makes is marked with its process, so that what a killed one left behind is known and removed.

The engine may count what a container used as used for a moment after the container is gone, most of all when many go
at once: whoever removes a network or a volume asks until it is.
"""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import Any

import docker
import docker.errors

from tests.services.waiting import eventually

LABEL = "omnipoly.tests"
VOLUMES = "omnipoly-tests-"
IN_USE = (403, 409)
"""How the engine answers for a network that has endpoints, and for a volume that a container has."""
GONE_S = 60.0
"""How long that may take; it only guards."""


def labels() -> dict[str, str]:
    """For containers and networks of this process."""
    return {LABEL: str(os.getpid())}


def volume(run: str, name: str) -> str:
    """A volume's name in this process."""
    return f"{VOLUMES}{os.getpid()}-{run}-{name}"


async def removed(thing: Any) -> None:
    """Returns once the engine has removed a network or a volume that no container has any more."""
    await eventually(lambda: asyncio.to_thread(_gone, thing), GONE_S)


def _gone(thing: Any) -> bool:
    try:
        thing.remove()
    except docker.errors.NotFound:
        return True
    except docker.errors.APIError as error:
        if error.status_code not in IN_USE:
            raise
        return False
    return True


async def remove() -> None:
    """Containers, networks and volumes of processes that live no longer."""
    client = docker.from_env()
    for container in client.containers.list(all=True, filters={"label": LABEL}):
        if _is_left(container):
            container.remove(force=True)
    for thing in (*client.networks.list(filters={"label": LABEL}), *client.volumes.list(filters={"name": VOLUMES})):
        if _is_left(thing):
            await removed(thing)
    client.close()


def _is_left(thing: Any) -> bool:
    own = thing.attrs.get("Config", thing.attrs).get("Labels") or {}
    number = own.get(LABEL) or thing.name.removeprefix(VOLUMES).partition("-")[0]
    return not Path("/proc", number).exists()
