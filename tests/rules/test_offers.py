"""CORE-TRADE: offers that a scenario cannot write, for their ids and numbers are the game's own."""

from __future__ import annotations

import pytest

from omnipoly.rules.actions import Accept, Offer, Refuse, Side, Withdraw
from omnipoly.rules.codes import Code
from omnipoly.rules.guards import MOST_MONEY
from tests.rules.positions import act, do, table


@pytest.mark.parametrize("to", [-1, 0, 3, 99])
def test_a_seat_that_is_not_there_or_oneself_is_no_partner(to: int) -> None:
    """CORE-TRADE, fault 19."""
    assert act(table(turn="ann"), "ann", Offer(to, Side(cash=1), Side(cash=2)))[1] is Code.BAD_PARTNER


@pytest.mark.parametrize("offer", [0, -1, 2, 99])
def test_an_offer_that_never_was_is_gone(offer: int) -> None:
    """CORE-TRADE."""
    s = do(table(turn="ann"), "ann", Offer(1, Side(cash=1), Side(cash=2)))
    assert act(s, "bob", Accept(offer))[1] is Code.OFFER_GONE
    assert act(s, "bob", Refuse(offer))[1] is Code.OFFER_GONE
    assert act(s, "ann", Withdraw(offer))[1] is Code.OFFER_GONE


def test_no_two_offers_share_an_id_and_a_refused_one_takes_none() -> None:
    """CORE-TRADE, faults 17 and 19: what was read is what is accepted."""
    s = table(turn="ann", owns={"ann": (1, 39)})
    assert act(s, "ann", Offer(1, Side(cash=-5), Side(cash=2)))[0].offers_n == 0
    s = do(s, "ann", Offer(1, Side(fields=(39,)), Side(cash=500)))
    s = do(s, "ann", Withdraw(1))
    s = do(s, "ann", Offer(1, Side(fields=(1,)), Side(cash=500)))
    assert [offer.offer for offer in s.offers] == [2]
    assert act(s, "bob", Accept(1))[1] is Code.OFFER_GONE
    assert do(s, "bob", Accept(2)).owner[1] == 1


@pytest.mark.parametrize(
    ("cash", "code"), [(MOST_MONEY, Code.INSUFFICIENT_CASH), (MOST_MONEY + 1, Code.INVALID_AMOUNT)]
)
def test_sums_that_nobody_could_have_are_no_sums(cash: int, code: Code) -> None:
    """CORE-MONEY."""
    s = table(turn="ann")
    assert act(s, "ann", Offer(1, Side(cash=cash), Side(cash=1)))[1] is code
    assert act(s, "ann", Offer(1, Side(cash=1), Side(cash=cash)))[1] is code


def test_no_side_names_more_lots_than_a_message_may() -> None:
    """CORE-TRADE: 28 lots a side."""
    s = table("ann", "bob", edition="tubbypoly/ring72", turn="ann")
    lots = s.rules.lots
    s = table("ann", "bob", edition="tubbypoly/ring72", turn="ann", owns={"ann": lots[:29]})
    assert act(s, "ann", Offer(1, Side(fields=lots[:29]), Side(cash=1)))[1] is Code.BAD_REQUEST
    assert act(s, "ann", Offer(1, Side(fields=lots[:28]), Side(cash=1)))[1] is None
