"""`omnipoly` itself: what is listed, how fast it starts, what a caller's mistake looks like."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from omnipoly.cli import commands
from omnipoly.cli.commands import Row, UserError
from tests.cli.calling import call


def test_a_command_whose_module_is_absent_is_not_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "one_command.py").write_text(
        "def command(number: int = 1) -> None:\n    '''Count.'''\n    print('counted', number)\n"
    )
    (tmp_path / "a_group.py").write_text(
        "import typer\napp = typer.Typer(help='Several.')\n"
        "@app.command()\ndef below() -> None:\n    '''One of them.'''\n    print('below')\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    rows = (Row("count", "one_command"), Row("group", "a_group"), Row("gone", "no_such_module"), Row("x", "no.such"))
    app = commands.app(rows)
    assert list(app.commands) == ["count", "group"]
    app(["count", "--number", "3"], standalone_mode=False)
    app(["group", "below"], standalone_mode=False)


def test_help_imports_nothing_heavy() -> None:
    code = (
        "import sys\nfrom omnipoly.cli.commands import app\n"
        "try:\n    app()(['--help'])\nexcept SystemExit as ended:\n    assert not ended.code\n"
        "heavy = {'omnipoly.rules', 'omnipoly.editions', 'omnipoly.wire', 'grpc', 'nats', 'yaml', 'msgspec'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "scenario" in done.stdout


@pytest.mark.parametrize("arguments", [["--version"], ["--help"], ["-h"], ["scenario", "--help"]])
def test_what_tells_about_itself_ends_well(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert call(*arguments) == 0
    assert "mnipoly" in capsys.readouterr().out


@pytest.mark.parametrize("arguments", [["scenarioo"], ["scenario", "run"], ["scenario", "run", "--nothing", "x"]])
def test_a_mistaken_call_ends_with_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert call(*arguments) == 2
    assert "Traceback" not in capsys.readouterr().err


def test_a_callers_mistake_is_one_sentence(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise UserError("there is no such thing", exit_code=3)

    monkeypatch.setattr(commands, "app", lambda: lambda prog_name: fail())
    assert call() == 3
    assert capsys.readouterr().err == "omnipoly: there is no such thing\n"
