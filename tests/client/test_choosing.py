"""From what the engine lists to what is typed, and back to an action that it accepts."""

from __future__ import annotations

import pytest

from omnipoly.cli import choosing
from omnipoly.cli.choosing import Unclear
from omnipoly.editions import loader
from omnipoly.rules import actions as act
from omnipoly.rules import engine, listing
from omnipoly.rules.actions import Side
from omnipoly.rules.state import State
from tests.client.games import played


def states(edition: str) -> list[State]:
    """Every position of a game."""
    log = played(edition)
    state = engine.blank(log.game.first)
    seen = []
    for commit in log.commits:
        engine.enter(state, commit.at_ms, commit.actor)
        for event in commit.events:
            event.apply(state)
        seen.append(state.copy())
    return seen


@pytest.mark.parametrize("edition", loader.shipped())
def test_every_listed_choice_is_one_that_the_engine_accepts(edition: str) -> None:
    chosen = 0
    for state in states(edition):
        for seat in range(state.seats if state.prompt else 0):
            listed = listing.legal_actions(state, seat, state.now_ms)
            choices = choosing.choices(state, seat, listed)
            assert len(choices) >= len(listed) > 0 or not listed
            for number, choice in enumerate(choices, 1):
                if choice.action is None:
                    with pytest.raises(Unclear):
                        choosing.parse(str(number), choices, state)
                    continue
                chosen += 1
                action = choosing.parse(str(number), choices, state)
                assert action == choice.action
                assert engine.verify(state, state.holder[seat], action, state.now_ms) is None, choice
    assert chosen > 100


def state() -> State:
    return states("tubbypoly")[40]


@pytest.mark.parametrize(
    ("typed", "action"),
    [
        ("roll", act.Roll()),
        ("end turn", act.EndTurn()),
        ("END_TURN", act.EndTurn()),
        ("mortgage 6", act.Mortgage(6)),
        ("lift mortgage #6", act.LiftMortgage(6)),
        ("build 8", act.Build(8)),
        ("build factory 8", act.Build(8, "factory")),
        ("sell building 8", act.SellBuilding(8)),
        ("vote yes", act.Vote(yes=True)),
        ("vote no", act.Vote(yes=False)),
        ("accept 3", act.Accept(3)),
        ("choose steps 5", act.ChooseSteps(5)),
        ("offer 2 give 50 #6 take #8 #9", act.Offer(2, Side(50, (6,)), Side(0, (8, 9)))),
        ("offer 1 give jail_free_chest take 20", act.Offer(1, Side(cards=("jail_free_chest",)), Side(20))),
    ],
)
def test_words(typed: str, action: act.Action) -> None:
    assert choosing.parse(typed, [], state()) == action


def test_bids_and_passes_are_of_the_auction_that_runs() -> None:
    s = state()
    s.auctions = 7
    assert choosing.parse("bid 120", [], s) == act.Bid(7, 120)
    assert choosing.parse("pass", [], s) == act.Pass(7)


@pytest.mark.parametrize(
    "typed",
    [
        *(
            "",
            "0",
            "3",
            "fly",
            "mortgage",
            "mortgage six",
            "mortgage 1 2",
            "bid",
            "bid much",
            "build",
            "vote",
            "vote si",
        ),
        *("offer", "offer 2", "offer 2 take 5 give 3", "offer two give 1 take 2", "offer 2 give x take y", "roll 3"),
    ],
)
def test_what_is_unclear_is_said(typed: str) -> None:
    with pytest.raises(Unclear) as unclear:
        choosing.parse(typed, [], state())
    assert str(unclear.value)
