"""`make load` against gateways that it knows nothing of but their addresses."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

from .images import ROOT
from .stack import KEY, Stack

TABLES, CLIENTS, SECONDS = 6, 18, 5


async def test_players_and_watchers_through_the_published_ports(stack: Stack, tmp_path: Path) -> None:
    key = tmp_path / "key"
    key.write_text(KEY, "utf-8")
    gateways = [option for address in stack.gateways for option in ("--gateway", address)]
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.load.crowd", "--tables", str(TABLES), "--clients", str(CLIENTS)),
        *("--seconds", str(SECONDS), "--session-key-file", str(key), "--folder", str(tmp_path), *gateways),
        cwd=ROOT,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    said, _ = await process.communicate()
    assert process.returncode == 0, said.decode()
    report = json.loads((tmp_path / "report.json").read_text("utf-8"))
    assert report["errors"] == {}, said.decode()
    assert report["asked"]["watchers"] == CLIENTS - 2 * TABLES
    # with figures or, on a machine that is too busy, without
    assert (report["figures"] is None) == report["generator"]["was_the_bottleneck"]
    if report["figures"] is not None:
        assert report["figures"]["commands_accepted"] > 0
        assert report["figures"]["ms"]["shown"]
    assert (tmp_path / "report.html").read_text("utf-8").startswith("<!doctype html>")
