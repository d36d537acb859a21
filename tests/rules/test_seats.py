"""CORE-SEAT, TUB-TAKEOVER, TUB-REMOVE: ids and numbers of seats that no scenario can write."""

from __future__ import annotations

import pytest

from omnipoly.rules.actions import ProposeEnd, Remove, ReplaceWithBot, TakeSeat, Vote
from omnipoly.rules.codes import Code
from omnipoly.rules.state import Options
from tests.rules.positions import act, do, table


@pytest.mark.parametrize("seat", [-1, 3, 99])
def test_a_seat_that_is_not_there(seat: int) -> None:
    """TUB-REMOVE, TUB-SUBSTITUTE, TUB-TAKEOVER."""
    s = table(turn="ann", bots=("cid",))
    assert act(s, "ann", Remove(seat))[1] is Code.BAD_PARTNER
    assert act(s, "admin:root", Remove(seat))[1] is Code.BAD_PARTNER
    assert act(s, "ann", ReplaceWithBot(seat))[1] is Code.BAD_PARTNER
    assert act(s, "vic", TakeSeat(seat))[1] is Code.BAD_PARTNER


@pytest.mark.parametrize("actor", ["bot:7", "bot:0", "admin:root"])
def test_neither_bots_nor_admins_take_seats(actor: str) -> None:
    """TUB-TAKEOVER: a viewer does."""
    s = table(turn="ann", bots=("bob", "cid"))
    s.options = Options(viewers_take_bots=True)
    assert act(s, actor, TakeSeat(1))[1] is Code.BAD_PARTNER
    assert act(s, "vic", TakeSeat(1, "Vic"))[1] is None


def test_the_name_goes_with_the_person() -> None:
    """CORE-SEAT: a bot keeps the name of the one it stands in for, a viewer brings one."""
    s = table(turn="ann", away=("bob",), bots=("cid",))
    s.options = Options(viewers_take_bots=True)
    s = do(s, "ann", ReplaceWithBot(1))
    assert (s.name[1], s.holder[1].startswith("bot:"), s.stands_in_for[1]) == ("bob", True, "bob")
    s = do(s, "bob", TakeSeat(1, "Somebody else"))
    assert (s.name[1], s.holder[1], s.stands_in_for[1]) == ("bob", "bob", "")
    s = do(s, "vic", TakeSeat(2, "Vic"))
    assert (s.name[2], s.holder[2], s.connected[2]) == ("Vic", "vic", True)


def test_no_two_bots_share_an_id() -> None:
    """CORE-SEAT."""
    s = table("ann", "bob", "cid", "dan", turn="ann", away=("bob", "dan"), bots=("cid",))
    s = do(s, "ann", ReplaceWithBot(1))
    s = do(s, "ann", ReplaceWithBot(3))
    assert len(set(s.holder)) == 4


def test_a_bot_has_no_vote() -> None:
    """TUB-END-VOTE, CORE-SEAT."""
    s = do(table(turn="ann", bots=("cid",)), "ann", ProposeEnd())
    assert act(s, s.holder[2], Vote(yes=True))[1] is Code.NO_VOTE
    assert act(s, s.holder[2], Vote(yes=False))[1] is Code.NO_VOTE
