"""`omnipoly.scenarios.reader`: every key of the format, and every fault with its line."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec import UNSET

from omnipoly.rules import actions
from omnipoly.rules.actions import Side
from omnipoly.rules.codes import Code
from omnipoly.rules.state import FACTORY, FREE
from omnipoly.scenarios import reader
from omnipoly.scenarios.errors import ScenarioError
from omnipoly.scenarios.model import Act, AuctionWanted, Expect, Given, Owed, Scenario, Step, Throw, VoteWanted, Wait

HEAD = "scenario: one\nedition: tubbypoly\nplayers: [ann, bob, cid]\n"


def one(text: str) -> Scenario:
    (scenario,) = reader.read_text(text, "a.yaml")
    return scenario


def step(text: str) -> Step:
    (only,) = one(f"{HEAD}steps:\n  - {text}\n").steps
    return only


def act(text: str) -> Act:
    found = step(text)
    assert isinstance(found, Act)
    return found


def expect(text: str) -> Expect:
    found = step(f"expect: {text}")
    assert isinstance(found, Expect)
    return found


def fault(text: str) -> tuple[int, str]:
    with pytest.raises(ScenarioError) as caught:
        reader.read_text(text, "a.yaml")
    assert caught.value.path == "a.yaml"
    return caught.value.line, caught.value.reason


def test_a_scenario_with_everything() -> None:
    scenario = one(
        """
scenario: rent doubles
  on a bare set
rules: [TUB-RENT-STREET, CORE-DEBT]
edition: tubbypoly/ring56
players: [ann, bob]
options: {round_limit: 20, clock: 30, pin: 0123, viewers_chat: yes, auto_claim: false, time_limit: 15, entry_fee: 0}
given:
  turn: ann
  round: 3
  cash: {ann: 500, bob: 300}
  at: {ann: 5}
  owns: {bob: [6, 8]}
  mortgaged: [8]
  buildings: {6: 2, 9: factory, 11: 5}
  jailed: {bob: 1}
  held_cards: {ann: [jail_free_chest]}
  deck: {chance: [back_three, to_start]}
  casino: 900
  laps: {ann: 2}
  away: [bob]
  disconnected: [ann]
  bots: []
  doubles: 1
steps: []
"""
    )
    assert scenario.name == "rent doubles on a bare set"
    assert scenario.rules == ("TUB-RENT-STREET", "CORE-DEBT")
    position = scenario.position
    assert (position.edition, position.players) == ("tubbypoly/ring56", ("ann", "bob"))
    assert (position.options.round_limit, position.options.clock, position.options.pin) == (20, 30, "0123")
    assert (position.options.viewers_chat, position.options.auto_claim) == (True, False)
    assert position.options.viewers_take_bots is None
    assert position.given == Given(
        turn="ann",
        round=3,
        cash={"ann": 500, "bob": 300},
        at={"ann": 5},
        owns={"bob": (6, 8)},
        mortgaged=(8,),
        buildings={6: 2, 9: FACTORY, 11: 5},
        jailed={"bob": 1},
        held_cards={"ann": ("jail_free_chest",)},
        deck={"chance": ("back_three", "to_start")},
        casino=900,
        laps={"ann": 2},
        away=("bob",),
        disconnected=("ann",),
        doubles=1,
    )


def test_given_may_be_absent_or_empty() -> None:
    assert one(f"{HEAD}steps: []").position.given is None
    assert one(f"{HEAD}given: {{}}\nsteps: []").position.given == Given()
    assert one(f"{HEAD}given:\nsteps: []").position.given == Given()


def test_several_documents_and_empty_ones() -> None:
    text = f"---\n{HEAD}steps: []\n---\n# nothing\n---\n{HEAD}steps: []\n"
    assert [scenario.line for scenario in reader.read_text(text)] == [2, 9]


@pytest.mark.parametrize("name", ["on", "no", "Y", "null-", "e1"])
def test_a_name_is_what_is_written(name: str) -> None:
    assert one(f"scenario: s\nedition: laspoly\nplayers: [{name}, b]\nsteps: []").position.players[0] == name


@pytest.mark.parametrize(
    ("text", "action"),
    [
        ("{by: ann, do: roll}", actions.Roll()),
        ("{by: ann, do: buy}", actions.Buy()),
        ("{by: ann, do: decline}", actions.Decline()),
        ("{by: ann, do: bid, amount: 30}", actions.Bid(0, 30)),
        ("{by: ann, do: pass}", actions.Pass(0)),
        ("{by: ann, do: pay}", actions.Pay()),
        ("{by: ann, do: raise}", actions.Raise()),
        ("{by: ann, do: give_up}", actions.GiveUp()),
        ("{by: ann, do: claim_rent}", actions.ClaimRent()),
        ("{by: ann, do: build, field: 3}", actions.Build(3)),
        ("{by: ann, do: build, field: 3, kind: factory}", actions.Build(3, "factory")),
        ("{by: ann, do: sell_building, field: 3}", actions.SellBuilding(3)),
        ("{by: ann, do: sell_property, field: 3}", actions.SellProperty(3)),
        ("{by: ann, do: mortgage, field: -1}", actions.Mortgage(-1)),
        ("{by: ann, do: lift_mortgage, field: 99}", actions.LiftMortgage(99)),
        ("{by: ann, do: pay_bail}", actions.PayBail()),
        ("{by: ann, do: use_card}", actions.UseCard()),
        ("{by: ann, do: travel, field: 15}", actions.Travel(15)),
        ("{by: ann, do: choose_steps, steps: 4}", actions.ChooseSteps(4)),
        ("{by: ann, do: teleport, field: 39}", actions.Teleport(39)),
        ("{by: ann, do: end_turn}", actions.EndTurn()),
        ("{by: ann, do: leave}", actions.Leave()),
        ("{by: ann, do: propose_end}", actions.ProposeEnd()),
        ("{by: ann, do: vote, answer: yes}", actions.Vote(True)),
        ("{by: ann, do: vote, answer: true}", actions.Vote(True)),
        ("{by: ann, do: vote, answer: no}", actions.Vote(False)),
        ("{by: ann, do: connect}", actions.Connect()),
        ("{by: ann, do: disconnect}", actions.Disconnect()),
        ("{by: host, do: replace_with_bot, seat: 1}", actions.ReplaceWithBot(1)),
        ("{by: host, do: replace_with_bot, seat: bob}", actions.ReplaceWithBot(1)),
        ("{by: vic, do: take_seat, seat: 2}", actions.TakeSeat(2)),
        ("{by: admin, do: remove, seat: cid}", actions.Remove(2)),
        ("{by: admin, do: close_table}", actions.CloseTable()),
    ],
)
def test_each_action(text: str, action: actions.Action) -> None:
    assert act(text).action == action


def test_no_action_of_a_seat_is_missing() -> None:
    before_start = {"join", "set_options", "add_bot", "contribute", "start"}
    of_the_platform = {"move_clocks", "advance"}
    _, reason = fault(f"{HEAD}steps:\n  - {{by: ann, do: nothing}}\n")
    listed = reason.partition("is not one of ")[2].partition(" (")[0].split(", ")
    assert set(listed) == actions.KINDS.keys() - before_start - of_the_platform


def test_an_offer() -> None:
    offer = act(
        "{by: ann, do: offer, id: 7, to: cid, give: {cash: 5, fields: [1, 3]}, take: {cards: [jail_free_chest]}}"
    )
    assert offer.offer == "7"
    assert offer.action == actions.Offer(2, Side(5, (1, 3)), Side(cards=("jail_free_chest",)))
    steps = one(
        f"{HEAD}steps:\n  - {{by: ann, do: offer, id: x, to: cid, give: {{}}, take: {{cash: 1}}}}\n"
        "  - {by: cid, do: refuse, id: x}\n"
    ).steps
    assert isinstance(steps[1], Act)
    assert steps[1].offer == "x"


def test_throws() -> None:
    rolled = act("{by: ann, do: roll, dice: [1, 2, choice], then_dice: [[3, 4], [5, 6, 3]]}")
    assert rolled.dice == Throw(1, 2, "choice")
    assert rolled.then_dice == (Throw(3, 4), Throw(5, 6, "3"))


def test_a_refusal() -> None:
    assert act("{by: bob, do: roll, dice: [3, 3], refused: not_your_turn}").refused is Code.NOT_YOUR_TURN


@pytest.mark.parametrize(("seconds", "ms"), [("8", 8000), ("0", 0), ("1.5", 1500), ("0.001", 1)])
def test_a_wait(seconds: str, ms: int) -> None:
    assert step(f"{{wait: {seconds}}}") == Wait(line=5, by_ms=ms)
    assert step(f"{{wait: {seconds}, then_dice: [[1, 1]]}}") == Wait(line=5, by_ms=ms, then_dice=(Throw(1, 1),))


def test_expectations_by_player() -> None:
    found = expect(
        "{cash: {ann: 3}, at: {bob: 4}, owns: {ann: []}, jailed: {ann: free, bob: 0}, held_cards: {ann: [jail_free]}, "
        "owes: {ann: [{to: bob, amount: 12}, {to: bank, amount: 1}], bob: []}, can: {ann: [pay, give_up]}, "
        "clock: {ann: 8, bob: null}, places: {ann: 1}}"
    )
    assert (found.cash, found.at, found.owns) == ({"ann": 3}, {"bob": 4}, {"ann": ()})
    assert found.jailed == {"ann": FREE, "bob": 0}
    assert found.held_cards == {"ann": ("jail_free",)}
    assert found.owes == {"ann": (Owed("bob", 12), Owed("bank", 1)), "bob": ()}
    assert found.can == {"ann": ("pay", "give_up")}
    assert found.clock == {"ann": 8, "bob": None}
    assert found.places == {"ann": 1}
    assert found.turn is UNSET


def test_expectations_of_the_table() -> None:
    found = expect(
        "{mortgaged: [], buildings: {1: 2, 3: factory}, out: [bob], offers: [x, 2], away: [], turn: ann, "
        "phase: landed, auction: {field: 6, high: null, by: null}, casino: 3, round: 2, paused: no, "
        "vote: {by: ann, open: []}, "
        "winner: ann, bank: -7, log: [paid]}"
    )
    assert (found.mortgaged, found.buildings, found.out) == ((), {1: 2, 3: FACTORY}, ("bob",))
    assert (found.offers, found.away, found.turn, found.phase) == (("x", "2"), (), "ann", "landed")
    assert found.auction == AuctionWanted(field=6, high=0, by=None)
    assert found.vote == VoteWanted(by="ann", open=())
    assert (found.casino, found.round, found.paused, found.bank) == (3, 2, False, -7)
    assert (found.winner, found.log) == (("ann",), ("paid",))


@pytest.mark.parametrize("nothing", ["null", "none", "{}", "no", "~"])
def test_that_there_is_none(nothing: str) -> None:
    found = expect(f"{{auction: {nothing}, vote: {nothing}}}")
    assert (found.auction, found.vote) == (None, None)


def test_nobody_and_several() -> None:
    found = expect("{turn: null, winner: [ann, bob]}")
    assert (found.turn, found.winner) == (None, ("ann", "bob"))
    assert expect("{winner: null}").winner == ()


def test_expectations_have_lines() -> None:
    found = expect("\n      cash: {ann: 1}\n      turn: ann")
    assert found.lines == {"cash": 6, "turn": 7}


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        ("a: 1\nb: [}", 2, "not YAML"),
        ("a: b: c", 1, "not YAML"),
        ("- 1", 1, "a mapping is needed here"),
        ("scenario: s\nplayers: [a]\nsteps: []", 1, "the scenario has no 'edition'"),
        (f"{HEAD}stepz: []", 4, "unknown key 'stepz' (meant 'steps'?)"),
        (f"{HEAD}steps: []\nsteps: []", 5, "'steps' stands here twice"),
        (f"{HEAD}rules: [tub]\nsteps: []", 4, "rules: 'tub' is no rule id"),
        ("scenario: s\nedition: A/B\nplayers: [a, b]\nsteps: []", 2, "is no edition"),
        ("scenario: s\nedition: laspoly\nplayers: [ann, ann]\nsteps: []", 3, "'ann' sits here twice"),
        ("scenario: s\nedition: laspoly\nplayers: [ann, bank]\nsteps: []", 3, "no player can be called 'bank'"),
        ("scenario: s\nedition: laspoly\nplayers: [ann, 'bot:1']\nsteps: []", 3, "'bot:1' is no name"),
        ("scenario: s\nedition: laspoly\nplayers: []\nsteps: []", 3, "nobody plays"),
        (f"{HEAD}options: {{clok: 1}}\nsteps: []", 4, "options: unknown key 'clok' (meant 'clock'?)"),
        (f"{HEAD}options: {{clock: fast}}\nsteps: []", 4, "options.clock: a whole number"),
        (f"{HEAD}options: {{pin: 12}}\nsteps: []", 4, "a PIN is"),
        (f"{HEAD}given:\n  turn: dan\nsteps: []", 5, "given.turn: 'dan' is not one of ann, bob, cid"),
        (f"{HEAD}given:\n  cash: {{ann: 1.5}}\nsteps: []", 5, "given.cash.ann: a whole number"),
        (f"{HEAD}given:\n  cash: {{ann: '5'}}\nsteps: []", 5, "a whole number"),
        (f"{HEAD}given:\n  cash: {{dan: 5}}\nsteps: []", 5, "'dan' is not one of"),
        (f"{HEAD}given:\n  owns: {{ann: 5}}\nsteps: []", 5, "a list is needed"),
        (f"{HEAD}given:\n  buildings: {{5: 6}}\nsteps: []", 5, "6 is out of bounds: 1 to 5"),
        (f"{HEAD}given:\n  buildings: {{5: 0}}\nsteps: []", 5, "0 is out of bounds"),
        (f"{HEAD}given: [1]\nsteps: []", 4, "a mapping is needed"),
        (f"{HEAD}steps:\n  - {{}}", 5, "a step has one of the keys"),
        (f"{HEAD}steps:\n  - {{do: roll}}", 5, "'roll' needs the key 'by'"),
        (f"{HEAD}steps:\n  - {{by: ann, do: rol}}", 5, "(meant 'roll'?)"),
        (f"{HEAD}steps:\n  - {{by: ann, do: start}}", 5, "'start' is not one of"),
        (f"{HEAD}steps:\n  - {{by: ann, do: bid}}", 5, "'bid' needs the key 'amount'"),
        (f"{HEAD}steps:\n  - {{by: ann, do: bid, amount: 10.5}}", 5, "a whole number"),
        (f"{HEAD}steps:\n  - {{by: ann, do: buy, dice: [1, 2]}}", 5, "unknown key 'dice'"),
        (f"{HEAD}steps:\n  - {{by: dan, do: buy}}", 5, "'dan' is not one of ann, bob, cid, host, admin"),
        (f"{HEAD}steps:\n  - {{by: ann, do: buy, refused: no_way}}", 5, "'no_way' is not one of"),
        (f"{HEAD}steps:\n  - {{by: ann, do: roll, dice: [1]}}", 5, "a throw is two dice"),
        (f"{HEAD}steps:\n  - {{by: ann, do: roll, dice: [1, 7]}}", 5, "7 is out of bounds: 1 to 6"),
        (f"{HEAD}steps:\n  - {{by: ann, do: roll, dice: [1, 2, 4]}}", 5, "'4' is not one of 1, 2, 3, city, choice"),
        (f"{HEAD}steps:\n  - {{by: ann, do: roll, then_dice: [1, 2]}}", 5, "a list is needed here"),
        (f"{HEAD}steps:\n  - {{by: ann, do: vote, answer: maybe}}", 5, "yes or no"),
        (f"{HEAD}steps:\n  - {{by: ann, do: accept, id: x}}", 5, "no step has made an offer 'x'"),
        (f"{HEAD}steps:\n  - {{by: ann, do: offer, to: dan, give: {{}}, take: {{}}}}", 5, "'dan' is not one of"),
        (f"{HEAD}steps:\n  - {{by: ann, do: offer, to: bob, give: {{gold: 1}}, take: {{}}}}", 5, "unknown key 'gold'"),
        (f"{HEAD}steps:\n  - {{by: ann, do: build, field: 1, kind: hotel}}", 5, "'hotel' is not one of"),
        (f"{HEAD}steps:\n  - {{wait: -1}}", 5, "seconds are needed"),
        (f"{HEAD}steps:\n  - {{wait: 1.2345}}", 5, "seconds are needed"),
        (f"{HEAD}steps:\n  - {{wait: 99999999}}", 5, "longer than a year"),
        (f"{HEAD}steps:\n  - {{wait: 1, by: ann}}", 5, "unknown key 'by'"),
        (f"{HEAD}steps:\n  - {{expect: {{}}, do: roll}}", 5, "unknown key 'do'"),
        (f"{HEAD}steps:\n  - expect:\n      cahs: {{}}", 6, "expect: unknown key 'cahs' (meant 'cash'?)"),
        (f"{HEAD}steps:\n  - expect: {{cash: {{dan: 1}}}}", 5, "'dan' is not one of"),
        (f"{HEAD}steps:\n  - expect: {{phase: lobby}}", 5, "'lobby' is not one of order, throw"),
        (f"{HEAD}steps:\n  - expect: {{can: {{ann: [fly]}}}}", 5, "'fly' is not one of"),
        (f"{HEAD}steps:\n  - expect: {{log: [landed]}}", 5, "'landed' is not one of"),
        (f"{HEAD}steps:\n  - expect: {{owes: {{ann: [{{to: bob}}]}}}}", 5, "a debt is {to, amount}"),
        (f"{HEAD}steps:\n  - expect: {{paused: 3}}", 5, "yes or no"),
    ],
)
def test_a_fault_has_its_line(text: str, line: int, reason: str) -> None:
    found_line, found = fault(text)
    assert reason in found
    assert found_line == line


def test_an_offer_has_its_id_alone() -> None:
    twice = "  - {by: ann, do: offer, id: x, to: bob, give: {cash: 1}, take: {fields: [1]}}\n"
    assert fault(f"{HEAD}steps:\n{twice}{twice}") == (6, "steps.id: an offer 'x' was made before")
    refused = twice.replace("id: x", "id: x, refused: empty_side")
    assert len(one(f"{HEAD}steps:\n{refused}{twice}").steps) == 2


def test_a_viewer_acts_once_they_sit() -> None:
    sits = "  - {by: vic, do: take_seat, seat: cid}\n"
    rolls = "  - {by: vic, do: roll, dice: [1, 2]}\n"
    looks = "  - expect: {cash: {vic: 3}}\n"
    assert len(one(f"{HEAD}steps:\n{sits}{rolls}{looks}").steps) == 3
    assert fault(f"{HEAD}steps:\n{rolls}{sits}")[0] == 5
    assert fault(f"{HEAD}steps:\n{sits.replace('seat: cid', 'seat: cid, refused: not_a_bot')}{rolls}")[0] == 6


def test_somebody_without_a_seat_may_be_refused() -> None:
    assert act("{by: vic, do: roll, refused: not_seated}").by == "vic"


def test_files_and_folders(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    for name in ("z.yaml", "b/a.yml", "b/notes.txt"):
        (tmp_path / name).write_text("")
    assert reader.files([tmp_path]) == [str(tmp_path / "b/a.yml"), str(tmp_path / "z.yaml")]
    assert reader.files([tmp_path / "z.yaml", tmp_path / "z.yaml"]) == [str(tmp_path / "z.yaml")]
    with pytest.raises(ScenarioError, match="no such file"):
        reader.files([tmp_path / "absent.yaml"])
    (tmp_path / "empty").mkdir()
    with pytest.raises(ScenarioError, match="no scenario files"):
        reader.files([tmp_path / "empty"])


def test_a_file_that_is_no_text(tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    file.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ScenarioError, match="UTF-8"):
        reader.read(str(file))
    file.write_text("a: }")
    with pytest.raises(ScenarioError, match=r"a\.yaml:1: not YAML"):
        reader.read(str(file))


def test_a_text_that_names_itself_is_no_trap() -> None:
    assert fault("scenario: s\nedition: laspoly\nplayers: &p [*p]\nsteps: []")[0] == 3


def test_nul_characters_are_named() -> None:
    assert "not YAML" in fault("a: \x00")[1]
