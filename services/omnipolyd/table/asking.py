"""Asking the database until it answers: what is waited for, what is not, and what nobody cuts short."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

import asyncpg  # type: ignore[import-untyped]
from prometheus_client import Counter

from omnipoly.runtime import failures, logging
from omnipoly.runtime.database import FAULTS, outcome_unknown

from . import requests

log = logging.get(__name__)

T = TypeVar("T")

RETRY_S = 0.1
"""Pause before the database is asked again."""
QUIET_S = 5.0
"""Failed queries are logged at most this often; all are counted."""

FAILED = Counter("omnipoly_table_queries_failed_total", "Queries that the database did not answer.")

_PASSING = (
    asyncpg.InsufficientResourcesError,
    asyncpg.QueryCanceledError,
    asyncpg.ReadOnlySQLTransactionError,
    asyncpg.TransactionRollbackError,
)
"""What a server says no with that will say yes later, or another one in its place."""


def passes(error: BaseException) -> bool:
    """Whether it is worth asking again: nobody answered, or the server cannot now."""
    if isinstance(error, asyncpg.PostgresError):
        return isinstance(error, _PASSING) or outcome_unknown(error)
    return not isinstance(error, ValueError)  # asyncpg's word for an argument that cannot be one


async def ask(query: Callable[[], Awaitable[T]]) -> T:
    """The answer of a query, asked again for as long as the database is away; the caller bounds it.

    A caller who gives up leaves the query alone: to cut it short would cost its connection. Raises one of
    ``database.FAULTS`` for what the server will never answer.
    """
    while True:
        running = asyncio.ensure_future(query())
        running.add_done_callback(_seen)
        try:
            return await asyncio.shield(running)
        except FAULTS as error:
            if not passes(error):
                raise
            FAILED.inc()
            _quiet.say(error)
            await asyncio.sleep(RETRY_S)


async def asked(query: Callable[[], Awaitable[T]], waits_s: float) -> T:
    """The same for a caller who waits so long, at most as long as is usual. Raises ``Failure`` UNAVAILABLE."""
    try:
        async with asyncio.timeout(min(waits_s, requests.USUAL_WAIT_S)):
            return await ask(query)
    except TimeoutError:
        raise failures.unavailable("The log cannot be reached; try again.") from None


def _seen(done: asyncio.Future[T]) -> None:
    """A query's caller may have given up: nobody has to look at what became of it."""
    if not done.cancelled():
        done.exception()


class _Quiet:
    """Says what goes wrong, but not a thousand times."""

    def __init__(self) -> None:
        self._silent_until = 0.0

    def say(self, error: BaseException) -> None:
        now = time.monotonic()
        if now >= self._silent_until:
            self._silent_until = now + QUIET_S
            log.warning("query_failed", error=repr(error))


_quiet = _Quiet()
