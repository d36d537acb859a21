"""What lateness is held against: a process that sleeps until each of many moments, and does nothing else.

One line of JSON on standard input, ``{"due": [milliseconds since 1970, …]}``; one on standard output when the last
has passed, ``{"late": [milliseconds, in order of size]}``.
"""

from __future__ import annotations

import asyncio
import gc
import json
import sys
import time


async def sleep_until(due: list[int]) -> list[float]:
    """How late each sleeper woke, in milliseconds."""

    async def one(at_ms: int) -> float:
        await asyncio.sleep(max(0.0, at_ms / 1000 - time.time()))
        return time.time() * 1000 - at_ms

    return sorted(await asyncio.gather(*(one(at_ms) for at_ms in due)))


def main() -> None:
    """Orders in, figures out."""
    for line in sys.stdin:
        order = json.loads(line)
        gc.freeze()
        sys.stdout.write(json.dumps({"late": asyncio.run(sleep_until(order["due"]))}) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
