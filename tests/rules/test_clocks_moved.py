"""CORE-CLOCK: time in which the platform could not commit, or could not be reached by anybody, does not count."""

from __future__ import annotations

from omnipoly.rules import engine
from omnipoly.rules.actions import (
    Bid,
    Connect,
    Decline,
    Disconnect,
    MoveClocks,
    Offer,
    ProposeEnd,
    Refuse,
    Roll,
    Side,
    Vote,
)
from omnipoly.rules.codes import Code
from omnipoly.rules.state import State
from tests.rules.positions import act, do, table

OUTAGE_S = 600


def _after_outage(s: State, seconds: float = OUTAGE_S) -> State:
    """The platform was away so long, and says so before anything else is looked at."""
    return do(s, "", MoveClocks(round(seconds * 1000)), after_s=seconds)


def test_a_decision_has_what_was_left() -> None:
    """CORE-CLOCK: a throw is not made by a clock that ran out while nobody could throw."""
    s = do(table(turn="ann", at={"ann": 10}), "bob", Offer(0, Side(cash=1), Side(cash=2)), after_s=40)
    left = s.deadline_ms[0] - s.now_ms
    s = _after_outage(s)
    assert (s.deadline_ms[0] - s.now_ms, s.phase.label, s.away) == (left, "throw", [0, 0, 0])
    s = do(s, "ann", Roll(), (4, 6), after_s=4.999)
    assert s.position[0] == 20


def test_auctions_votes_offers_and_waits_have_what_was_left() -> None:
    """CORE-CLOCK, TUB-AUCTION, TUB-END-VOTE, TUB-TRADE, TUB-END-COOLDOWN."""
    s = table("ann", "bob", "cid", "dan", turn="ann", at={"ann": 0})
    s = do(s, "dan", ProposeEnd())
    s = do(s, "ann", Vote(yes=False))
    s = do(s, "bob", Offer(2, Side(cash=1), Side(cash=2)))
    s = do(s, "cid", Refuse(1))
    s = do(s, "bob", ProposeEnd(), after_s=30)
    s = do(s, "dan", Offer(2, Side(cash=1), Side(cash=2)))
    s = do(s, "ann", Roll(), (2, 4))
    s = do(s, "ann", Decline())
    s = do(s, "bob", Bid(1, 10))
    before = s
    s = _after_outage(s)
    assert s.vote is not None
    assert before.vote is not None
    moved = [
        (s.auction_deadline_ms, before.auction_deadline_ms),
        (s.vote.deadline_ms, before.vote.deadline_ms),
        (s.offers[0].deadline_ms, before.offers[0].deadline_ms),
        (s.cooldowns[0].until_ms, before.cooldowns[0].until_ms),
        (s.last_move_ms, before.last_move_ms),
    ]
    assert [after - earlier for after, earlier in moved] == [OUTAGE_S * 1000] * len(moved)
    s, code = act(s, "cid", Bid(1, 20), after_s=7.999)
    assert (code, s.bids[-1].amount) == (None, 20)


def test_a_pair_that_waits_after_a_refusal_waits_on() -> None:
    """CORE-CLOCK, TUB-TRADE."""
    s = do(table(turn="ann"), "ann", Offer(1, Side(cash=1), Side(cash=2)))
    s = _after_outage(do(s, "bob", Refuse(1)), 20)
    again = Offer(1, Side(cash=1), Side(cash=2))
    assert act(s, "ann", again, after_s=29.999)[1] is Code.OFFER_COOLDOWN
    assert act(s, "ann", again, after_s=30)[1] is None


def test_the_hour_and_the_time_limit_wait_too() -> None:
    """CORE-CLOCK, TUB-PAUSE, GLO-Q-TIME."""
    s = table("ann", "bob", turn="ann", edition="globopoly/quick", jailed={"ann": 0})
    limit_ms, idle_ms = s.limit_ms, s.last_move_ms
    s = _after_outage(s)
    assert (s.limit_ms, s.last_move_ms) == (limit_ms + OUTAGE_S * 1000, idle_ms + OUTAGE_S * 1000)


def test_a_rent_that_may_be_claimed_keeps_its_moment() -> None:
    """CORE-CLOCK, GLO-CLAIM."""
    s = table("ann", "bob", turn="ann", edition="globopoly", at={"ann": 29}, owns={"bob": (39,)})
    s = _after_outage(do(s, "ann", Roll(), (5, 5)))
    assert act(s, "ann", Roll(), (4, 6), after_s=1.999)[1] is Code.TOO_EARLY
    assert act(s, "ann", Roll(), (4, 6), after_s=2)[1] is None


def test_an_outage_while_the_table_stands_still_is_not_given_twice() -> None:
    """CORE-CLOCK, TUB-PAUSE."""
    s = table("ann", "bob", turn="ann")
    s = do(s, "bob", Disconnect())
    s = do(s, "ann", Disconnect())
    left = s.deadline_ms[0] - s.paused_ms
    s = _after_outage(s)
    s = do(s, "ann", Connect(), after_s=50)
    assert (s.paused_ms, s.deadline_ms[0] - s.now_ms) == (0, left)


def test_what_is_due_is_played_after_the_clocks_have_moved_and_no_earlier() -> None:
    """CORE-CLOCK: not charged for the outage, but for what is beyond it."""
    s = table("ann", "bob", turn="ann", at={"ann": 10})
    s = do(s, "", MoveClocks(100_000), after_s=140)
    assert (s.phase.label, engine.next_deadline_ms(s) - s.now_ms) == ("throw", 5000)
    s = do(s, "bob", Offer(0, Side(cash=1), Side(cash=2)), (4, 6), after_s=5)
    assert (s.position[0], s.phase.label) == (20, "moved")
