"""`omnipolyd archive` and `omnipolyd erase`: what the table service's log is put through by an operator."""

from __future__ import annotations

import asyncio
import getpass
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

import typer

from omnipoly.runtime import config, logging, migrations
from omnipoly.runtime.database import FAULTS, Database
from omnipoly.runtime.errors import ConfigError, StartError

from .roles import ROLES, learn_variables
from .table.upkeep import archive as archiving
from .table.upkeep import erase as erasing

EXIT_OK = 0
EXIT_FAILED = 1
EXIT_LATER = 3
"""Something is left to be done later."""

STATEMENT_S = 3600.0
"""A look through the whole log takes its time."""


def archive(database_url: str, folder: Path, older_than_days: int, most: int) -> int:
    """Runs `omnipolyd archive`; the exit code. Raises `StartError`."""

    async def run() -> int:
        async with _database(database_url) as database:
            done = await archiving.archive(
                database, folder, older_than=timedelta(days=older_than_days), most=most, by=_operator()
            )
        typer.echo(f"{done.tables} games, {done.commits} commits, {done.size_bytes / 1e6:.1f} MB to {folder}")
        for table, wrong in done.left:
            typer.echo(f"left as it is: {table}: {wrong}", err=True)
        return EXIT_FAILED if done.left else EXIT_OK

    return _run(run())


def erase(database_url: str, person: str) -> int:
    """Runs `omnipolyd erase`; the exit code. Raises `StartError`."""

    async def run() -> int:
        async with _database(database_url) as database:
            try:
                done = await erasing.erase(database, person, by=_operator())
            except erasing.Unknown:
                typer.echo(f"nothing is known of {person}", err=True)
                return EXIT_FAILED
        typer.echo(f"erased at {done.tables} tables, {done.commits} commits written anew")
        for table in done.running:
            typer.echo(f"still in play, run this again after its end: {table}", err=True)
        return EXIT_LATER if done.running else EXIT_OK

    return _run(run())


def _run(work: Coroutine[None, None, int]) -> int:
    logging.configure("upkeep", level="warning")
    try:
        return asyncio.run(work)
    except (OSError, *FAULTS) as error:
        raise StartError(f"stopped half-way, run it again: {' '.join(str(error).split()) or error!r}") from None


@asynccontextmanager
async def _database(url: str) -> AsyncIterator[Database]:
    learn_variables()
    config.refuse_unknown()
    if not url:
        raise ConfigError(
            "OMNIPOLY_DATABASE_URL is not set; give --database-url postgresql://user:password@host:port/name"
        )
    await migrations.check_schema(url, ROLES["table"].migrations)
    database = await Database.connect(url, name="omnipoly-upkeep", pool_size=2, statement_timeout_s=STATEMENT_S)
    try:
        yield database
    finally:
        await database.close()


def _operator() -> str:
    """Who runs the command, for the audit log."""
    try:
        return f"command:{getpass.getuser()}"[:64]
    except (KeyError, OSError):
        return "command"
