"""A table that an admin keeps frozen: nothing is played, every clock stands still, and nothing is given twice."""

from __future__ import annotations

import pytest

from omnipoly.rules import engine, listing
from omnipoly.rules.actions import (
    Action,
    Advance,
    CloseTable,
    Connect,
    Disconnect,
    Leave,
    MoveClocks,
    Offer,
    Roll,
    Side,
)
from omnipoly.rules.codes import Code
from omnipoly.rules.draft import Draft
from omnipoly.rules.state import Away, State
from omnipoly.scenarios.model import Throw
from omnipoly.scenarios.script import Script
from tests.rules.positions import act, do, table
from tests.rules.test_lobby import Lobby

HOUR_S = 3600


def freeze(s: State, after_s: float = 0, *throws: Throw) -> State:
    draft = Draft(s.copy(), Script(throws))
    engine.freeze(draft, now_ms=s.now_ms + round(after_s * 1000))
    return draft.state


def thaw(s: State, after_s: float = 0) -> State:
    draft = Draft(s.copy(), Script())
    engine.thaw(draft, now_ms=s.now_ms + round(after_s * 1000))
    engine.check(draft.state)
    return draft.state


def test_every_clock_stands_still() -> None:
    s = do(table(turn="ann", at={"ann": 10}), "bob", Offer(0, Side(cash=1), Side(cash=2)), after_s=40)
    left = s.deadline_ms[0] - s.now_ms, s.offers[0].deadline_ms - s.now_ms
    s = freeze(s)
    assert (engine.next_deadline_ms(s), s.rests) == (0, True)
    s = do(s, "", Advance(2 * HOUR_S * 1000))
    s = thaw(s, after_s=5)
    assert (s.deadline_ms[0] - s.now_ms, s.offers[0].deadline_ms - s.now_ms) == left
    assert (s.rests, s.phase.label, s.away) == (False, "throw", [0, 0, 0])
    s = do(s, "ann", Roll(), (4, 6), after_s=4.999)
    assert s.position[0] == 20


def test_what_has_fallen_due_before_is_played_before() -> None:
    """CORE-CLOCK."""
    s = freeze(table(turn="ann", at={"ann": 10}), 45, Throw(4, 6))
    assert (s.position[0], s.away[0], s.frozen_ms) == (20, Away.MISSED, s.now_ms)


@pytest.mark.parametrize("action", [Roll(), Offer(1, Side(cash=1), Side(cash=2)), Leave()])
def test_nobody_can_do_anything(action: Action) -> None:
    s = freeze(table(turn="ann"))
    assert act(s, "ann", action)[1] is Code.PAUSED
    assert listing.legal_actions(s, 0, s.now_ms) == listing.prompt_actions(s, 0, s.now_ms) == []
    assert act(thaw(s), "ann", Leave())[1] is None


def test_nor_before_the_start() -> None:
    table = Lobby()
    engine.freeze(table.draft, now_ms=table.state.now_ms)
    assert table.says("ann", Leave(), after_s=2 * HOUR_S) is Code.PAUSED
    engine.thaw(table.draft, now_ms=table.state.now_ms)
    assert table.says("ann", Leave(), after_s=HOUR_S - 1) is None


def test_an_admin_closes_it_as_it_stands() -> None:
    """TUB-CLOSE."""
    s = do(freeze(table(turn="ann")), "admin:root", CloseTable())
    assert (s.ended, s.places, s.frozen_ms) == ("closed", [1, 1, 1], 0)


def test_who_is_there_is_still_known() -> None:
    """Presence is no command: who goes while the table is frozen is away, and has no more than was left."""
    s = freeze(do(table(turn="ann", at={"ann": 10}), "bob", Connect(), after_s=44))
    s = do(s, "ann", Disconnect(), after_s=100)
    assert (s.connected, s.away[0], s.deadline_ms[0] - s.frozen_ms) == ([False, True, True], Away.CLOSED, 1000)
    s = thaw(s, after_s=100)
    assert s.deadline_ms[0] - s.now_ms == 1000


def test_it_stands_still_afterwards_when_nobody_is_left() -> None:
    """TUB-PAUSE."""
    s = freeze(table("ann", "bob", turn="ann"))
    for person in ("ann", "bob"):
        s = do(s, person, Disconnect(), after_s=10)
    assert (s.paused_ms, s.frozen_ms) == (0, s.now_ms - 20_000)
    s = thaw(s)
    assert (s.paused_ms, s.frozen_ms) == (s.now_ms, 0)


def test_a_pause_before_is_not_given_twice() -> None:
    """TUB-PAUSE: it stood still, was frozen, and somebody came back meanwhile."""
    s = table("ann", "bob", turn="ann")
    for person in ("ann", "bob"):
        s = do(s, person, Disconnect(), after_s=1)
    left = s.deadline_ms[0] - s.paused_ms
    s = freeze(s, after_s=60)
    s = do(s, "ann", Connect(), after_s=60)
    assert s.paused_ms
    s = thaw(s, after_s=60)
    assert (s.paused_ms, s.deadline_ms[0] - s.now_ms) == (0, left)


def test_nor_is_an_outage() -> None:
    """CORE-CLOCK."""
    s = table(turn="ann")
    left = s.deadline_ms[0] - s.now_ms
    s = freeze(s)
    s = do(s, "", MoveClocks(600_000), after_s=700)
    s = thaw(s, after_s=100)
    assert s.deadline_ms[0] - s.now_ms == left
    assert s.last_move_ms == s.now_ms


def test_what_stands_already_stays() -> None:
    s = freeze(table(turn="ann"))
    again = freeze(s, after_s=10)
    assert again.frozen_ms == s.frozen_ms
    thawed = thaw(again)
    assert thaw(thawed) == thawed
