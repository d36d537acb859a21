"""One run of `up`: all of it, up in order and down in reverse."""

from __future__ import annotations

import asyncio
import importlib.metadata
import json
import os
import signal
import sys
from collections.abc import Callable, Coroutine, Iterable
from functools import partial
from itertools import groupby
from typing import Any

import typer

from omnipoly.runtime.errors import ConfigError, StartError

from . import entry
from .folder import DataFolder
from .following import follow
from .options import Options
from .page import Page
from .plan import Instance, own_environment, plan
from .ports import Ports
from .process import ServiceProcess, Started
from .servers import Servers

EXIT_OK = 0
EXIT_FORCED = 70


class Up:
    """The servers and processes of one run."""

    def __init__(self, options: Options, folder: DataFolder, tell: Callable[[str], None]) -> None:
        """tell: is given lines for the operator."""
        self.options = options
        self.folder = folder
        self.processes: list[ServiceProcess] = []
        self.migrated = ""
        """What was migrated, as a list in words; empty: nothing had to be."""
        self._tell = tell
        self._ports = Ports()
        self._page: Page | None = None
        self._preparing: Started | None = None
        self._servers = Servers(options, folder, tell)
        self._following: asyncio.Task[None] | None = None

    @property
    def gateways(self) -> list[str]:
        """host:port of each gateway."""
        return [one.instance.address for one in self.processes if one.instance.role.name == "gateway"]

    @property
    def page(self) -> str:
        """Where the page is; empty: there is none."""
        return self._page.address if self._page is not None else ""

    @property
    def embedded(self) -> list[str]:
        """The servers that run here."""
        return self._servers.embedded

    async def start(self) -> None:
        """Returns once every process serves. Raises `StartError`; `stop` is to be called in any case."""
        self._servers.begin()
        instances = plan(
            self.options,
            self._ports,
            session_key_file=self.folder.session_key(),
            environment=own_environment(),
        )
        page = self._plan_page(instances)
        await self._prepare(instances)
        urls = {"OMNIPOLY_DATABASE_URL": self._servers.database_url, "OMNIPOLY_NATS_URL": self._servers.nats_url}
        for instance in instances:
            told = instance._replace(environment=instance.environment | urls)
            self.processes.append(ServiceProcess(told, self.folder.log(instance.name), self._tell))
        if self.options.verbose:
            logs = [one.log for one in self.processes]
            self._following = asyncio.create_task(follow(logs, partial(typer.echo, err=True)))
        self._ports.share()
        # One after another: who relies on the others has most to do at its start.
        for one in sorted(self.processes, key=lambda one: -one.instance.role.tier):
            one.launch()
        await _all(self._serving(one) for one in self.processes)
        self._servers.keep()
        for one in self.processes:
            one.keep()
        if page is not None:
            self._page = page
            await page.start()

    async def stop(self) -> None:
        """Stops the processes, those first that rely on the others, then the servers."""
        if self._page is not None:
            await self._page.stop()
        await asyncio.gather(*(one.leave() for one in self.processes))
        by_tier = sorted(self.processes, key=lambda one: -one.instance.role.tier)
        for _, tier in groupby(by_tier, lambda one: one.instance.role.tier):
            await asyncio.gather(*(one.stop() for one in tier))
        if self._preparing is not None:
            self._preparing.signal(signal.SIGTERM)
            await self._preparing.ended
        await self._servers.stop()
        if self._following is not None:
            self._following.cancel()
            await asyncio.gather(self._following, return_exceptions=True)
        self._ports.close()

    def kill(self) -> None:
        """Ends the processes at once; `stop` then finds them gone."""
        for one in self.processes:
            one.kill()

    def facts(self) -> dict[str, object]:
        """What a program that has started `up` wants to know."""
        return {
            "gateway": self.gateways[0] if self.gateways else "",
            "gateways": self.gateways,
            "page": self.page,
            "pid": os.getpid(),
            "data": str(self.folder.path),
            "services": {one.instance.name: one.instance.address for one in self.processes},
        }

    def _plan_page(self, instances: list[Instance]) -> Page | None:
        port = self.options.page_port
        if port is None:
            return None
        host = self.options.host
        listen = (host, self._ports.take(host, port, "--page-port or --host"))
        gateways = [one.address for one in instances if one.role.name == "gateway"]
        return Page(self.folder.path / "page", listen, gateways, self._tell)

    async def _serving(self, one: ServiceProcess) -> None:
        try:
            await one.serving()
        except StartError:
            for line in one.last_lines():
                self._tell(f"  {line}")
            raise

    async def _prepare(self, instances: list[Instance]) -> None:
        """The schema, once there is a database; a fault that is found before that ends the wait for it."""
        arguments = (str(self.folder.log("prepare")), {one.role.name: one.environment for one in instances})
        self._preparing = preparing = Started(entry.prepare, arguments, talk=True)
        servers = asyncio.create_task(self._servers.started())
        migrated = asyncio.create_task(self._migrated(preparing))
        try:
            await asyncio.wait({servers, migrated}, return_when=asyncio.FIRST_COMPLETED)
            if not migrated.done():
                servers.result()
                preparing.connection.send(self._servers.database_url)
            self.migrated = await migrated
        finally:
            servers.cancel()
            migrated.cancel()
            await asyncio.gather(servers, migrated, return_exceptions=True)

    async def _migrated(self, preparing: Started) -> str:
        said = await preparing.word()
        if isinstance(said, tuple) and said[0] == entry.MIGRATED:
            return str(said[1])
        if isinstance(said, tuple) and said[0] == entry.REFUSED:
            raise StartError(str(said[1]))
        raise StartError(f"the database could not be migrated; see {self.folder.log('prepare')}")


def run(options: Options, folder: DataFolder, ready: int | None) -> int:
    """Runs until SIGINT, SIGTERM or SIGHUP; the exit code. Raises `StartError` when it cannot start.

    ready: a file descriptor to be told where all serves.
    """
    return asyncio.run(_run(options, folder, ready))


async def _run(options: Options, folder: DataFolder, ready: int | None) -> int:
    loop = asyncio.get_running_loop()
    running = Up(options, folder, _tell)
    asked = asyncio.Event()
    forced = False

    def ask() -> None:
        nonlocal forced
        if asked.is_set():
            forced = True
            _tell("stopping at once")
            running.kill()
        asked.set()

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, ask)
    if options.stop_with_stdin:
        _on_end_of_stdin(loop, asked.set)

    starting = asyncio.create_task(running.start(), name="start")
    waiting = asyncio.create_task(asked.wait(), name="asked")
    try:
        await asyncio.wait({starting, waiting}, return_when=asyncio.FIRST_COMPLETED)
        if starting.done():
            starting.result()
            _announce(running, ready)
            await waiting
    finally:
        for task in (starting, waiting):
            task.cancel()
        await asyncio.gather(starting, waiting, return_exceptions=True)
        await running.stop()
    return EXIT_FORCED if forced else EXIT_OK


def _announce(running: Up, ready: int | None) -> None:
    """Says that everything serves, to people and to programs."""
    options = running.options
    say = partial(typer.echo, err=options.json)
    version = importlib.metadata.version("omnipoly")
    servers = "".join(f", {name}" for name in running.embedded)
    say(f"Omnipoly {version}, {len(running.processes)} processes{servers}; data and logs in {running.folder.path}")
    if running.migrated:
        say(f"migrated: {running.migrated}")
    if options.dev:
        say("under --dev: clients set tables up and drive their clocks")
    everywhere = " and on every other address of this machine" if options.host in {"0.0.0.0", "::"} else ""
    for gateway in running.gateways:
        say(f"gateway listening on {gateway}{everywhere}")
    if running.page:
        say(f"page to watch and play: {running.page}")
    line = json.dumps(running.facts())
    if options.json:
        typer.echo(line)
    if ready is not None:
        with os.fdopen(ready, "w", encoding="utf-8") as file:
            file.write(line + "\n")


def _on_end_of_stdin(loop: asyncio.AbstractEventLoop, ended: Callable[[], None]) -> None:
    stdin = sys.stdin.fileno()

    def readable() -> None:
        if not os.read(stdin, 4096):
            loop.remove_reader(stdin)
            ended()

    try:
        loop.add_reader(stdin, readable)
    except PermissionError:
        raise ConfigError("--stop-with-stdin: standard input is neither a pipe nor a terminal") from None


def _tell(line: str) -> None:
    typer.echo(f"omnipolyd: {line}", err=True)


async def _all(waiting: Iterable[Coroutine[Any, Any, None]]) -> None:
    """Waits for all of them; the first error ends the wait."""
    tasks = [asyncio.create_task(one) for one in waiting]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
