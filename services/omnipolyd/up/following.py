"""What the processes write into their logs, shown as it comes."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path

LOOK_EVERY_S = 0.1


async def follow(logs: Sequence[Path], show: Callable[[str], None]) -> None:
    """Shows every whole line that is added from now on, until cancelled; then what is still there."""
    seen = {log: log.stat().st_size for log in logs}
    try:
        while True:
            await asyncio.sleep(LOOK_EVERY_S)
            _show(seen, show)
    finally:
        _show(seen, show)


def _show(seen: dict[Path, int], show: Callable[[str], None]) -> None:
    for log, position in seen.items():
        size = log.stat().st_size
        if size <= position:
            continue
        with log.open("rb") as file:
            file.seek(position)
            whole, _, _ = file.read(size - position).rpartition(b"\n")
        for line in whole.splitlines():
            show(line.decode("utf-8", "replace"))
        seen[log] = position + len(whole) + (1 if whole else 0)
