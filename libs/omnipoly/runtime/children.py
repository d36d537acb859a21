"""Servers of ours as child processes: a folder of their own, one owner at a time, gone when the owner is.

A child that dies with its parent: `PR_SET_PDEATHSIG` is Linux's own means, but it is bound to the thread that forked
(a pool's thread may end before the program does) and forgotten when the child changes its user. So a tiny shell, the
guard, reads from a pipe whose other end only the owner holds: end of file means that the owner is gone, however it
went, and the guard stops the child. Should the guard have been killed too, the next owner of the folder finds the
orphan by its pid file and stops it.
"""

from __future__ import annotations

import fcntl
import os
import pwd
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from omnipoly.runtime.errors import StartError

POLL_S = 0.005
STOP_S = 30.0

# $1 pid, $2 pid file, $3 signal, $4 folder to remove afterwards or nothing. The pid file is looked at again, because a
# child that ended by itself may have left its number to somebody else.
GUARD = """
read -r word && exit 0
[ "$(head -n 1 "$2" 2>/dev/null)" = "$1" ] || exit 0
kill -"$3" "$1" 2>/dev/null
tries=0
while kill -0 "$1" 2>/dev/null && [ $tries -lt 100 ]; do sleep 0.1; tries=$((tries + 1)); done
kill -KILL "$1" 2>/dev/null
[ -z "$4" ] || rm -rf "$4"
"""


@dataclass(frozen=True)
class User:
    """Whom a child runs as."""

    uid: int
    gid: int


def unprivileged() -> User | None:
    """Whom a server that refuses to run as root runs as: `nobody` when we are root, else ourselves (None)."""
    if os.geteuid() != 0:
        return None
    entry = pwd.getpwnam("nobody")
    return User(entry.pw_uid, entry.pw_gid)


class Folder:
    """The folder of one embedded server, held by one process at a time through a lock that dies with it."""

    def __init__(self, path: Path, user: User | None) -> None:
        """Makes the folder, readable for its user only. Raises `StartError` when it cannot be had or is in use."""
        self.path = path
        self._user = user
        try:
            path.mkdir(parents=True, exist_ok=True)
            if user is not None:
                os.chown(path, user.uid, user.gid)
            path.chmod(0o700)
            self._lock: int | None = os.open(path / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            raise StartError(f"cannot keep data in {path}: {error.strerror or error}") from None
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(self._lock)
            self._lock = None
            raise StartError(f"{path} is in use by another Omnipoly; stop that one or choose another folder") from None

    def write(self, name: str, text: str) -> Path:
        """Writes a small file whole, readable for the owner only; the child's user owns it."""
        target, fresh = self.path / name, self.path / f"{name}.new"
        with open(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
            file.write(text)
        if self._user is not None:
            os.chown(fresh, self._user.uid, self._user.gid)
        fresh.replace(target)
        return target

    def read(self, name: str) -> str:
        """A small file's text without surrounding space; empty when there is none."""
        try:
            return (self.path / name).read_text("utf-8").strip()
        except FileNotFoundError:
            return ""

    def release(self, *, remove: bool) -> None:
        """Lets go of the folder; with `remove` it is deleted first."""
        if remove:
            shutil.rmtree(self.path, ignore_errors=True)
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def require_traversable(path: Path, user: User | None) -> None:
    """Raises `StartError` when `user` could not reach `path` because a parent lets nobody through."""
    if (closed := closed_parent(path, user)) is not None:
        raise StartError(
            f"PostgreSQL does not run as root and its user cannot reach {path}: {closed} lets nobody through; "
            f"choose another data folder (under /var/lib, say) or run as an ordinary user"
        )


def closed_parent(path: Path, user: User | None) -> Path | None:
    """The first parent that `user` could not pass, from the top; None when there is none."""
    if user is None:
        return None
    for parent in reversed(path.resolve().parents):
        if not parent.exists():
            return None
        state = parent.stat()
        bit = 0o100 if state.st_uid == user.uid else 0o010 if state.st_gid == user.gid else 0o001
        if not state.st_mode & bit:
            return parent
    return None


class Child:
    """A running child and its guard."""

    def __init__(
        self,
        command: Sequence[str | Path],
        *,
        folder: Path,
        log: Path,
        pid_file: Path,
        stop_signal: signal.Signals,
        user: User | None,
        environment: Mapping[str, str],
        remove_folder: bool,
    ) -> None:
        """log: the child's output is added to it. pid_file: the child's own, its first line its number."""
        self._stop_signal = stop_signal
        self.log = log
        self._log_began = log.stat().st_size if log.exists() else 0
        with log.open("ab") as output:
            self.process = subprocess.Popen(
                [str(part) for part in command],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=folder,
                env=dict(environment),
                start_new_session=True,  # Ctrl-C is for the owner, who stops the child in order
                user=user.uid if user else None,
                group=user.gid if user else None,
                extra_groups=[] if user else None,
            )
        removed = str(folder) if remove_folder else ""
        number = str(self.process.pid)
        name = stop_signal.name.removeprefix("SIG")
        self._guard = subprocess.Popen(
            ["/bin/sh", "-c", GUARD, "omnipoly-guard", number, str(pid_file), name, removed],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            start_new_session=True,
        )

    def wait_ready(self, ready: Callable[[], bool], within_s: float) -> bool:
        """Waits until `ready()`; False when the child ended before. Raises `StartError` when it takes too long."""
        until = time.monotonic() + within_s
        while not ready():
            if self.process.poll() is not None:
                return False
            if time.monotonic() > until:
                self.stop()
                raise StartError(f"an embedded server was not ready after {within_s:.0f} s; its log is {self.log}")
            time.sleep(POLL_S)
        return True

    def log_tail(self) -> str:
        """The last line the child has said that is not empty."""
        lines = [line.strip() for line in self.log.read_text("utf-8", "replace").splitlines() if line.strip()]
        return lines[-1] if lines else "it said nothing"

    def said(self, words: str) -> bool:
        """Whether the child, and nobody before it, has said something with these words."""
        with self.log.open("rb") as file:
            file.seek(self._log_began)
            return words.encode() in file.read()

    def stop(self) -> None:
        """Stops the child in order, by force after 30 s, and dismisses the guard."""
        if self.process.poll() is None:
            self.process.send_signal(self._stop_signal)
            try:
                self.process.wait(STOP_S)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        self._dismiss_guard()

    def kill(self) -> None:
        """SIGKILL: what a crash or the kernel's memory killer does."""
        self.process.kill()
        self.process.wait()
        self._dismiss_guard()

    def _dismiss_guard(self) -> None:
        if self._guard.stdin is not None and not self._guard.stdin.closed:
            try:
                self._guard.stdin.write(b"done\n")
                self._guard.stdin.close()
            except BrokenPipeError:
                pass  # it has ended already
        self._guard.wait()


def stop_orphan(pid: int, needle: str, stop_signal: signal.Signals) -> bool:
    """Stops what a killed owner left behind: the process `pid`, if its command line contains `needle`.

    Returns whether there was one. By force after 30 s.
    """
    if needle not in _command_line(pid):
        return False
    os.kill(pid, stop_signal)
    until = time.monotonic() + STOP_S
    while needle in _command_line(pid):
        if time.monotonic() > until:
            os.kill(pid, signal.SIGKILL)
            until += STOP_S
        time.sleep(POLL_S)
    return True


def _command_line(pid: int) -> str:
    """A process's command line, empty when there is no such process or only its zombie."""
    if Path("/proc/self").exists():
        try:
            return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
        except OSError:
            return ""
    shown = subprocess.run(
        ["ps", "-p", str(pid), "-o", "command="], capture_output=True, text=True, check=False
    )  # pragma: no cover - where there is no /proc
    return shown.stdout  # pragma: no cover
