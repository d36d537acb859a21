"""`omnipoly.scenarios.runner`: each expectation, each difference, and the faults of files that only playing shows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from omnipoly.rules import engine
from omnipoly.rules.actions import Action
from omnipoly.rules.codes import Code
from omnipoly.scenarios import compare, reader, runner
from omnipoly.scenarios.errors import ScenarioError
from omnipoly.scenarios.model import Expect
from omnipoly.scenarios.script import Script
from omnipoly.scenarios.stage import EngineStage

HEAD = "scenario: one\nedition: {edition}\nplayers: [ann, bob, cid]\n"


async def play(given: str, *steps: str, edition: str = "tubbypoly", stage: EngineStage | None = None) -> list[str]:
    """What differs, without its place."""
    position = f"given: {{{given}}}\n" if given != "-" else ""
    text = HEAD.format(edition=edition) + position + "steps:\n" + "".join(f"  - {step}\n" for step in steps)
    (scenario,) = reader.read_text(text, "a.yaml")
    found = await runner.play(scenario, stage or EngineStage())
    return [f"{one.step}: {one.what}: {one.wanted} / {one.got}" for one in found]


async def fault(given: str, *steps: str, edition: str = "tubbypoly") -> str:
    with pytest.raises(ScenarioError) as caught:
        await play(given, *steps, edition=edition)
    return str(caught.value)


POSITION = (
    "turn: ann, round: 2, cash: {ann: 500}, at: {ann: 5}, owns: {bob: [6, 8, 9, 12, 5]}, mortgaged: [12], "
    "buildings: {6: 1, 8: 1, 9: 2}, jailed: {bob: 1}, held_cards: {cid: [jail_free_chest]}, away: [cid], bots: [bob]"
)


@pytest.mark.parametrize(
    ("right", "wrong", "difference"),
    [
        ("cash: {ann: 500, bob: 1500}", "cash: {ann: 501}", "cash of ann: 501 / 500"),
        ("at: {ann: 5, bob: 10}", "at: {ann: 6}", "at of ann: 6 / 5"),
        ("owns: {bob: [12, 9, 8, 6, 5], ann: []}", "owns: {bob: [6]}", "owns of bob: [6] / [5, 6, 8, 9, 12]"),
        ("jailed: {bob: 1, ann: free}", "jailed: {bob: free}", "jailed of bob: free / 1"),
        (
            "held_cards: {cid: [jail_free_chest], ann: []}",
            "held_cards: {cid: []}",
            "held_cards of cid: [] / [jail_free",
        ),
        ("owes: {ann: []}", "owes: {ann: [{to: bank, amount: 3}]}", "owes of ann: [3 to bank] / []"),
        ("can: {ann: [offer, roll]}", "can: {ann: [roll, buy]}", "can of ann: [buy, roll] / [offer, roll]"),
        ("clock: {ann: 45, bob: null}", "clock: {ann: null, bob: 3}", "clock of ann: no clock / 45"),
        ("mortgaged: [12]", "mortgaged: []", "mortgaged: [] / [12]"),
        ("buildings: {9: 2, 8: 1, 6: 1}", "buildings: {}", "buildings: {} / {6: 1, 8: 1, 9: 2}"),
        ("out: []", "out: [ann]", "out: [ann] / []"),
        ("offers: []", "offers: [x]", "offers: [x] / []"),
        ("away: [cid]", "away: []", "away: [] / [cid]"),
        ("turn: ann", "turn: bob", "turn: bob / ann"),
        ("turn: ann", "turn: null", "turn: nobody / ann"),
        ("phase: throw", "phase: moved", "phase: moved / throw"),
        ("auction: null", "auction: {field: 6}", "auction: one / none"),
        ("casino: 0", "casino: 1", "casino: 1 / 0"),
        ("round: 2", "round: 1", "round: 1 / 2"),
        ("paused: no", "paused: yes", "paused: yes / no"),
        ("vote: null", "vote: {by: ann}", "vote: one / none"),
        ("winner: null", "winner: ann", "winner: ann / nobody"),
        ("places: {}", "places: {ann: 1}", "places of ann: 1 / None"),
        ("bank: 3500", "bank: 0", "bank: 0 / 3500"),
        ("log: []", "log: [paid]", "log: [paid] / []"),
    ],
)
async def test_each_expectation(right: str, wrong: str, difference: str) -> None:
    assert await play(POSITION, f"expect: {{{right}}}") == []
    found = await play(POSITION, f"expect: {{{wrong}}}")
    assert found[0].startswith(f"1: {difference}")


def test_every_expectation_is_compared() -> None:
    assert compare.EXPECTATIONS.keys() == set(Expect.__struct_fields__) - {"line", "lines"}


async def test_an_auction_with_and_without_a_bid() -> None:
    steps = ("{by: ann, do: roll, dice: [2, 4]}", "{by: ann, do: decline}")
    assert await play("turn: ann", *steps, "expect: {auction: {field: 6, high: 0, by: null}, clock: {bob: 15}}") == []
    bid = "{by: bob, do: bid, amount: 10}"
    assert await play("turn: ann", *steps, bid, "expect: {auction: {field: 6, high: 10, by: bob}}") == []
    found = await play("turn: ann", *steps, bid, "expect: {auction: {field: 8, high: 10, by: cid}}")
    assert found == ["4: auction.field: 8 / 6", "4: auction.by: cid / bob"]
    assert await play("turn: ann", *steps, "expect: {auction: {}}") == ["3: auction: none / one of field 6"]


async def test_a_bid_after_the_hammer_names_the_last_auction() -> None:
    steps = ("{by: ann, do: roll, dice: [2, 4]}", "{by: ann, do: decline}", "{wait: 15}")
    late = "{by: bob, do: bid, amount: 10, refused: auction_closed}"
    assert await play("turn: ann", *steps, late, "expect: {auction: null, owns: {bob: []}}") == []
    assert await play("turn: ann", late.replace("auction_closed", "wrong_phase")) == []


async def test_a_vote() -> None:
    asked = ("{by: ann, do: propose_end}", "expect: {vote: {by: ann, yes: [], open: [cid, bob]}}")
    said = ("{by: cid, do: vote, answer: yes}", "expect: {vote: {yes: [cid], open: [bob]}}")
    ended = ("{by: bob, do: vote, answer: yes}", "expect: {vote: null, phase: over, winner: [ann, bob, cid]}")
    places = "expect: {places: {ann: 1, bob: 1, cid: 1}}"
    assert await play("turn: ann", *asked, *said, *ended, places) == []
    assert await play("turn: ann", *asked, "expect: {vote: null}") == ["3: vote: none / one by ann"]


async def test_offers_go_by_the_scenarios_ids() -> None:
    steps = (
        "{by: bob, do: offer, id: x, to: ann, give: {fields: [1]}, take: {cash: 7}}",
        "{by: ann, do: offer, id: y, to: cid, give: {cash: 1}, take: {cash: 1}}",
        "expect: {offers: [y, x]}",
        "{by: ann, do: refuse, id: y, refused: offer_gone}",
        "{by: ann, do: accept, id: x}",
        "expect: {offers: [y], owns: {ann: [1]}, cash: {bob: 1507}}",
        "expect: {offers: [x]}",
    )
    assert await play("turn: ann, owns: {bob: [1]}", *steps) == ["7: offers: [x] / [y]"]


async def test_the_log_is_that_of_the_last_step() -> None:
    roll = "{by: ann, do: roll, dice: [1, 3]}"
    found = await play("turn: ann", roll, "{by: ann, do: pay}", "expect: {log: []}")
    assert found == ["3: log: [] / [paid, debt_closed, throw_played, asked]"]
    refused = "{by: bob, do: pay, refused: no_debt}"
    assert await play("turn: ann", roll, refused, "expect: {log: []}") == []


async def test_a_scenario_stops_at_the_first_step_that_differs() -> None:
    found = await play("turn: ann", "expect: {turn: bob, round: 7}", "expect: {turn: cid}")
    assert found == ["1: turn: bob / ann", "1: round: 7 / 1"]


async def test_the_example_of_the_page_holds() -> None:
    page = (Path(__file__).parents[2] / "docs/scenarios.md").read_text("utf-8")
    (scenario,) = reader.read_text(page.split("```yaml\n")[1].split("```")[0], "docs/scenarios.md")
    assert await runner.play(scenario, EngineStage()) == []


# --- refusals ---------------------------------------------------------------------------------------------------------


async def test_refusals() -> None:
    assert await play("turn: ann", "{by: bob, do: roll, dice: [1, 2], refused: not_your_turn}") == []
    found = await play("turn: ann", "{by: bob, do: roll, refused: wrong_phase}")
    assert found == ["1: roll of bob: wrong_phase / not_your_turn"]
    assert await play("turn: ann", "{by: bob, do: roll}") == ["1: roll of bob: no refusal / not_your_turn"]
    for dice in ("", "dice: [1, 2], "):
        found = await play("turn: ann", f"{{by: ann, do: roll, {dice}refused: wrong_phase}}")
        assert found == ["1: roll of ann: wrong_phase / no refusal"]


class Leaky(EngineStage):
    """A stage on which a refusal changes something."""

    async def do(self, by: str, action: Action, script: Script) -> Code | None:
        code = await super().do(by, action, script)
        (await self.state()).cash[0] += 1
        return code


async def test_a_refusal_that_changes_something() -> None:
    found = await play("turn: ann", "{by: bob, do: roll, refused: not_your_turn}", stage=Leaky())
    assert found == ["1: the refusal: to change nothing / another state"]


async def test_invariants_are_looked_at_after_each_step() -> None:
    found = await play("turn: ann", "{by: ann, do: propose_end}", stage=Leaky())
    assert found[0].startswith("1: the engine's invariants: to hold / ")


class Crashing(EngineStage):
    """A stage whose engine has a fault."""

    async def do(self, by: str, action: Action, script: Script) -> Code | None:
        raise KeyError(by)


async def test_a_crash_is_a_difference_and_names_its_place() -> None:
    (found,) = await play("turn: ann", "{by: ann, do: roll, dice: [1, 2]}", stage=Crashing())
    assert found.startswith("1: the step: to be played / KeyError: 'ann' (test_runner.py:")


# --- who acts ---------------------------------------------------------------------------------------------------------


async def test_host_and_admin() -> None:
    assert await play("turn: ann, away: [cid]", "{by: host, do: remove, seat: cid}", "expect: {out: [cid]}") == []
    assert await play("turn: ann", "{by: host, do: remove, seat: cid, refused: not_away}") == []
    assert await play("turn: ann", "{by: admin, do: remove, seat: 2}", "expect: {out: [cid]}") == []
    assert await play("turn: ann", "{by: bob, do: close_table, refused: not_admin}") == []
    assert await play("turn: ann, bots: [ann], away: [cid]", "{by: host, do: remove, seat: 2}") == []


async def test_bots_act_by_steps() -> None:
    assert await play("turn: bob, bots: [bob]", "{by: bob, do: roll, dice: [1, 2]}", "expect: {at: {bob: 3}}") == []


async def test_a_seat_that_a_bot_plays_acts_by_its_first_name() -> None:
    away = "{by: host, do: replace_with_bot, seat: bob}"
    steps = (
        away,
        "{by: bob, do: roll, dice: [1, 2], refused: not_seated}",
        "{by: bob, do: roll, dice: [1, 2]}",
        "expect: {at: {bob: 3}, away: []}",
        "{by: bob, do: take_seat, seat: bob}",
        "{by: bob, do: buy}",
        "expect: {owns: {bob: [3]}}",
    )
    assert await play("turn: bob, away: [bob]", *steps) == []


async def test_a_viewer_takes_a_bots_seat() -> None:
    text = (
        HEAD.format(edition="tubbypoly")
        + "options: {viewers_take_bots: yes}\ngiven: {turn: bob, bots: [bob]}\nsteps:\n"
        "  - {by: vic, do: take_seat, seat: 1}\n"
        "  - {by: bob, do: roll, dice: [1, 2], refused: not_seated}\n"
        "  - {by: vic, do: roll, dice: [1, 2]}\n"
        "  - expect: {at: {vic: 3, bob: 3}, can: {vic: [buy, decline, offer]}}\n"
    )
    (scenario,) = reader.read_text(text)
    assert await runner.play(scenario, EngineStage()) == []


# --- faults of the file -----------------------------------------------------------------------------------------------


async def test_what_is_not_scripted() -> None:
    assert "a.yaml:6: 'one': step 1 needs a throw of the turn owner" in await fault("turn: ann", "{by: ann, do: roll}")
    assert "step 1 needs a throw" in await fault("turn: ann", "{wait: 45}")
    drawn = "{by: ann, do: roll, dice: [3, 4]}"
    assert "step 1 needs a card of the deck 'chance', whose top given.deck does not" in await fault("turn: ann", drawn)
    assert await play("turn: ann, deck: {chance: [dividend]}", drawn, "expect: {cash: {ann: 1550}}") == []


async def test_dice_that_nothing_throws() -> None:
    assert "leaves dice over: [5, 5]" in await fault(
        "turn: ann", "{by: ann, do: roll, dice: [1, 2], then_dice: [[5, 5]]}"
    )
    assert "leaves dice over: [5, 5]" in await fault("turn: ann", "{wait: 3, then_dice: [[5, 5]]}")


async def test_a_speed_die_where_there_is_none() -> None:
    assert "step 1 scripts a speed die" in await fault("turn: ann", "{by: ann, do: roll, dice: [1, 2, 3]}")
    assert "step 1 scripts a speed die" in await fault("turn: ann", "{wait: 45, then_dice: [[1, 2, city]]}")


async def test_a_position_that_cannot_be_reached_has_its_line() -> None:
    assert (await fault("turn: ann, at: {ann: 30}", "{wait: 1}")).startswith(
        "a.yaml:4: 'one': given.at: ann cannot stand"
    )
    assert (await fault("turn: ann", "{wait: 1}", edition="chess")).startswith(
        "a.yaml:2: 'one': edition: there is no such edition"
    )


async def test_further_throws() -> None:
    rolled = "{by: ann, do: roll, dice: [6, 1], then_dice: [[5, 6]]}"
    given = "turn: ann, deck: {chance: [nearest_utility]}, owns: {bob: [12]}"
    assert await play(given, rolled, "expect: {at: {ann: 12}, owes: {ann: [{to: bob, amount: 110}]}}") == []


async def test_the_clock_throws() -> None:
    thrown = "{wait: 45, then_dice: [[1, 3]]}"
    assert await play("turn: ann", thrown, "expect: {at: {ann: 4}, away: [ann], clock: {ann: 2}}") == []


# --- right after Start ------------------------------------------------------------------------------------------------


async def test_the_order_is_thrown_for() -> None:
    steps = (
        "expect: {phase: order, turn: null, can: {ann: [roll], cid: [roll]}}",
        "{by: bob, do: roll, dice: [6, 6]}",
        "{by: ann, do: roll, dice: [1, 2]}",
        "{by: cid, do: roll, dice: [3, 4]}",
        "expect: {phase: throw, turn: bob, round: 1}",
    )
    assert await play("-", *steps) == []
    assert await play("round: 1", *steps) == []


SEVEN = "scenario: seven\nedition: tubbypoly\nplayers: [a, b, c, d, e, f, g]\nsteps:\n"
SIX_THROWS = "[[1, 2], [1, 3], [1, 4], [1, 5], [1, 6], [6, 6]]"


@pytest.mark.parametrize(
    "first",
    [
        f"{{wait: 0, then_dice: [[1, 1], {SIX_THROWS[1:]}}}",
        f"{{by: a, do: roll, dice: [1, 1], then_dice: {SIX_THROWS}}}",
        f"{{by: g, do: roll, dice: [1, 2], then_dice: [[1, 1], {SIX_THROWS[1:]}}}",
    ],
)
async def test_a_big_table_throws_with_the_first_step(first: str) -> None:
    (scenario,) = reader.read_text(f"{SEVEN}  - {first}\n  - expect: {{turn: g}}\n")
    assert await runner.play(scenario, EngineStage()) == []


async def test_a_big_table_without_throws_is_a_fault() -> None:
    (scenario,) = reader.read_text(f"{SEVEN}  - {{wait: 1}}\n", "a.yaml")
    with pytest.raises(ScenarioError, match=r"a\.yaml:5: .*Start needs a throw for the order of play"):
        await runner.play(scenario, EngineStage())


# --- reports ----------------------------------------------------------------------------------------------------------


def scenario_text(name: str, *steps: str) -> str:
    listed = "".join(f"  - {step}\n" for step in steps)
    return (
        f"scenario: {name}\nedition: rugpull\nplayers: [ann, bob]\ngiven: {{turn: ann}}\nsteps:\n{listed or '  []'}\n"
    )


@pytest.mark.parametrize(
    ("texts", "code"),
    [
        ({"a.yaml": scenario_text("good")}, 0),
        ({"a.yaml": scenario_text("good"), "b.yaml": scenario_text("bad", "expect: {turn: bob}")}, 1),
        ({"a.yaml": scenario_text("bad", "expect: {turn: bob}"), "b.yaml": "a: ["}, 2),
        ({"a.yaml": scenario_text("unscripted", "{by: ann, do: roll}")}, 2),
    ],
)
async def test_the_exit_code(tmp_path: Path, texts: dict[str, str], code: int) -> None:
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    told: list[Any] = []
    report = await runner.run_paths([tmp_path], tell=told.append)
    assert report.exit_code == code
    assert told == report.results


async def test_every_file_is_played_whatever_is_wrong_with_another(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("a: [")
    (tmp_path / "b.yaml").write_text(f"{scenario_text('one')}---\n{scenario_text('two', 'expect: {round: 3}')}")
    report = await runner.run_paths([tmp_path / "absent.yaml", tmp_path])
    assert [(result.name, result.holds) for result in report.results] == [("one", True), ("two", False)]
    first, second = report.errors
    assert (first.reason, second.path) == ("no such file", str(tmp_path / "a.yaml"))
    assert [result.name for result in report.failed] == ["two"]


async def test_a_stage_that_is_not_set_up_says_so() -> None:
    with pytest.raises(RuntimeError, match="not set up"):
        await EngineStage().state()


def test_broken_is_the_engines() -> None:
    assert issubclass(engine.Broken, Exception)
