from __future__ import annotations

import asyncio
import contextlib
import re

import asyncpg
import pytest

from omnipoly.runtime.database import EPOCH_SHIFT, FAULTS, Database, outcome_unknown, shown
from omnipoly.runtime.embedded import EmbeddedPostgres
from omnipoly.runtime.errors import DatabaseUnreachable

PACKAGE = "tests.services.runtime.example_migrations"


@pytest.fixture
async def database(make_database):
    database = await Database.connect(await make_database(PACKAGE), name="test", pool_size=3)
    yield database
    await database.close()


async def test_session_settings(database: Database) -> None:
    assert await database.fetchval("SHOW statement_timeout") == "10s"
    assert await database.fetchval("SHOW idle_in_transaction_session_timeout") == "10s"
    assert await database.fetchval("SHOW application_name") == "test"
    assert await database.fetchval("SHOW timezone") == "UTC"


async def test_statements(database: Database) -> None:
    assert await database.execute("INSERT INTO example_heads VALUES ($1, $2)", "a", 1) == "INSERT 0 1"
    await database.executemany("INSERT INTO example_heads VALUES ($1, $2)", [("b", 2), ("c", 3)])
    rows = await database.fetch("SELECT id FROM example_heads WHERE id = ANY($1) ORDER BY id", ["a", "c"])
    assert [row["id"] for row in rows] == ["a", "c"]
    assert await database.fetchrow("SELECT 1 WHERE false") is None


async def test_an_open_transaction_is_rolled_back_before_the_next_use(database: Database) -> None:
    async with database.acquire() as connection:
        await connection.execute("BEGIN")
        await connection.execute("INSERT INTO example_heads VALUES ('left', 1)")
    assert await database.fetchval("SELECT count(*) FROM example_heads") == 0


async def test_the_epoch_is_the_timeline_and_what_the_operator_raised(database: Database) -> None:
    changes: list[tuple[int, int]] = []
    database.on_epoch_change(lambda old, new: changes.append((old, new)))
    assert database.epoch == 1
    await database.execute("UPDATE epochs SET number = 2")
    assert database.epoch == 1
    # Read on every new connection: more at once than the pool has open.
    await asyncio.gather(*(database.fetchval("SELECT pg_sleep(0.05)") for _ in range(3)))
    assert database.epoch == (2 << EPOCH_SHIFT) + 1
    assert changes == [(1, (2 << EPOCH_SHIFT) + 1)]
    assert await database.read_epoch() == database.epoch
    assert len(changes) == 1


async def test_without_the_table_the_epoch_is_the_timeline(database_url: str) -> None:
    database = await Database.connect(database_url)
    assert database.epoch == 1
    await database.close()


async def test_a_lost_connection_is_unknown_and_the_next_call_has_a_new_one(database: Database) -> None:
    own = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'test'"
    with pytest.raises((asyncpg.PostgresError, OSError)) as caught:
        await database.fetchval(own)
    assert outcome_unknown(caught.value)
    assert await database.fetchval("SELECT 1") == 1


@pytest.mark.parametrize("steps", [1, 2])
async def test_a_connection_that_ends_between_two_steps_of_a_statement(database: Database, steps: int) -> None:
    """However far it has come: one of the faults that callers know."""

    mine: list[asyncpg.Connection] = []

    async def ask() -> None:
        async with database.acquire() as connection:
            mine.append(connection)
            await connection.fetchval("SELECT $1::int + 1", 1)

    task = asyncio.create_task(ask())
    answered, last = 0, None
    while answered < steps:
        waits_for = task._fut_waiter
        if mine and waits_for is not last and waits_for.done():
            # this answer has been read, and whoever waits for it has not run yet
            answered, last = answered + 1, waits_for
        else:
            await asyncio.sleep(0)
    mine.pop().terminate()
    with contextlib.suppress(*FAULTS):
        await task
    assert await database.fetchval("SELECT 1") == 1


async def test_what_the_server_refuses_is_known(database: Database) -> None:
    await database.execute("INSERT INTO example_heads VALUES ('a', 1)")
    with pytest.raises(asyncpg.UniqueViolationError) as caught:
        await database.execute("INSERT INTO example_heads VALUES ('a', 1)")
    assert not outcome_unknown(caught.value)
    assert outcome_unknown(TimeoutError())
    assert outcome_unknown(asyncio.CancelledError())


async def test_unreachable_is_one_line_without_the_password(tmp_path) -> None:
    for url in (
        "postgresql://omnipoly:hunter2@127.0.0.1:1/tables",
        f"postgresql://omnipoly:hunter2@/tables?host={tmp_path}",
        "postgresql://omnipoly:hunter2@[::1/tables",
        "mysql://omnipoly:hunter2@localhost/tables",
    ):
        with pytest.raises(DatabaseUnreachable, match="OMNIPOLY_DATABASE_URL") as caught:
            await Database.connect(url)
        assert "hunter2" not in str(caught.value)
        assert "\n" not in str(caught.value)


async def test_wrong_password(database_url: str) -> None:
    wrong = re.sub(r"://(\w+):[^@]*@", r"://\1:hunter2@", database_url)
    if wrong == database_url:
        wrong = database_url.replace("://", "://nobody:hunter2@", 1)
    with pytest.raises(DatabaseUnreachable, match="authentication failed") as caught:
        await Database.connect(wrong)
    assert "hunter2" not in str(caught.value)


async def test_a_server_that_only_reads_is_refused(postgres_url: str, database_url: str) -> None:
    admin = await asyncpg.connect(postgres_url)
    name = database_url.partition("?")[0].rpartition("/")[2]
    await admin.execute(f'ALTER DATABASE "{name}" SET default_transaction_read_only = on')
    await admin.close()
    with pytest.raises(DatabaseUnreachable):
        await Database.connect(database_url)


async def test_it_comes_back_after_a_crash_of_the_server() -> None:
    with EmbeddedPostgres() as server:
        database = await Database.connect(server.url)
        await database.execute("CREATE TABLE kept (n int)")
        await database.execute("INSERT INTO kept VALUES (7)")
        await asyncio.to_thread(server.kill)
        with pytest.raises(FAULTS) as caught:
            await database.execute("INSERT INTO kept VALUES (8)")
        assert outcome_unknown(caught.value)
        await asyncio.to_thread(server.start)
        assert await database.fetchval("SELECT count(*) FROM kept WHERE n = 7") == 1
        await database.close()


def test_shown() -> None:
    assert shown("postgresql://u:p@db:5432/tables") == "db:5432, database tables"
    assert shown("postgresql://u:p@/x?host=/run/pg") == "/run/pg, database x"
