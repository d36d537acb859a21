"""A short `make chaos`, and the checker against what is made wrong on purpose: it has to find every kind."""

from __future__ import annotations

import ast
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from . import wrong_games, wrong_streams, wrongs
from .checker.report import check
from .conftest import Ran
from .planting import Planted
from .stack import REPLICAS

pytestmark = pytest.mark.timeout(500)

CHECKER = Path(__file__).with_name("checker")
PLANTED = {**wrongs.PLANTED, **wrong_games.PLANTED, **wrong_streams.PLANTED}
LEASE_S = 9
"""No lease is longer."""
OURS = ("omnipoly", "omnipolyd", "tests")


def test_a_short_run(short_run: Ran) -> None:
    assert short_run.code == 0, short_run.said
    assert "\n" in short_run.said
    assert "0 faults" in short_run.said


def test_what_a_short_run_has_done(short_run: Ran) -> None:
    """A bit of everything, and a replica that stood still beside it for longer than any lease."""
    begun: dict[str, int] = {}
    longest_ms: Counter[str] = Counter()
    for line in map(json.loads, (short_run.folder / "faults.jsonl").read_text("utf-8").splitlines()):
        if line.get("done"):
            longest_ms[line["what"]] = max(longest_ms[line["what"]], line["t"] - begun[line["what"]])
        begun[line["what"]] = line["t"]
    killed = {what.removeprefix("kill ").partition("-")[0] for what in longest_ms if what.startswith("kill ")}
    assert {"cut-before postgres", "cut-in postgres", "cut-after postgres", "rob nats"} <= set(longest_ms)
    assert {"postgres", *REPLICAS} <= killed
    assert max(ms for what, ms in longest_ms.items() if what.startswith("stop ")) > 1000 * LEASE_S


def test_the_checker_shares_no_code_with_the_platform() -> None:
    for path in CHECKER.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) and not node.level else []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            for name in names:
                ours = name.partition(".")[0] in OURS
                assert not ours or name.startswith("omnipoly.wire.gen."), f"{path.name} imports {name}"


@pytest.mark.parametrize(("plant", "kind"), PLANTED.items(), ids=lambda given: getattr(given, "__name__", given))
def test_what_is_wrong_is_found(short_run: Ran, tmp_path: Path, plant: Callable[[Planted], None], kind: str) -> None:
    run = Planted(short_run.folder)
    plant(run)
    found = check(run.write(tmp_path / "run"))
    assert not found.good
    assert kind in found.faults, found.lines
