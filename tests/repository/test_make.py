"""make is the only way in: every target says what it is for, and bootstraps itself."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.repository.tree import ROOT

MAKEFILE = (ROOT / "Makefile").read_text("utf-8")
TARGETS = {"help", "setup", "demo", "run", "test", "lint", "types", "protos", "simulate", "lock", "clean"}

SCRIPTS = [
    path
    for folder in (".ci", "deploy")
    for path in sorted((ROOT / folder).rglob("*"))
    if path.suffix in {"", ".sh", ".py"}
    and path.is_file()
    and (os.access(path, os.X_OK) or "__main__" in path.read_text("utf-8"))
]


def _make(*arguments: str) -> str:
    make = shutil.which("make")
    assert make, "make is not installed"
    # Not what the make above, if these tests were started by one, would hand on to its own.
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    command = [make, "--no-print-directory", *arguments]
    return subprocess.run(command, cwd=ROOT, env=environment, check=True, capture_output=True, text=True).stdout


def test_every_target_has_one_line_of_help() -> None:
    targets = re.findall(r"^([a-z][\w-]*):(?!=)", MAKEFILE, re.MULTILINE)
    assert len(targets) == len(set(targets))
    assert TARGETS.issubset(targets)
    phony = re.findall(r"^\.PHONY: (.*)", MAKEFILE, re.MULTILINE)
    assert sorted(" ".join(phony).split()) == sorted(targets)
    helped = dict(re.findall(r"^  make (\S+) +(\S.*)$", _make("help"), re.MULTILINE))
    assert sorted(helped) == sorted(targets)


def test_help_is_what_make_alone_shows() -> None:
    assert _make() == _make("help")


def test_every_target_that_runs_something_makes_the_venv_first() -> None:
    for target, prerequisites, recipe in re.findall(r"^([a-z]+):([^#\n]*).*\n((?:\t.*\n)+)", MAKEFILE, re.MULTILINE):
        if "$(BIN)" in recipe or ".ci/" in recipe:
            assert "$(VENV)" in prerequisites, target


def test_variables_reach_the_commands() -> None:
    assert "omnipoly demo --edition laspoly --players 3" in _make("-n", "demo", "EDITION=laspoly", "PLAYERS=3")
    assert "omnipolyd up --port 7001" in _make("-n", "run", "PORT=7001")
    assert "omnipoly simulate --games 12 --edition rugpull" in _make("-n", "simulate", "GAMES=12", "EDITION=rugpull")
    assert _make("-n", "simulate").split()[-4:] == [".venv/bin/omnipoly", "simulate", "--games", "10000"]


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_every_script_says_what_it_is_for_and_refuses_what_it_does_not_know(script: Path) -> None:
    def ended(option: str) -> tuple[int, str, str]:
        command = [sys.executable, script, option] if script.suffix == ".py" else [script, option]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
        return done.returncode, done.stdout, done.stderr

    code, told, _ = ended("--help")
    assert (code, len(told) > 40) == (0, True)
    code, told, sentence = ended("--no-such-option")
    assert (code, told) == (2, "")
    assert "--help" in sentence or "usage: " in sentence
