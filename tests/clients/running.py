"""Clients as programs of their own: how they are started, and what they print at their end."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any, NamedTuple

from tests.clients.stubs import PROTOS, STATUS

HERE = Path(__file__).parent
WITHIN_S = 60.0


class Ended(NamedTuple):
    """How a program ended."""

    code: int
    out: str
    err: str

    @property
    def seen(self) -> dict[str, Any]:
        """What the client says it has seen."""
        assert self.code == 0, f"exit code {self.code}\n{self.out}{self.err}"
        found: dict[str, Any] = json.loads(self.out.splitlines()[-1])
        return found


def python_stubs(stubs: Path, *arguments: str) -> tuple[list[str], dict[str, str]]:
    """Command and environment of the client on stubs alone."""
    program = str(HERE / "python_stubs/client.py")
    return [sys.executable, program, *arguments], {"PYTHONPATH": str(stubs)}


def node(*arguments: str) -> tuple[list[str], dict[str, str]]:
    """Command and environment of the client in Node."""
    found = shutil.which("node")
    assert found, "The client in Node needs Node 18 or newer (Debian: apt-get install nodejs npm)."
    assert (HERE / "node/node_modules").is_dir(), "The client in Node needs its packages: make test installs them."
    return [found, str(HERE / "node/client.mjs"), *arguments], {"OMNIPOLY_PROTOS": f"{PROTOS}{os.pathsep}{STATUS}"}


async def run(command: list[str], environment: dict[str, str]) -> Ended:
    """Run a program to its end; one that does not come to it is killed and fails the test."""
    process = await asyncio.create_subprocess_exec(
        *command,
        env={**os.environ, **environment},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(WITHIN_S):
            out, err = await process.communicate()
    except TimeoutError:
        process.kill()
        out, err = await process.communicate()
        raise AssertionError(f"it did not end: {out.decode()}{err.decode()}") from None
    except BaseException:
        process.kill()
        raise
    assert process.returncode is not None
    return Ended(process.returncode, out.decode(), err.decode())
