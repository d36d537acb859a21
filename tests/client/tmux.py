"""A real terminal for tests: tmux, with a server of its own for each."""

from __future__ import annotations

import asyncio
import secrets
import shlex
import shutil
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

WITHIN_S = 60.0
"""It only guards against hanging."""
LOOK_EVERY_S = 0.05
PROGRAM = (sys.executable, "-c", "from omnipoly.cli import main; main()")


class Terminal:
    """A running command, what its screen shows, and its keyboard."""

    def __init__(self, server: str) -> None:
        self._server = server

    async def tmux(self, *arguments: str) -> str:
        """What a command of tmux answers."""
        process = await asyncio.create_subprocess_exec(
            *("tmux", "-L", self._server, "-f", "/dev/null", *arguments),
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        out, err = await process.communicate()
        assert process.returncode == 0, err.decode()
        return out.decode()

    async def screen(self) -> str:
        """What stands on it."""
        return await self.tmux("capture-pane", "-p", "-t", "test")

    async def press(self, *keys: str) -> None:
        """Keys by their names."""
        await self.tmux("send-keys", "-t", "test", *keys)

    async def type(self, text: str) -> None:
        """A line."""
        await self.tmux("send-keys", "-t", "test", "-l", text)
        await self.press("Enter")

    async def shows(self, *parts: str) -> str:
        """Waits until all of these stand on the screen at once; the screen."""
        return await self.until(lambda screen: all(part in screen for part in parts))

    async def until(self, good: Callable[[str], bool]) -> str:
        """Waits until the screen is as it should be; the screen."""
        last = await self.screen()
        try:
            async with asyncio.timeout(WITHIN_S):
                while not good(last):
                    await asyncio.sleep(LOOK_EVERY_S)
                    last = await self.screen()
        except TimeoutError:
            raise AssertionError(f"the screen does not come to it:\n{last}") from None
        return last


@asynccontextmanager
async def terminal(*command: str, columns: int = 80, lines: int = 24) -> AsyncIterator[Terminal]:
    """`omnipoly` with arguments in a terminal of that size; what it leaves behind stays to be read."""
    assert shutil.which("tmux"), "The terminal's tests need tmux (Debian: apt-get install tmux)."
    opened = Terminal(f"omnipoly-{secrets.token_hex(6)}")
    shell = f"{shlex.join((*PROGRAM, *command))}; echo it ended with $?; exec cat"
    environment = ("-e", "COLORTERM=truecolor", "-e", "OMNIPOLY_GATEWAY=")
    size = ("-x", str(columns), "-y", str(lines))
    await opened.tmux("new-session", "-d", "-s", "test", *size, *environment, shell)
    try:
        yield opened
    finally:
        await opened.tmux("kill-server")
