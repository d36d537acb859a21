"""`omnipoly demo` as somebody types it: a whole platform, a game, a check, and nothing left behind."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from tests.client.test_commands import PROGRAM
from tests.services.waiting import eventually

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")


@pytest.fixture
def folder() -> Iterator[Path]:
    """Where everything that the demo starts keeps its data: what runs there names it. Others may pass through it."""
    path = Path(tempfile.mkdtemp(prefix="omnipoly-demo-"))
    path.chmod(0o755)
    yield path
    shutil.rmtree(path, ignore_errors=True)


def living(folder: Path) -> list[str]:
    """Processes that were started for that folder."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            told = (process / "cmdline").read_bytes() + (process / "environ").read_bytes()
        except OSError:
            continue
        if str(folder).encode() in told and int(process.name) != os.getpid():
            found.append(process.name)
    return found


def data(folder: Path) -> list[str]:
    """What is left of servers' data."""
    return [left.name for left in folder.iterdir() if left.name.startswith("omnipoly-")]


@asynccontextmanager
async def demo(folder: Path, *arguments: str) -> AsyncIterator[asyncio.subprocess.Process]:
    """The demo, begun."""
    process = await asyncio.create_subprocess_exec(
        *PROGRAM,
        "demo",
        *arguments,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        env={**os.environ, "TMPDIR": str(folder)},
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def test_a_game_is_played_checked_and_everything_stopped(folder: Path) -> None:
    async with demo(folder, "--edition", "laspoly", "--players", "3", "--round-limit", "3") as process:
        out = (await process.communicate())[0].decode()
    assert process.returncode == 0, out
    assert "The dice are committed to as" in out
    assert "Round 3: it is the turn of" in out
    assert "The game is over: the last round is over. Places: 1 " in out
    assert "every one of them is the seed's" in out
    assert "Everything is stopped" in out
    await eventually(lambda: not living(folder))
    assert not data(folder)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
async def test_whatever_ends_it_nothing_is_left(folder: Path, number: signal.Signals) -> None:
    async with demo(folder, "--players", "8", "--round-limit", "1000") as process:
        assert process.stdout is not None
        said = b""
        while b"Round 1: " not in said:
            line = await process.stdout.readline()
            assert line, said.decode()
            said += line
        assert len(living(folder)) > 5
        process.send_signal(number)
        await process.communicate()
    assert process.returncode == (130 if number != signal.SIGKILL else -signal.SIGKILL)
    await eventually(lambda: not living(folder))


@pytest.mark.parametrize(
    ("arguments", "says"),
    [(("--edition", "monopoly"), "there is no such edition"), (("--players", "40"), "takes 2 to 16 players")],
)
async def test_what_cannot_be_played_is_said_at_once(folder: Path, arguments: tuple[str, ...], says: str) -> None:
    async with demo(folder, *arguments) as process:
        out = (await process.communicate())[0].decode()
    assert process.returncode == 2, out
    assert says in out
    assert "Starting" not in out
