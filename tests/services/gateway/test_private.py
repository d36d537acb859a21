"""TUB-PRIVATE over the wire: a PIN to sit or to watch, whichever call is used for it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from omnipoly.rules import actions as act
from omnipoly.runtime.failures import Failure, from_status
from omnipoly.wire.gen.game.v1 import actions_pb2
from omnipoly.wire.gen.gateway.v1 import chat_pb2, lobby_pb2, play_pb2, stream_pb2, watch_pb2
from tests.services.gateway.calling import Client, Stack, gateway, unique_id
from tests.services.gateway.refusing import DENIED, EXHAUSTED, told

PIN, OTHER = "48151623", "4815"
LEFT = stream_pb2.Left


@pytest.fixture
async def private(ann: Client, bob: Client) -> str:
    """A game of Ann and Bob at a table with a PIN; viewers may take seats of bots."""
    options = actions_pb2.SetOptions(viewers_take_bots=True, viewers_chat=True)
    table = await ann.create(pin=PIN, options=options)
    await bob.act(table, act.Join(""), pin=PIN)
    await ann.act(table, act.AddBot())
    await ann.act(table, act.Start())
    return table


async def set_pin(client: Client, table: str, pin: str) -> Any:
    request = lobby_pb2.SetPinRequest(table=table, command_id=unique_id(), pin=pin)
    return await client.call("Lobby/SetPin", request)


async def _watch(client: Client, table: str, pin: str) -> None:
    stream = client.watch(table, pin=pin)
    await stream.next("progress")
    stream.raw.cancel()


async def _follow(client: Client, table: str, pin: str) -> None:
    stream = client.play()
    await stream.send(follow=play_pb2.Follow(table=table, pin=pin))
    answer = await stream.next("progress", "refused")
    if isinstance(answer, play_pb2.Refused):
        raise from_status(answer.status)
    await stream.close()


async def _act(client: Client, table: str, pin: str) -> None:
    answer = await client.play().act(table, act.TakeSeat(2, "Vic"), pin=pin)
    if isinstance(answer, play_pb2.Refused):
        raise from_status(answer.status)


WAYS: dict[str, Callable[[Client, str, str], Awaitable[Any]]] = {
    "watch": _watch,
    "follow": _follow,
    "picture": lambda client, table, pin: client.view(table, pin=pin),
    "card": lambda client, table, pin: client.call(
        "Lobby/GetFieldCard", lobby_pb2.GetFieldCardRequest(table=table, field=1, pin=pin)
    ),
    "history": lambda client, table, pin: client.call("Watch/History", watch_pb2.HistoryRequest(table=table, pin=pin)),
    "record": lambda client, table, pin: client.call("Watch/Record", watch_pb2.RecordRequest(table=table, pin=pin)),
    "chat": lambda client, table, pin: client.call("Chat/Lines", chat_pb2.LinesRequest(table=table, pin=pin)),
    "take a seat": lambda client, table, pin: client.act(table, act.TakeSeat(2, "Vic"), pin=pin),
    "take a seat on a stream": _act,
}


@pytest.mark.parametrize("way", WAYS)
async def test_every_way_in_asks_for_the_pin(private: str, viewer: Client, way: str) -> None:
    for pin in ("", OTHER):
        with pytest.raises(Failure) as caught:
            await WAYS[way](viewer, private, pin)
        told(caught.value, DENIED, "wrong_pin")
        assert PIN not in str(caught.value)
    await WAYS[way](viewer, private, PIN)
    # known from now on, whichever way they come
    for other in ("watch", "follow", "picture", "history", "chat"):
        await WAYS[other](viewer, private, "")


async def test_to_sit_down_before_the_start(ann: Client, bob: Client, viewer: Client) -> None:
    table = await ann.create(pin=PIN)
    failure = await bob.play().refused(table, act.Join(""))
    told(failure, DENIED, "wrong_pin")
    for client in (bob, viewer):
        with pytest.raises(Failure, match="has a PIN"):
            await client.act(table, act.Join(""))
        await client.act(table, act.Join(""), pin=PIN)
    assert len((await ann.view(table)).seats) == 3


async def test_who_writes_and_lists_viewers_is_let_in_before(private: str, viewer: Client) -> None:
    """Neither has a PIN to show."""
    say = chat_pb2.SayRequest(table=private, command_id=unique_id(), text="hello")
    calls = [("Chat/Say", say), ("Lobby/ListViewers", lobby_pb2.ListViewersRequest(table=private))]
    for method, request in calls:
        with pytest.raises(Failure) as caught:
            await viewer.call(method, request)
        told(caught.value, DENIED, "wrong_pin")
    await viewer.view(private, pin=PIN)
    for method, request in calls:
        await viewer.call(method, request)


async def test_those_who_belong_there_are_asked_for_nothing(
    running: Stack, private: str, ann: Client, bob: Client
) -> None:
    for client in (ann, bob):
        for way in ("watch", "follow", "picture", "card", "history", "record", "chat"):
            await WAYS[way](client, private, "")
    async with running.client("oidc:root", guest=False, roles=["admin"]) as admin:
        await WAYS["watch"](admin, private, "")


async def test_a_pin_set_later_sends_viewers_away_at_every_gateway(
    running: Stack, nats_url: str, ann: Client, bob: Client, unique: str
) -> None:
    table = await ann.create()
    await bob.act(table, act.Join(""))
    await ann.act(table, act.Start())
    player = ann.play()
    await player.follow(table)
    await player.next("progress")
    async with (
        gateway(running.table, nats_url) as second,
        running.client(f"oidc:vic-{unique}", guest=False) as here,
        second.client(f"oidc:eve-{unique}", guest=False) as there,
        second.client(f"guest:bob-{unique}") as bob_there,
        second.client(f"oidc:root-{unique}", guest=False, roles=["admin"]) as admin,
    ):
        watching, following = here.watch(table), there.play()
        await following.follow(table)
        others = [bob_there.watch(table), admin.watch(table)]
        for stream in (watching, following, *others):
            await stream.next("progress")
        await set_pin(ann, table, PIN)
        for stream in (watching, following):
            left = await stream.next("left")
            assert (left.table, left.reason) == (table, LEFT.REASON_PRIVATE)
        # a stream that watches ends with it, one that plays goes on without this table
        assert await watching.ended() is None
        await following.send(follow=play_pb2.Follow(table=table, pin=PIN))
        assert (await following.next("snapshot")).view.table == table
        # everybody else goes on
        await ann.act(table, act.Roll())
        version = (await ann.view(table)).version
        for stream in (player, following, *others):
            await stream.up_to(version)
        # another PIN sends away whoever was let in by the one before
        await set_pin(ann, table, OTHER)
        assert (await following.next("left")).reason == LEFT.REASON_PRIVATE
        await set_pin(ann, table, "")
        await following.follow(table)
        await following.next("progress")


async def test_nobody_stays_because_a_message_was_lost(
    running: Stack, nats_url: str, ann: Client, bob: Client, unique: str
) -> None:
    """The heads tell of a door that has moved, too."""
    table = await ann.create()
    async with (
        gateway(running.table, nats_url, heads_every_s=0.05) as second,
        second.client(f"oidc:vic-{unique}", guest=False) as there,
    ):
        stream = there.watch(table)
        await stream.next("progress")
        for subscription in list(second.hub.rooms._subscriptions.values()):
            await subscription.close()
        await set_pin(ann, table, PIN)
        assert (await stream.next("left")).reason == LEFT.REASON_PRIVATE


async def test_wrong_pins_are_counted_across_gateways(running: Stack, nats_url: str, ann: Client, unique: str) -> None:
    table = await ann.create(pin=PIN)
    async with gateway(running.table, nats_url) as second:
        for number in range(5):
            stack = (running, second)[number % 2]
            async with stack.client(f"oidc:mallory-{number}-{unique}", guest=False) as mallory:
                with pytest.raises(Failure, match="That is not the PIN"):
                    await mallory.view(table, pin=OTHER)
        async with second.client(f"oidc:vic-{unique}", guest=False) as vic:
            with pytest.raises(Failure) as caught:
                await vic.view(table, pin=PIN)
        told(caught.value, EXHAUSTED, "rate_limited")
        assert caught.value.retry_after_s is not None
        assert 0 < caught.value.retry_after_s <= 600


async def test_the_host_alone_sets_it(private: str, bob: Client, viewer: Client) -> None:
    for client in (bob, viewer):
        with pytest.raises(Failure) as caught:
            await set_pin(client, private, "1234")
        told(caught.value, DENIED, "not_host")


@pytest.mark.parametrize("pin", ["1", "123456789", "12a4", "１２３４"])
async def test_pins_that_cannot_be(ann: Client, pin: str) -> None:
    table = await ann.create()
    for answer in (set_pin(ann, table, pin), ann.create(pin=pin)):
        with pytest.raises(Failure) as caught:
            await answer
        assert caught.value.reason == "bad_request"
    with pytest.raises(Failure) as caught:
        await ann.act(table, act.SetOptions(private=True))
    assert (caught.value.reason, caught.value.sentence) == ("bad_option", "A table is made private by its PIN alone.")


async def test_a_private_table_is_in_no_open_list(running: Stack, ann: Client, bob: Client) -> None:
    table = await ann.create(pin=PIN)

    async def listed(client: Client, **wanted: Any) -> bool:
        page = await client.call("Lobby/ListTables", lobby_pb2.ListTablesRequest(page_size=100, **wanted))
        return table in [row.table for row in page.tables]

    assert not await listed(bob, open_only=True)
    assert await listed(ann, mine=True)
    await set_pin(ann, table, "")
    assert await listed(bob, open_only=True)


async def test_setting_it_is_told_like_everything_at_the_table(ann: Client, bob: Client) -> None:
    table = await ann.create()
    await bob.act(table, act.Join(""))
    stream = bob.play()
    await stream.follow(table)
    await stream.next("progress")
    answer = await set_pin(ann, table, PIN)
    commit = await stream.next("commit")
    assert (commit.version, [one.version for one in answer.commits]) == (3, [3])
    assert commit.events[0].options_set.options.private
    assert PIN.encode() not in commit.SerializeToString()
