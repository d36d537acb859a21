"""Real servers for the tests of the services: one Postgres and one NATS a session, a fresh database a test.

`OMNIPOLY_DATABASE_URL` and `OMNIPOLY_NATS_URL` name servers to use in their place; the user must be allowed to create
databases.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import asyncpg
import pytest

from omnipoly.runtime import config, logging, migrations
from omnipoly.runtime.embedded import EmbeddedNats, EmbeddedPostgres

MEMORY = Path("/dev/shm")
MEMORY_BYTES = 2 * 1024**3

MakeDatabase = Callable[..., Awaitable[str]]


def roomy_folder() -> Path:
    """Where the tests' Postgres keeps its data: in memory where there is enough, else the temporary folder.

    fsync stays on, but making a database takes 30 ms there and 300 on a disk.
    """
    roomy = MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > MEMORY_BYTES
    return MEMORY if roomy else Path(tempfile.gettempdir())


@pytest.fixture
def data_folder() -> Iterator[Path]:
    """A folder of this test that any user can reach, as a data folder has to be."""
    path = roomy_folder() / f"omnipoly-test-{uuid.uuid4().hex[:12]}"
    path.mkdir(mode=0o755)
    yield path
    shutil.rmtree(path)


@pytest.fixture(scope="session", autouse=True)
def _logs() -> None:
    """Everything that is logged shows below a failed test."""
    logging.configure("test", level="info")


@pytest.fixture(scope="session", autouse=True)
def _environment() -> Iterator[tuple[str, str]]:
    """The given servers, taken out of the environment: what a test's settings say is all they say."""
    patch = pytest.MonkeyPatch()
    given = (os.environ.get("OMNIPOLY_DATABASE_URL", ""), os.environ.get("OMNIPOLY_NATS_URL", ""))
    for name in [name for name in os.environ if name.upper().startswith(config.PREFIX)]:
        patch.delenv(name)
    patch.setenv("OMNIPOLY_PLAINTEXT", "all")  # the tests of TLS say otherwise
    yield given
    patch.undo()


@pytest.fixture(scope="session")
def postgres_url(_environment: tuple[str, str]) -> Iterator[str]:
    """The session's Postgres; its own database belongs to nobody's tests."""
    if _environment[0]:
        yield _environment[0]
        return
    with EmbeddedPostgres(roomy_folder(), ephemeral=True) as server:
        yield server.url


@pytest.fixture(scope="session")
def nats_url(_environment: tuple[str, str]) -> Iterator[str]:
    """The session's NATS; tests keep apart by subjects and names of their own (`unique`)."""
    if _environment[1]:
        yield _environment[1]
        return
    with EmbeddedNats() as server:
        yield server.url


@pytest.fixture
def own_nats(tmp_path: Path) -> Iterator[EmbeddedNats]:
    """A NATS of this test alone, already started: to `kill`, to `start` again, to rob of its `store`."""
    with EmbeddedNats(tmp_path / "nats") as server:
        yield server


@pytest.fixture
def unique() -> str:
    """A name that no other test has, of letters and digits."""
    return f"t{uuid.uuid4().hex[:12]}"


class _Databases:
    """Makes databases: empty ones, and copies of one that a package of migrations has been run on."""

    def __init__(self, url: str) -> None:
        self.url = url
        self._templates: dict[str, str] = {}

    async def make(self, package: str = "", name: str = "") -> str:
        name = name or f"test_{uuid.uuid4().hex}"
        template = await self._template(package) if package else "template1"
        await self._run(f'CREATE DATABASE "{name}" TEMPLATE "{template}"')
        return self._named(name)

    async def drop(self, url: str) -> None:
        name = urlsplit(url).path.removeprefix("/")
        await self._run(f'DROP DATABASE "{name}" WITH (FORCE)')

    async def drop_templates(self) -> None:
        for name in self._templates.values():
            await self.drop(self._named(name))

    async def _template(self, package: str) -> str:
        if package not in self._templates:
            url = await self.make()
            await migrations.migrate(url, package)
            self._templates[package] = urlsplit(url).path.removeprefix("/")
        return self._templates[package]

    def _named(self, name: str) -> str:
        return urlsplit(self.url)._replace(path=f"/{name}").geturl()

    async def _run(self, sql: str) -> Any:
        connection = await asyncpg.connect(self.url)
        try:
            return await connection.execute(sql)
        finally:
            await connection.close()


@pytest.fixture(scope="session")
async def _databases(postgres_url: str) -> AsyncIterator[_Databases]:
    databases = _Databases(postgres_url)
    yield databases
    await databases.drop_templates()


@asynccontextmanager
async def _maker(databases: _Databases) -> AsyncIterator[MakeDatabase]:
    made: list[str] = []

    async def make(package: str = "") -> str:
        made.append(await databases.make(package))
        return made[-1]

    yield make
    for url in made:
        await databases.drop(url)


@pytest.fixture
async def make_database(_databases: _Databases) -> AsyncIterator[MakeDatabase]:
    """`await make_database()`: the URL of an empty database of this test; with the name of a package of migrations, of
    one at its newest revision (copied, so each but the first is quick)."""
    async with _maker(_databases) as make:
        yield make


@pytest.fixture(scope="module")
async def make_module_database(_databases: _Databases) -> AsyncIterator[MakeDatabase]:
    """`make_database` for fixtures of a module's scope."""
    async with _maker(_databases) as make:
        yield make


@pytest.fixture
async def database_url(make_database: MakeDatabase) -> str:
    """An empty database of this test."""
    return await make_database()


@pytest.fixture(scope="module")
async def module_database_url(make_module_database: MakeDatabase) -> str:
    """An empty database of this module's tests."""
    return await make_module_database()
