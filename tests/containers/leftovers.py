"""What a run makes is marked with its process, so that what a killed one left behind is known and removed."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import docker

LABEL = "omnipoly.tests"
VOLUMES = "omnipoly-tests-"


def labels() -> dict[str, str]:
    """For containers and networks of this process."""
    return {LABEL: str(os.getpid())}


def volume(run: str, name: str) -> str:
    """A volume's name in this process."""
    return f"{VOLUMES}{os.getpid()}-{run}-{name}"


def remove() -> None:
    """Containers, networks and volumes of processes that live no longer."""
    client = docker.from_env()
    everything: list[Any] = [
        *client.containers.list(all=True, filters={"label": LABEL}),
        *client.networks.list(filters={"label": LABEL}),
        *client.volumes.list(filters={"name": VOLUMES}),
    ]
    for each in everything:
        own = each.attrs.get("Config", each.attrs).get("Labels") or {}
        number = own.get(LABEL) or each.name.removeprefix(VOLUMES).partition("-")[0]
        if Path("/proc", number).exists():
            continue
        if hasattr(each, "kill"):
            each.remove(force=True)
        else:
            each.remove()
    client.close()
