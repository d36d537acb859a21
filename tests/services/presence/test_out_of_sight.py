"""Replicas that do not see each other, or stood still: who left one gateway may have come to another, so nobody is
taken for gone on a picture that may be old."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from omnipoly.runtime import bus
from omnipoly.runtime.embedded import EmbeddedNats
from omnipoly.wire.gen.game.v1 import types_pb2
from omnipolyd.presence.telling import GRACE_MS
from tests.services.playing import ANN, BOB, CID, MIGRATIONS, Tables, table_service
from tests.services.presence.driving import BROKEN, CONNECTED, MOVING, DrivenClock, Gateway, Presence, presence
from tests.services.waiting import eventually

MakeDatabase = Callable[..., Awaitable[str]]
LEASE_S = 30
LEASE_MS = LEASE_S * 1000
PERSONS = (ANN, BOB, CID)


@pytest.fixture
async def tables(own_nats: EmbeddedNats, make_database: MakeDatabase) -> AsyncIterator[Tables]:
    async with table_service(await make_database(MIGRATIONS), own_nats.url) as tables:
        yield tables


async def away(tables: Tables, table: str) -> list[bool]:
    """Who is away, by seat."""
    return [seat.away != types_pb2.AWAY_NO for seat in (await tables.view(table)).seats]


async def sees(service: Presence, table: str, people: dict[str, int]) -> bool:
    return await service.who(table) == {(table, person): status for person, status in people.items()}


@pytest.mark.parametrize("how", [BROKEN, MOVING])
@pytest.mark.parametrize("why", ["killed", "robbed", "still"])
async def test_who_goes_over_to_the_other_replicas_gateway_while_nats_is_away(
    tables: Tables,
    own_nats: EmbeddedNats,
    unique: str,
    clock: DrivenClock,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    how: int,
    why: str,
) -> None:
    """And who really goes meanwhile is taken for gone when that can be known."""
    url = own_nats.url
    async with (
        presence(tables, url, unique, clock, lease_s=LEASE_S) as one,
        presence(tables, url, unique, clock, lease_s=LEASE_S) as other,
        AsyncExitStack() as undo,
    ):
        for service in (one, other):
            await eventually(lambda service=service: len(service.service.sharing._others) == 1)
        here, there = Gateway(one, "here"), Gateway(other, "there")
        table = await tables.start()
        await here.report(*((table, person, CONNECTED) for person in PERSONS), full=True)
        await there.report(full=True)
        for service in (one, other):
            await eventually(lambda service=service: sees(service, table, dict.fromkeys(PERSONS, CONNECTED)))
            await service.settled()

        if why == "still":
            os.kill(own_nats.pid, signal.SIGSTOP)  # it is not seen at once that nothing comes any more
            undo.callback(os.kill, own_nats.pid, signal.SIGCONT)
            undo.callback(monkeypatch.setattr, bus, "REQUEST_S", bus.REQUEST_S)
            monkeypatch.setattr(bus, "REQUEST_S", 0.3)
        else:
            await asyncio.to_thread(own_nats.kill)
            for service in (one, other):
                await eventually(lambda service=service: not service.service.sharing.in_sight)
        if why == "robbed":
            shutil.rmtree(tmp_path / "nats" / "store")
        await here.report((table, ANN, how), (table, BOB, how))
        clock.advance(2000)
        await there.report((table, ANN, CONNECTED))
        for _ in range(3):
            clock.advance(GRACE_MS)
            for gateway in (here, there):
                await gateway.report()
            for service in (one, other):
                await service.settled()
        assert await away(tables, table) == [False, False, False]

        await undo.aclose()
        if why != "still":
            await asyncio.to_thread(own_nats.start)
        for service in (one, other):
            await eventually(lambda service=service: service.service.sharing.in_sight)
        await bob_alone_is_gone(tables, table, clock, (one, other), (here, there))


async def test_a_replica_that_begins_while_nats_is_away_takes_nobody_for_gone(
    tables: Tables, own_nats: EmbeddedNats, unique: str, clock: DrivenClock
) -> None:
    """It has never seen the bucket, cannot know that it is alone, and what it reads then may be over since long ago."""
    url = own_nats.url
    async with presence(tables, url, unique, clock, lease_s=LEASE_S) as other:
        here, there = Gateway(other, "here"), Gateway(other, "there")
        table = await tables.start()
        await here.report(*((table, person, CONNECTED) for person in PERSONS), full=True)
        await there.report(full=True)
        await other.settled()
        await asyncio.to_thread(own_nats.kill)
        await eventually(lambda: not other.service.sharing.in_sight)
        async with presence(tables, url, unique, clock, ready=False, lease_s=LEASE_S) as late:
            here.presence = late
            await here.report((table, ANN, BROKEN), (table, BOB, BROKEN), (table, CID, CONNECTED), full=True)
            clock.advance(2000)
            await there.report((table, ANN, CONNECTED))
            for _ in range(2 * LEASE_MS // GRACE_MS + 2):
                clock.advance(GRACE_MS)
                for gateway in (here, there):
                    await gateway.report()
                for service in (late, other) if late.service.sharing.ready else (other,):
                    await service.settled()
            assert late.service.sharing.ready
            assert await away(tables, table) == [False, False, False]

            await asyncio.to_thread(own_nats.start)
            for service in (late, other):
                await eventually(lambda service=service: service.service.sharing.in_sight)
            assert late.service.sharing.departures_from_ms > clock.now_ms()
            await bob_alone_is_gone(tables, table, clock, (late,), (here, there))


async def _gone(tables: Tables, table: str, seat: int) -> bool:
    return (await away(tables, table))[seat]


async def bob_alone_is_gone(
    tables: Tables, table: str, clock: DrivenClock, services: Sequence[Presence], gateways: Sequence[Gateway]
) -> None:
    """These replicas see who is there, and one lease period later the table knows who is not."""
    for gateway in gateways:
        await gateway.report()
    for service in services:
        await eventually(lambda service=service: sees(service, table, {ANN: CONNECTED, CID: CONNECTED}))
    for _ in range(3):
        clock.advance(LEASE_MS // 3)
        for gateway in gateways:
            await gateway.report()
    await eventually(lambda: _gone(tables, table, 1))
    assert await away(tables, table) == [False, True, False]


async def test_a_replica_that_stood_still_believes_nothing_of_before(
    tables: Tables, own_nats: EmbeddedNats, unique: str, clock: DrivenClock
) -> None:
    """What lay in its sockets comes in any order: the old news of a departure before the newer one of a return."""
    url = own_nats.url
    async with (
        presence(tables, url, unique, clock, lease_s=LEASE_S) as one,
        presence(tables, url, unique, clock, lease_s=LEASE_S) as other,
    ):
        for service in (one, other):
            await eventually(lambda service=service: len(service.service.sharing._others) == 1)
        here, there = Gateway(one, "here"), Gateway(other, "there")
        while not one.service.sharing.mine(table := await tables.start()):
            pass
        await here.report(*((table, person, CONNECTED) for person in PERSONS), full=True)
        await there.report(full=True)
        await eventually(lambda: sees(other, table, dict.fromkeys(PERSONS, CONNECTED)))
        await one.settled()
        # Its own time has passed with everybody else's when it goes on.
        clock.advance(GRACE_MS + 3000)
        one.app.standstill.times += 1
        request_ms = clock.now_ms() - GRACE_MS - 1000
        await _report_since(here, table, ANN, BROKEN, request_ms)
        await _report_since(here, table, BOB, BROKEN, request_ms)
        await one.settled()
        assert await away(tables, table) == [False, False, False]
        await there.report((table, ANN, CONNECTED))
        await eventually(lambda: sees(one, table, {ANN: CONNECTED, CID: CONNECTED}))
        clock.advance(LEASE_MS - 1)
        for gateway in (here, there):
            await gateway.report()
        await one.settled()
        assert await away(tables, table) == [False, False, False]
        clock.advance(1)
        await eventually(lambda: _gone(tables, table, 1))
        assert await away(tables, table) == [False, True, False]


async def test_leases_outlast_a_standstill_of_who_keeps_them(
    tables: Tables, own_nats: EmbeddedNats, unique: str, clock: DrivenClock
) -> None:
    """Gateways that could not report while it stood still have a lease period for it."""
    async with presence(tables, own_nats.url, unique, clock, lease_s=LEASE_S) as one:
        gateway = Gateway(one, "gateway")
        table = await tables.start()
        clock.advance(LEASE_MS)
        await gateway.report(*((table, person, CONNECTED) for person in PERSONS), full=True)
        await one.settled()
        one.app.standstill.times += 1
        clock.advance(3 * LEASE_MS)
        await one.settled()
        assert await sees(one, table, dict.fromkeys(PERSONS, CONNECTED))
        clock.advance(LEASE_MS - 1)
        await gateway.report()
        clock.advance(GRACE_MS)
        await one.settled()
        assert await away(tables, table) == [False, False, False]


async def _report_since(gateway: Gateway, table: str, person: str, status: int, since_ms: int) -> None:
    from omnipoly.wire.gen.presence.v1 import presence_pb2

    row = presence_pb2.PersonAtTable(table=table, person=person, status=status)  # type: ignore[arg-type]
    row.since.FromMilliseconds(since_ms)
    await gateway.report(people=[row])


@pytest.mark.parametrize("seen", [False, True], ids=["unseen", "seen"])
async def test_an_old_report_that_lay_in_a_replicas_socket(
    tables: Tables, own_nats: EmbeddedNats, unique: str, clock: DrivenClock, *, seen: bool
) -> None:
    """Its gateway has gone on with another replica, whether the first one has seen that yet or not."""
    url = own_nats.url
    async with (
        presence(tables, url, unique, clock, lease_s=LEASE_S) as one,
        presence(tables, url, unique, clock, lease_s=LEASE_S) as other,
    ):
        for service in (one, other):
            await eventually(lambda service=service: len(service.service.sharing._others) == 1)
        table = await tables.start()
        everybody = dict.fromkeys(PERSONS, CONNECTED)
        gateway = Gateway(other, "gateway")
        if not seen:
            await asyncio.to_thread(own_nats.kill)
            for service in (one, other):
                await eventually(lambda service=service: not service.service.sharing.in_sight)
        gateway.revision = 1
        await gateway.report(*((table, person, CONNECTED) for person in PERSONS), full=True)
        if seen:
            await eventually(lambda: sees(one, table, everybody))
        # What it was told first, before two of them came.
        gateway.presence, gateway.revision = one, 0
        await gateway.report((table, ANN, CONNECTED), full=True)
        if not seen:
            await asyncio.to_thread(own_nats.start)
        for service in (one, other):
            await eventually(lambda service=service: service.service.sharing.in_sight)
        gateway.presence, gateway.revision = other, 2
        for _ in range(4):
            clock.advance(LEASE_MS // 3 + 1)
            await gateway.report()
        for service in (one, other):
            await eventually(lambda service=service: sees(service, table, everybody))
            assert service.service.picture.leases["gateway"].owner == other.service.sharing.replica
        assert await away(tables, table) == [False, False, False]
