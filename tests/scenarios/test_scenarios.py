"""Every scenario file below this folder, played on the pure engine: one test each."""

from __future__ import annotations

from pathlib import Path

import pytest

from omnipoly.scenarios import reader, runner
from omnipoly.scenarios.model import Scenario

FOLDER = Path(__file__).parent
# A file that cannot be read fails the collection, with its line.
SCENARIOS = [scenario for file in reader.files([FOLDER]) for scenario in reader.read(file)]


def _named(scenario: Scenario) -> str:
    return f"{Path(scenario.path).relative_to(FOLDER)}:{scenario.line} {scenario.name}"


@pytest.mark.parametrize("scenario", SCENARIOS, ids=_named)
async def test_scenario(scenario: Scenario) -> None:
    differences = await runner.play(scenario, runner.EngineStage())
    assert differences == [], "\n".join(map(str, differences))


def test_no_two_scenarios_have_one_name() -> None:
    names = [scenario.name for scenario in SCENARIOS]
    assert sorted(names) == sorted(set(names))
