"""`python -m tests.load.chaos.checker FOLDER`: checks a run that is over; 0 when nothing is wrong, else 1."""

from __future__ import annotations

import sys
from pathlib import Path

from .report import check

if __name__ == "__main__":
    found = check(Path(sys.argv[1]))
    sys.stdout.write("\n".join(found.lines) + "\n")
    sys.exit(0 if found.good else 1)
