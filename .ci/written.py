"""Files that are made from something else: written, or with --check compared; one way for all of `.ci`."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def main(about: str, files: Mapping[Path, str]) -> int:
    """Runs as the arguments say; returns the exit code: 1 when one differs that is only to be looked at."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--check", action="store_true", help="compare instead of writing")
    check = parser.parse_args().check
    differing = [path for path, text in files.items() if not path.exists() or path.read_text("utf-8") != text]
    for path in differing:
        name = path.relative_to(ROOT)
        print(f"differs from what it is made from: {name} (make reference)" if check else f"wrote {name}")
        if not check:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(files[path], "utf-8")
    return 1 if check and differing else 0
