"""Watching over the wire."""

from __future__ import annotations

import pytest

from omnipoly.client import Client, Refused
from omnipoly.client.happenings import Happened, Pictured
from omnipoly.rules import actions as act
from omnipoly.rules.codes import Code
from omnipoly.wire import views
from omnipolyd.gateway.tokens import issue
from tests.services.bots.stack import KEY


def viewer(name: str) -> str:
    return issue(KEY.get_secret_value(), f"oidc:{name}", name, lifetime_s=600)


async def test_a_viewer_sees_what_happens_through_broken_streams(client: Client) -> None:
    ann = await client.sign_in_guest("Ann")
    table = await ann.lobby.create("laspoly")
    vic = client.with_token(viewer("Vic"))
    async with vic.watch(table, tell=True) as watch:
        feed = aiter(watch)
        replica = await watch.replica()
        told = []
        for number in range(4):
            await ann.lobby.add_bot(table, f"Bot {number}")
            watch.drop()
        async for happening in feed:
            if isinstance(happening, Happened):
                told += [line.text for line in happening.lines]
            if len(told) == 4:
                break
        assert told == [f"Bot {number} sits down (a bot)." for number in range(4)]
        view = await ann.lobby.view(table)
        assert views.encode(view.state, 0, 0) == views.encode(replica.state, 0, 0)
    heard = [happening async for happening in feed]
    assert not any(isinstance(happening, Pictured) for happening in heard)


async def test_a_guest_does_not_watch(client: Client) -> None:
    ann, bob = await client.sign_in_guest("Ann"), await client.sign_in_guest("Bob")
    table = await ann.lobby.create("laspoly")
    async with bob.watch(table) as watch:
        feed = aiter(watch)
        with pytest.raises(Refused) as refused:
            await watch.replica()
        assert refused.value.known is Code.SIGN_IN_REQUIRED
        with pytest.raises(Refused):
            await anext(feed)


async def test_an_unknown_table_is_not_watched(client: Client) -> None:
    async with client.with_token(viewer("Vic")).watch("nosuchtable") as watch:
        with pytest.raises(Refused) as refused:
            await watch.replica()
        assert refused.value.known is Code.UNKNOWN_TABLE


async def test_the_record_of_the_server_is_that_of_the_follower(client: Client) -> None:
    ann = await client.sign_in_guest("Ann")
    table = await ann.lobby.create("laspoly")
    async with ann.play(tell=True) as play:
        feed = aiter(play)
        await play.follow(table)
        for name in ("One", "Two", "Three"):
            await play.act(table, act.AddBot(name))
        await play.act(table, act.Start())
    heard = [line async for happening in feed if isinstance(happening, Happened) for line in happening.lines]
    recorded = [line async for line in ann.games.record(table)]
    assert [(line.kind, line.text) for line in recorded[-len(heard) :]] == [(line.kind, line.text) for line in heard]
    history = [commit async for commit in ann.games.history(table)]
    assert [commit.version for commit in history] == list(range(1, len(history) + 1))
