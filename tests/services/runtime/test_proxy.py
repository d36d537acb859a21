"""The tests' own proxy in front of Postgres: a trap springs at the statement that it names, and not once disarmed."""

from __future__ import annotations

from collections.abc import AsyncIterator

import asyncpg
import pytest

from tests.services.proxy import Cut, Proxy

APPEND, LOOK_UP = "INSERT INTO commits VALUES ($1)", "SELECT count(*) FROM commits WHERE command_id = $1"
NAME = "chaos-1-17"


@pytest.fixture
async def proxy(database_url: str) -> AsyncIterator[Proxy]:
    async with Proxy(database_url, reads=True) as proxy:
        yield proxy


@pytest.fixture
async def connection(proxy: Proxy) -> AsyncIterator[asyncpg.Connection]:
    connection = await asyncpg.connect(proxy.url)
    await connection.execute("CREATE TABLE commits (command_id text)")
    yield connection
    connection.terminate()


@pytest.mark.parametrize("cut", Cut)
async def test_only_the_named_statement_springs_it(proxy: Proxy, connection: asyncpg.Connection, cut: Cut) -> None:
    await connection.execute(APPEND, "chaos-1-16")  # prepared before the trap is set, as in a service
    trap = proxy.cut_at(NAME.encode(), cut, statement=b"INSERT INTO commits")
    assert await connection.fetchval(LOOK_UP, NAME) == 0
    await connection.execute(APPEND, "chaos-1-18")
    assert not trap.sprung.is_set()
    with pytest.raises((OSError, asyncpg.PostgresConnectionError)):
        await connection.execute(APPEND, NAME)
    assert trap.done.is_set()
    assert not proxy.disarm(trap)
    again = await asyncpg.connect(proxy.url)
    try:
        assert await again.fetchval(LOOK_UP, NAME) == (cut is Cut.AFTER)
    finally:
        await again.close()


async def test_a_disarmed_trap_does_not_spring(proxy: Proxy, connection: asyncpg.Connection) -> None:
    trap = proxy.cut_at(NAME.encode(), Cut.BEFORE, statement=b"INSERT INTO commits")
    assert proxy.disarm(trap)
    await connection.execute(APPEND, NAME)
    assert not trap.sprung.is_set()
    assert not proxy.disarm(trap)


async def test_a_proxy_that_does_not_read_knows_no_statements(database_url: str) -> None:
    async with Proxy(database_url) as proxy:
        with pytest.raises(ValueError, match="does not read"):
            proxy.cut_at(NAME.encode(), Cut.BEFORE, statement=b"INSERT INTO commits")
