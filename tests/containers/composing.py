"""deploy/compose/compose.yaml as far as it uses Compose: read, filled in, and run piece by piece.

Docker's Compose is not to be had everywhere, and two of the images (Grafana, the collector) can only be pulled; the
rest of the file is run as it stands.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import yaml

FOLDER = Path(__file__).parents[2] / "deploy/compose"
_VARIABLE = re.compile(r"\$\{(\w+)(?:(:?[-?])([^}]*))?\}")


class Mount(NamedTuple):
    """A volume by its name, or a file of the repository."""

    source: str
    target: str
    mode: str


class Piece(NamedTuple):
    """One service of the file."""

    name: str
    image: str
    command: list[str]
    environment: dict[str, str]
    networks: list[str]
    aliases: list[str]
    """What it is called there besides its name."""
    port: int
    """The port that is published; 0: none is."""
    replicas: int
    mounts: list[Mount]
    after: dict[str, str]
    """What has to have come to which condition before it starts."""
    options: dict[str, Any]
    """For Docker, as testcontainers hands it on."""


class Composition(NamedTuple):
    """All of the file."""

    pieces: dict[str, Piece]
    networks: dict[str, bool]
    """By name, whether nothing leaves it."""


def filled(text: str, variables: Mapping[str, str]) -> str:
    """A text with its `${…}`. Raises `KeyError` for one that has to be given and is not."""

    def value(found: re.Match[str]) -> str:
        name, how, default = found[1], found[2] or "", found[3] or ""
        given = variables.get(name)
        if given is None or (how.startswith(":") and not given):
            if how.endswith("?") or not how:
                raise KeyError(name)
            return default
        return given

    return _VARIABLE.sub(value, text)


def asked() -> set[str]:
    """The variables that have to be given."""
    text = (FOLDER / "compose.yaml").read_text("utf-8")
    return {found[1] for found in _VARIABLE.finditer(text) if found[2] == ":?"}


def document() -> dict[str, Any]:
    """The file, its merges done, nothing filled in."""
    found: dict[str, Any] = yaml.safe_load((FOLDER / "compose.yaml").read_text("utf-8"))
    return found


def read(variables: Mapping[str, str]) -> Composition:
    """The file, filled in."""
    found = yaml.safe_load(filled((FOLDER / "compose.yaml").read_text("utf-8"), variables))
    return Composition(
        {name: _piece(name, service) for name, service in found["services"].items()},
        {name: bool(network.get("internal")) for name, network in found["networks"].items()},
    )


def _piece(name: str, service: dict[str, Any]) -> Piece:
    options: dict[str, Any] = {
        key: service[key] for key in ("read_only", "cap_drop", "security_opt", "shm_size") if key in service
    }
    if check := service.get("healthcheck"):
        options["healthcheck"] = {
            "test": check["test"],
            "interval": _ns(check["interval"]),
            "timeout": _ns(check["timeout"]),
            "retries": check["retries"],
        }
    ports, networks = service.get("ports", []), service["networks"]
    more = networks.values() if isinstance(networks, dict) else ()
    return Piece(
        name,
        service["image"],
        service.get("command", []),
        service.get("environment", {}),
        list(networks),
        sorted({alias for network in more for alias in network["aliases"]}),
        int(ports[0].rpartition(":")[2]) if ports else 0,
        service.get("deploy", {}).get("replicas", 1),
        [_mount(volume) for volume in service.get("volumes", [])],
        {other: wanted["condition"] for other, wanted in service.get("depends_on", {}).items()},
        options,
    )


def _mount(volume: str) -> Mount:
    source, target, *mode = volume.split(":")
    if source.startswith("."):
        source = str((FOLDER / source).resolve())
    return Mount(source, target, mode[0] if mode else "rw")


def _ns(duration: str) -> int:
    return int(duration.removesuffix("s")) * 1_000_000_000
