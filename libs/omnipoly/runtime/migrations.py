"""The database's schema: numbered revisions, forward only, run by alembic.

A package of revisions (`omnipolyd.table.migrations`) has a folder `versions` with two files for each, numbered from
0001 without a gap: `0002_what.sql`, plain PostgreSQL with any number of statements, and beside it `0002_what.py`, which
names the revision and the one before and runs the SQL:

    \"\"\"What this revision is for.\"\"\"
    from __future__ import annotations

    from omnipoly.runtime.migrations import run_sql

    revision = "0002"
    down_revision = "0001"


    def upgrade() -> None:
        run_sql(__file__)

A program starts over its own schema or the one after it, so that the database is migrated first and the processes are
replaced one by one, and back again if need be. Each revision therefore leaves the program before it able to work: what
that one writes still fits, what it reads is still there. What is not used any more is dropped a revision later.

All revisions that are missing run in one transaction under a lock, so that two `omnipolyd migrate` at once do no harm
and a failed one leaves nothing behind. A file `grants.sql` beside `versions` gives roles their rights to what is there
at the newest revision. The version stands in a table named after the package. To a database that has
nothing yet the same SQL is given without alembic, whose import alone takes longer than the rest of the first start.
"""

from __future__ import annotations

import asyncio
import importlib.util
import re
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any

import asyncpg  # type: ignore[import-untyped]

from omnipoly.runtime import database, logging
from omnipoly.runtime.errors import SchemaError

# alembic and SQLAlchemy are imported only to migrate: a service that checks its schema starts without them.
if TYPE_CHECKING:
    from alembic.config import Config
    from sqlalchemy.engine import Connection

log = logging.get(__name__)

LOCK = 0x6F6D6E69  # "omni"

EXISTS = "SELECT to_regclass($1) IS NOT NULL"
ROLES_EXIST = "SELECT count(*) FROM pg_roles WHERE rolname = ANY ($1::text[])"
GRANTED = re.compile(r"^\s*(?:GRANT [^;]*?\s|)TO ([a-z_, ]+);$", re.MULTILINE)
VERSION_TABLE = (
    'CREATE TABLE "{table}" (version_num VARCHAR(32) NOT NULL, CONSTRAINT "{table}_pkc" PRIMARY KEY (version_num))'
)

_one_at_a_time = threading.Lock()


def revisions(package: str) -> list[str]:
    """The numbers of a package's revisions, oldest first.

    Raises `SchemaError` when they are not 0001, 0002, … or one lacks its SQL.
    """
    folder = _versions(package)
    scripts = sorted(folder.glob("[0-9]*.py"))
    numbers = [script.name.partition("_")[0] for script in scripts]
    if numbers != [f"{number:04}" for number in range(1, len(numbers) + 1)]:
        raise SchemaError(f"the revisions of {package} are not numbered 0001, 0002, …: {', '.join(numbers)}")
    for script in scripts:
        if not script.with_suffix(".sql").exists():
            raise SchemaError(f"revision {script.stem} of {package} has no {script.stem}.sql")
    return numbers


def version_table(package: str) -> str:
    """The table that holds a package's version: `omnipolyd.table.migrations` has `omnipolyd_table_migrations`."""
    return package.replace(".", "_")[:63]


async def migrate(url: str, package: str, target: str = "head") -> list[str]:
    """Brings the database to the newest revision (or `target`, a number, for tests); the numbers it ran.

    A database at the revision after the newest one known here is left as it is. Raises `DatabaseUnreachable`,
    `SchemaError` for a database newer than that, and whatever PostgreSQL says of wrong SQL.
    """
    known = revisions(package)
    before = await version(url, package)
    _refuse_newer(before, known, package)
    if before == known[-1] or _is_next(before, known):
        if before == known[-1]:
            await _grant(url, package)
        return []
    if not before and target == "head" and await _create(url, package):
        after = known[-1]
    else:
        await asyncio.to_thread(_upgrade, url, package, target)
        after = await version(url, package)
    if after == known[-1]:
        await _grant(url, package)
    ran = [number for number in known if before < number <= after]
    log.info("schema_migrated", package=package, before=before or "empty", after=after, ran=ran)
    return ran


async def _grant(url: str, package: str) -> None:
    """Gives the roles that a package's ``grants.sql`` names their rights, in one step, where they all exist."""
    file = _versions(package).parent / "grants.sql"
    if not file.exists():
        return
    text = file.read_text("utf-8")
    roles = sorted({role for line in GRANTED.findall(text) for role in line.split(", ")})
    connection = await _connect(url)
    try:
        async with connection.transaction():
            await connection.execute("SELECT pg_advisory_xact_lock($1)", LOCK)
            if await connection.fetchval(ROLES_EXIST, roles) == len(roles):
                await connection.execute(text)
                log.info("rights_given", package=package, roles=roles)
    finally:
        await connection.close()


async def _create(url: str, package: str) -> bool:
    """Gives an empty database all revisions, and the version table as alembic keeps it; False: it is not empty now."""
    table = version_table(package)
    known = revisions(package)
    connection = await _connect(url)
    try:
        async with connection.transaction():
            await connection.execute("SELECT pg_advisory_xact_lock($1)", LOCK)
            if await connection.fetchval(EXISTS, table):
                return False
            for script in sorted(_versions(package).glob("[0-9]*.sql")):
                await connection.execute(script.read_text("utf-8"))
            await connection.execute(VERSION_TABLE.format(table=table))
            await connection.execute(f'INSERT INTO "{table}" VALUES ($1)', known[-1])  # noqa: S608 - our name
    finally:
        await connection.close()
    return True


def _upgrade(url: str, package: str, target: str) -> None:
    """In a thread with an event loop of its own: alembic blocks, and its state is the process's."""
    from alembic import command
    from alembic.config import Config
    from sqlalchemy.ext.asyncio import create_async_engine
    from sqlalchemy.pool import NullPool

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "alembic"))
    config.set_main_option("version_locations", str(_versions(package)).replace("%", "%%"))
    config.set_main_option("path_separator", "newline")
    config.attributes["version_table"] = version_table(package)
    # By our own way to connect: SQLAlchemy hands what the URL says of TLS on in a form that asyncpg does not know.
    engine = create_async_engine("postgresql+asyncpg://", async_creator=lambda: _connect(url), poolclass=NullPool)

    def upgrade(connection: Connection, config: Config) -> None:
        config.attributes["connection"] = connection
        command.upgrade(config, target)

    async def run() -> None:
        try:
            async with engine.begin() as connection:
                await connection.run_sync(upgrade, config)
        finally:
            await engine.dispose()

    with _one_at_a_time:
        asyncio.run(run())


async def version(url: str, package: str) -> str:
    """The revision a database is at; empty for one without this package's schema. Raises `DatabaseUnreachable`."""
    connection = await _connect(url)
    try:
        table = version_table(package)
        if not await connection.fetchval(EXISTS, table):
            return ""
        return str(await connection.fetchval(f'SELECT version_num FROM "{table}"') or "")  # noqa: S608 - our name
    finally:
        await connection.close()


async def check_schema(url: str, package: str) -> None:
    """Returns when the database is at the newest revision of the package, or at the one after it: while newer programs
    take this one's place.

    Raises `SchemaError`, one line that says what to do, when it is older or newer still; `DatabaseUnreachable`.
    """
    known = revisions(package)
    found = await version(url, package)
    _refuse_newer(found, known, package)
    if _is_next(found, known):
        log.warning("schema_is_the_next", package=package, found=found, known=known[-1])
    elif found != known[-1]:
        state = f"is at {found}" if found else "is empty"
        raise SchemaError(f"the database {state}, this program needs {known[-1]}: run omnipolyd migrate")


async def _connect(url: str) -> Any:
    try:
        return await asyncpg.connect(url, timeout=database.CONNECT_S, target_session_attrs="read-write")
    except database.CANNOT_CONNECT as error:
        raise database.unreachable(url, error) from None


def run_sql(script: str) -> None:
    """Runs the SQL file beside a revision's script; called from its `upgrade` with `__file__`."""
    from alembic import op

    sql = Path(script).with_suffix(".sql").read_text("utf-8")
    driver: Any = op.get_bind().connection.dbapi_connection
    # Past SQLAlchemy, which would prepare the text: PostgreSQL prepares one statement at a time, a file has several.
    driver.run_async(lambda connection: connection.execute(sql))


def _refuse_newer(found: str, known: list[str], package: str) -> None:
    if not known:
        raise SchemaError(f"{package} has no revisions")
    if found and found not in known and not _is_next(found, known):
        raise SchemaError(f"the database is at {found}, this program knows {known[-1]}: start a newer Omnipoly")


def _is_next(found: str, known: list[str]) -> bool:
    """Whether that is the revision after the newest one known."""
    return found.isdecimal() and int(found) == int(known[-1]) + 1


def _versions(package: str) -> Path:
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise SchemaError(f"there is no package {package} of revisions")
    return Path(next(iter(spec.submodule_search_locations))) / "versions"
