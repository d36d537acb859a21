"""PostgreSQL and NATS of one `up`: the given ones, or embedded ones that are started, watched and stopped here."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from omnipoly.runtime.embedded import EmbeddedNats, EmbeddedPostgres
from omnipoly.runtime.errors import StartError

from .folder import DataFolder
from .options import Options

FIRST_PAUSE_S = 0.1
LONGEST_PAUSE_S = 10.0


class Servers:
    """Both of them. Whatever blocks runs in threads."""

    def __init__(self, options: Options, folder: DataFolder, tell: Callable[[str], None]) -> None:
        self.database_url = options.database_url
        self.nats_url = options.nats_url
        self._tell = tell
        short = options.ephemeral  # each then makes its own folder inside ours, and nothing is made to last
        self._postgres: EmbeddedPostgres | None = None
        self._nats: EmbeddedNats | None = None
        if not options.database_url:
            self._postgres = EmbeddedPostgres(folder.path if short else folder.postgres, ephemeral=short)
        if not options.nats_url:
            self._nats = EmbeddedNats(folder.path if short else folder.nats, ephemeral=short)
        # Two that start or stop, two that watch.
        self._threads = ThreadPoolExecutor(4, thread_name_prefix="servers")
        self._starting: list[asyncio.Future[str]] = []
        self._watching: list[asyncio.Task[None]] = []

    @property
    def embedded(self) -> list[str]:
        """The names of those that run here."""
        named = (("PostgreSQL", self._postgres), ("NATS", self._nats))
        return [name for name, server in named if server is not None]

    def begin(self) -> None:
        """Begins to start both at once."""
        loop = asyncio.get_running_loop()
        for server in (self._postgres, self._nats):
            if server is not None:
                self._starting.append(loop.run_in_executor(self._threads, server.start))

    async def started(self) -> None:
        """Returns once both are there, their URLs known. Raises `StartError`."""
        for starting in self._starting:
            await asyncio.shield(starting)
        if self._postgres is not None:
            self.database_url = self._postgres.url
        if self._nats is not None:
            self.nats_url = self._nats.url

    def keep(self) -> None:
        """From now on starts each again, at the same URL, when it ends unasked."""
        for name, server in (("PostgreSQL", self._postgres), ("NATS", self._nats)):
            if server is not None:
                self._watching.append(asyncio.create_task(self._keep(name, server), name=f"keep-{name}"))

    async def stop(self) -> None:
        """Stops NATS, then PostgreSQL, in order; also while they still start."""
        loop = asyncio.get_running_loop()
        for watching in self._watching:
            watching.cancel()
        await asyncio.gather(*self._watching, *self._starting, return_exceptions=True)
        for server in (self._nats, self._postgres):
            if server is not None:
                await loop.run_in_executor(self._threads, server.stop)
        self._threads.shutdown()

    async def _keep(self, name: str, server: EmbeddedPostgres | EmbeddedNats) -> None:
        loop = asyncio.get_running_loop()
        pause_s = FIRST_PAUSE_S
        while True:
            await loop.run_in_executor(self._threads, server.wait)
            self._tell(f"{name} ended unexpectedly; starting it again in {pause_s:.1f} s")
            await asyncio.sleep(pause_s)
            pause_s = min(pause_s * 2, LONGEST_PAUSE_S)
            try:
                await loop.run_in_executor(self._threads, self._restart, server)
                self._tell(f"{name} is up again")
            except StartError as error:
                self._tell(str(error))

    @staticmethod
    def _restart(server: EmbeddedPostgres | EmbeddedNats) -> None:
        server.kill()  # what is left of it
        server.start()
