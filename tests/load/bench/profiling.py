"""Flame graphs of where time goes: of gateway and table while 64 tables play, of the engine while bots play games.

``make bench`` writes them behind what it measures, ``make profile`` writes them alone. They need py-spy, which is among
the development tools, and the right to look into other processes: without it, those of gateway and table are not
written.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Sequence
from pathlib import Path

from .processes import PLAYING, Generator, Process, platform
from .rows import Row

BUILD = Path("build")
TABLES = 64
RATE = 200
"""Samples a second."""
ENGINE = "tests.load.bench.stretches"
ENGINE_STRETCHES = 10
"""Of the engine: some 4 s."""


async def record(seconds: float) -> list[Path]:
    """Writes all of them. seconds: of gateway and table."""
    async with platform() as running:
        table = await running.table(await running.database())
        gateway = await running.gateway([table])
        generator = await running.generator(
            PLAYING, to="product", gateway=gateway.address, table=table.address, tables=TABLES
        )
        await generator.ask(seconds=2)
        paths = await of_processes((table, gateway), generator, seconds)
    return [*paths, *await of_engine()]


async def of_processes(processes: Sequence[Process], generator: Generator, seconds: float) -> list[Path]:
    """Writes a flame graph of each process while the generator plays.

    Raises ``OSError`` where there is no py-spy, ``RuntimeError`` where it may not look.
    """
    paths = [BUILD / f"profile-{process.name}.svg" for process in processes]
    playing = asyncio.create_task(generator.ask(seconds=seconds + 2))  # py-spy takes a while to begin
    try:
        await asyncio.gather(
            *(
                _record(path, "--pid", str(process.pid), "--duration", str(round(seconds)))
                for process, path in zip(processes, paths, strict=True)
            )
        )
    finally:
        await playing
    return paths


async def of_engine() -> list[Path]:
    """Writes a flame graph of games of bots on the engine alone, in a process of py-spy's own. Raises likewise."""
    path = BUILD / "profile-engine.svg"
    await _record(path, "--", sys.executable, "-m", ENGINE, str(ENGINE_STRETCHES))
    return [path]


async def row(name: str, what: str, written: Awaitable[list[Path]]) -> Row:
    """A line that names the files; where none could be written, why not."""
    try:
        said, failed = ", ".join(str(path) for path in await written), ""
    except (OSError, RuntimeError) as error:
        said, failed = "no flame graph", " ".join(str(error).split())
    return Row(name, what, said, failed[:60], None, "", None, {"failed": failed} if failed else {})


async def _record(path: Path, *what: str) -> None:
    spy = Path(sys.executable).with_name("py-spy")
    child = await asyncio.create_subprocess_exec(
        spy,
        *("record", "--rate", str(RATE), "--output", str(path), *what),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
    )
    _, said = await child.communicate()
    if child.returncode:
        raise RuntimeError(f"py-spy: {said.decode(errors='replace')}")
