from __future__ import annotations

import contextlib

import grpc

from omnipoly.rules import actions as act
from omnipoly.wire.gen.gateway.v1 import stream_pb2
from tests.services.gateway.calling import Client, Stack, game, gateway


async def test_streams_are_sent_elsewhere_with_all_their_answers(
    running: Stack, nats_url: str, ann: Client, bob: Client, unique: str
) -> None:
    table = await game(ann, bob)
    async with contextlib.AsyncExitStack() as exits:
        stack = await exits.enter_async_context(gateway(running.table, nats_url, reconnect_within_s=20))
        mine = await exits.enter_async_context(stack.client(f"guest:ann-{unique}"))
        viewer = await exits.enter_async_context(stack.client("oidc:vic", guest=False))
        playing, watching = mine.play(), viewer.watch(table)
        await playing.follow(table)
        await playing.next("progress")
        await watching.next("progress")
        command_id = await playing.send_act(table, act.Roll())
        await watching.next("commit")
        await stack.service.drain()
        for stream in (playing, watching):
            reconnect = await stream.next("reconnect")
            assert reconnect.reason == stream_pb2.Reconnect.REASON_DRAINING
            assert 0 <= reconnect.after.ToMilliseconds() <= 20_000
        # Whatever was under way is answered, then the streams end as they should.
        assert await playing.ended() is None
        assert await watching.ended() is None
        assert not stack.hub.streams
        # Nobody new is let in meanwhile.
        failure = await mine.play().ended()
        assert failure is not None
        assert failure.status is grpc.StatusCode.UNAVAILABLE
        assert failure.retry_after_s
        # Elsewhere it goes on where it was.
        again = ann.play()
        await again.follow(table, stream_pb2.Resume(epoch=1, version=4))
        assert (await again.act(table, act.Roll(), command_id=command_id)).version == 4


async def test_a_stopping_gateway_ends_in_order(
    running: Stack, nats_url: str, ann: Client, bob: Client, unique: str
) -> None:
    table = await game(ann, bob)
    async with contextlib.AsyncExitStack() as exits:
        stack = await exits.enter_async_context(gateway(running.table, nats_url))
        mine = stack.client(f"guest:ann-{unique}")
        stream = mine.play()
        await stream.follow(table)
        await stream.next("progress")
        await exits.aclose()
        assert (await stream.next("reconnect")).after.ToMilliseconds() == 0
        assert await stream.ended() is None
        await mine.channel.close(None)
