"""Bots at real tables, through a real gateway."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack

import grpc.aio
import pytest
from pydantic import SecretStr

from omnipoly.client import Client, Play, Session, TableReplica, Watch, exports, verify
from omnipoly.client.happenings import Happened
from omnipoly.editions import loader
from omnipoly.rules import actions as act
from omnipoly.rules.state import Phase
from omnipoly.runtime.app import running
from omnipoly.wire.commits import Commit
from omnipoly.wire.gen.bots.v1 import bots_pb2, bots_pb2_grpc
from omnipolyd.bots import ideas
from omnipolyd.gateway import tokens
from tests.services.bots.stack import KEY, Stack, bots, gateway_of, stack
from tests.services.conftest import MakeDatabase
from tests.services.waiting import eventually


@pytest.fixture(scope="module")
async def platform(make_module_database: MakeDatabase, nats_url: str) -> AsyncIterator[Stack]:
    """Table, clock and gateway."""
    url = await make_module_database("omnipolyd.table.migrations")
    async with stack(url, nats_url) as up:
        yield up


@pytest.fixture
async def client(platform: Stack) -> AsyncIterator[Client]:
    async with await Client.connect(platform.gateway.address) as connected:
        yield connected


async def opened(session: Session, edition: str, *, seats: int = 4, rounds: int = 3) -> str:
    """A table of bots, not started."""
    options = act.SetOptions(round_limit=rounds)
    table = await session.lobby.create(edition, options=options, unseated=True)
    for _ in range(seats):
        await session.lobby.add_bot(table)
    return table


def issue(key: SecretStr, person: str, name: str) -> str:
    """A token of somebody signed in."""
    return tokens.issue(key.get_secret_value(), person, name, lifetime_s=600)


async def until(play: Play | Watch, replica: TableReplica, holds: Callable[[TableReplica], bool]) -> None:
    """Until something holds of a replica."""
    feed = aiter(play)
    async with asyncio.timeout(60):
        while not holds(replica):
            await anext(feed)


def over(replica: TableReplica) -> bool:
    return replica.state.phase is Phase.OVER


async def log_of(session: Session, table: str) -> exports.Exported:
    return exports.read(await session.games.export(table))


def commands(log: tuple[Commit, ...]) -> list[tuple[str, str]]:
    return [(commit.actor, commit.command_id) for commit in log if commit.actor.startswith("bot:")]


@pytest.mark.parametrize("edition", loader.shipped())
async def test_four_bots_play_a_game_to_its_end(platform: Stack, client: Client, edition: str) -> None:
    session = await client.sign_in_guest("Host")
    service = bots(platform)
    async with running(service), session.play() as play:
        table = await opened(session, edition)
        replica = await play.follow(table)
        await session.lobby.start(table)
        await until(play, replica, over)
    game, log = (await log_of(session, table))[1:]
    assert verify.check(game, log).holds
    assert service.refused <= service.decisions // 20
    assert not service.tables


async def test_two_replicas_decide_everything_once(platform: Stack, client: Client) -> None:
    session = await client.sign_in_guest("Host")
    one, two = bots(platform), bots(platform)
    async with running(one), running(two), session.play() as play:
        for service in (one, two):
            await eventually(lambda service=service: service._play is not None and service._app.bus.connected)
        table = await opened(session, "tubbypoly", rounds=6)
        replica = await play.follow(table)
        await session.lobby.start(table)
        await until(play, replica, over)
    log = (await log_of(session, table)).log
    assert one.decisions
    assert two.decisions
    names = commands(log)
    assert len(set(names)) == len(names)
    assert not any(commit.actor == "" and commit.events for commit in log[7:-1]), "no clock had to play for a bot"
    for commit in log:
        if ".v" in commit.command_id:
            assert int(commit.command_id.rpartition(".v")[2]) == commit.version - 1, "decided on the version before"


async def test_what_is_heard_between_two_connections_counts(platform: Stack, client: Client) -> None:
    session = await client.sign_in_guest("Host")
    service = bots(platform)
    async with running(service), session.play() as play:
        await eventually(lambda: service._play is not None and service._app.bus.connected)
        connected, service._play = service._play, None
        table = await opened(session, "tubbypoly")
        await eventually(lambda: table in service._hints._seated)
        service._play = connected
        replica = await play.follow(table)
        await session.lobby.start(table)
        await until(play, replica, over)
    assert service.decisions


async def test_a_replica_that_dies_is_followed_by_another(platform: Stack, client: Client) -> None:
    session = await client.sign_in_guest("Host")
    table = await opened(session, "tubbypoly", rounds=6)
    async with session.play() as play:
        replica = await play.follow(table)
        async with running(bots(platform)):
            await session.lobby.start(table)
            await until(play, replica, lambda seen: seen.state.round >= 2)
        assert not over(replica)
        # It is found by looking: what was published before is not heard.
        async with running(bots(platform)):
            await until(play, replica, over)


async def test_a_gateway_that_stops_and_starts_again(platform: Stack, client: Client) -> None:
    session = await client.sign_in_guest("Host")
    table = await opened(session, "tubbypoly", rounds=8)
    async with AsyncExitStack() as up:
        play = await up.enter_async_context(session.play())
        replica = await play.follow(table)
        gateways = AsyncExitStack()
        own = await gateways.enter_async_context(running(gateway_of(platform.table, **platform.settings)))
        service = bots(platform, gateway_addr=own.address)
        await up.enter_async_context(running(service))
        await session.lobby.start(table)
        await until(play, replica, lambda seen: seen.state.round >= 2)
        await gateways.aclose()
        before = replica.version
        assert not over(replica)
        settings = {**platform.settings, "port": own.port}
        await up.enter_async_context(running(gateway_of(platform.table, **settings)))
        await until(play, replica, over)
        assert replica.version > before
    names = commands((await log_of(session, table)).log)
    assert len(set(names)) == len(names)


async def test_tables_are_found_by_looking_where_the_bus_is_silent(platform: Stack, client: Client) -> None:
    session = await client.sign_in_guest("Host")
    settings = {"nats_url": "nats://127.0.0.1:1", "bots_look_every_s": 0.2}
    async with running(bots(platform, **settings)), session.play() as play:
        table = await opened(session, "laspoly")
        replica = await play.follow(table)
        await session.lobby.start(table)
        await until(play, replica, over)


async def test_many_tables_on_one_stream(platform: Stack, client: Client) -> None:
    session = await client.sign_in_guest("Host")
    service = bots(platform)
    async with running(service), session.play() as play:
        tables = [await opened(session, edition, rounds=2) for edition in loader.shipped() * 3]
        replicas = [await play.follow(table) for table in tables]
        await asyncio.gather(*(session.lobby.start(table) for table in tables))
        for replica in replicas:
            await until(play, replica, over)


async def test_bots_stand_still_and_go_on_as_the_operator_says(platform: Stack, client: Client) -> None:
    session = await client.sign_in_guest("Host")
    service = bots(platform)
    async with AsyncExitStack() as up:
        app = await up.enter_async_context(running(service))
        channel = await up.enter_async_context(grpc.aio.insecure_channel(app.address))
        stub = bots_pb2_grpc.BotsServiceStub(channel)
        play = await up.enter_async_context(session.play())
        assert not (await stub.Pause(bots_pb2.PauseRequest(request_id="1"))).already
        assert (await stub.Pause(bots_pb2.PauseRequest(request_id="2"))).already
        tables = sorted([await opened(session, "rugpull", rounds=2), await opened(session, "rugpull", rounds=2)])
        replicas = [await play.follow(table) for table in tables]
        versions = [(await session.lobby.start(table)).version for table in tables]
        await eventually(lambda: len(service.tables) == 2)
        status = await stub.Status(bots_pb2.StatusRequest(page_size=1))
        assert (status.paused, status.tables, status.decisions, status.refused) == (True, 2, 0, 0)
        assert [(one.table, one.version, list(one.seats)) for one in status.page] == [
            (tables[0], versions[0], [0, 1, 2, 3])
        ]
        second = await stub.Status(bots_pb2.StatusRequest(page_size=1, page_token=status.next_page_token))
        assert [one.table for one in second.page] == tables[1:]
        assert not second.next_page_token
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await stub.Status(bots_pb2.StatusRequest(page_size=5000))
        assert refused.value.code() is grpc.StatusCode.INVALID_ARGUMENT
        assert [replica.version for replica in replicas] == versions
        assert not (await stub.Resume(bots_pb2.ResumeRequest(request_id="3"))).already
        for replica in replicas:
            await until(play, replica, over)


async def test_a_bot_plays_on_for_a_person_and_rests_while_the_table_stands_still(
    platform: Stack, client: Client
) -> None:
    """A table of two persons: one goes, the host hands the seat to a bot, then the host goes too, and comes back."""
    ann, bob = await client.sign_in_guest("Ann"), await client.sign_in_guest("Bob")
    service = bots(platform)
    async with AsyncExitStack() as up:
        await up.enter_async_context(running(service))
        table = await ann.lobby.create("rugpull", options=act.SetOptions(round_limit=30))
        await bob.lobby.join(table)
        eye = await up.enter_async_context(client.with_token(issue(KEY, "oidc:eye", "Eye")).watch(table))
        replica = await eye.replica()
        async with bob.play() as bobs:
            await bobs.follow(table)
            await ann.lobby.start(table)
        async with ann.play() as play:
            own = await play.follow(table)
            await until(eye, replica, lambda seen: bool(seen.state.away[1]))
            assert not service.tables
            await play.act(table, act.ReplaceWithBot(1))
            while own.state.turn == 0 and own.state.prompt[0]:
                await play.act(table, quickest(own))
            # It is the bot's turn, and the bot takes it.
            await until(eye, replica, lambda seen: seen.state.turn == 0 or bool(seen.state.prompt[0]))
            assert set(service.tables) == {table}
            assert service.decisions
        await until(eye, replica, lambda seen: bool(seen.state.paused_ms))
        assert ideas.rests(replica.state)
        async with ann.play() as play:
            await play.follow(table)
            await until(eye, replica, lambda seen: not seen.state.paused_ms)
        assert service.refused == 0


def quickest(replica: TableReplica) -> act.Action:
    """The quickest way on for whoever's turn it is."""
    match replica.state.phase:
        case Phase.THROW:
            return act.Roll()
        case Phase.LANDED:
            return act.Decline()
        case Phase.AUCTION:
            return act.Pass(replica.state.auctions)
        case Phase.DEBT:
            return act.Pay()
    return act.EndTurn()


async def test_a_bot_takes_its_time_to_think(platform: Stack, client: Client) -> None:
    session = await client.sign_in_guest("Host")
    async with running(bots(platform, bots_thinking_s=0.05)), session.play() as play:
        table = await opened(session, "rugpull", rounds=1)
        replica = await play.follow(table)
        feed = aiter(play)
        await session.lobby.start(table)
        await until(play, replica, over)
    commits = [happening.commit async for happening in feed if isinstance(happening, Happened)]
    moves = [commit.at_ms for commit in commits if commit.actor.startswith("bot:")]
    pauses = [after - before for before, after in itertools.pairwise(moves)]
    assert sorted(pauses)[len(pauses) // 2] >= 20
