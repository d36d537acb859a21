"""`omnipoly.wire.actions` and `calls`: every kind in both directions, bounds, and what comes from outside."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omnipoly.rules import actions as kinds
from omnipoly.rules.actions import Action, Side
from omnipoly.wire import actions, calls
from omnipoly.wire.gen.game.v1 import actions_pb2, types_pb2
from omnipoly.wire.gen.gateway.v1 import play_pb2
from omnipoly.wire.malformed import Malformed
from tests.wire import values


def test_every_kind_has_a_row_and_every_row_a_kind() -> None:
    members = {field.name for field in actions_pb2.Action.DESCRIPTOR.oneofs_by_name["kind"].fields}
    assert members == set(kinds.KINDS)
    assert actions.PROBLEMS == []


def test_every_kind_of_a_player_has_a_call_of_its_own() -> None:
    assert calls.PROBLEMS == []
    assert set(calls.CALLS) == set(kinds.KINDS) - actions.PLATFORM_KINDS
    assert calls.CALLS["pay_bail"].path == "/omnipoly.gateway.v1.PlayService/PayBail"
    assert calls.CALLS["remove"].path == "/omnipoly.gateway.v1.LobbyService/RemoveSeat"


def test_calls_have_nothing_but_the_action_and_what_every_call_has() -> None:
    shared = {"table", "command_id", "prompt_id", "if_version", "pin"}
    for kind, call in calls.CALLS.items():
        action = actions_pb2.Action.DESCRIPTOR.fields_by_name[kind].message_type
        assert action is not None
        own = {field.name for field in call.request.DESCRIPTOR.fields} - shared
        assert own == {field.name for field in action.fields}, kind
        for field in action.fields:
            twin = call.request.DESCRIPTOR.fields_by_name[field.name]
            assert (twin.type, twin.number) == (field.type, field.number + 10), (kind, field.name)


@pytest.mark.parametrize("kind", sorted(kinds.KINDS))
def test_each_kind_comes_back_as_it_went(kind: str) -> None:
    @settings(max_examples=40)
    @given(values.of(kinds.KINDS[kind]))
    def comes_back(action: Action) -> None:
        message = actions.to_proto(action)
        assert message.WhichOneof("kind") == kind
        assert actions.decode(message.SerializeToString()) == action
        if kind in calls.CALLS:
            request = calls.to_request(action, "t1", "c1", prompt_id=3, if_version=7)
            again = calls.CALLS[kind].request.FromString(request.SerializeToString())
            assert calls.from_request(again) == action
            assert (request.table, request.command_id, request.prompt_id, request.if_version) == ("t1", "c1", 3, 7)

    comes_back()


def test_an_option_that_is_absent_is_not_the_same_as_one_that_is_none() -> None:
    changes = kinds.SetOptions(time_limit_min=0, round_limit=0, private=False)
    assert actions.from_proto(actions.to_proto(changes)) == changes
    assert actions.from_proto(actions.to_proto(kinds.SetOptions())) == kinds.SetOptions()


@pytest.mark.parametrize("amount", [-1, 0, 2**63 - 1, -(2**63)])
def test_any_amount_is_for_the_rules_to_refuse(amount: int) -> None:
    offer = kinds.Offer(-5, Side(amount), Side(amount, (-1, 4000)))
    assert actions.from_proto(actions.to_proto(offer)) == offer
    assert actions.from_proto(actions.to_proto(kinds.Bid(1, amount))) == kinds.Bid(1, amount)


@pytest.mark.parametrize(
    "action",
    [
        kinds.Offer(1, Side(fields=tuple(range(29))), Side(1)),
        kinds.Offer(1, Side(1), Side(cards=("a",) * 9)),
        kinds.Offer(1, Side(1), Side(cards=("a" * 65,))),
        kinds.Join("x" * 41),
        kinds.AddBot("x" * 41),
        kinds.TakeSeat(1, "x" * 41),
        kinds.Contribute("x" * 65),
    ],
)
def test_what_is_too_long_is_malformed(action: Action) -> None:
    message = actions.to_proto(action)
    with pytest.raises(Malformed, match="longer"):
        actions.from_proto(message)


@pytest.mark.parametrize("action", [kinds.Bid(1, 2**63), kinds.Mortgage(2**31), kinds.Join("\ud800")])
def test_what_no_field_can_hold_is_malformed(action: Action) -> None:
    with pytest.raises(Malformed):
        actions.to_proto(action)


def test_a_clock_that_is_not_in_whole_seconds_is_malformed() -> None:
    message = actions_pb2.Action()
    message.set_options.clock.FromMilliseconds(1500)
    with pytest.raises(Malformed, match="whole seconds"):
        actions.from_proto(message)
    message = actions_pb2.Action()
    message.set_options.time_limit.FromSeconds(90)
    with pytest.raises(Malformed, match="whole minutes"):
        actions.from_proto(message)


def test_no_kind_and_an_unknown_kind_are_malformed() -> None:
    for data in (b"", b"\xc2\x3e\x00"):
        with pytest.raises(Malformed, match="kind"):
            actions.decode(data)


def test_a_field_that_is_not_known_here_is_malformed_wherever_it_stands() -> None:
    strange = b"\xf8\x3e\x01"
    side = types_pb2.Side.FromString(types_pb2.Side(cash=1).SerializeToString() + strange)
    inside = actions_pb2.Action(offer=actions_pb2.Offer(to=1, give=side))
    beside = actions_pb2.Action(roll=actions_pb2.Roll.FromString(strange))
    above = actions_pb2.Action.FromString(actions_pb2.Action(roll=actions_pb2.Roll()).SerializeToString() + strange)
    for message in (inside, beside, above):
        with pytest.raises(Malformed, match="not known here"):
            actions.from_proto(message)
    with pytest.raises(Malformed, match="not known here"):
        calls.from_request(play_pb2.RollRequest.FromString(strange))


def test_a_building_that_is_not_known_here_is_malformed() -> None:
    message = actions_pb2.Action()
    message.build.what = 7  # type: ignore[assignment]
    with pytest.raises(Malformed, match="Build"):
        actions.from_proto(message)
    request = play_pb2.BuildRequest(field=1)
    request.what = 7  # type: ignore[assignment]
    with pytest.raises(Malformed, match="Build"):
        calls.from_request(request)


def test_a_building_that_is_not_said_is_the_next_house() -> None:
    assert calls.from_request(play_pb2.BuildRequest(field=3)) == kinds.Build(3, "building")


def test_a_message_that_carries_no_action_is_a_fault_of_ours() -> None:
    with pytest.raises(KeyError):
        calls.from_request(play_pb2.LegalRequest())


@given(st.binary(max_size=60))
def test_any_bytes_are_an_action_or_malformed(data: bytes) -> None:
    with contextlib.suppress(Malformed):
        action = actions.decode(data)
        assert actions.from_proto(actions.to_proto(action)) == action
