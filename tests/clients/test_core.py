"""The distribution's core, without what servers need, is enough to play: the bot in twenty lines does."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.clients import running
from tests.clients.core import Blocked
from tests.repository.tree import pyproject
from tests.services.bots.stack import Stack

HERE = Path(__file__).parent


async def test_core_alone_plays_a_game(platform: Stack) -> None:
    program = [sys.executable, str(HERE / "core.py"), str(HERE / "twenty.py"), platform.gateway.address]
    ended = await running.run(program, {})
    assert ended.code == 0, ended.err
    assert sorted(int(place) for place in ended.out.strip(" []\n").split(",")) == [1, 2, 3]


async def test_what_only_servers_need_is_kept_away(tmp_path: Path) -> None:
    blocked = Blocked().names
    assert {"asyncpg", "nats", "alembic", "structlog", "prometheus_client", "opentelemetry", "jwt"} <= blocked
    assert not {"grpc", "google", "msgspec", "yaml", "rich", "typer", "omnipoly"} & blocked
    script = tmp_path / "serve.py"
    script.write_text("from omnipolyd.main import main; main()")
    ended = await running.run([sys.executable, str(HERE / "core.py"), str(script), "check"], {})
    assert ended.code == 1
    assert ended.err.endswith("is not installed; pip install 'omnipoly[server]'\n")


@pytest.mark.parametrize("command", [("conformance", "--list"), ("edition", "list")])
async def test_the_command_line_of_core(tmp_path: Path, command: tuple[str, ...]) -> None:
    script = tmp_path / "omnipoly.py"
    script.write_text("from omnipoly.cli import main; main()")
    ended = await running.run([sys.executable, str(HERE / "core.py"), str(script), *command], {})
    assert ended.code == 0, ended.err


def test_the_bot_has_twenty_lines() -> None:
    lines = (HERE / "twenty.py").read_text("utf-8").partition("async def")[2].splitlines()
    assert len(lines) <= 24


def test_core_names_no_server() -> None:
    named = " ".join(pyproject()["project"]["dependencies"])
    assert not any(name in named for name in ("asyncpg", "nats", "alembic", "sqlalchemy", "structlog", "uvloop"))
