"""Runs files of Python with `await` at their top, as `python -m asyncio` takes them; all at the same time.

python awaiting.py FILE …
"""

from __future__ import annotations

import ast
import asyncio
import sys
import traceback
from pathlib import Path
from types import FunctionType


async def run(path: str, source: str) -> bool:
    """Runs one to its end; whether it came there."""
    try:
        code = compile(source, path, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
        running = FunctionType(code, {"__name__": "__main__"})()
        if running is not None:
            await running
    except Exception:  # noqa: BLE001 - told, and the others go on
        traceback.print_exc()
        return False
    return True


async def main(sources: dict[str, str]) -> int:
    """Runs all; the exit code."""
    return 0 if all(await asyncio.gather(*(run(path, source) for path, source in sources.items()))) else 1


if __name__ == "__main__":
    sys.exit(asyncio.run(main({path: Path(path).read_text("utf-8") for path in sys.argv[1:]})))
