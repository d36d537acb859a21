"""Runs a file of Python with `await` at its top, as `python -m asyncio` takes it.

python awaiting.py FILE
"""

from __future__ import annotations

import ast
import asyncio
import sys
from pathlib import Path
from types import FunctionType


async def run(path: str, source: str) -> None:
    """Runs it to its end."""
    code = compile(source, path, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
    running = FunctionType(code, {"__name__": "__main__"})()
    if running is not None:
        await running


if __name__ == "__main__":
    asyncio.run(run(sys.argv[1], Path(sys.argv[1]).read_text("utf-8")))
