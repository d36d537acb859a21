"""`omnipoly.wire.commits`: bytes there and back, and what a client makes of a newer server's."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnipoly.rules import engine
from omnipoly.rules.events import Event, Paid, PositionSet, Reason, TurnStarted
from omnipoly.wire import commits
from omnipoly.wire.commits import Commit, NeedsSnapshot
from omnipoly.wire.gen.game.v1 import commit_pb2, events_pb2
from omnipoly.wire.malformed import Malformed, Newer
from tests.wire import games

PAID = Paid(0, -2, 50, Reason.CASINO_FEE)
NEW_KIND = b"\xc2\x3e\x02\x08\x07"
"""Member 1000 of the oneof, as a newer server may have it."""


def encode(*happened: Event) -> bytes:
    return commits.encode(
        "t1", 4, 2, 1_700_000_000_123, happened, actor="ann", command_id="c1", traceparent="00-a-b-01"
    )


def with_event(data: bytes, event: bytes) -> bytes:
    message = commit_pb2.Commit.FromString(data)
    message.events.add().MergeFromString(event)
    return message.SerializeToString()


def test_a_commit_comes_back_as_it_went() -> None:
    happened = (PAID, TurnStarted(1, 3))
    data = encode(*happened)
    assert commits.decode(data) == Commit("t1", 4, 2, 1_700_000_000_123, "ann", "c1", "00-a-b-01", happened)
    assert commits.understand(data) == commits.decode(data)
    assert encode(*happened) == data
    assert commits.parse(data).version == 4


def test_a_commit_of_the_platform_names_nobody() -> None:
    assert commits.decode(commits.encode("t1", 1, 1, 0, ())) == Commit("t1", 1, 1, 0, "", "", "", ())


@pytest.mark.parametrize("edition", ["tubbypoly", "rugpull", "globopoly/quick", "laspoly"])
def test_a_game_can_be_replayed_from_its_bytes(edition: str) -> None:
    game = games.game(edition)
    state = engine.blank(game.first)
    kinds = set()
    for version, step in enumerate(games.play(edition, 3, 1, 7, 400), 1):
        data = commits.encode("t1", version, 1, step.state.now_ms, step.events, actor=step.actor)
        commit = commits.decode(data, game)
        assert commit.events == step.events
        engine.enter(state, commit.at_ms, commit.actor)
        for event in commit.events:
            engine.apply(state, event)
        assert state == step.state
        kinds |= {type(event) for event in step.events}
    assert len(kinds) > 25


def test_an_event_of_a_new_kind_is_passed_over_when_it_may_be() -> None:
    data = with_event(encode(PAID), NEW_KIND)
    understood = commits.understand(data)
    assert isinstance(understood, Commit)
    assert understood.events == (PAID,)


def test_an_event_of_a_new_kind_that_must_be_understood_needs_a_snapshot() -> None:
    data = with_event(encode(PAID), events_pb2.Event(must_understand=True).SerializeToString() + NEW_KIND)
    assert commits.understand(data) == NeedsSnapshot("t1", 4, 2)


@pytest.mark.parametrize("must", [True, False])
def test_a_store_never_passes_over_an_event(must: bool) -> None:
    data = with_event(encode(PAID), events_pb2.Event(must_understand=must).SerializeToString() + NEW_KIND)
    with pytest.raises(Malformed, match="kind"):
        commits.decode(data)


def test_a_new_value_in_a_known_kind_needs_a_snapshot() -> None:
    event = events_pb2.Event(must_understand=True)
    event.lot_moved.how = 77  # type: ignore[assignment]
    assert commits.understand(with_event(encode(), event.SerializeToString())) == NeedsSnapshot("t1", 4, 2)


def test_a_new_field_in_a_known_kind_is_passed_over() -> None:
    event = events_pb2.Event(must_understand=True)
    event.turn_started.MergeFromString(b"\x08\x01\x10\x03" + b"\xf8\x3e\x01")
    data, as_known = with_event(encode(), event.SerializeToString()), commits.decode(encode(TurnStarted(1, 3)))
    assert commits.understand(data) == as_known
    assert commits.decode(data) == as_known


@pytest.mark.parametrize("deep", [True, False])
def test_who_goes_on_from_a_commit_passes_over_no_field(deep: bool) -> None:
    event = events_pb2.Event(must_understand=True)
    event.turn_started.MergeFromString(b"\x08\x01\x10\x03" + b"\xf8\x3e\x01" * deep)
    data = with_event(encode(PAID), event.SerializeToString()) + b"\xf8\x3e\x01" * (not deep)
    with pytest.raises(Newer, match="fields"):
        commits.decode(data, whole=True)
    known = encode(PAID, TurnStarted(1, 3))
    assert commits.decode(known, whole=True) == commits.decode(known)


def test_a_position_without_its_edition_needs_a_snapshot() -> None:
    state = next(games.play("laspoly", 2, 0, 1, 0)).state
    data = encode(PositionSet(state))
    assert commits.understand(data) == NeedsSnapshot("t1", 4, 2)
    understood = commits.understand(data, games.game("laspoly"))
    assert isinstance(understood, Commit)
    assert understood.events == (PositionSet(state),)


@given(st.binary(max_size=200))
def test_any_bytes_are_a_commit_or_malformed(data: bytes) -> None:
    for read in (commits.decode, commits.understand):
        with contextlib.suppress(Malformed):
            read(data)


@given(st.data())
def test_a_damaged_commit_is_read_or_malformed(data: st.DataObject) -> None:
    whole = encode(PAID, TurnStarted(1, 3), *games_events())
    at = data.draw(st.integers(0, len(whole) - 1))
    damaged = whole[:at] + bytes([data.draw(st.integers(0, 255))]) + whole[at + data.draw(st.integers(0, 2)) :]
    for read in (commits.decode, commits.understand):
        with contextlib.suppress(Malformed):
            read(damaged, games.game("tubbypoly"))


def games_events() -> tuple[Event, ...]:
    *_, last = games.play("tubbypoly", 2, 0, 1, 0)
    return (*last.events, PositionSet(last.state))
