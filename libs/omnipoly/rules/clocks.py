"""What has fallen due, and what is played then (CORE-CLOCK, CORE-PHASE's last column, TUB-CLOCK, TUB-PAUSE).

A deadline has passed at its very second. What falls due in the same second runs in this order: auction, decisions in
order of play, vote, offers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from . import auctions, bankruptcy, ending, money, movement, presence, raising, trade, turns, votes
from .actions import ChooseSteps, Teleport
from .events import ChoiceMade, LimitReached
from .state import Away, Choice, Out, Phase

if TYPE_CHECKING:
    from .draft import Draft
    from .state import State

IDLE_S = 3600
"""So long without a single move, and the table closes (TUB-PAUSE)."""

_AUCTION, _DECISION, _VOTE, _OFFER, _LIMIT, _IDLE = range(6)


def next_deadline_ms(s: State) -> int:
    """When something falls due next on the table's clock; 0 for never."""
    if s.phases[-1] is Phase.OVER or s.frozen_ms:
        return 0
    idle = s.last_move_ms + IDLE_S * 1000
    if s.paused_ms:
        return idle
    earliest = idle
    for at in s.deadline_ms:
        if at and at < earliest:
            earliest = at
    for at in (s.auction_deadline_ms, s.limit_ms):
        if at and at < earliest:
            earliest = at
    if s.vote is not None and s.vote.deadline_ms < earliest:
        earliest = s.vote.deadline_ms
    for offer in s.offers:
        if 0 < offer.deadline_ms < earliest:
            earliest = offer.deadline_ms
    return earliest


def is_due(s: State) -> bool:
    """Whether something has fallen due by the state's time: ``next_deadline_ms`` for the way of every command."""
    now = s.now_ms
    if s.frozen_ms:
        return False
    if s.last_move_ms + IDLE_S * 1000 <= now:
        return s.phases[-1] is not Phase.OVER
    if s.paused_ms:
        return False
    for at in s.deadline_ms:
        if at and at <= now:
            return True
    if s.auction_deadline_ms or s.limit_ms or s.offers or s.vote is not None:
        return next_deadline_ms(s) <= now
    return False


def play_next(d: Draft) -> bool:
    """Play the first thing that has fallen due by the state's time; whether there was one."""
    s = d.state
    if not is_due(s):
        return False
    _, kind, which = min(_due(s))
    if kind == _AUCTION:
        _auction_over(d)
    elif kind == _DECISION:
        _play_for(d, which)
    elif kind == _VOTE:
        votes.time_up(d)
    elif kind == _OFFER:
        offer = trade.find(s, which)
        if offer is not None:
            trade.expire(d, offer)
    elif kind == _LIMIT:
        _limit_reached(d)
    else:
        ending.end(d, "idle" if s.phases[-1] is not Phase.LOBBY else "abandoned")
    return True


def _due(s: State) -> list[tuple[tuple[int, int, int], int, int]]:
    """Everything that has fallen due: (order, kind, which)."""
    now = s.now_ms
    due: list[tuple[tuple[int, int, int], int, int]] = []

    def add(at: int, kind: int, rank: int, which: int) -> None:
        if 0 < at <= now:
            due.append(((at // 1000, kind, rank), kind, which))

    add(s.last_move_ms + IDLE_S * 1000, _IDLE, 0, 0)
    if s.paused_ms:
        return due
    add(s.auction_deadline_ms, _AUCTION, 0, 0)
    order = s.order
    for seat, at in enumerate(s.deadline_ms):
        add(at, _DECISION, order.index(seat) if seat in order else seat, seat)
    if s.vote is not None:
        add(s.vote.deadline_ms, _VOTE, 0, 0)
    for offer in s.offers:
        add(offer.deadline_ms, _OFFER, offer.offer, offer.offer)
    add(s.limit_ms, _LIMIT, 0, 0)
    return due


def _auction_over(d: Draft) -> None:
    """The clock of an open cry ran out: all others have passed."""
    auctions.close(d)


def _limit_reached(d: Draft) -> None:
    """The turn in play is finished without further throws (GLO-Q-TIME)."""
    d.emit(LimitReached())


def _play_for(d: Draft, seat: int) -> None:
    """The safe move for somebody whose clock ran out, who is away from then on (TUB-CLOCK, TUB-AFK)."""
    s = d.state
    presence.go_away(d, seat, Away.MISSED)
    trade.lapse_with_clock(d, seat)
    d.answered |= 1 << seat
    phase = s.phases[-1]
    if phase is Phase.THROW or phase is Phase.ORDER:
        movement.roll(d, seat, None)
    elif phase is Phase.LANDED:
        auctions.decline_lot(d, seat)
    elif phase is Phase.CHOICE:
        _safe_choice(d, seat)
    elif phase is Phase.AUCTION:
        auctions.pass_(d, seat, None, "clock")
    elif phase is Phase.DEBT:
        _raise_and_pay(d, seat)
    elif phase is Phase.MOVED:
        turns.next_turn(d)


def _safe_choice(d: Draft, seat: int) -> None:
    s = d.state
    if s.choice is Choice.STEPS:
        movement.choose_steps(d, seat, ChooseSteps(s.dice[0] + s.dice[1]))
    elif s.choice is Choice.TELEPORT:
        movement.teleport(d, seat, Teleport(s.rules.parking))
    else:
        d.emit(ChoiceMade(seat))


def _raise_and_pay(d: Draft, seat: int) -> None:
    """Raise and pay; give up where even everything is short (CORE-PHASE)."""
    debt = money.oldest_debt(d.state, seat)
    assert debt is not None
    if raising.can_raise(d.state, seat, debt.amount):
        raising.raise_cash(d, seat)
        money.settle(d, debt)
    else:
        bankruptcy.go_out(d, seat, Out.BANKRUPT)
