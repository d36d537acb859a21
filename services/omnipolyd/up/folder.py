"""The data folder of one `up`: held by one process at a time, with the servers' folders, the logs and the key.

lock            held while an `up` runs
session.key     the secret that gateways and bots sign sessions with; readable for its owner alone
postgres/ nats/ the embedded servers', made by them
logs/ROLE.log   one for each process, JSON lines
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import secrets
import shutil
import signal
import tempfile
from pathlib import Path

from omnipoly.runtime.children import stop_orphan
from omnipoly.runtime.errors import StartError

TEMPORARY = "omnipoly-up-"
LOG_BYTES = 16 * 1024 * 1024
"""A log beyond it is put aside (one older one is kept) when its process starts."""


class DataFolder:
    """The folder, from its lock on; `release` lets go of it."""

    def __init__(self, path: Path | None, *, ephemeral: bool) -> None:
        """Takes the folder, making it where it is not there.

        ephemeral: a new one inside `path` (None: inside the temporary folder), deleted by `release`; those that killed
        runs have left behind there are removed. Raises `StartError` when it cannot be had or another `up` has it.
        """
        self._ephemeral = ephemeral
        if ephemeral:
            parent = (path or Path(tempfile.gettempdir())).resolve()
            _make(parent)
            _sweep(parent)
            self.path, self._lock = _temporary(parent)
        else:
            self.path = (path or Path()).resolve()
            _make(self.path)
            lock = _try_lock(self.path)
            if lock is None:
                raise StartError(
                    f"{self.path} is in use by another `omnipolyd up`; stop that one or choose another --data"
                )
            self._lock = lock
        self.logs = self.path / "logs"
        self.logs.mkdir(mode=0o700, exist_ok=True)

    @property
    def postgres(self) -> Path:
        return self.path / "postgres"

    @property
    def nats(self) -> Path:
        return self.path / "nats"

    def log(self, name: str) -> Path:
        """The log of one process, made and readable for its owner alone; a long one is put aside."""
        path = self.logs / f"{name}.log"
        if path.exists() and path.stat().st_size > LOG_BYTES:
            path.replace(path.with_suffix(".log.1"))
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600))
        return path

    def session_key(self) -> Path:
        """The file with the secret that signs sessions; made once, so that sessions outlive a restart."""
        path = self.path / "session.key"
        if not path.exists():
            fresh = path.with_suffix(".new")
            fresh.unlink(missing_ok=True)
            with open(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="ascii") as file:
                file.write(secrets.token_urlsafe(48) + "\n")
            fresh.replace(path)
        return path

    def release(self) -> None:
        """Lets go of the folder; an ephemeral one is deleted first."""
        if self._ephemeral:
            shutil.rmtree(self.path, ignore_errors=True)
        os.close(self._lock)


def _make(path: Path) -> None:
    """Makes the folder; of the new ones only the last is closed to others, and to PostgreSQL's user it never is."""
    if path.is_dir():
        return
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.mkdir(exist_ok=True)
        path.chmod(_mode())
    except OSError as error:
        raise StartError(f"cannot keep data in {path}: {error.strerror or error}") from None


def _mode() -> int:
    # As root PostgreSQL runs as somebody else, who must get through to its own folder.
    return 0o711 if os.geteuid() == 0 else 0o700


def _temporary(parent: Path) -> tuple[Path, int]:
    while True:
        try:
            path = Path(tempfile.mkdtemp(prefix=TEMPORARY, dir=parent))
        except OSError as error:
            raise StartError(f"cannot keep data in {parent}: {error.strerror or error}") from None
        path.chmod(_mode())
        # Another start may have taken the new folder, which nobody held yet, for one that was left behind.
        with contextlib.suppress(StartError):
            lock = _try_lock(path)
            if lock is not None:
                if path.exists():
                    return path, lock
                os.close(lock)


def _try_lock(path: Path) -> int | None:
    """The held lock of a folder; None when somebody else holds it. Raises `StartError` when it cannot be written."""
    try:
        lock = os.open(path / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise StartError(f"cannot keep data in {path}: {error.strerror or error}") from None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        return None
    return lock


def _sweep(parent: Path) -> None:
    """Removes ephemeral folders whose `up` was killed, and what still runs in them."""
    for path in parent.glob(f"{TEMPORARY}*"):
        if not (path / "lock").exists() or path.stat().st_uid != os.geteuid():
            continue
        lock = _try_lock(path)
        if lock is None:
            continue
        for pid_file in (*path.glob("*/pgdata/postmaster.pid"), *path.glob("*/nats.pid")):
            first = pid_file.read_text("utf-8", "replace").partition("\n")[0].strip()
            if first.isdecimal():
                stop_orphan(int(first), str(pid_file.parent), signal.SIGINT)
        shutil.rmtree(path, ignore_errors=True)
        os.close(lock)
