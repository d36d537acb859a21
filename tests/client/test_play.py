"""Playing over the wire: replicas that are the server's state to the byte, streams that break, commands done once."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator
from typing import TypeVar

import pytest

from omnipoly.client import Client, Refused
from omnipoly.client.happenings import CaughtUp, Happened, Happening, Pictured, Prompted
from omnipoly.editions import loader
from omnipoly.rules import actions as act
from omnipoly.rules.codes import Code
from omnipoly.rules.state import Phase
from omnipoly.wire import views
from tests.client.playing import Player, reached, seated, step

T = TypeVar("T")


async def same_as_the_server(player: Player) -> None:
    """A replica is the picture that the server gives, to the byte."""
    replica = player.replica
    view = await player.session.lobby.view(replica.table)
    assert (view.version, view.epoch) == (replica.version, replica.epoch)
    assert views.encode(view.state, 0, 0) == views.encode(replica.state, 0, 0)
    assert view.state == replica.state


@pytest.mark.parametrize("edition", loader.shipped())
async def test_a_game_of_persons_is_played_on_replicas(client: Client, edition: str) -> None:
    async with seated(client, edition, ["Ann", "Bob", "Cid"]) as players:
        table = players[0].replica.table
        answer = await players[0].play.act(table, act.Start())
        for player in players:
            await reached(player, answer.version)
        while await step(players):
            pass
        assert players[0].replica.state.phase is Phase.OVER
        for player in players:
            await same_as_the_server(player)


async def test_streams_that_break_all_the_time_lose_and_repeat_nothing(client: Client) -> None:
    async with seated(client, "tubbypoly", ["Ann", "Bob"]) as players:
        heard: list[int] = []

        async def listen() -> None:
            async for happening in players[1].play:
                if isinstance(happening, Pictured):
                    heard.append(-happening.replica.version)
                elif isinstance(happening, Happened):
                    heard.append(happening.commit.version)

        listening = asyncio.create_task(listen())
        answer = await players[0].play.act(players[0].replica.table, act.Start())
        for player in players:
            await reached(player, answer.version)
        steps = 0
        while await step(players) and steps < 40:
            steps += 1
            for player in players:
                player.play.drop()
        for player in players:
            await reached(player, players[0].replica.version)
            await same_as_the_server(player)
            assert player.play.streams > 10
        listening.cancel()
        assert heard[0] > 0
        for before, after in itertools.pairwise(heard):
            # a commit is the next one; a picture stands for those it skips
            assert after == abs(before) + 1 or -after >= abs(before), heard
        assert sum(version > 0 for version in heard) > len(heard) // 2


async def test_a_command_whose_stream_breaks_under_it_is_done_once(client: Client) -> None:
    session = await client.sign_in_guest("Ann")
    table = await session.lobby.create("tubbypoly")
    async with session.play() as play:
        replica = await play.follow(table)
        for number in range(5):
            adding = asyncio.create_task(play.act(table, act.AddBot(f"Bot {number}")))
            await asyncio.sleep(0)  # it is on its way
            play.drop()
            await adding
        assert replica.state.name == ["Ann", "Bot 0", "Bot 1", "Bot 2", "Bot 3", "Bot 4"]


async def test_the_same_command_on_two_connections_is_done_once(client: Client) -> None:
    session = await client.sign_in_guest("Ann")
    table = await session.lobby.create("tubbypoly")
    async with session.play() as one, session.play() as two:
        await one.follow(table)
        answers = await asyncio.gather(
            one.act(table, act.AddBot("Clank"), command_id="c"), two.act(table, act.AddBot("Clank"), command_id="c")
        )
        assert sorted(answer.duplicate for answer in answers) == [False, True]
        assert answers[0].version == answers[1].version
        assert one.replicas[table].state.name == ["Ann", "Clank"]


async def test_a_refusal_ends_nothing(client: Client) -> None:
    async with seated(client, "tubbypoly", ["Ann", "Bob"]) as players:
        ann, bob = players
        table = ann.replica.table
        with pytest.raises(Refused) as refused:
            await bob.play.act(table, act.Start(), command_id="bobs")
        assert refused.value.known is Code.NOT_HOST
        assert refused.value.sentence == "Only the host may do that."
        assert refused.value.command_id == "bobs"
        with pytest.raises(Refused) as refused:
            await ann.play.act(table, act.Roll())
        assert refused.value.known is Code.WRONG_PHASE
        with pytest.raises(Refused) as refused:
            await ann.play.act(table, act.AddBot(), if_version=1)
        assert refused.value.known is Code.STALE_VERSION
        await ann.play.act(table, act.AddBot())
        assert bob.play.streams == ann.play.streams == 1


async def test_an_unknown_table_cannot_be_followed(client: Client) -> None:
    session = await client.sign_in_guest("Ann")
    async with session.play() as play:
        with pytest.raises(Refused) as refused:
            await play.follow("nosuchtable")
        assert refused.value.known is Code.UNKNOWN_TABLE
        assert not play.replicas
        with pytest.raises(Refused):
            await play.legal("nosuchtable")


async def test_prompts_come_with_what_may_be_done_and_go_when_it_is_done(client: Client) -> None:
    async with seated(client, "rugpull", ["Ann", "Bob"]) as players:
        ann, bob = players
        table = ann.replica.table
        feed = aiter(ann.play)
        answer = await ann.play.act(table, act.Start())
        prompted = await _next(feed, Prompted)
        assert prompted.prompt.seat == 0
        assert [legal.do for legal in prompted.actions] == ["roll"]
        assert ann.replica.prompt == (prompted.prompt, prompted.actions)
        assert 55 < (ann.replica.left_s(0) or 0) <= 60
        await reached(bob, answer.version)
        assert bob.replica.prompt is None
        prompt, listed = await ann.play.legal(table)
        assert prompt.prompt == prompted.prompt.prompt
        assert {"roll", "leave", "propose_end"} <= {legal.do for legal in listed}
        await ann.play.act(table, act.Roll(), prompt=prompt.prompt)
        kept = ann.replica.prompt
        assert kept is None or kept[0].prompt > prompt.prompt
        with pytest.raises(Refused) as refused:
            await ann.play.act(table, act.Roll(), prompt=prompt.prompt)
        assert refused.value.known is Code.STALE_PROMPT


async def test_several_tables_on_one_stream(client: Client) -> None:
    session = await client.sign_in_guest("Ann")
    tables = [await session.lobby.create("laspoly") for _ in range(3)]
    async with session.play() as play:
        replicas = [await play.follow(table) for table in tables]
        for table in tables:
            await play.act(table, act.AddBot())
        assert [replica.state.seats for replica in replicas] == [2, 2, 2]
        await play.unfollow(tables[0])
        await play.act(tables[0], act.AddBot())
        assert replicas[0].state.seats == 2
        assert set(play.replicas) == set(tables[1:])
        again = await play.follow(tables[0])
        assert again.state.seats == 3
        assert play.streams == 1


async def test_every_reader_hears_everything_and_ends_with_the_connection(client: Client) -> None:
    session = await client.sign_in_guest("Ann")
    table = await session.lobby.create("laspoly")
    async with session.play(tell=True) as play:
        feeds = [aiter(play), aiter(play)]
        await play.follow(table)
        await play.act(table, act.AddBot("Clank"))
    for feed in feeds:
        heard = [happening async for happening in feed]
        assert [type(happening) for happening in heard[:2]] == [Pictured, CaughtUp]
        happened = [happening for happening in heard if isinstance(happening, Happened)]
        assert [line.text for line in happened[-1].lines] == ["Clank sits down (a bot)."]
    late = aiter(play)
    assert [happening async for happening in late] == []
    with pytest.raises(Refused):
        await play.act(table, act.AddBot())


async def test_who_may_not_connect_is_told(client: Client) -> None:
    async with client.with_token("nobody").play() as play:
        feed = aiter(play)
        with pytest.raises(Refused) as refused:
            await play.follow("t")
        assert refused.value.known is Code.SIGN_IN_REQUIRED
        with pytest.raises(Refused):
            await anext(feed)


async def _next(feed: AsyncIterator[Happening], kind: type[T]) -> T:
    async with asyncio.timeout(20):
        async for happening in feed:
            if isinstance(happening, kind):
                return happening
    raise AssertionError("the feed ended")
