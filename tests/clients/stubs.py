"""Stubs as a client's author makes them: with protoc, of protos/ alone, into a folder of their own."""

from __future__ import annotations

import asyncio
import sys
import sysconfig
from pathlib import Path

import grpc_tools

ROOT = Path(__file__).parents[2]
PROTOS = ROOT / "protos"
STATUS = Path(sysconfig.get_path("purelib"))
"""Where google/rpc/*.proto are: they come with googleapis-common-protos."""
SOURCES = [
    path.relative_to(PROTOS).as_posix()
    for package in ("game", "gateway")
    for path in sorted((PROTOS / "omnipoly" / package / "v1").glob("*.proto"))
]


async def generate(folder: Path) -> None:
    """Writes the stubs below a folder, to be put on PYTHONPATH."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "grpc_tools.protoc",
        f"-I{PROTOS}",
        f"-I{Path(grpc_tools.__file__).parent / '_proto'}",
        f"-I{STATUS}",
        f"--python_out={folder}",
        f"--grpc_python_out={folder}",
        *SOURCES,
    )
    assert await process.wait() == 0
    # Where the library is installed too, as here, its package of this name would be found first.
    (folder / "omnipoly/__init__.py").touch()
