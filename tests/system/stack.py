"""An `omnipolyd up` of the tests: started as anybody would, watched from outside through /proc."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from tests.services.waiting import eventually

OMNIPOLYD = Path(sys.executable).with_name("omnipolyd")
START_S = 90.0
STOP_S = 60.0
"""They only guard against hanging: other programs may have the processors."""


class Pid(NamedTuple):
    """A process, and when it began: a number may come again."""

    number: int
    began: str


class Process(NamedTuple):
    """A living process."""

    pid: Pid
    parent: int
    name: str


def processes() -> dict[int, Process]:
    """All that live now; one that has ended and is only not yet buried does not."""
    found = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal() and (process := look(int(entry.name))) is not None:
            found[process.pid.number] = process
    return found


def look(number: int) -> Process | None:
    """One process; None when there is none."""
    try:
        stat = Path(f"/proc/{number}/stat").read_text("utf-8", "replace")
    except OSError:
        return None
    name = stat[stat.index("(") + 1 : stat.rindex(")")]
    state, parent, *rest = stat[stat.rindex(")") + 2 :].split()
    return None if state in "ZX" else Process(Pid(number, rest[17]), int(parent), name)


def below(root: int) -> list[Process]:
    """A process and all that stem from it, while their parents live."""
    living = processes()
    found = [living[root]] if root in living else []
    for process in found:
        found += [each for each in living.values() if each.parent == process.pid.number]
    return found


def alive(known: Process) -> bool:
    """Whether it still lives."""
    now = look(known.pid.number)
    return now is not None and now.pid == known.pid


def environment(**more: str) -> dict[str, str]:
    """Ours, without Omnipoly's variables but those given."""
    kept = {name: value for name, value in os.environ.items() if not name.upper().startswith("OMNIPOLY_")}
    return kept | more


class Stack:
    """One running `up`. It ends with this process, however that ends: it holds the other end of its standard input."""

    def __init__(self, process: subprocess.Popen[bytes], facts: Mapping[str, Any], errors: Path) -> None:
        self.process = process
        self.gateway: str = facts["gateway"]
        """host:port."""
        self.services: dict[str, str] = facts["services"]
        """host:port of each process, by name: `table`, `table-2`."""
        self.page: str = facts["page"]
        """The page's address; empty: there is none."""
        self.data = Path(facts["data"])
        self._errors = errors

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def errors(self) -> str:
        """What it has said on standard error."""
        return self._errors.read_text("utf-8")

    def find(self, name: str) -> Process | None:
        """The process that serves `name`, or `postgres`, `nats-server`, `fork` (what all others are forked from)."""
        names = {name, f"omni-{name}"[:15]}
        return next((process for process in below(self.pid) if process.name in names), None)

    async def kill(self, name: str) -> None:
        """SIGKILLs one process, and returns once `up` has said that what it did is done again."""
        old = self.find(name)
        assert old is not None, f"{name} does not run"
        awaited = list(self.services) if name == "fork" else [name]
        before = {one: self._came_back(one) for one in awaited}
        os.kill(old.pid.number, signal.SIGKILL)
        await eventually(lambda: all(self._came_back(one) > before[one] for one in awaited), START_S)

    def _came_back(self, name: str) -> int:
        words = {"postgres": "PostgreSQL is up again", "nats-server": "NATS is up again"}
        return self.errors.count(f"omnipolyd: {words.get(name, f'{name} serves again')}\n")

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Asks it to stop; the exit code."""
        self.process.send_signal(number)
        return self.process.wait(STOP_S)

    def database_url(self, name: str = "postgres") -> str:
        """The embedded PostgreSQL's URL, for one database of it."""
        password = next(self.data.rglob("password"))
        return f"postgresql://omnipoly:{password.read_text().strip()}@/{name}?host={password.parent}"


def start(*arguments: str, **pipes: Any) -> subprocess.Popen[bytes]:
    """An `up` of which nothing is awaited."""
    return subprocess.Popen([OMNIPOLYD, "up", "--port", "0", *arguments], env=environment(), **pipes)


def listing(folder: Path) -> list[str]:
    """What is in a folder."""
    return sorted(path.name for path in folder.iterdir())


@contextmanager
def running(*arguments: str, errors: Path, **variables: str) -> Iterator[Stack]:
    """An `up` with these arguments for the length of the block; what it leaves to be stopped is stopped.

    errors: the file its standard error goes to. Fails the test with what it has said when it does not start.
    """
    reading, writing = os.pipe()
    with errors.open("wb") as output:
        process = subprocess.Popen(
            [OMNIPOLYD, "up", "--port", "0", "--stop-with-stdin", "--ready-fd", str(writing), *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=output,
            pass_fds=[writing],
            env=environment(**{"OMNIPOLY_BOTS_THINKING_S": "0", **variables}),
        )
    os.close(writing)
    try:
        with open(reading, encoding="utf-8") as ready:
            line = ready.read()  # until it is closed: written, or ended
        assert line, f"up ended with {process.wait(STOP_S)}: {errors.read_text('utf-8')}"
        yield Stack(process, json.loads(line), errors)
    finally:
        assert process.stdin is not None
        process.stdin.close()
        process.wait(STOP_S)


class Ended(NamedTuple):
    """A command that has ended."""

    code: int
    output: str
    errors: str


async def call(*arguments: str, cwd: Path | None = None, **variables: str) -> Ended:
    """Runs `omnipolyd` to its end."""
    process = await asyncio.create_subprocess_exec(
        OMNIPOLYD,
        *arguments,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        cwd=cwd,
        env=environment(**{"OMNIPOLY_PLAINTEXT": "all", **variables}),
    )
    async with asyncio.timeout(START_S):
        output, errors = await process.communicate()
    assert process.returncode is not None
    return Ended(process.returncode, output.decode(), errors.decode())
