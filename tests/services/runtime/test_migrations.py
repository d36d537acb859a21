from __future__ import annotations

import asyncio

import asyncpg
import pytest

from omnipoly.runtime import migrations
from omnipoly.runtime.errors import DatabaseUnreachable, SchemaError

SCHEMA = """
SELECT 'column' AS kind, table_name::text AS name, concat_ws(' ', column_name, ordinal_position, data_type,
       character_maximum_length, is_nullable, column_default) AS what
  FROM information_schema.columns WHERE table_schema = 'public'
UNION ALL SELECT 'constraint', conname::text, pg_get_constraintdef(oid) FROM pg_constraint
           WHERE connamespace = 'public'::regnamespace
UNION ALL SELECT 'index', indexname::text, indexdef FROM pg_indexes WHERE schemaname = 'public'
UNION ALL SELECT 'function', proname::text, pg_get_functiondef(oid) FROM pg_proc
           WHERE pronamespace = 'public'::regnamespace
UNION ALL SELECT 'version', 'version', version_num FROM tests_services_runtime_example_migrations
ORDER BY 1, 2, 3
"""
PACKAGE = "tests.services.runtime.example_migrations"


async def _value(url: str, sql: str) -> object:
    connection = await asyncpg.connect(url)
    try:
        return await connection.fetchval(sql)
    finally:
        await connection.close()


async def _schema(url: str) -> list[asyncpg.Record]:
    """Tables, columns, constraints, indexes and functions, and the version."""
    connection = await asyncpg.connect(url)
    try:
        return await connection.fetch(SCHEMA)
    finally:
        await connection.close()


async def test_from_empty(database_url: str) -> None:
    assert await migrations.migrate(database_url, PACKAGE) == ["0001", "0002"]
    assert await _value(database_url, "SELECT example_double(21)") == 42
    await migrations.check_schema(database_url, PACKAGE)
    assert await migrations.migrate(database_url, PACKAGE) == []


async def test_a_new_database_is_as_if_it_had_been_migrated_step_by_step(make_database) -> None:
    new, stepwise = await make_database(), await make_database()
    await migrations.migrate(new, PACKAGE)
    for number in migrations.revisions(PACKAGE):
        await migrations.migrate(stepwise, PACKAGE, number)
    assert await _schema(new) == await _schema(stepwise)


async def test_from_the_previous_revision(database_url: str) -> None:
    assert await migrations.migrate(database_url, PACKAGE, "0001") == ["0001"]
    await _value(database_url, "INSERT INTO example_heads VALUES ('a', 7)")
    with pytest.raises(SchemaError, match=r"is at 0001, this program needs 0002: run omnipolyd migrate"):
        await migrations.check_schema(database_url, PACKAGE)
    assert await migrations.migrate(database_url, PACKAGE) == ["0002"]
    assert await _value(database_url, "SELECT status FROM example_heads") == "open"


async def test_a_program_starts_over_the_next_schema_and_leaves_it_alone(database_url: str) -> None:
    await migrations.migrate(database_url, PACKAGE)
    await _value(database_url, "UPDATE tests_services_runtime_example_migrations SET version_num = '0003'")
    await migrations.check_schema(database_url, PACKAGE)
    assert await migrations.migrate(database_url, PACKAGE) == []
    assert await migrations.version(database_url, PACKAGE) == "0003"


async def test_empty_and_newer_databases_are_refused(database_url: str) -> None:
    with pytest.raises(SchemaError, match=r"the database is empty, this program needs 0002: run omnipolyd migrate"):
        await migrations.check_schema(database_url, PACKAGE)
    await migrations.migrate(database_url, PACKAGE)
    await _value(database_url, "UPDATE tests_services_runtime_example_migrations SET version_num = '0004'")
    with pytest.raises(SchemaError, match="at 0004, this program knows 0002: start a newer"):
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
