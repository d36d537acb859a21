from __future__ import annotations

import asyncio

import asyncpg
import pytest

from omnipoly.runtime import migrations
from omnipoly.runtime.errors import DatabaseUnreachable, SchemaError

PACKAGE = "tests.services.runtime.example_migrations"


async def _value(url: str, sql: str) -> object:
    connection = await asyncpg.connect(url)
    try:
        return await connection.fetchval(sql)
    finally:
        await connection.close()


async def test_from_empty(database_url: str) -> None:
    assert await migrations.migrate(database_url, PACKAGE) == ["0001", "0002"]
    assert await _value(database_url, "SELECT example_double(21)") == 42
    await migrations.check_schema(database_url, PACKAGE)
    assert await migrations.migrate(database_url, PACKAGE) == []


async def test_from_the_previous_revision(database_url: str) -> None:
    assert await migrations.migrate(database_url, PACKAGE, "0001") == ["0001"]
    await _value(database_url, "INSERT INTO example_heads VALUES ('a', 7)")
    with pytest.raises(SchemaError, match=r"is at 0001, this program needs 0002: run omnipolyd migrate"):
        await migrations.check_schema(database_url, PACKAGE)
    assert await migrations.migrate(database_url, PACKAGE) == ["0002"]
    assert await _value(database_url, "SELECT status FROM example_heads") == "open"


async def test_empty_and_newer_databases_are_refused(database_url: str) -> None:
    with pytest.raises(SchemaError, match=r"the database is empty, this program needs 0002: run omnipolyd migrate"):
        await migrations.check_schema(database_url, PACKAGE)
    await migrations.migrate(database_url, PACKAGE)
    await _value(database_url, "UPDATE tests_services_runtime_example_migrations SET version_num = '0003'")
    with pytest.raises(SchemaError, match="at 0003, this program knows 0002: start a newer"):
        await migrations.check_schema(database_url, PACKAGE)
    with pytest.raises(SchemaError, match="start a newer"):
        await migrations.migrate(database_url, PACKAGE)


async def test_two_at_once_do_no_harm(database_url: str) -> None:
    await asyncio.gather(*(migrations.migrate(database_url, PACKAGE) for _ in range(3)))
    await migrations.check_schema(database_url, PACKAGE)


async def test_a_copy_of_a_migrated_database_is_migrated(make_database) -> None:
    first, second = await make_database(PACKAGE), await make_database(PACKAGE)
    assert first != second
    for url in (first, second):
        await migrations.check_schema(url, PACKAGE)


async def test_a_database_that_is_not_there_is_one_line(database_url: str) -> None:
    with pytest.raises(DatabaseUnreachable, match="cannot reach the database at") as caught:
        await migrations.migrate(database_url.replace("/test_", "/gone_"), PACKAGE)
    assert "\n" not in str(caught.value)


def test_unknown_package() -> None:
    with pytest.raises(SchemaError, match="no package"):
        migrations.revisions("tests.services.runtime.no_such_migrations")
