"""Ending for everybody by vote (TUB-END-VOTE, TUB-END-COOLDOWN). A vote is a person's, not a seat's (CORE-SEAT)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from . import ending
from .codes import Code
from .draft import clock_now
from .events import VoteClosed, Voted, VoteOpened
from .state import Away, Out, Phase

if TYPE_CHECKING:
    from .actions import ProposeEnd, Vote
    from .draft import Draft
    from .state import State

ANSWER_S = 60
PROPOSER_WAITS_S = 180
OTHERS_WAIT_S = 30


def electorate(s: State, proposer: str) -> list[int]:
    """Seats whose persons have a vote: still in, no bots, not the proposer."""
    return [seat for seat in range(s.seats) if s.out[seat] == Out.IN and not s.bot[seat] and s.holder[seat] != proposer]


def verify_propose_end(s: State, person: str, action: ProposeEnd, now_ms: int) -> Code | None:
    """Anybody still playing, or the host; not while a vote is open or its cool-down lasts.

    A paid table has no vote to end (RUG-WIN).
    """
    if person != s.host:
        if person not in s.holder:
            return Code.NOT_SEATED
        if s.out[s.holder.index(person)] != Out.IN:
            return Code.OUT_OF_GAME
    if s.options.entry_fee:
        return Code.BAD_OPTION
    if s.vote is not None:
        return Code.VOTE_OPEN
    for cooldown in s.cooldowns:
        if now_ms < cooldown.until_ms and cooldown.person in ("", person):
            return Code.VOTE_COOLDOWN
    return None


def propose_end(d: Draft, person: str, action: ProposeEnd) -> None:
    """Open the vote; with only bots left besides the proposer the game ends at once."""
    s = d.state
    if not electorate(s, person):
        ending.end(d, "alone")
        return
    d.emit(VoteOpened(s.votes + 1, person, clock_now(s) + ANSWER_S * 1000))


def verify_vote(s: State, person: str, action: Vote, now_ms: int) -> Code | None:
    """Once for each person still in other than the proposer."""
    if person not in s.holder:
        return Code.NOT_SEATED
    if s.out[s.holder.index(person)] != Out.IN:
        return Code.OUT_OF_GAME
    vote = s.vote
    if vote is None or person in vote.yes or s.holder.index(person) not in electorate(s, vote.by):
        return Code.NO_VOTE
    return None


def vote(d: Draft, person: str, action: Vote) -> None:
    """One no cancels at once; the last yes ends the game."""
    open_vote = d.state.vote
    assert open_vote is not None
    d.emit(Voted(open_vote.vote, person, action.yes))
    if action.yes:
        _count(d)
    else:
        _close(d, "failed")


def _count(d: Draft) -> None:
    """End the game when everybody asked has said yes."""
    s = d.state
    if s.vote is not None and all(s.holder[seat] in s.vote.yes for seat in electorate(s, s.vote.by)):
        _close(d, "passed")


def time_up(d: Draft) -> None:
    """At the limit those then away are left out; it passes if all who are there said yes, also if nobody is."""
    s = d.state
    open_vote = s.vote
    if open_vote is None:
        return
    there = [seat for seat in electorate(s, open_vote.by) if s.away[seat] == Away.NO]
    _close(d, "passed" if all(s.holder[seat] in open_vote.yes for seat in there) else "failed")


def seat_out(d: Draft, seat: int) -> None:
    """Somebody went out: the vote they proposed falls without cool-down, one that lacked only their answer passes."""
    person_gone(d, d.state.holder[seat])


def person_gone(d: Draft, person: str) -> None:
    """A person no longer plays (CORE-LEAVE, CORE-SEAT)."""
    s = d.state
    if s.vote is None or s.phases[-1] is Phase.OVER:
        return
    if s.vote.by == person:
        _close(d, "fallen")
    else:
        _count(d)


def _close(d: Draft, how: Literal["passed", "failed", "fallen"]) -> None:
    s = d.state
    open_vote = s.vote
    assert open_vote is not None
    now = clock_now(s)
    if how == "failed":
        d.emit(VoteClosed(open_vote.vote, how, now + PROPOSER_WAITS_S * 1000, now + OTHERS_WAIT_S * 1000))
    else:
        d.emit(VoteClosed(open_vote.vote, how))
    if how == "passed":
        ending.end(d, "vote")
