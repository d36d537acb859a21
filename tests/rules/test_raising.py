"""CORE-RAISE: what it would touch can be asked for beforehand."""

from __future__ import annotations

import pytest

from omnipoly.rules import raising
from omnipoly.rules.actions import Raise, Roll
from omnipoly.rules.state import State
from tests.rules.positions import do, table


def _in_debt(cash: int, **given: object) -> State:
    """ann owes 200 to bob."""
    owns = {"ann": (1, 3, 6, 12, 5), "bob": (37, 39)}
    buildings = {1: 1, 3: 1, 37: 1, 39: 1}
    s = table("ann", "bob", turn="ann", at={"ann": 29}, cash={"ann": cash}, owns=owns, buildings=buildings, **given)
    return do(s, "ann", Roll(), (4, 6))


@pytest.mark.parametrize(
    ("cash", "steps"),
    [
        (0, [(1, True), (3, True), (1, False), (3, False), (6, False), (12, False)]),
        (140, [(1, True), (3, True), (1, False)]),
        (175, [(1, True)]),
    ],
)
def test_what_raise_would_touch_is_what_it_does(cash: int, steps: list[tuple[int, bool]]) -> None:
    """CORE-RAISE: (field, whether a building is sold), in order; asking changes nothing."""
    s = _in_debt(cash)
    before = s.copy()
    assert raising.preview(s, 0) == steps
    assert (s.cash, s.mortgaged, s.level) == (before.cash, before.mortgaged, before.level)
    s = do(s, "ann", Raise())
    assert [field for field, mortgaged in enumerate(s.mortgaged) if mortgaged] == sorted(
        field for field, sold in steps if not sold
    )


def test_where_raise_is_not_open_it_would_touch_nothing() -> None:
    """CORE-RAISE: with the cash in hand, without a debt, for somebody else."""
    assert raising.preview(_in_debt(200), 0) == []
    assert raising.preview(_in_debt(100), 1) == []
    assert raising.preview(table(turn="ann", owns={"ann": (1,)}), 0) == []
