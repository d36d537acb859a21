"""CORE-DEBT-CREDITOR: creditors who owe themselves. No game comes to this by itself; the rule holds all the same."""

from __future__ import annotations

from omnipoly.rules.actions import GiveUp, Leave, Pay
from omnipoly.rules.draft import Draft
from omnipoly.rules.events import DebtOpened, Reason
from omnipoly.rules.state import BANK, State
from omnipoly.scenarios.script import Script
from tests.rules.positions import do, table


def _owing(*debts: tuple[int, int, int]) -> State:
    """A table at which seats owe each other: (debtor, creditor, amount), oldest first."""
    s = table("ann", "bob", "cid", "dan", turn="ann", cash={"bob": 5}, owns={"bob": (1, 3)})
    draft = Draft(s, Script())
    for number, (debtor, creditor, amount) in enumerate(debts, 1):
        draft.emit(DebtOpened(number, debtor, creditor, amount, Reason.RENT))
    return s


def _debts(s: State) -> list[tuple[int, int, int]]:
    return [(debt.debtor, debt.creditor, debt.amount) for debt in s.debts]


def test_what_is_owed_to_one_who_goes_out_is_owed_to_their_creditor() -> None:
    """CORE-DEBT-CREDITOR: whoever takes over their lots."""
    s = do(_owing((0, 1, 40), (1, 2, 100)), "bob", GiveUp())
    assert _debts(s) == [(0, 2, 40)]
    assert (s.owner[1], s.cash[2]) == (2, 1505)
    s = do(s, "ann", Pay())
    assert (s.cash[0], s.cash[2]) == (1460, 1545)


def test_a_debt_to_oneself_vanishes() -> None:
    """CORE-DEBT-CREDITOR: the heir owed it to the one they inherit from."""
    s = do(_owing((2, 1, 40), (1, 2, 100), (3, 1, 7)), "bob", GiveUp())
    assert _debts(s) == [(3, 2, 7)]


def test_the_last_debt_vanishes_and_the_turn_goes_on() -> None:
    """CORE-DEBT-CREDITOR, CORE-DEBT."""
    s = do(_owing((2, 1, 40), (1, 2, 100)), "bob", GiveUp())
    assert s.debts == ()
    assert (s.phase.label, s.turn, s.prompt[0] > 0) == ("throw", 0, True)


def test_without_a_creditor_of_theirs_it_is_owed_to_the_bank() -> None:
    """CORE-DEBT-CREDITOR."""
    s = do(_owing((0, 1, 40)), "bob", Leave())
    assert _debts(s) == [(0, BANK, 40)]


def test_with_several_creditors_it_is_owed_to_the_one_who_inherits() -> None:
    """CORE-DEBT-CREDITOR, CORE-DEBT-ORDER: the creditor of the first debt that is not met."""
    s = do(_owing((0, 1, 40), (1, 2, 5), (1, 3, 50)), "bob", GiveUp())
    assert (_debts(s), s.owner[1], s.cash[2], s.cash[3]) == ([(0, 3, 40)], 3, 1505, 1500)
