"""Postgres through asyncpg: one pool a process, read-write servers only, and the log's epoch.

SQL is constant text, so that asyncpg prepares each statement once a connection; arrays go in through `unnest` and
`= ANY`. Our connections are not reset between uses: nothing may be left behind on one (no SET, no LISTEN, no session
lock), an open transaction is rolled back.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from typing import Any, cast
from urllib.parse import parse_qs, unquote, urlsplit

import asyncpg  # type: ignore[import-untyped]
from prometheus_client import Counter, Gauge, Histogram

from omnipoly.runtime import logging
from omnipoly.runtime.errors import DatabaseUnreachable

log = logging.get(__name__)

Connection = Any
"""An asyncpg connection."""
Record = Any
"""An asyncpg record: fields by name and by position."""
EpochCallback = Callable[[int, int], None]

CONNECT_S = 5.0
IDLE_CONNECTION_S = 300.0

CONNECTIONS = Counter("omnipoly_database_connections_total", "Connections opened to the database.")
EPOCH_CHANGES = Counter("omnipoly_database_epoch_changes_total", "Times the log's epoch was found changed.")
OPEN_CONNECTIONS = Gauge("omnipoly_database_connections_open", "Connections to the database that are open.")
IDLE_CONNECTIONS = Gauge("omnipoly_database_connections_idle", "Open connections to the database that nobody uses.")
MOST_CONNECTIONS = Gauge("omnipoly_database_connections_limit", "Most connections to the database.")
ACQUIRE_SECONDS = Histogram(
    "omnipoly_database_acquire_seconds",
    "How long a connection to the database was waited for, seconds.",
    buckets=(0.0001, 0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10),
)

TIMELINE = "SELECT ('x' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8))::bit(32)::bigint"
RAISED = "SELECT number FROM epochs"
EPOCHS_EXIST = "SELECT to_regclass('epochs') IS NOT NULL"

EPOCH_SHIFT = 24
"""The operator's number stands above the timeline, which counts failovers: 16 million of them fit below it."""


class _Connection(asyncpg.Connection):  # type: ignore[misc]  # asyncpg has no types
    """A connection without the round trip of asyncpg's reset."""

    __slots__ = ()

    def get_reset_query(self) -> str:
        return ""


class Database:
    """The pool of one process, and the epoch of the log it is connected to.

    The epoch changes when the database fails over to a server with another history (the WAL timeline counts up) or the
    operator raises the number in `epochs`; it is read on every new connection. Then versions seen before may be taken
    again by other commits: whoever caches by version empties the cache in an `on_epoch_change` callback.
    """

    def __init__(self, pool: Any) -> None:
        """For `connect` alone."""
        self._pool = pool
        self._epoch = 0
        self._callbacks: list[EpochCallback] = []

    @classmethod
    async def connect(
        cls,
        url: str,
        *,
        name: str = "omnipoly",
        pool_size: int = 10,
        statement_timeout_s: float = 10.0,
        idle_in_transaction_timeout_s: float = 10.0,
    ) -> Database:
        """Opens the pool with one connection and reads the epoch.

        name: shown in pg_stat_activity. Raises `DatabaseUnreachable`, one line without the password.
        """
        database = cls(None)
        try:
            database._pool = await asyncpg.create_pool(
                url,
                min_size=1,
                max_size=pool_size,
                max_inactive_connection_lifetime=IDLE_CONNECTION_S,
                connection_class=_Connection,
                init=database._begin,
                timeout=CONNECT_S,
                # The server bounds its statements; this bounds a network that swallows their answers.
                command_timeout=statement_timeout_s + 5,
                target_session_attrs="read-write",
                server_settings={
                    "application_name": name,
                    "statement_timeout": str(round(statement_timeout_s * 1000)),
                    "idle_in_transaction_session_timeout": str(round(idle_in_transaction_timeout_s * 1000)),
                    "timezone": "UTC",
                },
            )
        except CANNOT_CONNECT as error:
            raise unreachable(url, error) from None
        IDLE_CONNECTIONS.set_function(database._pool.get_idle_size)
        MOST_CONNECTIONS.set(pool_size)
        return database

    @property
    def epoch(self) -> int:
        """The log's epoch as last read."""
        return self._epoch

    def on_epoch_change(self, callback: EpochCallback) -> None:
        """Calls `callback(old, new)` in the event loop whenever a connection finds another epoch; it must not raise."""
        self._callbacks.append(callback)

    @asynccontextmanager
    async def acquire(self) -> AsyncIterator[Connection]:
        """A connection for several statements, or a transaction; given back at the end of the block."""
        begun = time.perf_counter()
        async with self._pool.acquire() as connection:
            ACQUIRE_SECONDS.observe(time.perf_counter() - begun)
            try:
                yield connection
            except AttributeError as error:
                # A connection that is ended between two steps of a statement has no protocol any more, over which
                # asyncpg then stumbles.
                if not connection.is_closed():
                    raise
                raise asyncpg.InterfaceError("the connection was ended in the middle of a statement") from error

    async def fetch(self, sql: str, *args: object, timeout_s: float | None = None) -> list[Record]:
        """The rows of one statement."""
        return cast("list[Record]", await self._pool.fetch(sql, *args, timeout=timeout_s))

    async def fetchrow(self, sql: str, *args: object, timeout_s: float | None = None) -> Record | None:
        """The first row, or None."""
        return await self._pool.fetchrow(sql, *args, timeout=timeout_s)

    async def fetchval(self, sql: str, *args: object, timeout_s: float | None = None) -> Any:
        """The first value of the first row, or None."""
        return await self._pool.fetchval(sql, *args, timeout=timeout_s)

    async def execute(self, sql: str, *args: object, timeout_s: float | None = None) -> str:
        """Runs one statement; its command tag, e.g. "UPDATE 1"."""
        return cast("str", await self._pool.execute(sql, *args, timeout=timeout_s))

    async def executemany(self, sql: str, rows: Iterable[Sequence[object]]) -> None:
        """Runs one statement for each row of arguments, all or none."""
        await self._pool.executemany(sql, rows)

    async def read_epoch(self) -> int:
        """Reads the epoch now; calls the callbacks if it has changed."""
        async with self.acquire() as connection:
            await self._read_epoch(connection)
        return self._epoch

    async def close(self) -> None:
        """Waits for connections in use and closes; after 10 s those left are cut."""
        try:
            async with asyncio.timeout(10):
                await self._pool.close()
        except TimeoutError:
            log.warning("database_close_forced")
            self._pool.terminate()

    async def _begin(self, connection: Connection) -> None:
        CONNECTIONS.inc()
        OPEN_CONNECTIONS.inc()
        connection.add_termination_listener(_count_closed)
        await self._read_epoch(connection)

    async def _read_epoch(self, connection: Connection) -> None:
        timeline = await connection.fetchval(TIMELINE)
        raised = 0
        if await connection.fetchval(EPOCHS_EXIST):
            raised = await connection.fetchval(RAISED) or 0
        epoch = (raised << EPOCH_SHIFT) + timeline
        old, self._epoch = self._epoch, epoch
        if old not in {0, epoch}:
            EPOCH_CHANGES.inc()
            log.warning("database_epoch_changed", old=old, new=epoch)
            for callback in self._callbacks:
                callback(old, epoch)


FAULTS = (
    OSError,
    TimeoutError,
    asyncpg.PostgresError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
)
"""All that asyncpg raises of a statement or connection; whether it was carried out all the same: `outcome_unknown`."""

CANNOT_CONNECT = (*FAULTS, ValueError)
"""Likewise when a connection cannot be made: no server, no entry, no such database, a standby, a bad URL."""


def unreachable(url: str, error: BaseException) -> DatabaseUnreachable:
    """The one line about a connection that could not be made."""
    if isinstance(error, TimeoutError):
        reason = f"no answer within {CONNECT_S:.0f} s"
    else:
        reason = " ".join(str(error).split()) or type(error).__name__
    return DatabaseUnreachable(f"cannot reach the database at {shown(url)}: {reason}; check OMNIPOLY_DATABASE_URL")


def shown(url: str) -> str:
    """Where a database URL points, without user and password."""
    try:
        parts = urlsplit(url)
        hosts = parts.netloc.rpartition("@")[2] or ",".join(parse_qs(parts.query).get("host", [])) or "localhost"
        return f"{unquote(hosts)}, database {unquote(parts.path.lstrip('/')) or 'by default'}"
    except ValueError:
        return "an address that cannot be read"


def outcome_unknown(error: BaseException) -> bool:
    """Whether a statement that ended in `error` may have been carried out all the same.

    True for everything but an answer of the server that says it was not: a lost connection, a time-out, a cancelled
    task, a server that is shutting down. What it did must then be looked up, never assumed.
    """
    if isinstance(error, asyncpg.PostgresConnectionError | asyncpg.OperatorInterventionError):
        # Class 57 is a statement cut from outside; query_canceled (statement_timeout) among them was rolled back.
        return not isinstance(error, asyncpg.QueryCanceledError)
    return not isinstance(error, asyncpg.PostgresError)


def _count_closed(_connection: Connection) -> None:
    OPEN_CONNECTIONS.dec()
