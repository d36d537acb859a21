"""Messages put together by hand: what any reader of protobuf makes of them."""

from __future__ import annotations

from collections import deque

from hypothesis import given
from hypothesis import strategies as some

from omnipoly.wire.gen.gateway.v1 import play_pb2, stream_pb2
from omnipolyd.gateway import frames
from tests.load.along import each


def progress(version: int, table: str = "t") -> bytes:
    message = play_pb2.PlayResponse(progress=stream_pb2.Progress(table=table, version=version))
    return message.SerializeToString()


@given(some.lists(some.integers(0, 2**40), min_size=1, max_size=200), some.integers(0, 30_000))
def test_all_that_waits_comes_once_and_in_order(versions: list[int], long: int) -> None:
    waiting = deque((None, progress(version, "t" * (1 + long))) for version in versions)
    written = []
    while waiting:
        before = sum(len(one) for _, one in waiting)
        data, count, weight = frames.together(waiting.popleft()[1], waiting)
        assert weight == before - sum(len(one) for _, one in waiting)
        assert 1 <= count <= frames.ALONG_MESSAGES
        assert count == 1 or len(data) < frames.ALONG_BYTES + 4 * count
        written.append((data, count))
    read = [play_pb2.PlayResponse.FromString(data) for data, _ in written]
    taken = [one for message in read for one in (message, *message.along)]
    assert [one.progress.version for one in taken] == versions
    assert not any(one.along for message in read for one in message.along)
    assert [1 + len(message.along) for message in read] == [count for _, count in written]
    assert [one for data, _ in written for one in each(data)] == [progress(v, "t" * (1 + long)) for v in versions]


def test_what_is_large_goes_alone() -> None:
    large = progress(2, "t" * 100_000)
    waiting = deque([(None, large), (None, progress(3))])
    assert frames.together(progress(1), waiting) == (progress(1), 1, len(progress(1)))
    assert len(waiting) == 2
    waiting.popleft()
    assert frames.together(large, waiting) == (large, 1, len(large))
