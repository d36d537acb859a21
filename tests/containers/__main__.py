"""`make test-containers`: an engine, the images, then the tests of this folder.

python -m tests.containers [--base IMAGE] [pytest's options]
"""

from __future__ import annotations

import argparse
import asyncio
import os
import subprocess
import sys
import time
from pathlib import Path

from . import engine, images, leftovers

HERE = Path(__file__).parent


def main() -> int:
    """The command line; pytest's exit code, or 1 when the tests could not be run, in one line."""
    parser = argparse.ArgumentParser(prog="make test-containers", add_help=False)
    parser.add_argument("--base", default="")
    given, rest = parser.parse_known_args()
    begun = time.monotonic()
    try:
        with engine.running(images.ROOT / "build/dockerd.log"):
            asyncio.run(leftovers.remove())
            images.build(given.base)
            say(f"images ready after {time.monotonic() - begun:.0f} s")
            environment = {**os.environ, "TESTCONTAINERS_RYUK_DISABLED": "true"}  # its image could not be pulled
            command = [sys.executable, "-m", "pytest", str(HERE), *rest]
            code = subprocess.run(command, cwd=images.ROOT, env=environment, check=False).returncode
    except (engine.NoEngine, images.NoImage) as error:
        say(f"the tests in containers have not run: {error}")
        return 1
    say(f"containers: {time.monotonic() - begun:.0f} s with their images")
    return code


def say(line: str) -> None:
    """A line on standard output."""
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
