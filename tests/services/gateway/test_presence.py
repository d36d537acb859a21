from __future__ import annotations

import secrets
import time
from collections.abc import AsyncIterator
from typing import Any

import pytest

from omnipoly.rules import actions as act
from omnipoly.runtime import app
from omnipoly.runtime.peers import Peers
from omnipoly.wire.gen.gateway.v1 import play_pb2
from omnipoly.wire.gen.presence.v1 import presence_pb2 as pb
from omnipolyd.gateway import presence as reports
from omnipolyd.gateway.presence import Presence
from omnipolyd.presence.config import PresenceSettings
from omnipolyd.presence.service import PresenceService
from tests.services.gateway.calling import Client, Stack, game, gateway
from tests.services.proxy import Proxy
from tests.services.waiting import eventually

WHO = "/omnipoly.presence.v1.PresenceService/Who"


class Told:
    """A presence service before the table, a gateway that reports to it, and what it says."""

    def __init__(self, stack: Stack, peers: Peers) -> None:
        self.stack = stack
        self._peers = peers

    async def who(self, table: str) -> dict[str, Any]:
        request = pb.WhoRequest(tables=[table]).SerializeToString()
        answer = pb.WhoResponse.FromString(await self._peers.call("who", WHO, request, 5, resend=True))
        return {row.person: row.status for row in answer.people}

    async def since(self, table: str, person: str) -> int:
        """Since when somebody is as they are, milliseconds since 1970."""
        request = pb.WhoRequest(tables=[table]).SerializeToString()
        answer = pb.WhoResponse.FromString(await self._peers.call("who", WHO, request, 5, resend=True))
        (row,) = (row for row in answer.people if row.person == person)
        return row.since.ToMilliseconds()

    async def says(self, table: str, **people: Any) -> None:
        """Waits until it says exactly this; persons without the unique part of their ids."""

        async def so() -> bool:
            there = await self.who(table)
            return {person.partition(":")[2].partition("-")[0]: status for person, status in there.items()} == people

        await eventually(so)


@pytest.fixture
async def told(running: Stack, nats_url: str, unique: str) -> AsyncIterator[Told]:
    settings = PresenceSettings(
        port=0, nats_url=nats_url, table_addr=running.table.address, presence_bucket=unique, reflection=False
    )
    async with app.running(PresenceService(settings)) as presence:
        await presence.bus.wait_connected(20)
        async with (
            gateway(running.table, nats_url, presence_addr=presence.address) as stack,
            Peers(presence.address) as peers,
        ):
            yield Told(stack, peers)


async def test_who_follows_is_there_until_they_close(told: Told, ann: Client, bob: Client, unique: str) -> None:
    table = await game(ann, bob)
    async with (
        told.stack.client(f"guest:ann-{unique}") as mine,
        told.stack.client(f"oidc:vic-{unique}", guest=False) as v,
    ):
        one, other, viewing = mine.play(), mine.play(), v.watch(table)
        for stream in (one, other):
            await stream.follow(table)
            await stream.next("progress")
        await viewing.next("progress")
        await told.says(table, ann=pb.STATUS_CONNECTED, vic=pb.STATUS_WATCHING)
        # Several streams count as one: she is there as long as one of them is.
        await one.close()
        assert await one.ended() is None
        await told.says(table, ann=pb.STATUS_CONNECTED, vic=pb.STATUS_WATCHING)
        await other.close()
        assert await other.ended() is None
        await told.says(table, vic=pb.STATUS_WATCHING)


async def test_a_stream_that_breaks_is_no_stream_that_closes(told: Told, ann: Client, bob: Client, unique: str) -> None:
    table = await game(ann, bob)
    async with told.stack.client(f"guest:ann-{unique}") as mine:
        stream = mine.play()
        await stream.follow(table)
        await stream.next("progress")
        await told.says(table, ann=pb.STATUS_CONNECTED)
        stream.raw.cancel()
        await told.says(table, ann=pb.STATUS_BROKEN)


async def test_following_no_more_is_leaving(told: Told, ann: Client, bob: Client, unique: str) -> None:
    table = await game(ann, bob)
    async with told.stack.client(f"guest:ann-{unique}") as mine:
        stream = mine.play()
        await stream.follow(table)
        await stream.next("progress")
        await told.says(table, ann=pb.STATUS_CONNECTED)
        await stream.send(unfollow=play_pb2.Unfollow(table=table))
        await told.says(table)


async def test_a_plain_call_counts_for_a_while(told: Told, ann: Client, bob: Client, unique: str) -> None:
    table = await game(ann, bob)
    presence = told.stack.hub.presence
    async with told.stack.client(f"guest:ann-{unique}") as mine:
        await mine.act(table, act.Roll())
        await told.says(table, ann=pb.STATUS_CONNECTED)
        # A stream that breaks meanwhile takes nothing away.
        stream = mine.play()
        await stream.follow(table)
        await stream.next("progress")
        stream.raw.cancel()
        await eventually(lambda: not told.stack.hub.streams)
        assert await told.who(table) == {f"guest:ann-{unique}": pb.STATUS_CONNECTED}
        (key,) = presence._calls
        presence._calls[key] = presence._here[key].called_until = 0.0
        await told.says(table, ann=pb.STATUS_BROKEN)


async def test_a_viewer_who_sits_down_is_a_player(told: Told, ann: Client, unique: str) -> None:
    table = await ann.create()
    async with told.stack.client(f"oidc:vic-{unique}", guest=False) as mine:
        stream = mine.play()
        await stream.follow(table)
        await stream.next("progress")
        await told.says(table, vic=pb.STATUS_WATCHING)
        await stream.act(table, act.Join(""))
        await told.says(table, vic=pb.STATUS_CONNECTED)
        # From now on decisions come as well.
        await ann.act(table, act.Start())
        assert (await stream.next("prompt")).seat == 1


async def test_a_gateway_that_drains_has_its_people_moving(
    running: Stack, told: Told, nats_url: str, ann: Client, bob: Client, unique: str
) -> None:
    table = await game(ann, bob)
    address = told.stack.hub.settings.presence_addr
    async with (
        gateway(running.table, nats_url, presence_addr=address) as far_away,
        far_away.client(f"guest:ann-{unique}") as mine,
    ):
        stream = mine.play()
        await stream.follow(table)
        await stream.next("progress")
        await told.says(table, ann=pb.STATUS_CONNECTED)
        # However long she has been there: her time to come back begins now.
        drained_ms = int(time.time() * 1000)
        (here,) = far_away.hub.presence._here.values()
        here.since_ms = drained_ms - 3_600_000
        await far_away.service.drain()
        await told.says(table, ann=pb.STATUS_MOVING)
        assert await told.since(table, f"guest:ann-{unique}") >= drained_ms


async def test_everything_is_told_again_when_it_is_asked_for(
    running: Stack, told: Told, nats_url: str, ann: Client, bob: Client, unique: str
) -> None:
    table = await game(ann, bob)
    async with told.stack.client(f"guest:ann-{unique}") as mine:
        stream = mine.play()
        await stream.follow(table)
        await stream.next("progress")
        await told.says(table, ann=pb.STATUS_CONNECTED)
        # Another presence service, with an empty store, which knows of nobody.
        settings = PresenceSettings(
            port=0, nats_url=nats_url, table_addr=running.table.address, presence_bucket=f"{unique}b", reflection=False
        )
        async with app.running(PresenceService(settings)) as other, Peers(other.address) as peers:
            told.stack.hub.presence._peers = await told.stack.gateway.peers(other.address)
            told.stack.hub.presence._wake.set()
            await Told(told.stack, peers).says(table, ann=pb.STATUS_CONNECTED)


async def test_without_a_presence_service_nobody_is_told() -> None:
    presence = Presence(None)
    presence.enter("ann", "t", seated=True)
    presence.called("ann", "t")
    presence.leave("ann", "t", pb.STATUS_CLOSED)
    await presence.report_changes()
    await presence.drain()
    assert not presence._here


@pytest.mark.parametrize("drains", [False, True], ids=["comes", "drains"])
async def test_a_replica_that_stands_still_is_passed_over(
    running: Stack, nats_url: str, unique: str, monkeypatch: pytest.MonkeyPatch, *, drains: bool
) -> None:
    """Its connection stands, and nothing is answered on it: what is to be told is told to another one, in time."""
    monkeypatch.setattr(reports, "REPORT_S", 0.3)
    settings = {"port": 0, "nats_url": nats_url, "table_addr": running.table.address, "presence_bucket": unique}
    still, other = (PresenceService(PresenceSettings(**settings)) for _ in range(2))
    async with (
        app.running(still) as still_app,
        app.running(other) as other_app,
        Proxy(f"tcp://{still_app.address}") as proxy,
        gateway(running.table, nats_url, presence_addr=f"{proxy.address},{other_app.address}") as stack,
        stack.client(f"guest:ann-{unique}") as ann,
    ):
        presence = stack.hub.presence
        await eventually(lambda: len(presence._peers.members) == 2)
        while presence._peers.order(presence._key)[0] != proxy.address:
            presence._lease = secrets.token_hex(16)
        table = await ann.create()
        stream = ann.play()
        if not drains:
            proxy.freeze()
        await stream.follow(table)
        await stream.next("progress")
        await eventually(lambda: other.picture.standing(table, f"guest:ann-{unique}"))
        if drains:
            proxy.freeze()
            await stack.service.drain()
            row = other.picture.standing(table, f"guest:ann-{unique}")
            assert row is not None
            assert row.status == pb.STATUS_MOVING
        proxy.thaw()
