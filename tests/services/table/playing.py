"""Bots that play a table from outside, by what they are answered alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from omnipoly.bots.strategy import Bot
from omnipoly.rules import engine
from omnipoly.rules.actions import Action
from omnipoly.rules.ring import Game
from omnipoly.rules.state import Phase, State
from omnipoly.wire import commits, views
from tests.services.table.calling import Caller

PATIENCE_MS = 3_600_000
"""Later than any bot waits for."""


class Picture:
    """A table as a follower has it: a view once, commits from then on."""

    def __init__(self, table: str, game: Game, state: State, version: int) -> None:
        self.table = table
        self.game = game
        self.state = state
        self.version = version

    @classmethod
    async def take(cls, caller: Caller, table: str, game: Game) -> Picture:
        view = await caller.view(table)
        return cls(table, game, views.from_view(view, game), view.version)

    def apply(self, bodies: Sequence[bytes]) -> None:
        """Commits of an answer; those it has already are passed over."""
        for body in bodies:
            commit = commits.decode(body, self.game)
            if commit.version <= self.version:
                continue
            assert commit.version == self.version + 1, f"{commit.version} follows {self.version}"
            engine.enter(self.state, commit.at_ms, commit.actor)
            for event in commit.events:
                engine.apply(self.state, event)
            self.version = commit.version

    @property
    def over(self) -> bool:
        return self.state.phase is Phase.OVER

    def next_action(self) -> tuple[str, Action]:
        """(who, what): the next thing that some bot does, persons' seats included."""
        s = self.state
        for seat in range(s.seats):
            if not s.out[seat]:
                action = Bot(seat).decide(s, seat, s.now_ms) or Bot(seat).decide(s, seat, s.now_ms + PATIENCE_MS)
                if action is not None:
                    return s.holder[seat], action
        raise AssertionError(f"nobody does anything in {s.phases}")


async def play(
    callers: Sequence[Caller], picture: Picture, *, most: int = 10_000, until: Callable[[State], bool] | None = None
) -> int:
    """Let bots play by turns through the callers, to the end, for so many actions or `until`; how many there were."""
    for number in range(most):
        if picture.over or (until is not None and until(picture.state)):
            return number
        who, action = picture.next_action()
        answer = await callers[number % len(callers)].act(picture.table, who, action)
        assert answer.version == picture.version + 1
        picture.apply(answer.commits)
    return most
