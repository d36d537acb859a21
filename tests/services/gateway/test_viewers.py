"""TUB-VIEWERS over the wire: who may watch, who is sent away, who is listed; viewers count in nothing."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import grpc
import pytest

from omnipoly.rules import actions as act
from omnipoly.runtime import app
from omnipoly.runtime.failures import Failure
from omnipoly.wire.gen.game.v1 import table_pb2
from omnipoly.wire.gen.gateway.v1 import chat_pb2, dev_pb2, lobby_pb2, play_pb2, stream_pb2, watch_pb2
from omnipolyd.presence.config import PresenceSettings
from omnipolyd.presence.service import PresenceService
from tests.services.gateway.calling import Client, Stack, game, gateway, unique_id
from tests.services.gateway.refusing import DENIED, NOT_FOUND, PRECONDITION, told
from tests.services.waiting import eventually

LEFT = stream_pb2.Left


async def bar(client: Client, table: str, person: str, *, lift: bool = False) -> int:
    request = lobby_pb2.BarViewerRequest(table=table, command_id=unique_id(), person=person, lift=lift)
    return int((await client.call("Lobby/BarViewer", request)).barred)


async def viewers(client: Client, table: str, **more: Any) -> list[str]:
    """Ids of those who watch, page by page."""
    found: list[str] = []
    request = lobby_pb2.ListViewersRequest(table=table, **more)
    while True:
        page = await client.call("Lobby/ListViewers", request)
        found += [viewer.person for viewer in page.viewers]
        if not page.next_page_token:
            return found
        request.page_token = page.next_page_token


async def advance(client: Client, table: str, seconds: int) -> None:
    """Lets time pass at a table."""
    request = dev_pb2.AdvanceRequest(table=table, command_id=unique_id())
    request.by.FromSeconds(seconds)
    await client.call("Dev/Advance", request)


@asynccontextmanager
async def presence(running: Stack, nats_url: str, bucket: str) -> AsyncIterator[str]:
    """A presence service before the stack's table: its address."""
    settings = PresenceSettings(
        port=0, nats_url=nats_url, table_addr=running.table.address, presence_bucket=bucket, reflection=False
    )
    async with app.running(PresenceService(settings)) as service:
        await service.bus.wait_connected(20)
        yield service.address


# --- who may watch


async def test_guests_may_watch_where_the_operator_lets_them(
    running: Stack, nats_url: str, ann: Client, bob: Client, unique: str
) -> None:
    table = await game(ann, bob)
    async with (
        gateway(running.table, nats_url, guests_watch=True) as lenient,
        lenient.client(f"guest:cay-{unique}") as there,
        running.client(f"guest:cay-{unique}") as here,
    ):
        failure = await here.watch(table).ended()
        assert failure is not None
        assert (failure.status, failure.reason) == (grpc.StatusCode.UNAUTHENTICATED, "sign_in_required")
        await there.watch(table).next("progress")
        assert (await there.view(table)).in_play
        await there.call("Watch/History", watch_pb2.HistoryRequest(table=table))
        # to watch is not to play
        with pytest.raises(Failure, match="no seat"):
            await there.act(table, act.Roll())


async def test_a_guest_who_gets_up_is_no_viewer(
    running: Stack, nats_url: str, ann: Client, bob: Client, unique: str
) -> None:
    table = await ann.create()
    await bob.act(table, act.Join(""))
    async with (
        gateway(running.table, nats_url, heads_every_s=0.05) as second,
        second.client(f"guest:bob-{unique}") as bob_there,
        second.client(f"guest:ann-{unique}") as ann_there,
    ):
        streams = [bob_there.play(), ann_there.play()]
        for stream in streams:
            await stream.follow(table)
            await stream.next("progress")
        await bob.act(table, act.Leave())
        assert (await streams[0].next("left")).reason == LEFT.REASON_SIGN_IN
        await ann.act(table, act.AddBot())
        assert (await streams[1].up_to(4))[-1].version == 4


async def test_viewers_count_in_nothing(running: Stack, nats_url: str, ann: Client, bob: Client, unique: str) -> None:
    """Row 50: they hold no seat, have no vote, keep no table going and end none by leaving."""
    table = await game(ann, bob)
    async with (
        presence(running, nats_url, unique) as address,
        gateway(running.table, nats_url, presence_addr=address) as stack,
        stack.client(f"guest:ann-{unique}") as mine,
        stack.client(f"guest:bob-{unique}") as his,
        stack.client(f"oidc:vic-{unique}", guest=False) as viewer,
    ):
        playing, his_stream, watching = mine.play(), his.play(), viewer.play()
        for stream in (playing, his_stream, watching):
            await stream.follow(table)
            await stream.next("progress")
        before = (await viewer.view(table)).version
        await mine.act(table, act.ProposeEnd())
        for action in (act.Roll(), act.Vote(yes=False), act.ProposeEnd(), act.Bid(1, 10), act.Leave()):
            failure = await watching.refused(table, action)
            assert failure.reason in {"not_seated", "no_vote", "vote_open"}, action
        view = await viewer.view(table)
        assert (view.version, len(view.seats)) == (before + 1, 2)

        # nobody of the players is there: the table stands still, whoever looks at it
        for stream in (playing, his_stream):
            await stream.close()
            assert await stream.ended() is None

        async def status() -> Any:
            page = await viewer.call("Lobby/ListTables", lobby_pb2.ListTablesRequest(page_size=100))
            return next(row.status for row in page.tables if row.table == table)

        async def stands_still() -> bool:
            return bool(await status() == table_pb2.TABLE_STATUS_PAUSED)

        await eventually(stands_still)
        version = (await viewer.view(table)).version
        await watching.close()
        assert await watching.ended() is None
        async with stack.client(f"oidc:eve-{unique}", guest=False) as other:
            again = other.watch(table)
            await again.next("progress")
            assert (await other.view(table)).version == version
            back = mine.play()
            await back.follow(table)
            await back.next("progress")
            commit = await again.next("commit")
            assert [event.WhichOneof("kind") for event in commit.events] == ["connected", "resumed"]


async def test_a_table_has_only_so_many_viewers(
    running: Stack, nats_url: str, ann: Client, bob: Client, unique: str
) -> None:
    """Persons, whatever number of streams they have, at all gateways together."""
    table = await game(ann, bob)
    async with (
        presence(running, nats_url, unique) as address,
        gateway(running.table, nats_url, presence_addr=address, viewers_per_table=2) as one,
        gateway(running.table, nats_url, presence_addr=address, viewers_per_table=2) as two,
        one.client(f"oidc:x-{unique}", guest=False) as x,
        two.client(f"oidc:y-{unique}", guest=False) as y,
        two.client(f"oidc:z-{unique}", guest=False) as z,
        two.client(f"guest:ann-{unique}") as player,
    ):
        streams = [x.watch(table), x.watch(table), y.watch(table)]
        for stream in streams:
            await stream.next("progress")

        async def known() -> bool:
            return await viewers(y, table) == [f"oidc:{name}-{unique}" for name in "xy"]

        await eventually(known)
        two.hub.viewers._elsewhere.clear()
        failure = await z.watch(table).ended()
        assert failure is not None
        told(failure, DENIED, "viewers_closed")
        # Players are none of them.
        playing = player.play()
        await playing.follow(table)
        await playing.next("progress")
        await y.channel.close(None)

        async def gone() -> bool:
            return await viewers(z, table) == [f"oidc:x-{unique}"]

        await eventually(gone)
        two.hub.viewers._elsewhere.clear()
        await z.watch(table).next("progress")


# --- who is listed


async def test_who_watches_is_listed(running: Stack, nats_url: str, ann: Client, bob: Client, unique: str) -> None:
    table = await game(ann, bob)
    people = [f"oidc:{name}-{unique}" for name in ("v1", "v2", "v3")]
    async with (
        presence(running, nats_url, unique) as address,
        gateway(running.table, nats_url, presence_addr=address) as one,
        gateway(running.table, nats_url, presence_addr=address) as two,
    ):
        clients = [(one, two)[number % 2].client(person, guest=False) for number, person in enumerate(people)]
        for client in clients:
            await client.watch(table).next("progress")

        async def all_there() -> bool:
            return await viewers(clients[0], table) == people

        await eventually(all_there)
        assert await viewers(clients[1], table, page_size=1) == people
        page = await clients[0].call("Lobby/ListViewers", lobby_pb2.ListViewersRequest(table=table))
        assert all(0 <= viewer.watching.ToMilliseconds() < 60_000 for viewer in page.viewers)
        await clients[2].channel.close(None)

        async def one_less() -> bool:
            return await viewers(clients[0], table) == people[:2]

        await eventually(one_less)
        for client in clients:
            await client.channel.close(None)
    # a gateway that no presence service is told of has its own
    async with running.client(people[0], guest=False) as alone:
        stream = alone.watch(table)
        await stream.next("progress")
        assert await viewers(ann, table) == [people[0]]


async def test_who_may_not_watch_is_told_nobody(running: Stack, ann: Client, bob: Client, unique: str) -> None:
    table = await game(ann, bob)
    async with running.client(f"guest:cay-{unique}") as stranger:
        with pytest.raises(Failure, match="Watching needs a sign-in"):
            await viewers(stranger, table)
    with pytest.raises(Failure) as caught:
        await viewers(ann, "nobodys-table")
    told(caught.value, NOT_FOUND, "unknown_table")
    with pytest.raises(Failure) as caught:
        await viewers(ann, table, page_token="?")
    assert caught.value.reason == "bad_request"


# --- who is sent away


async def test_the_host_sends_a_viewer_away_and_lets_them_back(
    running: Stack, nats_url: str, ann: Client, bob: Client, unique: str
) -> None:
    table = await game(ann, bob)
    vic = f"oidc:vic-{unique}"
    async with (
        gateway(running.table, nats_url) as second,
        running.client(vic, guest=False) as here,
        second.client(vic, guest=False) as there,
        second.client(f"oidc:eve-{unique}", guest=False) as eve,
    ):
        watching, playing, other = here.watch(table), there.play(), eve.watch(table)
        await playing.follow(table)
        for stream in (watching, playing, other):
            await stream.next("progress")
        assert await bar(ann, table, vic) == 1
        for stream in (watching, playing):
            left = await stream.next("left")
            assert (left.table, left.reason) == (table, LEFT.REASON_BARRED)
        assert await watching.ended() is None
        for client in (here, there):
            failure = await client.watch(table).ended()
            assert failure is not None
            told(failure, DENIED, "viewers_closed")
            for answer in (
                client.view(table),
                client.call("Watch/History", watch_pb2.HistoryRequest(table=table)),
                client.call("Chat/Lines", chat_pb2.LinesRequest(table=table)),
                client.call("Chat/Say", chat_pb2.SayRequest(table=table, command_id=unique_id(), text="But why?")),
                client.act(table, act.TakeSeat(0)),
            ):
                with pytest.raises(Failure, match="sent you away"):
                    await answer
        # another viewer notices nothing
        await ann.act(table, act.Roll())
        assert (await other.next()).version == 4
        assert await bar(ann, table, vic, lift=True) == 0
        await playing.follow(table)
        await playing.next("progress")


async def test_who_may_send_whom_away(running: Stack, ann: Client, bob: Client, viewer: Client, unique: str) -> None:
    table = await game(ann, bob)
    for client in (bob, viewer):
        with pytest.raises(Failure) as caught:
            await bar(client, table, f"oidc:eve-{unique}")
        told(caught.value, DENIED, "not_host")
    for player in ("ann", "bob"):
        with pytest.raises(Failure) as caught:
            await bar(ann, table, f"guest:{player}-{unique}")
        told(caught.value, PRECONDITION, "bad_partner")
    async with running.client("oidc:root", guest=False, roles=["admin"]) as admin:
        assert await bar(admin, table, f"oidc:vic-{unique}") == 1
    with pytest.raises(Failure, match="sent you away"):
        await viewer.view(table)


# --- TUB-TAKEOVER


async def test_a_viewer_takes_a_bots_seat_where_the_host_lets_them(
    running: Stack, nats_url: str, ann: Client, unique: str
) -> None:
    """The seat goes on with what the bot has, and its decision is asked of them on all of their streams."""
    table = await ann.create(dev=True)
    await ann.act(table, act.AddBot())
    await ann.act(table, act.Start())  # both are asked to throw, and nobody plays for the bot here
    vic = f"oidc:vic-{unique}"
    async with (
        gateway(running.table, nats_url) as second,
        running.client(vic, guest=False) as here,
        second.client(vic, guest=False) as there,
        running.client(f"guest:cay-{unique}") as guest,
        second.client(f"oidc:eve-{unique}", guest=False) as eve,
    ):
        streams = [here.play(), there.play()]
        watching = eve.watch(table)
        for stream in streams:
            await stream.follow(table)
            await stream.next("progress")
        await watching.next("progress")
        told(await streams[0].refused(table, act.TakeSeat(1, "Vic")), PRECONDITION, "bad_option")
        await ann.act(table, act.SetOptions(viewers_take_bots=True))
        with pytest.raises(Failure, match="Watching needs a sign-in"):
            await guest.act(table, act.TakeSeat(1, "Cay"))
        told(await streams[0].refused(table, act.TakeSeat(0, "Vic")), PRECONDITION, "not_a_bot")
        await advance(ann, table, 20)
        before = (await here.view(table)).seats[1]
        await streams[0].send_act(table, act.TakeSeat(1, "Vic"))
        prompts = [await stream.next("prompt") for stream in streams]
        accepted = await streams[0].next("accepted", "refused")
        assert isinstance(accepted, play_pb2.Accepted)
        seat = (await here.view(table)).seats[1]
        assert (seat.holder, seat.name, seat.bot, seat.cash) == (vic, "Vic", False, 1500)
        # the bot's decision is theirs, with a full clock
        for prompt in prompts:
            assert (prompt.seat, prompt.prompt_id) == (1, seat.prompt)
            assert prompt.deadline.seconds == before.deadline.seconds + 20
        await streams[1].act(table, act.Roll())
        assert (await watching.up_to(accepted.version + 1))[-1].actor == vic
        # a player is no viewer
        assert await viewers(there, table) == [f"oidc:eve-{unique}"]
