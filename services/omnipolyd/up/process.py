"""One service's process, seen from `up`: started, waited for, started again when it ends unasked, stopped."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
from collections.abc import Callable
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from omnipoly.runtime.errors import StartError

from . import entry, forking
from .plan import Instance

READY_S = 60.0
STOP_S = 45.0
"""More than a service's own hard limit (`OMNIPOLY_HARD_STOP_S`) unless that was raised."""
FIRST_PAUSE_S = 0.1
LONGEST_PAUSE_S = 10.0
GOOD_S = 30.0
"""After so long up, the next end is the first again."""
LAST_LINES = 10
LAST_BYTES = 65_536
CANNOT_START = 1


class Started:
    """A process that was started: its end, and what it says before, as futures."""

    def __init__(self, target: Callable[..., None], arguments: tuple[object, ...], *, talk: bool) -> None:
        """To be made in the main thread. talk: the process also listens on its connection, which is its last argument.

        Blocks while the fork server still imports, a second at most.
        """
        loop = asyncio.get_running_loop()
        self._loop = loop
        self.connection: Connection
        making = forking.context()
        self.connection, theirs = making.Pipe(duplex=talk)
        self._process: BaseProcess = making.Process(target=target, args=(*arguments, theirs), daemon=True)
        self._process.start()
        theirs.close()
        self.pid = self._process.pid or 0
        self.ended: asyncio.Future[int] = loop.create_future()
        """The exit code, negative for a signal."""
        self._said: asyncio.Queue[object] = asyncio.Queue()
        loop.add_reader(self._process.sentinel, self._on_end)
        loop.add_reader(self.connection.fileno(), self._on_word)

    async def word(self) -> object:
        """What it says next; None when it ends before it says anything."""
        saying = asyncio.ensure_future(self._said.get())
        try:
            waited: set[asyncio.Future[Any]] = {saying, self.ended}
            await asyncio.wait(waited, return_when=asyncio.FIRST_COMPLETED)
            return saying.result() if saying.done() else None
        finally:
            saying.cancel()

    def signal(self, number: signal.Signals) -> None:
        """Sends a signal, unless it has ended."""
        if not self.ended.done():
            with contextlib.suppress(ProcessLookupError):  # it has just ended, which is heard of in a moment
                os.kill(self.pid, number)

    def _on_end(self) -> None:
        self._loop.remove_reader(self._process.sentinel)
        self._on_word()  # what it said last
        self._hang_up()
        self._process.join()
        code = self._process.exitcode
        if not self.ended.done():
            self.ended.set_result(code if code is not None else -signal.SIGKILL)
        self._process.close()

    def _on_word(self) -> None:
        try:
            while not self.connection.closed and self.connection.poll():
                self._said.put_nowait(self.connection.recv())
        except (EOFError, OSError):
            self._hang_up()

    def _hang_up(self) -> None:
        if not self.connection.closed:
            self._loop.remove_reader(self.connection.fileno())
            self.connection.close()


class ServiceProcess:
    """One process of a role, for as long as `up` runs."""

    def __init__(self, instance: Instance, log: Path, tell: Callable[[str], None]) -> None:
        """log: where its output goes. tell: is given lines for the operator."""
        self.instance = instance
        self.log = log
        self._tell = tell
        self._log_from = 0
        self._started: Started | None = None
        self._keeping: asyncio.Task[None] | None = None

    @property
    def pid(self) -> int:
        """0 when it does not run."""
        return self._started.pid if self._started is not None and not self._started.ended.done() else 0

    def launch(self) -> None:
        """Starts the process."""
        name, role, _, environment = self.instance
        self._log_from = self.log.stat().st_size if self.log.exists() else 0
        arguments = (name, role.name, str(self.log), environment)
        self._started = Started(entry.serve, arguments, talk=False)

    async def serving(self) -> None:
        """Returns once the process that was launched serves. Raises `StartError` when it ends before, or takes ages."""
        started = self._current()
        try:
            async with asyncio.timeout(READY_S):
                word = await started.word()
        except TimeoutError:
            raise StartError(
                f"{self.instance.name} was not serving after {READY_S:.0f} s; its log is {self.log}"
            ) from None
        if word != (entry.SERVING, ""):
            code = await started.ended
            raise StartError(f"{self.instance.name} {self.why(code)}")

    def last_lines(self) -> list[str]:
        """The last lines of its log since it was started, where they say more than why it could not start."""
        lines = self._lines()
        return [] if _reason(lines) else lines

    def keep(self) -> None:
        """From now on starts it again whenever it ends, until `leave`."""
        self._keeping = asyncio.create_task(self._keep(), name=f"keep-{self.instance.name}")

    async def leave(self) -> None:
        """From now on lets it end."""
        if self._keeping is not None:
            self._keeping.cancel()
            await asyncio.gather(self._keeping, return_exceptions=True)

    async def stop(self) -> None:
        """Has it drain and waits for its end; by force when that takes too long."""
        if self._started is None:
            return
        self._started.signal(signal.SIGTERM)
        try:
            async with asyncio.timeout(STOP_S):
                await asyncio.shield(self._started.ended)
        except TimeoutError:
            self._tell(f"{self.instance.name} did not end within {STOP_S:.0f} s and is killed")
            self.kill()
            await self._started.ended

    def kill(self) -> None:
        """Ends it at once."""
        if self._started is not None:
            self._started.signal(signal.SIGKILL)

    def _current(self) -> Started:
        if self._started is None:
            raise RuntimeError(f"{self.instance.name} was not launched")
        return self._started

    async def _keep(self) -> None:
        loop = asyncio.get_running_loop()
        pause_s, since = FIRST_PAUSE_S, loop.time()
        while True:
            code = await asyncio.shield(self._current().ended)
            if loop.time() - since > GOOD_S:
                pause_s = FIRST_PAUSE_S
            self._tell(f"{self.instance.name} {self.why(code)}; starting it again in {pause_s:.1f} s")
            for line in self.last_lines() if code > 0 else []:
                self._tell(f"  {line}")
            await asyncio.sleep(pause_s)
            pause_s, since = min(pause_s * 2, LONGEST_PAUSE_S), loop.time()
            self.launch()
            try:
                await self.serving()
                self._tell(f"{self.instance.name} serves again")
            except StartError:
                self._current().signal(signal.SIGKILL)  # told, and tried again, above

    def _lines(self) -> list[str]:
        with self.log.open("rb") as file:
            file.seek(max(self._log_from, self.log.stat().st_size - LAST_BYTES))
            lines = file.read().decode("utf-8", "replace").splitlines()
        return [line for line in lines if line.strip()][-LAST_LINES:]

    def why(self, code: int) -> str:
        """What became of a process with this exit code, from its own last words."""
        if code == CANNOT_START and (reason := _reason(self._lines())):
            return f"cannot start: {reason}"
        how = f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
        return f"{how}; its log is {self.log}"


def _reason(lines: list[str]) -> str:
    """The one line with which a role that cannot start ends."""
    for line in reversed(lines):
        if line.startswith("omnipolyd: "):
            return line.removeprefix("omnipolyd: ")
        try:
            said = json.loads(line)
        except ValueError:
            continue
        if isinstance(said, dict) and said.get("event") == "cannot_start":
            return "; ".join(str(said.get("error", "")).splitlines())
    return ""
