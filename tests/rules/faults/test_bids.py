"""Rows 2, 5 and 6 of docs/known-faults.md: bids that are no whole amount, bids for another auction than they name."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from omnipoly.rules.actions import KINDS, Bid, Decline, Leave, Pass, Roll
from omnipoly.rules.codes import Code
from omnipoly.rules.state import State
from tests.rules.positions import act, do, table


@pytest.mark.parametrize(
    "amount", [100.5, 110.5, float("nan"), float("inf"), 1e309, True, "110", "101", None, [110], {"amount": 110}]
)
def test_what_is_no_whole_amount_is_no_bid(amount: Any) -> None:
    """Fault 2: refused before any rule is asked, so that nothing is rounded into a bid."""
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({"do": "bid", "auction": 1, "amount": amount}, KINDS["bid"])


@pytest.mark.parametrize("text", ["100.5", "NaN", "Infinity", "1e309", "true", '"101"', "null"])
def test_what_is_no_whole_amount_is_no_bid_as_text_either(text: str) -> None:
    """Fault 2."""
    with pytest.raises(msgspec.DecodeError):
        msgspec.json.decode(f'{{"do": "bid", "auction": 1, "amount": {text}}}', type=Bid)


def _second_auction() -> State:
    """The first auction was sold to ann, the second one has just opened."""
    s = table(turn="ann", at={"ann": 0})
    s = do(s, "ann", Roll(), (3, 3))
    s = do(s, "ann", Decline())
    s = do(s, "ann", Bid(1, 110))
    s = do(s, "bob", Pass(1))
    s = do(s, "cid", Pass(1))
    assert (s.owner[6], s.cash[0]) == (0, 1390)
    s = do(s, "ann", Roll(), (1, 2))
    s = do(s, "ann", Decline())
    assert (s.auctions, s.lot) == (2, 9)
    return s


def test_a_late_bid_does_not_hit_the_next_lot() -> None:
    """Fault 5: a bid names its auction."""
    before = _second_auction()
    s, code = act(before, "bob", Bid(1, 150))
    assert code is Code.AUCTION_CLOSED
    assert (s.bids, s.cash, s.auction_deadline_ms) == ((), before.cash, before.auction_deadline_ms)


def test_a_late_pass_does_not_leave_the_next_auction() -> None:
    """Fault 5."""
    s, code = act(_second_auction(), "bob", Pass(1))
    assert (code, s.passed) == (Code.AUCTION_CLOSED, 0)


@pytest.mark.parametrize("auction", [0, -1, 3, 99])
def test_a_bid_for_an_auction_that_never_was_is_refused(auction: int) -> None:
    """Fault 5."""
    assert act(_second_auction(), "bob", Bid(auction, 150))[1] is Code.AUCTION_CLOSED


def test_the_time_of_an_auction_that_was_closed_passes_without_effect() -> None:
    """Fault 6: the first auction's 15 s end 1 s into the second one, which has its own."""
    s = table(turn="ann", at={"ann": 0})
    s = do(s, "ann", Roll(), (3, 3))
    s = do(s, "ann", Decline())
    first_ends_ms = s.auction_deadline_ms
    for person in ("ann", "bob", "cid"):
        s = do(s, person, Pass(1), after_s=4)
    s = do(s, "ann", Roll(), (1, 2), after_s=1)
    s = do(s, "ann", Decline(), after_s=1)
    s, code = act(s, "bob", Bid(2, 10), after_s=(first_ends_ms - s.now_ms) / 1000)
    assert code is None
    assert (s.now_ms, s.lot, s.auction_deadline_ms) == (first_ends_ms, 9, first_ends_ms + 8000)


def test_an_auction_that_begins_anew_is_another_one() -> None:
    """Fault 5: a bid for the auction that fell does not hit the one in its place."""
    s = do(table("ann", "bob", "cid", "dan", turn="ann", at={"ann": 0}), "ann", Roll(), (2, 4))
    s = do(s, "ann", Decline())
    s = do(s, "bob", Bid(1, 10))
    s = do(s, "bob", Leave())
    assert (s.auctions, s.lot, s.bids) == (2, 6, ())
    assert act(s, "cid", Bid(1, 20))[1] is Code.AUCTION_CLOSED
    assert act(s, "cid", Bid(2, 10))[1] is None
