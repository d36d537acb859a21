"""Asking Postgres: a statement that nobody answers costs its connection, after a bounded time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from omnipoly.runtime.database import Connection, Database, Record

ANSWER_S = 12.0
"""So long a statement may take to be answered, a little longer than the server lets it run; then its connection is cut:
a network that swallows packets would hold it for a quarter of an hour."""
PULSE_S = 3.0
"""Likewise for a heartbeat, which is worth nothing later."""


class Statements:
    """What stores are made of. Each statement raises one of ``database.FAULTS``, within ``ANSWER_S`` when nobody
    answers."""

    def __init__(self, database: Database) -> None:
        self._database = database

    @asynccontextmanager
    async def _connection(self, answer_s: float = ANSWER_S) -> AsyncIterator[Connection]:
        async with self._database.acquire() as connection:
            with answered(connection, answer_s):
                yield connection

    async def _rows(self, text: str, *args: object) -> list[Record]:
        async with self._connection() as connection:
            return await connection.fetch(text, *args)  # type: ignore[no-any-return]

    async def _row(self, text: str, *args: object) -> Record | None:
        async with self._connection() as connection:
            return await connection.fetchrow(text, *args)

    async def _value(self, text: str, *args: object) -> Any:
        async with self._connection() as connection:
            return await connection.fetchval(text, *args)

    async def _execute(self, text: str, *args: object) -> None:
        async with self._connection() as connection:
            await connection.execute(text, *args)


@contextmanager
def answered(connection: Connection, answer_s: float) -> Iterator[None]:
    """Cut a connection that does not answer in time, or whose answer nobody waits for any more."""
    timer = asyncio.get_running_loop().call_later(answer_s, connection.terminate)
    try:
        yield
    except asyncio.CancelledError:
        connection.terminate()
        raise
    finally:
        timer.cancel()
