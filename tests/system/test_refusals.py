"""What is wrong is said in one line, with exit code 1, and nothing is left running."""

from __future__ import annotations

import asyncio
import socket
import sys
from collections.abc import AsyncIterator
from importlib.metadata import version
from pathlib import Path

import asyncpg
import jwt
import pytest

from tests.system.stack import Ended, Stack, call, environment, listing

NOBODY = "postgresql://nobody:secret@127.0.0.1:1/none"


def one_line(ended: Ended, *words: str) -> None:
    """Fails unless it ended with 1 and said one line, in which all these words are."""
    assert ended.code == 1, ended
    said = ended.errors or ended.output
    assert said.count("\n") == 1, said
    assert "Traceback" not in said
    assert "secret@" not in said
    for word in words:
        assert word in said


@pytest.fixture
async def empty_database(stack: Stack) -> AsyncIterator[str]:
    """A database without a schema."""
    connection = await asyncpg.connect(stack.database_url())
    await connection.execute("CREATE DATABASE empty")
    yield stack.database_url("empty")
    await connection.execute("DROP DATABASE empty WITH (FORCE)")
    await connection.close()


async def test_a_port_that_is_taken(data_folder: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        ended = await call("up", "--ephemeral", "--data", str(data_folder), "--port", port)
        one_line(ended, f"cannot listen on 127.0.0.1:{port}", "--port")
        quiet = {"OMNIPOLY_LOG_LEVEL": "error", "OMNIPOLY_NATS_URL": "nats://127.0.0.1:1"}
        one_line(await call("serve", "gateway", OMNIPOLY_PORT=port, **quiet), f"127.0.0.1:{port}")
    assert listing(data_folder) == []


async def test_a_database_that_cannot_be_reached(data_folder: Path) -> None:
    where = ("--ephemeral", "--data", str(data_folder), "--port", "0")
    one_line(await call("up", *where, "--database-url", NOBODY), "cannot reach the database at 127.0.0.1:1")
    one_line(await call("migrate", "--database-url", NOBODY), "cannot reach the database at 127.0.0.1:1")
    ended = await call("serve", "table", OMNIPOLY_DATABASE_URL=NOBODY, OMNIPOLY_NATS_URL="nats://127.0.0.1:1")
    one_line(ended, "cannot reach the database at 127.0.0.1:1")


async def test_a_schema_that_is_old_and_then_is_not(empty_database: str) -> None:
    url = {"OMNIPOLY_DATABASE_URL": empty_database}
    serving = await call("serve", "table", OMNIPOLY_NATS_URL="nats://127.0.0.1:1", **url)
    one_line(serving, "the database is empty", "run omnipolyd migrate")
    checked = await call("check", "table", OMNIPOLY_NATS_URL="nats://127.0.0.1:1", **url)
    assert checked.code == 1
    assert "run omnipolyd migrate" in checked.output

    migrated = await call("migrate", **url)
    assert migrated.code == 0
    assert migrated.output.startswith("omnipolyd.table.migrations: ran 0001")
    assert (await call("migrate", **url)).output == "omnipolyd.table.migrations: up to date\n"


async def test_a_variable_that_nobody_reads(data_folder: Path) -> None:
    where = ("--ephemeral", "--data", str(data_folder), "--port", "0")
    sentence = "OMNIPOLY_TABEL_ADDR is not a setting of Omnipoly: did you mean OMNIPOLY_TABLE_ADDR?"
    one_line(await call("up", *where, OMNIPOLY_TABEL_ADDR="x:1"), sentence)
    one_line(await call("serve", "clock", OMNIPOLY_TABEL_ADDR="x:1"), sentence)
    one_line(await call("migrate", OMNIPOLY_TABEL_ADDR="x:1"), sentence)
    assert (await call("check", OMNIPOLY_TABEL_ADDR="x:1")).code == 1
    assert listing(data_folder) == []


async def test_a_value_that_makes_no_sense(data_folder: Path) -> None:
    where = ("--ephemeral", "--data", str(data_folder), "--port", "0")
    one_line(await call("up", *where, OMNIPOLY_DRAIN_S="soon"), "OMNIPOLY_DRAIN_S = 'soon' is wrong")


async def test_what_does_not_go_together() -> None:
    one_line(await call("up", "--dev", "--database-url", NOBODY), "--dev")
    one_line(await call("up", "--replicas", "tabel=2"), "the services are table")
    one_line(await call("up", "--replicas", "table=many"), "give table=N")
    one_line(await call("up", "--ready-fd", "77"), "--ready-fd 77")
    one_line(await call("up", "--editions", "nowhere"), "nowhere is not there")
    one_line(await call("up", "--metrics-port-base", "65535"), "--metrics-port-base")


async def test_an_edition_that_is_wrong(data_folder: Path) -> None:
    (data_folder / "mine.toml").write_text("id = 7\n")
    one_line(await call("up", "--ephemeral", "--port", "0", "--editions", str(data_folder)), "mine.toml")
    checked = await call("check", "--editions", str(data_folder))
    assert checked.code == 1
    assert "mine.toml" in checked.output


async def test_a_token_needs_a_key_and_roles_that_exist(data_folder: Path) -> None:
    one_line(await call("token"), "--key-file", "OMNIPOLY_SESSION_KEY")
    one_line(await call("token", "--key-file", str(data_folder / "none")), "cannot be read")
    key = {"OMNIPOLY_SESSION_KEY": "k" * 40}
    one_line(await call("token", "--role", "king", **key), "king", "admin, moderator, read_only, bots")
    one_line(await call("token", OMNIPOLY_SESSION_KEY="short"), "at least")
    file = data_folder / "key"
    file.write_text("k" * 40 + "\n")
    for ended in (
        await call("token", "--role", "bots", **key),
        await call("token", "--role", "bots", "--key-file", str(file)),
    ):
        claims = jwt.decode(ended.output.strip(), "k" * 40, ["HS256"], audience="omnipoly")
        assert (ended.code, claims["sub"], claims["roles"]) == (0, "service:operator", ["bots"])


async def test_commands_that_do_not_exist() -> None:
    assert (await call("serve", "tabel")).code == 2
    assert (await call("down")).code == 2
    assert (await call("up", "--port", "70000")).code == 2


@pytest.mark.parametrize("command", [(), ("up",), ("serve",), ("migrate",), ("check",), ("archive",), ("erase",)])
async def test_everything_has_help(command: tuple[str, ...]) -> None:
    ended = await call(*command, "--help")
    assert ended.code == 0
    assert "Usage: omnipolyd" in ended.output


async def test_it_tells_its_version() -> None:
    ended = await call("--version")
    assert (ended.code, ended.output.strip()) == (0, f"omnipolyd {version('omnipoly')}")


async def test_the_command_line_loads_nothing_heavy() -> None:
    program = (
        "import sys, omnipolyd.commands\n"
        "heavy = {'alembic', 'asyncpg', 'grpc', 'nats', 'pydantic', 'rich.traceback', 'sqlalchemy', 'structlog'}\n"
        "print(*sorted(heavy & sys.modules.keys()))\n"
    )
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-c", program, stdout=asyncio.subprocess.PIPE, env=environment()
    )
    output, _ = await process.communicate()
    assert output == b"\n"


async def test_all_is_well(stack: Stack) -> None:
    checked = await call("check", OMNIPOLY_DATABASE_URL=stack.database_url(), OMNIPOLY_PORT="0")
    assert checked.code == 0, checked
    assert {line.split()[0] for line in checked.output.splitlines()} == {"ok"}
    assert "its schema is the newest" in checked.output
