from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

import grpc
import pytest

from omnipoly.rules import actions as act
from omnipoly.runtime.failures import Failure
from omnipoly.wire.gen.game.v1 import view_pb2
from omnipoly.wire.gen.gateway.v1 import dev_pb2, play_pb2
from tests.services.gateway.calling import Client, Playing, Stack, game, unique_id
from tests.services.waiting import eventually


@pytest.fixture
async def slow_client(running: Stack, unique: str) -> AsyncIterator[Client]:
    """Somebody signed in whose streams are read slowly, if at all."""
    async with running.client(f"oidc:slow-{unique}", guest=False, slow=True) as client:
        yield client


async def set_up(client: Client, table: str, view: view_pb2.TableView) -> None:
    """A commit of a kilobyte: a position."""
    await client.call("Dev/SetUp", dev_pb2.SetUpRequest(table=table, command_id=unique_id(), view=view))


async def flooded(running: Stack, stream: Playing, served: Any) -> Failure:
    """How a stream ends whose client asks and asks, and reads no answers. served: the gateway's end of it."""
    ask = play_pb2.PlayRequest(unfollow=play_pb2.Unfollow(table="x" * 36)).SerializeToString()

    async def flood() -> None:
        # Fails, or returns, once the call has ended; cancelled, it would cancel the call.
        with contextlib.suppress(grpc.aio.AioRpcError, asyncio.InvalidStateError):
            while served in running.hub.streams:
                await stream.raw.write(ask)

    flooding = asyncio.create_task(flood())
    await eventually(lambda: served not in running.hub.streams)
    failure = await stream.ended()
    assert failure is not None
    await flooding
    return failure


async def test_a_slow_reader_gets_a_snapshot_in_place_of_what_it_missed(
    running: Stack, ann: Client, bob: Client, slow_client: Client
) -> None:
    table = await game(ann, bob, dev=True)
    slow, quick = slow_client.watch(table), ann.play()
    await slow.next("progress")
    await quick.follow(table)
    await quick.next("progress")
    room = running.hub.rooms.find(table)
    view, last = await ann.view(table), 3
    while all(follower.live for follower in room.followers):
        # The quick one gets every commit, in order, while the slow one does not read.
        last += 1
        await set_up(ann, table, view)
        assert (await quick.next("commit")).version == last
    # The slow one gets what was on its way, then a snapshot, then all from there on.
    seen = 3
    while (message := await slow.read()).WhichOneof("response") == "commit":
        assert message.commit.version == seen + 1
        seen = message.commit.version
    assert seen < last
    assert message.snapshot.view.version == last
    assert (await slow.next("progress")).resume == message.snapshot.resume
    await ann.act(table, act.Roll())
    assert (await slow.next()).version == last + 1


async def test_a_reader_too_slow_for_its_own_answers_loses_its_stream(running: Stack, slow_client: Client) -> None:
    stream = slow_client.play()
    await stream.send(unfollow=play_pb2.Unfollow(table="nothing"))
    await stream.next("left")
    (served,) = [each for each in running.hub.streams if each.kind == "play" and each.caller.name.startswith("Slow")]
    failure = await flooded(running, stream, served)
    assert failure.status is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert failure.reason == "rate_limited"
    assert failure.retry_after_s
