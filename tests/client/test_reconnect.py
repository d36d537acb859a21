"""Gateways that stop, are gone for a while, and start again: nobody loses anything, nothing is done twice."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import pytest

from omnipoly.client import Client, Refused, stream
from omnipoly.client.happenings import CaughtUp, Happened, Happening, Pictured
from omnipoly.rules import actions as act
from omnipoly.rules.codes import Code
from omnipoly.runtime.app import running
from tests.services.bots.stack import Stack, gateway_of


async def test_a_gateway_that_is_gone_for_a_while(platform: Stack) -> None:
    async with AsyncExitStack() as up:
        gateways = AsyncExitStack()
        first = await gateways.enter_async_context(running(gateway_of(platform.table, **platform.settings)))
        client = await up.enter_async_context(await Client.connect(first.address))
        session = await client.sign_in_guest("Ann")
        table = await session.lobby.create("tubbypoly")
        play = await up.enter_async_context(session.play())
        feed = aiter(play)
        replica = await play.follow(table)
        await play.act(table, act.AddBot("One"))

        await gateways.aclose()
        # Asked for while nobody is there; meanwhile somebody else changes the table.
        adding = asyncio.create_task(play.act(table, act.AddBot("Three"), timeout_s=60))
        async with await Client.connect(platform.gateway.address) as elsewhere:
            other = elsewhere.with_token(session.calls.tokens.session.access_token)
            await other.lobby.add_bot(table, "Two")
        settings = {**platform.settings, "port": first.port}
        await up.enter_async_context(running(gateway_of(platform.table, **settings)))
        answer = await adding
        assert not answer.duplicate
        assert replica.state.name == ["Ann", "One", "Two", "Three"]
        await play.act(table, act.Contribute("still here"))
        assert play.streams > 1
        await play.close()
        heard = [happening async for happening in feed]
        assert [type(happening) for happening in heard[:2]] == [Pictured, CaughtUp]
        versions = [happening.commit.version for happening in heard if isinstance(happening, Happened)]
        assert versions == list(range(2, 2 + len(versions)))
        assert not any(isinstance(happening, Pictured) for happening in heard[1:])


async def test_nobody_comes_back(platform: Stack) -> None:
    async with AsyncExitStack() as up:
        gateways = AsyncExitStack()
        first = await gateways.enter_async_context(running(gateway_of(platform.table, **platform.settings)))
        client = await up.enter_async_context(await Client.connect(first.address))
        session = await client.sign_in_guest("Ann")
        table = await session.lobby.create("tubbypoly")
        play = await up.enter_async_context(session.play())
        await play.follow(table)
        await gateways.aclose()
        with pytest.raises(Refused) as refused:
            await play.act(table, act.AddBot(), command_id="lost", timeout_s=0.5)
        assert refused.value.known is Code.UNAVAILABLE
        assert refused.value.passing
        assert refused.value.command_id == "lost"
        with pytest.raises(Refused) as refused:
            await play.follow("other", timeout_s=0.3)
        assert refused.value.passing


async def test_a_session_that_has_ended_ends_the_connection(client: Client) -> None:
    session = await client.sign_in_guest("Ann")
    table = await session.lobby.create("tubbypoly")
    async with session.play() as play:
        feed = aiter(play)
        await play.follow(table)
        assert await session.revoke() == 1
        with pytest.raises(Refused) as refused:
            await _drained(feed)
        assert refused.value.known is Code.SIGN_IN_REQUIRED


async def _drained(feed: AsyncIterator[Happening]) -> None:
    async with asyncio.timeout(20):
        async for _ in feed:
            pass


async def test_tokens_of_ones_own_making_are_renewed(platform: Stack) -> None:
    """As the platform's services do: a stream that ends with its token goes on with the next."""
    from omnipoly.wire.gen.gateway.v1 import sessions_pb2
    from omnipolyd.gateway.tokens import issue
    from tests.services.bots.stack import KEY

    made = 0

    def make() -> sessions_pb2.Session:
        nonlocal made
        made += 1
        lives_s = 1.5 if made == 1 else 3600
        token = issue(KEY.get_secret_value(), "oidc:ann", "Ann", lifetime_s=lives_s)
        return sessions_pb2.Session(access_token=token, person="oidc:ann", name="Ann")

    async with await Client.connect(platform.gateway.address) as client:
        session = client.with_tokens(make)
        table = await session.lobby.create("tubbypoly")
        async with session.play() as play:
            feed = aiter(play)
            replica = await play.follow(table)
            async with asyncio.timeout(20):
                async for happening in feed:
                    if isinstance(happening, CaughtUp) and play.streams > 1:
                        break
            await play.act(table, act.AddBot())
            assert replica.state.seats == 2
            assert made == 2


async def test_a_call_that_is_cancelled_while_it_is_closed_does_not_cancel_who_closes_it() -> None:
    """As a stream does that is renewed just then; where it is the closing itself that is to end, it ends."""
    begun = asyncio.Event()

    class Cancelled:
        async def done_writing(self) -> None:
            raise asyncio.CancelledError

    class Slow:
        async def done_writing(self) -> None:
            begun.set()
            await asyncio.Event().wait()

    reader = asyncio.create_task(asyncio.Event().wait())
    await stream._leave(Cancelled(), reader)
    closing = asyncio.create_task(stream._leave(Slow(), reader))
    await begun.wait()
    closing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await closing
    reader.cancel()
