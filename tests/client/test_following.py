"""What a follower makes of messages: repeats, gaps, another epoch, kinds of a newer server."""

from __future__ import annotations

import pytest

from omnipoly.client.following import Following, Refollow, table_of
from omnipoly.client.happenings import CaughtUp, Happened, Pictured, Said
from omnipoly.rules import engine
from omnipoly.rules.ring import Game
from omnipoly.rules.state import State
from omnipoly.wire import commits, views
from omnipoly.wire.gen.game.v1 import commit_pb2, events_pb2
from omnipoly.wire.gen.gateway.v1 import play_pb2, stream_pb2
from omnipoly.wire.malformed import Malformed
from tests.client.games import Log, played


def at(log: Log, version: int) -> State:
    """The state of a log at a version."""
    state = engine.blank(log.game.first)
    for commit in log.commits[:version]:
        engine.enter(state, commit.at_ms, commit.actor)
        for event in commit.events:
            event.apply(state)
    return state


def snapshot(log: Log, version: int, *, epoch: int = 1, chat: int = 0) -> play_pb2.PlayResponse:
    view = views.to_view(at(log, version), version, epoch)
    view.table = "t"
    return play_pb2.PlayResponse(
        snapshot=stream_pb2.Snapshot(view=view, resume=stream_pb2.Resume(epoch=epoch, version=version, chat=chat))
    )


def commit_message(log: Log, version: int, *, epoch: int = 1) -> commit_pb2.Commit:
    kept = log.commits[version - 1]
    data = commits.encode("t", version, epoch, kept.at_ms, kept.events, actor=kept.actor)
    return commit_pb2.Commit.FromString(data)


def commit(log: Log, version: int, *, epoch: int = 1) -> play_pb2.PlayResponse:
    return play_pb2.PlayResponse(commit=commit_message(log, version, epoch=epoch))


def progress(version: int) -> play_pb2.PlayResponse:
    return play_pb2.PlayResponse(progress=stream_pb2.Progress(table="t", version=version))


async def following(log: Log, version: int = 10, *, tell: bool = False) -> Following:
    """One that has a picture and is up to date."""

    async def game_of(edition: str, digest: str) -> Game:
        assert digest == log.game.edition.digest
        return log.game

    made = Following("t", "", tell=tell, game_of=game_of)
    assert isinstance(await made.take(snapshot(log, version)), Pictured)
    assert not made.ready.done()
    assert isinstance(await made.take(progress(version)), CaughtUp)
    assert await made.ready is made.replica
    return made


async def test_commits_move_the_replica_on_to_the_end() -> None:
    log = played("tubbypoly")
    follower = await following(log, tell=True)
    lines = 0
    for version in range(11, len(log.commits) + 1):
        happening = await follower.take(commit(log, version))
        assert isinstance(happening, Happened)
        lines += len(happening.lines)
    assert follower.replica is not None
    assert follower.replica.state == log.state
    assert lines > 100
    assert follower.resume == stream_pb2.Resume(epoch=1, version=len(log.commits))


async def test_what_is_known_already_is_passed_over() -> None:
    log = played("tubbypoly")
    follower = await following(log)
    assert await follower.take(commit(log, 10)) is None
    assert await follower.take(commit(log, 3)) is None
    assert isinstance(await follower.take(commit(log, 11)), Happened)
    assert await follower.take(commit(log, 11)) is None


async def test_before_the_first_picture_nothing_counts() -> None:
    log = played("tubbypoly")
    follower = Following("t", "", tell=False, game_of=None)  # type: ignore[arg-type]
    assert await follower.take(commit(log, 1)) is None
    assert await follower.take(progress(1)) is None
    assert follower.resume is None


async def test_a_gap_is_followed_anew_from_a_picture() -> None:
    log = played("tubbypoly")
    follower = await following(log)
    with pytest.raises(Refollow):
        await follower.take(commit(log, 13))
    assert follower.resume is None
    assert await follower.take(commit(log, 11)) is None, "only a picture counts now"
    await follower.take(snapshot(log, 20))
    assert isinstance(await follower.take(commit(log, 21)), Happened)


async def test_another_epoch_is_followed_anew_from_a_picture() -> None:
    log = played("tubbypoly")
    follower = await following(log)
    with pytest.raises(Refollow):
        await follower.take(commit(log, 11, epoch=2))
    assert follower.resume is None
    await follower.take(snapshot(log, 8, epoch=2))
    assert follower.resume == stream_pb2.Resume(epoch=2, version=8)
    assert isinstance(await follower.take(commit(log, 9, epoch=2)), Happened)


async def test_a_lost_last_commit_is_asked_for_from_where_one_stands() -> None:
    log = played("tubbypoly")
    follower = await following(log)
    with pytest.raises(Refollow):
        await follower.take(progress(12))
    assert follower.resume == stream_pb2.Resume(epoch=1, version=10)


async def test_an_unknown_event_that_may_be_passed_over_is() -> None:
    log = played("tubbypoly")
    follower = await following(log)
    message = commit_message(log, 11)
    message.events.append(unknown(must_understand=False))
    happening = await follower.take(play_pb2.PlayResponse(commit=message))
    assert isinstance(happening, Happened)
    assert happening.commit.events == log.commits[10].events


async def test_an_unknown_event_that_must_be_understood_takes_a_picture() -> None:
    log = played("tubbypoly")
    follower = await following(log)
    message = commit_message(log, 11)
    message.events.append(unknown(must_understand=True))
    with pytest.raises(Refollow):
        await follower.take(play_pb2.PlayResponse(commit=message))
    assert follower.resume is None
    assert isinstance(await follower.take(snapshot(log, 11)), Pictured)


def unknown(*, must_understand: bool) -> events_pb2.Event:
    """An event of a kind that does not exist yet: field 1000, empty."""
    data = events_pb2.Event(must_understand=must_understand).SerializeToString() + b"\xc2\x3e\x00"
    event = events_pb2.Event.FromString(data)
    assert event.WhichOneof("kind") is None
    return event


async def test_an_event_that_does_not_fit_takes_a_picture() -> None:
    log = played("tubbypoly")
    follower = await following(log)
    message = commit_message(log, 11)
    message.events.add().released.seat = 40
    with pytest.raises(Refollow):
        await follower.take(play_pb2.PlayResponse(commit=message))


async def test_a_picture_that_cannot_be_is_the_end() -> None:
    log = played("tubbypoly")
    follower = await following(log)
    broken = snapshot(log, 12)
    broken.snapshot.view.seats.add()
    with pytest.raises(Malformed):
        await follower.take(broken)


async def test_a_message_of_a_kind_that_is_not_known_is_passed_over() -> None:
    log = played("tubbypoly")
    follower = await following(log)
    assert await follower.take(play_pb2.PlayResponse()) is None
    assert table_of(play_pb2.PlayResponse()) == ""


async def test_lines_of_the_chat_come_once_and_are_resumed_from() -> None:
    log = played("tubbypoly")
    follower = await following(log)
    line = play_pb2.PlayResponse()
    line.chat.table, line.chat.number, line.chat.text, line.chat.seat = "t", 7, "hello", -1
    said = await follower.take(line)
    assert isinstance(said, Said)
    assert (said.number, said.text, said.seat) == (7, "hello", -1)
    assert await follower.take(line) is None
    assert follower.resume == stream_pb2.Resume(epoch=1, version=10, chat=7)
    await follower.take(snapshot(log, 11, chat=9))
    assert follower.resume == stream_pb2.Resume(epoch=1, version=11, chat=9)


async def test_the_clock_is_the_servers() -> None:
    log = played("tubbypoly")
    follower = await following(log)
    replica = follower.replica
    assert replica is not None
    ahead = progress(10)
    ahead.progress.server_time.FromMilliseconds(4_000_000_000_000)
    await follower.take(ahead)
    assert abs(replica.now_ms() - 4_000_000_000_000) < 5_000
    seat = replica.state.prompt.index(max(replica.state.prompt))
    replica.state.deadline_ms[seat] = 4_000_000_030_000
    assert 25 < (replica.left_s(seat) or 0) <= 30
    replica.state.paused_ms = 4_000_000_010_000
    assert replica.left_s(seat) == 20
    assert replica.left_s(-1) is None
