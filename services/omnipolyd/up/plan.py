"""Which processes an `up` consists of, where each listens, and what each is told."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from omnipoly.runtime.config import PLACES
from omnipolyd.roles import ROLES, Role

from .options import Options
from .ports import Ports, reachable

LOOPBACK = "127.0.0.1"

_OURS = {
    "OMNIPOLY_DATA",
    "OMNIPOLY_HOST",
    "OMNIPOLY_METRICS_PORT",
    "OMNIPOLY_PORT",
    *(f"OMNIPOLY_{role.upper()}_ADDR" for role in ROLES),
}
"""What `up` tells each process itself, whatever its own environment says."""


class Instance(NamedTuple):
    """One process of a role."""

    name: str
    """The role's name, or `table-2`."""
    role: Role
    address: str
    """host:port to reach it from this machine."""
    environment: dict[str, str]


def plan(options: Options, ports: Ports, *, session_key_file: Path, environment: Mapping[str, str]) -> list[Instance]:
    """All processes, by tier; without the URLs of the servers, which are known later.

    environment: `up`'s own. Raises `StartError` for a port that is taken.
    """
    listening: list[tuple[str, Role, str, int]] = []
    for role in ROLES.values():
        for number in range(1, options.count(role.name) + 1):
            name = role.name if number == 1 else f"{role.name}-{number}"
            public = role.name == "gateway"
            host = options.host if public else LOOPBACK
            port = ports.take(host, options.port if public and number == 1 else 0, "--port or --host")
            listening.append((name, role, host, port))

    shared = {name: value for name, value in environment.items() if name not in _OURS}
    for role in ROLES.values():
        addresses = [reachable(host, port) for _, one, host, port in listening if one is role]
        if addresses and role.name != "bots":  # nobody calls the bots
            shared[f"OMNIPOLY_{role.name.upper()}_ADDR"] = ",".join(addresses)
    shared["OMNIPOLY_LOG_FORMAT"] = "json"  # into files, which programs read
    if options.log_level:
        shared["OMNIPOLY_LOG_LEVEL"] = options.log_level
    if options.editions is not None:
        shared["OMNIPOLY_EDITIONS"] = str(options.editions.resolve())
    if options.dev:
        shared["OMNIPOLY_DEV"] = "true"
    if options.dev or options.page_port is not None:
        shared.setdefault("OMNIPOLY_GUESTS_WATCH", "true")  # the page's visitors and viewers in scenarios are guests
    if options.dev or _local(options.host):
        shared.setdefault("OMNIPOLY_REFLECTION", "true")  # for people with a gRPC tool, at this machine
    shared["OMNIPOLY_PLAINTEXT"] = ",".join(_plain(options, environment))
    if not environment.get("OMNIPOLY_SESSION_KEY") and not environment.get("OMNIPOLY_SESSION_KEY_FILE"):
        shared["OMNIPOLY_SESSION_KEY_FILE"] = str(session_key_file)

    instances = []
    for index, (name, role, host, port) in enumerate(listening):
        own = shared | {"OMNIPOLY_HOST": host, "OMNIPOLY_PORT": str(port)}
        if options.metrics_port_base:
            metrics = ports.take(LOOPBACK, options.metrics_port_base + index, "--metrics-port-base")
            own["OMNIPOLY_METRICS_PORT"] = str(metrics)
        if role.name == "clock":
            own["OMNIPOLY_CLOCK_SELF"] = reachable(host, port)
        if role.name == "bots":
            # Bots play through one gateway, as any client does.
            own["OMNIPOLY_GATEWAY_ADDR"] = own.get("OMNIPOLY_GATEWAY_ADDR", "").partition(",")[0]
        instances.append(Instance(name, role, reachable(host, port), own))
    return instances


def _plain(options: Options, environment: Mapping[str, str]) -> list[str]:
    """Where nothing is encrypted: among the processes here, to servers of this machine, and where `up` was told so."""
    told = {part.strip() for part in environment.get("OMNIPOLY_PLAINTEXT", "").split(",")}
    here = {
        "services": True,
        "public": _local(options.host) and not environment.get("OMNIPOLY_PUBLIC_TLS_CERT"),
        "database": not options.database_url or _local(urlsplit(options.database_url).hostname or ""),
        "nats": not options.nats_url
        or all(_local(urlsplit(one).hostname or "") for one in options.nats_url.split(",")),
    }
    return [place for place in PLACES if here[place] or "all" in told or place in told]


def _local(host: str) -> bool:
    return host in {"localhost", "::1"} or host.startswith("127.")


def own_environment() -> dict[str, str]:
    """The environment `up` was started with."""
    return dict(os.environ)
