"""What an import contract cannot see: the rules and the bots call nothing that reads a clock, a file or a screen."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.repository.tree import ROOT

CALLS = {"open", "print", "input", "exec", "eval", "__import__", "breakpoint", "now", "utcnow", "today"}
PURE = [path for package in ("rules", "bots") for path in sorted((ROOT / "libs/omnipoly" / package).rglob("*.py"))]


@pytest.mark.parametrize("path", PURE, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_nothing_impure_is_called(path: Path) -> None:
    assert list(_impure(path.read_text("utf-8"))) == []


def test_what_is_impure_is_found() -> None:
    assert list(_impure("x = datetime.now()\nopen('f')\nstate.now\n")) == [(1, "now"), (2, "open")]


def _impure(source: str) -> list[tuple[int, str]]:
    calls = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
    named = [(call.lineno, getattr(call.func, "attr", getattr(call.func, "id", ""))) for call in calls]
    return sorted((line, name) for line, name in named if name in CALLS)
