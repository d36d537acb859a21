"""A standby of an embedded Postgres: follows it by streaming until it is cut off, and takes its place when told to.

with EmbeddedPostgres(...) as primary, Standby(folder, primary) as standby:
    ...
    await standby.caught_up()
    standby.cut_off()          # it hears no more of the primary
    primary.kill()
    await standby.promote()    # it takes commits, as another history of what it has
"""

from __future__ import annotations

import signal
import subprocess
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import asyncpg

from omnipoly.runtime import embedded
from omnipoly.runtime.children import Child
from omnipoly.runtime.embedded import EmbeddedPostgres
from tests.services.proxy import Proxy
from tests.services.waiting import eventually

PORT = 5432


class Standby(EmbeddedPostgres):
    """It has a folder and a URL of its own; user and password are the primary's."""

    def __init__(self, data_dir: Path, primary: EmbeddedPostgres) -> None:
        super().__init__(data_dir, ephemeral=True)
        self._primary = primary
        self._line = Proxy(primary.url)
        """What it hears of the primary comes over this."""

    async def open_line(self) -> None:
        """Before it is started."""
        await self._line.start()

    async def cut_off(self) -> None:
        """Hears no more of the primary; what it has not got by now it never gets."""
        await self._line.stop()

    async def caught_up(self) -> None:
        """Returns when it has all that the primary has now."""
        wanted = await _ask(self._primary.url, "SELECT pg_current_wal_lsn()::text")
        await eventually(lambda: self._has(wanted))

    async def promote(self) -> None:
        """Takes the primary's place."""
        assert await _ask(self.url, "SELECT pg_promote(true, 30)")

    async def _has(self, wanted: str) -> bool:
        return bool(await _ask(self.url, "SELECT pg_last_wal_replay_lsn() >= $1::text::pg_lsn", wanted))

    def _start(self, folder: Any, user: Any) -> str:
        if not (folder.path / "pgdata").exists():
            self._copy(folder, user)
        return super()._start(folder, user)

    def _copy(self, folder: Any, user: Any) -> None:
        primary = urlsplit(self._primary.url)
        password = unquote(primary.password or "")
        folder.write("password", password)
        line = urlsplit(self._line.url)
        subprocess.run(
            [
                str(embedded._postgres_programs(folder, user) / "pg_basebackup"),
                f"--pgdata={folder.path / 'pgdata'}",
                f"--dbname=host={parse_qs(primary.query)['host'][0]} port={PORT} user=omnipoly password={password}",
                "--checkpoint=fast",
                "--wal-method=stream",
                "--no-sync",
            ],
            capture_output=True,
            text=True,
            cwd=folder.path,
            env=embedded._environment(),
            user=user.uid if user else None,
            group=user.gid if user else None,
            extra_groups=[] if user else None,
            check=True,
        )
        follows = f"host=127.0.0.1 port={line.port} user=omnipoly password={password} sslmode=disable"
        settings = folder.path / "pgdata/postgresql.auto.conf"
        settings.write_text(f"{settings.read_text('utf-8')}\nprimary_conninfo = '{follows}'\n", "utf-8")
        folder.write("pgdata/standby.signal", "")

    def _run(self, folder: Any, user: Any, command: list[Any]) -> bool:
        """As ever, but that it is ready as a standby."""
        self._child = child = Child(
            command,
            folder=folder.path,
            log=folder.path / "postgres.log",
            pid_file=folder.path / "pgdata/postmaster.pid",
            stop_signal=signal.SIGINT,
            user=user,
            environment=embedded._environment(),
            remove_folder=True,
        )

        def ready() -> bool:
            lines = folder.read("pgdata/postmaster.pid").split("\n")
            return len(lines) > 7 and lines[0] == str(child.process.pid) and lines[7].strip() in {"standby", "ready"}

        return child.wait_ready(ready, embedded.READY_S)


async def _ask(url: str, query: str, *args: object) -> Any:
    connection = await asyncpg.connect(url)
    try:
        return await connection.fetchval(query, *args)
    finally:
        await connection.close()
