"""`omnipoly.wire.legal`: listed actions and prompts, there and back."""

from __future__ import annotations

import pytest
from hypothesis import given

from omnipoly.rules import listing
from omnipoly.rules.legal import LegalAction
from omnipoly.rules.state import Phase, Prompt
from omnipoly.wire import legal
from omnipoly.wire.gen.game.v1 import actions_pb2, legal_pb2
from omnipoly.wire.malformed import Malformed
from tests.wire import games, values


@given(values.of(LegalAction))
def test_a_listed_action_comes_back_as_it_went(action: LegalAction) -> None:
    message = legal_pb2.LegalAction.FromString(legal.to_proto(action).SerializeToString())
    assert legal.from_proto(message) == action


@pytest.mark.parametrize("edition", ["tubbypoly", "laspoly", "globopoly/quick"])
def test_every_decision_of_a_game_comes_back_with_its_answers(edition: str) -> None:
    members = {field.name for field in actions_pb2.Action.DESCRIPTOR.oneofs_by_name["kind"].fields}
    for step in games.play(edition, 2, 1, 3, 80):
        state = step.state
        for seat in range(state.seats if state.prompt else 0):
            prompt = legal.prompt_of(state, seat)
            listed = tuple(listing.prompt_actions(state, seat, state.now_ms))
            assert (prompt.prompt > 0) == bool(listed)
            message = legal.to_prompt("t1", prompt, listed)
            assert legal.from_prompt(message) == (prompt, listed)
            assert {action.kind for action in message.actions} <= members


def test_a_seat_that_is_asked_nothing_has_a_prompt_without_a_number() -> None:
    state = next(games.play("tubbypoly", 2, 0, 1, 0)).state
    assert legal.prompt_of(state, 0) == Prompt(0, 0, Phase.LOBBY, 0)
    assert not legal.to_prompt("t1", legal.prompt_of(state, 0), ()).HasField("deadline")


def test_a_phase_or_building_that_is_not_known_here_is_malformed() -> None:
    with pytest.raises(Malformed):
        legal.from_prompt(legal_pb2.Prompt(table="t1"))
    message = legal_pb2.LegalAction(kind="build")
    message.fields.add(field=1).what = 9  # type: ignore[assignment]
    with pytest.raises(Malformed):
        legal.from_proto(message)
