"""``make profile``: where a command's time goes, as flame graphs of gateway and table while 64 tables play."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from .commands import PLAYING
from .processes import Process, platform

TABLES = 64
RATE = 200
"""Samples a second."""


async def record(folder: Path, seconds: float) -> list[Path]:
    """Writes a flame graph of each process into the folder; needs py-spy, which is among the development tools."""
    async with platform() as running:
        table = await running.table(await running.database())
        gateway = await running.gateway([table])
        generator = await running.generator(
            PLAYING, to="product", gateway=gateway.address, table=table.address, tables=TABLES
        )
        await generator.ask(seconds=2)
        recording = [
            asyncio.create_task(_record(process, folder / f"profile-{process.name}.svg", seconds))
            for process in (table, gateway)
        ]
        await generator.ask(seconds=seconds + 2)
        return list(await asyncio.gather(*recording))


async def _record(process: Process, path: Path, seconds: float) -> Path:
    spy = Path(sys.executable).with_name("py-spy")
    arguments = ("record", "-p", str(process.pid), "-d", str(round(seconds)), "-r", str(RATE), "-o", str(path))
    child = await asyncio.create_subprocess_exec(
        spy, *arguments, stdout=asyncio.subprocess.DEVNULL, stderr=asyncio.subprocess.PIPE
    )
    _, said = await child.communicate()
    if child.returncode:
        raise RuntimeError(f"py-spy: {said.decode(errors='replace')}")
    return path
