"""`make load` against gateways that it knows nothing of but their addresses."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

import pytest

from .images import ROOT
from .stack import KEY, Stack

TABLES, CLIENTS, SECONDS = 6, 18, 5


async def crowd(stack: Stack, folder: Path, *options: str) -> tuple[int, str]:
    """A run against all gateways; its exit code, and what it said."""
    gateways = [option for address in stack.gateways for option in ("--gateway", address)]
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.load.crowd", "--folder", str(folder), *gateways, *options),
        cwd=ROOT,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    said, _ = await process.communicate()
    return process.returncode or 0, said.decode()


async def test_players_and_watchers_through_the_published_ports(stack: Stack, tmp_path: Path) -> None:
    key = tmp_path / "key"
    key.write_text(KEY, "utf-8")
    asked = ("--tables", str(TABLES), "--clients", str(CLIENTS), "--seconds", str(SECONDS))
    code, said = await crowd(stack, tmp_path, *asked, "--session-key-file", str(key))
    assert code == 0, said
    report = json.loads((tmp_path / "report.json").read_text("utf-8"))
    assert report["errors"] == {}, said
    assert report["asked"]["watchers"] == CLIENTS - 2 * TABLES
    # with figures or, on a machine that is too busy, without
    assert (report["figures"] is None) == report["generator"]["was_the_bottleneck"]
    if report["figures"] is not None:
        assert report["figures"]["commands_accepted"] > 0
        assert report["figures"]["ms"]["shown"]
    assert (tmp_path / "report.html").read_text("utf-8").startswith("<!doctype html>")


async def test_guests_where_nobody_has_told_what_signs_sessions(stack: Stack, tmp_path: Path) -> None:
    """Players get in; who would watch is told why not."""
    code, said = await crowd(stack, tmp_path, "--tables", "2", "--clients", "5", "--seconds", "4")
    assert code == 0, said
    report = json.loads((tmp_path / "report.json").read_text("utf-8"))
    assert set(report["errors"]) == {"watch: sign_in_required"}
    assert report["figures"] is None or report["figures"]["commands_accepted"] > 0


@pytest.mark.parametrize(
    ("key", "code", "words"),
    [
        (KEY[::-1], 1, "people are not let in: sign_in_required: Sign in first."),
        ("short", 2, "each secret needs at least 32"),
        ("", 2, "names no secret"),
    ],
    ids=["another", "short", "none"],
)
async def test_a_key_that_is_none_is_told_at_once(
    stack: Stack, tmp_path: Path, key: str, code: int, words: str
) -> None:
    file = tmp_path / "key"
    file.write_text(key, "utf-8")
    assert (found := await crowd(stack, tmp_path, "--session-key-file", str(file)))[0] == code
    assert words in found[1]
    assert "Traceback" not in found[1]
