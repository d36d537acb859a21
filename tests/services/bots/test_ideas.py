"""What bots want, from the state alone: the same at every replica, named by what it is about."""

from __future__ import annotations

import pytest

from omnipoly.editions import loader
from omnipoly.rules import actions as act
from omnipoly.rules.state import Phase, State
from omnipolyd.bots import ideas
from tests.client.games import played


@pytest.mark.parametrize("edition", loader.shipped())
def test_a_game_is_played_by_ideas_and_their_names_are_never_used_for_two_things(edition: str) -> None:
    log = played(edition)
    by_id: dict[tuple[str, str], act.Action] = {}
    replayed, looked = _states(edition), 0
    for version, state in replayed:
        for seat in ideas.bot_seats(state):
            first = ideas.look(state.copy(), seat, version, state.now_ms)
            again = ideas.look(state.copy(), seat, version, state.now_ms)
            assert first == again
            if first.idea is None:
                continue
            looked += 1
            idea = first.idea
            assert len(idea.command_id) <= 64
            assert idea.bot == state.holder[seat]
            assert bool(idea.prompt) != bool(idea.if_version)
            if idea.if_version:
                assert idea.if_version == version
            else:
                assert idea.prompt == state.prompt[seat]
            before = by_id.setdefault((idea.bot, idea.command_id), idea.action)
            if idea.if_version or isinstance(idea.action, act.Bid):
                assert before == idea.action
    assert looked > len(log.commits) // 2


def _states(edition: str) -> list[tuple[int, State]]:
    from omnipoly.rules import engine

    log = played(edition)
    state = engine.blank(log.game.first)
    seen = []
    for commit in log.commits:
        engine.enter(state, commit.at_ms, commit.actor)
        for event in commit.events:
            event.apply(state)
        if not ideas.rests(state):
            seen.append((commit.version, state.copy()))
    return seen


def test_bots_rest_before_the_start_after_the_end_and_while_the_table_stands_still() -> None:
    _, state = _states("tubbypoly")[10]
    assert not ideas.rests(state)
    for phase in (Phase.LOBBY, Phase.OVER):
        resting = state.copy()
        resting.phases = (phase,)
        assert ideas.rests(resting)
    resting = state.copy()
    resting.paused_ms = 1
    assert ideas.rests(resting)


def test_seats_of_persons_and_of_those_out_are_nobodys_to_play() -> None:
    _, state = _states("tubbypoly")[10]
    assert ideas.bot_seats(state) == [0, 1, 2, 3]
    state.bot[1] = False
    state.out[2] = 1
    assert ideas.bot_seats(state) == [0, 3]


def test_the_character_of_a_seat_is_the_tables() -> None:
    _, state = _states("tubbypoly")[10]
    other = state.copy()
    other.table = "another"
    characters = {ideas.player(state, seat).character for seat in range(4)}
    assert characters != {ideas.player(other, seat).character for seat in range(4)}
