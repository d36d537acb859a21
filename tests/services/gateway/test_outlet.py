"""What may wait for a slow stream, in bytes: tables fall behind, and a client too slow for its own answers is cut."""

from __future__ import annotations

import asyncio
import random
from typing import Any

import grpc
import pytest
from prometheus_client import Counter

from omnipoly.runtime.failures import Failure
from omnipoly.runtime.server import MAX_ANSWER_BYTES
from omnipoly.wire.gen.gateway.v1 import play_pb2
from omnipolyd.gateway import frames, limits
from omnipolyd.gateway.callers import Caller
from omnipolyd.gateway.outlet import Follower, Outlet
from omnipolyd.gateway.tokens import Claims
from tests.services.gateway.calling import Client, Stack, game
from tests.services.gateway.test_slow import flooded, set_up

LARGE = limits.QUEUE_BYTES // 4
SENT = Counter("tests_outlet_sent", "Messages of these tests.", registry=None)


class Room:
    """As much of a room as an outlet asks of one."""

    def drop(self, follower: Follower) -> None:
        follower.live = False


def follower(outlet: Outlet) -> Follower:
    room: Any = Room()
    caller = Caller(Claims("ann", "Ann", False, (), 2e9))
    return Follower(room, outlet, caller, plays=True, gone=lambda _: None)


def message(size: int) -> bytes:
    """Some message of that size, which is no line of the chat."""
    return frames.varint(frames.COMMIT << 3 | 2) + bytes(size - 1)


async def test_a_table_falls_behind_by_what_waits_in_bytes() -> None:
    outlet = Outlet()
    one, other = follower(outlet), follower(outlet)
    for _ in range(4):
        outlet.push(one, message(LARGE))
    assert not outlet.behind
    outlet.push(other, message(1))
    assert list(outlet.behind) == [other]
    assert outlet.bytes == 4 * LARGE == limits.QUEUE_BYTES
    outlet.push(one, message(1))
    assert list(outlet.behind) == [other, one]
    assert (outlet.bytes, len(outlet.queue)) == (0, 0)


async def test_the_largest_picture_goes_out_with_what_came_after_it() -> None:
    outlet = Outlet()
    one = follower(outlet)
    outlet.push(one, message(MAX_ANSWER_BYTES))
    for _ in range(200):
        outlet.push(one, message(10_000))
    assert not outlet.behind
    # And whatever there is, alone.
    outlet = Outlet()
    one = follower(outlet)
    outlet.push(one, message(limits.QUEUE_BYTES + 1))
    assert not outlet.behind


async def test_answers_come_before_what_tables_show_and_end_the_stream_when_they_weigh_too_much() -> None:
    outlet = Outlet()
    one = follower(outlet)
    outlet.push(one, message(3 * LARGE))
    outlet.answer(message(LARGE))
    assert not outlet.behind
    outlet.hold(one, 7, message(LARGE))
    assert list(outlet.behind) == [one]  # dropped, so that there is room for it
    assert (outlet.bytes, outlet.held_bytes) == (LARGE, LARGE)
    outlet.answer(message(2 * LARGE))
    assert not outlet.ended.done()
    outlet.answer(message(1))
    with pytest.raises(Failure) as caught:
        outlet.ended.result()
    assert (caught.value.status, caught.value.reason) == (grpc.StatusCode.RESOURCE_EXHAUSTED, "rate_limited")


async def test_the_platforms_bots_have_more() -> None:
    outlet = Outlet(bots=True)
    one = follower(outlet)
    for _ in range(100):
        outlet.push(one, message(LARGE))
    assert not outlet.behind


async def test_the_sum_is_that_of_what_waits(request: pytest.FixtureRequest) -> None:
    """Whatever is sent, held, released, dropped and written, in whatever order."""
    rng = random.Random(int(request.config.getoption("hypothesis_seed")))
    outlet = Outlet()
    outlet.limit, outlet.most_bytes = 30, 10_000
    some = [follower(outlet) for _ in range(4)]

    async def write(_: bytes) -> None:
        check()
        await asyncio.sleep(0)
        if rng.random() < 0.2:
            do()

    def check() -> None:
        assert outlet.bytes == sum(len(data) for _, data in outlet.queue)
        assert outlet.held_bytes == sum(len(data) for one in some for _, data in one.held)
        assert outlet.held == sum(len(one.held) for one in some)
        assert outlet.bytes <= outlet.most_bytes
        assert outlet.bytes + outlet.held_bytes <= 2 * outlet.most_bytes

    def do() -> None:
        one, data = rng.choice(some), message(rng.randrange(2, 900))
        match rng.randrange(6):
            case 0 | 1:
                outlet.push(one, data)
            case 2:
                outlet.answer(data)
            case 3:
                outlet.hold(one, rng.randrange(9), data)
            case 4:
                outlet.release(one, rng.randrange(9))
            case _:
                outlet.forget(one)

    writing = asyncio.create_task(outlet.write_all(write, SENT))
    for number in range(4000):
        do()
        check()
        if number % 50 == 0:
            await asyncio.sleep(0)
        if outlet.ended.done():
            outlet.ended.exception()
            outlet.ended = asyncio.get_running_loop().create_future()
    outlet.close()
    await writing
    assert outlet.bytes == 0


# --- over a socket


@pytest.fixture
def few_bytes(monkeypatch: pytest.MonkeyPatch) -> int:
    """Streams that begin now are bounded by bytes long before they are by messages."""
    monkeypatch.setattr(limits, "QUEUE", 1_000_000)
    monkeypatch.setattr(limits, "QUEUE_BYTES", 50_000)
    return 50_000


async def test_a_slow_reader_gets_a_snapshot_once_too_many_bytes_wait(
    running: Stack, ann: Client, bob: Client, unique: str, few_bytes: int
) -> None:
    async with running.client(f"oidc:slow-{unique}", guest=False, slow=True) as client:
        table = await game(ann, bob, dev=True)
        slow = client.watch(table)
        await slow.next("progress")
        (follower,) = running.hub.rooms.find(table).followers
        view, last = await ann.view(table), 3
        most = 0
        while follower.live:
            last += 1
            await set_up(ann, table, view)
            most = max(most, follower.outlet.bytes)
        assert few_bytes / 2 < most <= few_bytes
        while (message := await slow.read()).WhichOneof("response") == "commit":
            assert message.commit.version <= last
        assert message.snapshot.view.version == last
        assert (await slow.next("progress")).resume == message.snapshot.resume


async def test_a_reader_too_slow_for_answers_of_too_many_bytes_loses_its_stream(
    running: Stack, ann: Client, bob: Client, unique: str, few_bytes: int
) -> None:
    async with running.client(f"oidc:heavy-{unique}", guest=False, slow=True) as client:
        stream = client.play()
        await stream.send(unfollow=play_pb2.Unfollow(table="nothing"))
        await stream.next("left")
        (served,) = [one for one in running.hub.streams if one.caller.person == f"oidc:heavy-{unique}"]
        failure = await flooded(running, stream, served)
        assert (failure.status, failure.reason) == (grpc.StatusCode.RESOURCE_EXHAUSTED, "rate_limited")
