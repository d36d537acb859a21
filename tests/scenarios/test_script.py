"""`omnipoly.scenarios.script`: scripted chance, and nothing besides."""

from __future__ import annotations

import pytest

from omnipoly.scenarios.errors import Unscripted
from omnipoly.scenarios.model import Throw
from omnipoly.scenarios.script import Script


def test_throws_are_used_in_order() -> None:
    script = Script([Throw(1, 2), Throw(3, 4, "city")])
    assert script.throw(1, "walk") == (1, 2)
    assert script.rest == (Throw(3, 4, "city"),)
    assert script.throw(2, "utility") == (3, 4)
    assert script.speed(2) == "city"
    assert script.rest == ()


def test_what_is_not_scripted_is_said() -> None:
    with pytest.raises(Unscripted, match="a fresh throw for the rent of a utility that nothing scripts"):
        Script().throw(1, "utility")
    script = Script([Throw(1, 2)])
    script.throw(1, "walk")
    with pytest.raises(Unscripted, match="the speed die of the throw"):
        script.speed(1)
    with pytest.raises(Unscripted, match="deck 'chance', whose top"):
        Script().pick("deck chance", 1, 16)


def test_the_speed_die_of_a_third_double_may_be_left_out() -> None:
    script = Script([Throw(2, 2)], doubles=2)
    script.throw(1, "walk")
    assert script.speed(1) == "1"
    script = Script([Throw(2, 3)], doubles=2)
    script.throw(1, "walk")
    with pytest.raises(Unscripted):
        script.speed(1)


def test_who_begins_and_what_is_dealt_is_the_first() -> None:
    assert Script().pick("first", 1, 4) == 0
    assert Script().pick("deal", 3, 20) == 0


def test_throws_used_elsewhere() -> None:
    script = Script([Throw(1, 2), Throw(3, 4)])
    script.take(1)
    assert script.rest == (Throw(3, 4),)
    assert script.throws == (Throw(1, 2), Throw(3, 4))
    with pytest.raises(Unscripted):
        script.take(2)
