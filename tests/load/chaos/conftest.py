"""One short run for all tests of this folder."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

SECONDS = 10
TABLES = 12
SEED = os.environ.get("CHAOS_SEED", "5")
"""The same at each run of the tests, unless another one is asked for: the orders that it does not fix vary anyway."""
ENOUGH_S = 400
"""It only guards against hanging."""


class Ran(NamedTuple):
    """A run that is over."""

    folder: Path
    code: int
    said: str


@pytest.fixture(scope="session")
def short_run() -> Iterator[Ran]:
    """`make chaos`, short; its folder goes with the session."""
    folder = Path(tempfile.mkdtemp(prefix="omnipoly-chaos-"))
    folder.chmod(0o755)
    command = [sys.executable, "-m", "tests.load.chaos", "--seconds", str(SECONDS), "--tables", str(TABLES)]
    command += ["--seed", SEED, "--folder", str(folder / "run")]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=ENOUGH_S, check=False)
    yield Ran(folder / "run", ended.returncode, ended.stdout + ended.stderr)
    shutil.rmtree(folder)
