"""Least rights at Postgres, and TLS to it: a role per need, and files that are read again when they are renewed."""

from __future__ import annotations

import asyncio
import re
import ssl
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

import asyncpg
import pytest

from omnipoly.rules import actions as act
from omnipoly.runtime import app, database, migrations
from omnipoly.runtime.database import Database
from omnipoly.runtime.embedded import EmbeddedPostgres
from omnipoly.runtime.errors import DatabaseUnreachable, StartError
from omnipolyd.table.config import TableSettings
from omnipolyd.table.service import TableService
from tests.services.conftest import roomy_folder
from tests.services.playing import BOB, CID, MIGRATIONS, Tables
from tests.services.security import statements
from tests.services.security.certificates import Authority
from tests.services.security.front import Front, front

ROOT = Path(__file__).parents[3]
ROLES = ROOT / "deploy/postgres/roles.sql"
GRANTS = ROOT / "services/omnipolyd/table/migrations/grants.sql"
PASSWORDS = {"owner": "of-the-owner", "table": "of-the-table", "reader": "of-the-reader"}
USERS = {"owner": "omnipoly_owner", "table": "omnipoly_table_service", "reader": "omnipoly_looker"}
VERSION = 'SELECT version_num FROM "omnipolyd_table_migrations"'


class Server(NamedTuple):
    """A Postgres behind TLS, its roles made as an operator makes them, its schema by their owner."""

    socket_url: str
    authority: Authority
    front: Front

    def url(self, who: str, *, mode: str = "verify-full", ca: Path | None = None) -> str:
        trusted = quote(str(ca or self.authority.ca), safe="/")
        return (
            f"postgresql://{USERS[who]}:{PASSWORDS[who]}@localhost:{self.front.port}/postgres"
            f"?sslmode={mode}&sslrootcert={trusted}"
        )


@pytest.fixture(scope="module")
async def migrated(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Server]:
    authority = Authority(tmp_path_factory.mktemp("authority"))
    cert, key = authority.issue("postgres")

    def context() -> ssl.SSLContext:
        made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        made.load_cert_chain(cert, key)
        return made

    postgres = EmbeddedPostgres(roomy_folder(), ephemeral=True)
    url = await asyncio.to_thread(postgres.start)
    try:
        socket = re.sub(r".*host=([^&]+).*", r"\1/.s.PGSQL.5432", url)
        async with front(socket, context) as tls:
            admin = await asyncpg.connect(url)
            await admin.execute(_by_psql(ROLES.read_text("utf-8")))
            await admin.close()
            server = Server(url, authority, tls)
            await migrations.migrate(server.url("owner"), MIGRATIONS)
            yield server
    finally:
        await asyncio.to_thread(postgres.stop)


def _by_psql(text: str) -> str:
    """What psql makes of its own variables."""
    for who, password in PASSWORDS.items():
        text = text.replace(f":'{who}_password'", f"'{password}'")
    return text.replace("SELECT current_database() AS this \\gset\n", "").replace(':"this"', '"postgres"')


# --- rights


@pytest.fixture
async def owner(migrated: Server) -> AsyncIterator[Any]:
    connection = await asyncpg.connect(migrated.url("owner"))
    yield connection
    await connection.close()


@pytest.fixture
async def service(migrated: Server) -> AsyncIterator[Any]:
    connection = await asyncpg.connect(migrated.url("table"))
    yield connection
    await connection.close()


async def allowed(connection: Any, text: str) -> bool:
    """Whether somebody may run a statement; it is planned and its rights are looked at, nothing more."""
    try:
        await connection.execute(f"EXPLAIN (GENERIC_PLAN) {text}")
    except asyncpg.InsufficientPrivilegeError:
        return False
    return True


async def test_the_table_service_may_do_what_it_does(service: Any) -> None:
    every = {**statements.all_of_them(), "epoch": database.RAISED, "version": VERSION}
    assert len(every) > 90
    assert [name for name, text in every.items() if not await allowed(service, text)] == []


async def test_and_has_no_right_that_it_does_not_need(service: Any, owner: Any) -> None:
    """Each taken away on trial: some statement misses it."""
    every = [*statements.all_of_them().values(), database.RAISED, VERSION]
    rights = await owner.fetch(
        "SELECT table_name, privilege_type FROM information_schema.role_table_grants"
        " WHERE grantee = 'omnipoly_table' AND table_schema = 'public'"
    )
    assert len(rights) > 50
    needless = []
    for table, right in rights:
        about = [text for text in every if re.search(rf"\b{table}\b", text)]
        await owner.execute(f'REVOKE {right} ON "{table}" FROM omnipoly_table')
        if all([await allowed(service, text) for text in about]):
            needless.append((table, right))
        await owner.execute(f'GRANT {right} ON "{table}" TO omnipoly_table')
    assert needless == []


@pytest.mark.parametrize(
    "text",
    [
        "UPDATE commits SET body = ''",
        "DELETE FROM commits",
        "TRUNCATE commits",
        "DELETE FROM heads",
        "UPDATE secrets SET seed = ''",
        "UPDATE audit SET by = 'nobody'",
        "DELETE FROM audit",
        "UPDATE ledger_entries SET amount = 1",
        "DELETE FROM ledger_transactions",
        "UPDATE epochs SET number = 7",
        "UPDATE editions SET body = ''",
        "ALTER TABLE commits DISABLE TRIGGER ALL",
        "DROP TABLE commits",
        "CREATE TABLE mine (a int)",
        "CREATE ROLE mine",
        "SET ROLE omnipoly_owner",
        "COPY commits TO '/tmp/stolen'",
        "SELECT pg_read_file('/etc/passwd')",
    ],
)
async def test_what_the_table_service_may_never_do(service: Any, text: str) -> None:
    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        await service.execute(text)


async def test_who_looks_sees_no_secret_and_writes_nothing(migrated: Server) -> None:
    connection = await asyncpg.connect(migrated.url("reader"))
    await connection.fetch("SELECT * FROM commits, heads, audit, ledger_entries LIMIT 1")
    for text in (
        "SELECT * FROM secrets",
        "SELECT * FROM sessions",
        "SELECT * FROM doors",
        "SELECT * FROM pin_tries",
        "SELECT * FROM admissions",
    ):
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await connection.fetch(text)
    await connection.execute("SET default_transaction_read_only = off")
    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        await connection.execute("UPDATE heads SET version = 1")
    await connection.close()


async def test_every_table_is_somebodys(owner: Any) -> None:
    """One that a revision adds is nobody's until the grants name it."""
    tables = {row[0] for row in await owner.fetch("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")}
    named = set(re.findall(r"[a-z_]+", re.sub(r"--.*", "", GRANTS.read_text("utf-8"))))
    assert tables <= named


async def test_rights_are_given_anew_by_each_migration(migrated: Server, owner: Any, service: Any) -> None:
    await owner.execute("REVOKE ALL ON commits FROM omnipoly_table")
    await owner.execute("GRANT DELETE ON heads TO omnipoly_table")
    assert await migrations.migrate(migrated.url("owner"), MIGRATIONS) == []
    assert await allowed(service, "SELECT body FROM commits")
    assert not await allowed(service, "DELETE FROM heads")


# --- TLS


@pytest.fixture
async def running(migrated: Server, nats_url: str) -> AsyncIterator[Tables]:
    """A table service that is told everything as it should be."""
    told = {"plaintext": "services, nats", "dev": True, "open_tables": 1000}
    settings = TableSettings(database_url=migrated.url("table"), nats_url=nats_url, port=0, **told)
    async with app.running(TableService(settings)) as table:
        tables = Tables(table)
        yield tables
        await tables.ask.close()


async def test_a_game_is_played_with_least_rights_over_tls(running: Tables) -> None:
    table = await running.start()
    await running.auction(table)
    view = await running.view(table)
    await running.act(table, CID, act.Bid(view.auctions, 10))
    await running.advance(table, 60_000)
    await running.act(table, CID, act.Leave())
    await running.act(table, BOB, act.Leave())
    assert (await running.view(table)).ended
    assert (await running.head(table)).version > 6


async def test_in_plain_text_nothing_is_said(migrated: Server) -> None:
    """A client that insists does not go on without."""
    before = migrated.front.refused
    with pytest.raises(DatabaseUnreachable):
        await Database.connect(migrated.url("table", mode="disable"))
    assert migrated.front.refused > before


async def test_a_server_that_somebody_else_vouches_for_is_not_believed(migrated: Server, tmp_path: Path) -> None:
    other = Authority(tmp_path, "other")
    with pytest.raises(DatabaseUnreachable, match="certificate"):
        await Database.connect(migrated.url("table", ca=other.ca))
    settings = TableSettings(plaintext="services, nats", database_url=migrated.url("table", ca=other.ca), port=0)
    with pytest.raises(StartError, match="certificate"):
        async with app.running(TableService(settings)):
            raise AssertionError("it has started")


async def test_authorities_are_read_again_for_each_connection(migrated: Server, tmp_path: Path) -> None:
    trusted, other = tmp_path / "trusted.pem", Authority(tmp_path, "other")
    trusted.write_bytes(migrated.authority.ca.read_bytes())
    connected = await Database.connect(migrated.url("table", ca=trusted))
    try:
        assert await connected.fetchval("SELECT 1") == 1
        trusted.write_bytes(other.ca.read_bytes())
        await connected._pool.expire_connections()
        with pytest.raises(ssl.SSLError):
            await connected.fetchval("SELECT 1")
        trusted.write_bytes(other.ca.read_bytes() + migrated.authority.ca.read_bytes())
        assert await connected.fetchval("SELECT 1") == 1
    finally:
        await connected.close()
