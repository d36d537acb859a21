"""A bot in debt pays what it can, sells evenly, and goes out only when everything is short (known fault 29)."""

from __future__ import annotations

import pytest

from omnipoly.bots.strategy import Bot
from omnipoly.rules.actions import GiveUp, Mortgage, Pay, Raise
from omnipoly.rules.events import DebtOpened, Reason
from omnipoly.rules.state import BANK, Out, State
from omnipoly.scenarios.script import Script
from tests.rules import positions
from tests.rules.positions import engine


def _owing(amount: int, edition: str = "tubbypoly", **given: object) -> State:
    """A state in which ann, a bot and the turn owner, owes the bank."""
    s = positions.table("ann", "bob", edition=edition, turn="ann", bots=("ann",), **given)
    draft = engine.Draft(s, Script())
    draft.emit(DebtOpened(1, 0, BANK, amount, Reason.TAX))
    engine.settle(draft)
    return s


def _settle(s: State) -> tuple[State, list[object]]:
    """Let the bot go on until it owes nothing; the state, and what it did."""
    done: list[object] = []
    while s.debts:
        action = Bot(0).decide(s, 0)
        assert action is not None
        done.append(action)
        s = positions.do(s, "bot:0", action)
    return s, done


def test_houses_are_sold_evenly_and_nobody_solvent_goes_out() -> None:
    s = _owing(150, cash={"ann": 20}, owns={"ann": (6, 8, 9)}, buildings={6: 2, 8: 2, 9: 3})
    s, done = _settle(s)
    assert done == [Raise(), Pay()]
    assert s.cash[0] == 20
    assert sorted(s.level[at] for at in (6, 8, 9)) == [0, 0, 1]
    assert s.out[0] == Out.IN


def test_lone_lots_are_mortgaged_before_houses_are_sold() -> None:
    given = {"cash": {"ann": 20}, "owns": {"ann": (6, 8, 9, 12, 39)}, "buildings": {6: 2, 8: 2, 9: 3}}
    s, done = _settle(_owing(80, **given))
    assert done == [Mortgage(12), Pay()]
    s, done = _settle(_owing(150, **given))
    assert done == [Mortgage(39), Pay()]
    s, done = _settle(_owing(330, **given))
    assert done == [Mortgage(39), Mortgage(12), Raise(), Pay()]
    assert s.out[0] == Out.IN


def test_it_pays_when_it_can_and_gives_up_when_even_everything_is_short() -> None:
    assert Bot(0).decide(_owing(100, cash={"ann": 100}), 0) == Pay()
    assert Bot(0).decide(_owing(131, cash={"ann": 100}, owns={"ann": (1,)}), 0) == GiveUp()
    assert Bot(0).decide(_owing(130, cash={"ann": 100}, owns={"ann": (1,)}), 0) == Raise()


def test_where_zero_is_out_one_more_is_raised() -> None:
    assert Bot(0).decide(_owing(100, edition="laspoly", cash={"ann": 101}), 0) == Pay()
    s = _owing(100, edition="laspoly", cash={"ann": 100}, owns={"ann": (1,)})
    assert Bot(0).decide(s, 0) == Raise()
    assert Bot(0).decide(_owing(100, edition="laspoly", cash={"ann": 100}), 0) == GiveUp()


@pytest.mark.parametrize("amount", range(10, 700, 30))
def test_whoever_can_pay_stays_in(amount: int) -> None:
    owns, buildings = {"ann": (6, 8, 9, 5, 39)}, {6: 3, 8: 3, 9: 4}
    s = _owing(amount, cash={"ann": 15}, owns=owns, buildings=buildings, mortgaged=(5,))
    worth = 15 + 10 * 25 + 50 + 50 + 60 + 200
    if amount <= worth:
        s, _ = _settle(s)
        assert s.out[0] == Out.IN
        assert s.cash[0] >= 0
    else:
        assert Bot(0).decide(s, 0) == GiveUp()
