"""Events of the vote to end for everybody (TUB-END-VOTE)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from ..state import Cooldown, OpenVote
from .base import Event

if TYPE_CHECKING:
    from ..state import State


class VoteOpened(Event, frozen=True, gc=False, tag="vote_opened"):
    """Somebody proposes to end the game; the others have until the deadline."""

    vote: int
    person: str
    deadline_ms: int

    def apply(self, s: State) -> None:
        s.votes = self.vote
        s.vote = OpenVote(self.vote, self.person, (), self.deadline_ms)


class Voted(Event, frozen=True, gc=False, tag="voted"):
    """A person answered."""

    vote: int
    person: str
    yes: bool

    def apply(self, s: State) -> None:
        vote = s.vote
        if vote is not None and self.yes:
            s.vote = OpenVote(vote.vote, vote.by, (*vote.yes, self.person), vote.deadline_ms)


class VoteClosed(Event, frozen=True, gc=False, tag="vote_closed"):
    """The vote passed, failed with cool-downs (TUB-END-COOLDOWN), or fell without any."""

    vote: int
    how: Literal["passed", "failed", "fallen"]
    proposer_until_ms: int = 0
    others_until_ms: int = 0

    def apply(self, s: State) -> None:
        vote = s.vote
        s.vote = None
        if vote is not None and self.how == "failed":
            s.cooldowns = (
                *(c for c in s.cooldowns if c.until_ms > s.now_ms and c.person not in ("", vote.by)),
                Cooldown(vote.by, self.proposer_until_ms),
                Cooldown("", self.others_until_ms),
            )
