"""The repository as its tests see it: what git would keep of it."""

from __future__ import annotations

import subprocess
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]


def files() -> list[Path]:
    """Every file that is committed or, not being ignored, could be."""
    listing = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    paths = {ROOT / name for name in listing.stdout.decode().split("\0") if name}
    return sorted(path for path in paths if path.is_file())


def pyproject() -> dict[str, Any]:
    """The contents of pyproject.toml."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
