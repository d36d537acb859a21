"""Scenarios over the wire end as they do on the engine, faults of files included."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from omnipoly.runtime.app import running
from omnipoly.scenarios import runner, wire_stage
from omnipoly.scenarios.stage import EngineStage, MakeStage
from omnipoly.scenarios.wire_stage import Unplayable
from omnipolyd.gateway.tokens import issue
from tests.services.bots.stack import KEY, Stack, gateway_of

SHARED = Path("tests/scenarios/shared")


@pytest.fixture
async def make_stage(platform: Stack) -> AsyncIterator[MakeStage]:
    token = issue(KEY.get_secret_value(), "service:scenarios", "Scenarios", roles=("bots", "admin"), lifetime_s=600)
    async with wire_stage.stages(platform.gateway.address, token) as make:
        yield make


@pytest.mark.parametrize("file", sorted(SHARED.glob("*.yaml")), ids=lambda file: file.stem)
async def test_the_shared_scenarios_hold(make_stage: MakeStage, file: Path) -> None:
    report = await runner.run_paths([file], make_stage)
    assert report.results
    assert not report.errors
    assert [f"{result.name}: {result.differences}" for result in report.failed] == []


STEPS = {
    "what bots do is done as they": """
scenario: a bot
rules: [TUB-BOTS]
edition: tubbypoly
players: [ann, bob]
given: {turn: bob, bots: [bob]}
steps:
  - {by: bob, do: roll, dice: [1, 2]}
  - {by: bob, do: buy}
  - {by: bob, do: end_turn}
  - expect: {turn: ann, owns: {bob: [3]}}
""",
    "an offer is made and accepted": """
scenario: a trade
rules: [CORE-TRADE]
edition: tubbypoly
players: [ann, bob]
given: {turn: ann, owns: {ann: [1], bob: [6]}}
steps:
  - {by: ann, do: offer, id: swap, to: bob, give: {fields: [1], cash: 50}, take: {fields: [6]}}
  - expect: {offers: [swap], log: [offer_made]}
  - {by: ann, do: accept, id: swap, refused: offer_gone}
  - {by: bob, do: accept, id: swap}
  - expect: {owns: {ann: [6], bob: [1]}, cash: {ann: 1450, bob: 1550}}
""",
    "clocks run out as time passes": """
scenario: a clock
rules: [CORE-CLOCK]
edition: rugpull
players: [ann, bob]
given: {turn: ann}
steps:
  - {wait: 59}
  - expect: {turn: ann, clock: {ann: 1}}
  - {wait: 1, then_dice: [[4, 6]]}
  - expect: {at: {ann: 10}, away: [ann], clock: {ann: 2}}
""",
    "who closes the connection is away": """
scenario: gone
rules: [TUB-AFK]
edition: tubbypoly
players: [ann, bob]
given: {turn: ann}
steps:
  - {by: bob, do: disconnect}
  - expect: {away: [bob], log: [disconnected, went_away]}
  - {by: bob, do: connect}
  - expect: {away: [bob], log: [connected]}
""",
    "the speed die of a third double may be left out": """
scenario: a third double
rules: [CORE-DOUBLE]
edition: globopoly/quick
players: [ann, bob]
given: {turn: ann, doubles: 2}
steps:
  - {by: ann, do: roll, dice: [3, 3]}
  - expect: {jailed: {ann: 0}, turn: bob}
""",
    "a throw that nothing scripts is a fault of the file": """
scenario: no dice
rules: [CORE-MOVE]
edition: tubbypoly
players: [ann, bob]
given: {turn: ann}
steps:
  - {by: ann, do: roll, dice: [1, 2]}
  - {by: ann, do: decline}
  - {wait: 100}
""",
    "dice that nothing uses are a fault of the file": """
scenario: too many dice
rules: [CORE-MOVE]
edition: tubbypoly
players: [ann, bob]
given: {turn: ann}
steps:
  - {by: ann, do: roll, dice: [1, 2], then_dice: [[1, 1]]}
""",
    "a card that nothing scripts is a fault of the file": """
scenario: no card
rules: [CORE-CARD]
edition: tubbypoly
players: [ann, bob]
given: {turn: ann}
steps:
  - {by: ann, do: roll, dice: [3, 4]}
""",
    "another refusal than expected is a difference": """
scenario: another refusal
rules: [CORE-MOVE]
edition: tubbypoly
players: [ann, bob]
given: {turn: ann}
steps:
  - {by: bob, do: roll, dice: [1, 2], refused: wrong_phase}
""",
    "a malformed offer is refused by the rules": """
scenario: twice
rules: [CORE-TRADE]
edition: tubbypoly
players: [ann, bob]
given: {turn: ann, owns: {ann: [1], bob: [6]}}
steps:
  - {by: ann, do: offer, id: a, to: bob, give: {fields: [1, 1]}, take: {fields: [6]}, refused: bad_request}
""",
}


@pytest.mark.parametrize("name", STEPS)
async def test_it_ends_as_on_the_engine(make_stage: MakeStage, tmp_path: Path, name: str) -> None:
    file = tmp_path / "one.yaml"
    file.write_text(STEPS[name])
    here = await runner.run_paths([file], EngineStage)
    there = await runner.run_paths([file], make_stage)
    assert [result.differences for result in there.results] == [result.differences for result in here.results]
    assert [(error.line, _gist(error.reason)) for error in there.errors] == [
        (error.line, _gist(error.reason)) for error in here.errors
    ]


def _gist(reason: str) -> str:
    """Both say what is missing, in words of their own."""
    return "needs" if " needs " in reason else reason


async def test_without_a_token_bots_cannot_act(platform: Stack, tmp_path: Path) -> None:
    file = tmp_path / "one.yaml"
    file.write_text(STEPS["what bots do is done as they"])
    async with wire_stage.stages(platform.gateway.address, "") as make:
        report = await runner.run_paths([file], make)
    assert Unplayable.__name__ in report.results[0].differences[0].got


async def test_who_does_not_answer_or_is_not_under_dev_is_said(platform: Stack) -> None:
    with pytest.raises(OSError, match="refused"):
        async with wire_stage.stages("127.0.0.1:1"):
            pass
    async with running(gateway_of(platform.table, **{**platform.settings, "dev": False})) as gateway:
        with pytest.raises(OSError, match="--dev"):
            async with wire_stage.stages(gateway.address):
                pass
