"""The Docker engine: found, or started for as long as the tests run where it is installed and nobody has."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import docker
import docker.errors

STARTS_S = 60.0


class NoEngine(Exception):
    """There is no Docker engine and none can be started; says why in one line."""


def answers() -> bool:
    """Whether an engine answers."""
    try:
        client = docker.from_env(timeout=10)
    except docker.errors.DockerException:
        return False
    try:
        return bool(client.ping())
    except (docker.errors.APIError, OSError):
        return False
    finally:
        client.close()


def _forget_the_dead() -> None:
    """An engine that was killed leaves its number behind, and the next will not start while any process has it."""
    path = Path("/var/run/docker.pid")
    try:
        name = Path("/proc", path.read_text("utf-8").strip(), "comm").read_text("utf-8").strip()
    except FileNotFoundError:
        return
    if name != "dockerd":
        path.unlink()


@contextmanager
def running(log: Path) -> Iterator[None]:
    """An engine for the length of the block. log: what one that is started here says. Raises `NoEngine`."""
    if answers():
        yield
        return
    program = shutil.which("dockerd")
    if program is None:
        raise NoEngine("Docker is not installed (Debian: apt-get install docker.io)")
    if os.geteuid() != 0:
        raise NoEngine("Docker does not run, and only root can start it")
    _forget_the_dead()
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("wb") as said:
        process = subprocess.Popen([program], stdout=said, stderr=said, start_new_session=True)
    try:
        until = time.monotonic() + STARTS_S
        while not answers():
            if process.poll() is not None or time.monotonic() > until:
                lines = log.read_text("utf-8", "replace").splitlines() or ["it said nothing"]
                raise NoEngine(f"Docker is installed and does not start here: {lines[-1]} (all of it: {log})")
            time.sleep(0.2)
        yield
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
            process.wait(STARTS_S)
