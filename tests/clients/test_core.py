"""The distribution's core does without what servers need. (That it is enough to play: test_whole_games.)"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.clients import running
from tests.clients.core import Blocked
from tests.repository.tree import pyproject

HERE = Path(__file__).parent


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
