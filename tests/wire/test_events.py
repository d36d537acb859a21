"""`omnipoly.wire.events`: every kind in both directions, and nothing but `Malformed` for what cannot be read."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omnipoly.rules import events as kinds
from omnipoly.rules.events import Event, PositionSet
from omnipoly.wire import events
from omnipoly.wire.gen.game.v1 import events_pb2
from omnipoly.wire.malformed import Malformed
from tests.wire import games, values

STATES = st.sampled_from([step.state for step in games.play("tubbypoly", 2, 1, 1, 60)])


def test_every_kind_has_a_row_and_every_row_a_kind() -> None:
    members = {field.name for field in events_pb2.Event.DESCRIPTOR.oneofs_by_name["kind"].fields}
    assert members == set(kinds.KINDS)
    assert events.PROBLEMS == []


@pytest.mark.parametrize("kind", sorted(kinds.KINDS))
def test_each_kind_comes_back_as_it_went(kind: str) -> None:
    @settings(max_examples=40)
    @given(values.of(kinds.KINDS[kind], STATES))
    def comes_back(event: Event) -> None:
        message = events.to_proto(event)
        assert message.WhichOneof("kind") == kind
        assert message.must_understand
        again = events_pb2.Event.FromString(message.SerializeToString())
        assert again == message
        assert events.from_proto(again, games.game("tubbypoly")) == event

    comes_back()


@pytest.mark.parametrize("kind", sorted(kinds.KINDS))
def test_a_message_with_nothing_in_it_is_read_or_malformed(kind: str) -> None:
    message = events_pb2.Event()
    getattr(message, kind).SetInParent()
    try:
        event = events.from_proto(message, games.game("tubbypoly"))
    except Malformed:
        return
    assert kinds.kind_of(event) == kind


def test_a_kind_that_is_not_known_here_is_malformed() -> None:
    with pytest.raises(Malformed, match="kind"):
        events.from_proto(events_pb2.Event(must_understand=True))


def test_an_enum_value_that_is_not_known_here_is_malformed() -> None:
    message = events_pb2.Event()
    message.lot_moved.how = 99  # type: ignore[assignment]
    with pytest.raises(Malformed, match="lot_moved"):
        events.from_proto(message)


def test_a_position_needs_its_edition() -> None:
    state = next(games.play("tubbypoly", 2, 0, 1, 0)).state
    with pytest.raises(Malformed, match="edition"):
        events.from_proto(events.to_proto(PositionSet(state)))


def test_a_number_that_no_field_can_hold_is_a_fault_of_ours() -> None:
    with pytest.raises(ValueError, match="out of range"):
        events.to_proto(kinds.TurnStarted(2**31, 1))
