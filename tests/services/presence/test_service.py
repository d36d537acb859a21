"""Presence from a gateway's report to the table, over real links, NATS and Postgres, by a driven clock."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import msgspec
import pytest

from omnipoly.runtime.embedded import EmbeddedNats
from omnipoly.runtime.failures import Failure
from omnipoly.wire.gen.game.v1 import types_pb2
from omnipoly.wire.gen.presence.v1 import presence_pb2
from omnipoly.wire.gen.table.v1 import table_pb2
from omnipolyd.presence.picture import shard_of
from omnipolyd.presence.store import LeaseValue, PeopleValue
from omnipolyd.presence.telling import GRACE_MS
from tests.services.playing import ANN, BOB, CID, MIGRATIONS, Tables, free_port, table_service
from tests.services.presence.driving import (
    BROKEN,
    CLOSED,
    CONNECTED,
    MOVING,
    WATCHING,
    DrivenClock,
    Gateway,
    Presence,
    all_there,
    presence,
)
from tests.services.waiting import eventually

MakeDatabase = Callable[..., Awaitable[str]]
RENEWED_MS = 200_000
"""What a lease of 600 s is written anew after."""


@pytest.fixture
async def service(tables: Tables, nats_url: str, unique: str, clock: DrivenClock) -> AsyncIterator[Presence]:
    async with presence(tables, nats_url, unique, clock) as service:
        yield service


@pytest.fixture
def gateway(service: Presence) -> Gateway:
    return Gateway(service, "gateway")


async def seats(tables: Tables, table: str) -> list[tuple[bool, int]]:
    """Connected and away, by seat."""
    return [(seat.connected, seat.away) for seat in (await tables.view(table)).seats]


HERE = (True, types_pb2.AWAY_NO)


# --- One replica


async def test_who_closes_is_away_at_once_and_back_when_they_act(
    service: Presence, gateway: Gateway, tables: Tables, clock: DrivenClock
) -> None:
    table = await all_there(gateway, tables)
    version = (await tables.head(table)).version
    clock.advance(5000)
    await gateway.report((table, BOB, CLOSED))
    await service.settled()
    assert await seats(tables, table) == [HERE, (False, types_pb2.AWAY_CLOSED), HERE]
    clock.advance(5000)
    await gateway.report((table, BOB, CONNECTED))
    await service.settled()
    assert await seats(tables, table) == [HERE, (True, types_pb2.AWAY_CLOSED), HERE]
    assert (await tables.head(table)).version == version + 2


@pytest.mark.parametrize("how", [BROKEN, MOVING])
async def test_who_breaks_off_or_moves_is_away_when_not_back_in_ten_seconds(
    service: Presence, gateway: Gateway, tables: Tables, clock: DrivenClock, how: Any
) -> None:
    table = await all_there(gateway, tables)
    version = (await tables.head(table)).version
    await gateway.report((table, BOB, how), (table, CID, how))
    clock.advance(GRACE_MS - 1)
    await gateway.report((table, CID, CONNECTED))
    await service.settled()
    assert (await tables.head(table)).version == version
    clock.advance(1)
    await service.settled()
    assert await seats(tables, table) == [HERE, (False, types_pb2.AWAY_BROKEN), HERE]


async def test_flapping_renews_nothing(service: Presence, gateway: Gateway, tables: Tables, clock: DrivenClock) -> None:
    table = await all_there(gateway, tables)
    version = (await tables.head(table)).version
    clock.advance(5000)
    for _ in range(9):  # all within 2 s
        await gateway.report((table, BOB, CLOSED))
        await service.settled()
        clock.advance(100)
        await gateway.report((table, BOB, CONNECTED))
        await service.settled()
        clock.advance(100)
    assert (await tables.head(table)).version == version + 1
    clock.advance(5000)
    await service.settled()
    assert (await tables.head(table)).version == version + 2
    assert (await seats(tables, table))[1][0] is True


async def test_a_gateway_that_drains_moves_its_people_to_another(
    service: Presence, gateway: Gateway, tables: Tables, clock: DrivenClock
) -> None:
    table = await all_there(gateway, tables)
    version = (await tables.head(table)).version
    assert not (await gateway.report((table, CID, MOVING), draining=True)).full_wanted
    assert await service.who(table) == {(table, person): MOVING for person in (ANN, BOB, CID)}
    next_one = Gateway(service, "next")
    await next_one.report((table, ANN, CONNECTED), (table, CID, CONNECTED), full=True)
    clock.advance(GRACE_MS)
    await service.settled()
    assert await seats(tables, table) == [HERE, (False, types_pb2.AWAY_BROKEN), HERE]
    assert (await tables.head(table)).version == version + 1
    clock.advance(600_000)
    await eventually(lambda: "gateway" not in service.service.picture.leases)
    assert await service.who(table) == {(table, ANN): CONNECTED, (table, CID): CONNECTED}


async def test_who_is_missing_in_a_full_report_broke_off(
    service: Presence, gateway: Gateway, tables: Tables, clock: DrivenClock
) -> None:
    table = await all_there(gateway, tables)
    await gateway.report((table, ANN, CONNECTED), (table, BOB, CONNECTED), full=True)
    clock.advance(GRACE_MS)
    await service.settled()
    assert await seats(tables, table) == [HERE, HERE, (False, types_pb2.AWAY_BROKEN)]


async def test_several_gateways_of_one_person_count_as_one(
    service: Presence, gateway: Gateway, tables: Tables, clock: DrivenClock
) -> None:
    table = await all_there(gateway, tables)
    version = (await tables.head(table)).version
    other = Gateway(service, "other")
    await other.report((table, BOB, CONNECTED), full=True)
    clock.advance(5000)
    await gateway.report((table, BOB, CLOSED))
    await service.settled()
    assert (await tables.head(table)).version == version
    await other.report((table, BOB, CLOSED))
    await service.settled()
    assert (await seats(tables, table))[1] == (False, types_pb2.AWAY_CLOSED)


async def test_with_nobody_there_the_table_stands_still(
    service: Presence, gateway: Gateway, tables: Tables, clock: DrivenClock
) -> None:
    """Row 49 of the known faults."""
    table = await all_there(gateway, tables)
    clock.advance(5000)
    await gateway.report(*((table, person, CLOSED) for person in (ANN, BOB, CID)))
    await service.settled()
    view = await tables.view(table)
    assert view.HasField("paused")
    clock.advance(60_000)
    await gateway.report((table, ANN, CONNECTED))
    await service.settled()
    assert not (await tables.view(table)).HasField("paused")


async def test_watchers_and_tables_that_are_not_there(
    service: Presence, gateway: Gateway, tables: Tables, clock: DrivenClock
) -> None:
    table = await all_there(gateway, tables)
    version = (await tables.head(table)).version
    await gateway.report((table, "guest:wil", WATCHING), ("no-such-table", ANN, CONNECTED))
    await service.settled()
    assert (await service.who(table))[table, "guest:wil"] == WATCHING
    await gateway.report((table, "guest:wil", CLOSED))
    clock.advance(GRACE_MS)
    await service.settled()
    assert (await tables.head(table)).version == version
    assert service.service.telling.tables() == [table]


# --- What gateways are told


async def test_what_another_replica_was_told_is_missed(service: Presence) -> None:
    """A gateway that comes back from another replica, of which nothing was seen here, says everything again."""
    gateway = Gateway(service, "gone-and-back")
    await gateway.report(("t", ANN, CONNECTED), full=True)
    assert not (await gateway.report()).full_wanted
    gateway.revision += 3  # to another one
    for _ in range(2):  # until it comes
        assert (await gateway.report(("t", CID, CONNECTED))).full_wanted
    assert not (await gateway.report(("t", ANN, CONNECTED), ("t", CID, CONNECTED), full=True)).full_wanted
    assert not (await gateway.report()).full_wanted


async def test_who_may_have_come_to_a_gateway_that_is_to_say_everything_is_not_taken_for_gone(
    service: Presence, gateway: Gateway, tables: Tables, clock: DrivenClock
) -> None:
    table = await all_there(gateway, tables)
    other = Gateway(service, "other")
    await other.report()
    other.revision += 1  # Bob came there: said to another replica
    await gateway.report((table, BOB, CLOSED), (table, CID, BROKEN))
    assert (await other.report()).full_wanted
    clock.advance(2 * GRACE_MS)
    assert (await other.report()).full_wanted
    await service.settled()
    assert await seats(tables, table) == [HERE, HERE, HERE]
    await other.report((table, BOB, CONNECTED), full=True)
    await service.settled()
    assert await seats(tables, table) == [HERE, HERE, (False, types_pb2.AWAY_BROKEN)]


async def test_leases_and_revisions(service: Presence, tables: Tables) -> None:
    gateway = Gateway(service, "new")
    answer = await gateway.report(("t", ANN, CONNECTED), full=False)
    assert (answer.full_wanted, answer.lease_for.seconds) == (True, 600)
    answer = await gateway.report(("t", ANN, CONNECTED), ("t", BOB, CONNECTED), full=True)
    assert not answer.full_wanted
    assert not (await gateway.report(("t", CID, CONNECTED))).full_wanted
    # What comes late changes nothing.
    await gateway.report(("t", ANN, CLOSED), revision=2)
    assert await service.who("t") == {("t", person): CONNECTED for person in (ANN, BOB, CID)}


@pytest.mark.parametrize(
    "wrong",
    [
        presence_pb2.ReportRequest(revision=1),
        presence_pb2.ReportRequest(lease="g" * 65, revision=1),
        presence_pb2.ReportRequest(lease="g", people=[presence_pb2.PersonAtTable(person="p", table="t")]),
        presence_pb2.ReportRequest(lease="g", people=[presence_pb2.PersonAtTable(person="p", status=1)]),
        presence_pb2.ReportRequest(lease="g", people=[presence_pb2.PersonAtTable(table="t", status=1)]),
        presence_pb2.ReportRequest(
            lease="g", people=[presence_pb2.PersonAtTable(person="p", table="t", status=1)] * 2001
        ),
    ],
)
async def test_malformed_reports(service: Presence, wrong: Any) -> None:
    with pytest.raises(Failure, match="bad_request"):
        await service.ask("Report", wrong)


async def test_who_is_there_page_by_page(service: Presence, gateway: Gateway) -> None:
    rows = [(f"t{number % 3}", f"p{number:02}", CONNECTED) for number in range(30)]
    await gateway.report(*rows, ("t9", "p", CONNECTED), ("t0", "closed", CLOSED), full=True)
    found: list[Any] = []
    token = ""
    while not found or token:
        request = presence_pb2.WhoRequest(tables=["t2", "t0", "t1"], page_size=7, page_token=token)
        page = await service.ask("Who", request)
        found += page.people
        token = page.next_page_token
    assert [(entry.table, entry.person) for entry in found] == sorted((table, person) for table, person, _ in rows)
    for wrong in (
        presence_pb2.WhoRequest(),
        presence_pb2.WhoRequest(tables=["t"] * 101),
        presence_pb2.WhoRequest(tables=["t"], page_size=2001),
        presence_pb2.WhoRequest(tables=["t"], page_token="~"),
    ):
        with pytest.raises(Failure, match="bad_request"):
            await service.ask("Who", wrong)


# --- Tables that have heard more than they are told


async def test_what_a_table_takes_for_overtaken_is_told_again_beyond_it(
    service: Presence, gateway: Gateway, tables: Tables, clock: DrivenClock
) -> None:
    """Another replica with a clock that is ahead, or this one before its clock was set back, has used revisions that
    nobody told it of.
    """
    table = await all_there(gateway, tables)
    ahead = service.service.revisions.last + 3_600_000_000
    report = table_pb2.ReportRequest(table=table, revision=ahead)
    report.persons.add(person=ANN, status=table_pb2.PersonPresence.STATUS_CONNECTED)
    assert (await tables.ask("Report", report)).revision == ahead
    clock.advance(5000)
    await gateway.report((table, BOB, CLOSED))
    told = service.service.telling._tables[table]
    await eventually(lambda: told.failures and not told.flying)
    clock.advance(told.not_before_ms - clock.now_ms())
    await service.settled()
    assert [entry[0] for entry in await seats(tables, table)] == [True, False, True]
    assert not told.failures
    assert service.service.revisions.last > ahead


# --- Tables that are away


async def test_a_table_that_is_away_is_told_when_it_is_back(
    make_database: MakeDatabase, nats_url: str, unique: str, clock: DrivenClock
) -> None:
    database, port = await make_database(MIGRATIONS), free_port()
    async with (
        table_service(database, nats_url, port=port) as tables,
        presence(tables, nats_url, unique, clock) as service,
    ):
        gateway = Gateway(service, "gateway")
        table = await all_there(gateway, tables)
        await tables.app.server.stop(0)
        clock.advance(5000)
        await gateway.report((table, BOB, CLOSED), (table, CID, CLOSED))
        told = service.service.telling._tables[table]
        await eventually(lambda: told.failures)
        # Cid is back before the table is: that is what it is told.
        clock.advance(5000)
        await gateway.report((table, CID, CONNECTED))
        async with table_service(database, nats_url, port=free_port()) as again:
            service.app._peers[0]._set_members({again.address})
            while told.failures or told.flying:
                clock.advance(1000)
                await asyncio.sleep(0)
                await eventually(lambda: not told.flying)
            await service.settled()
            connected = [entry[0] for entry in await seats(again, table)]
            assert connected == [True, False, True]


# --- Leases that end


async def test_a_gateway_that_no_longer_reports_takes_its_people_along(
    tables: Tables, nats_url: str, unique: str, clock: DrivenClock
) -> None:
    async with presence(tables, nats_url, unique, clock, lease_s=1) as service:
        clock.advance(1000)  # NATS has been up for a lease period
        gateway = Gateway(service, "gateway")
        table = await all_there(gateway, tables)
        clock.advance(1000)  # it has not reported since
        await eventually(lambda: not service.service.picture.leases)
        assert await service.who(table) == {(table, person): BROKEN for person in (ANN, BOB, CID)}
        clock.advance(GRACE_MS)
        await service.settled()
        assert [entry[0] for entry in await seats(tables, table)] == [False] * 3


async def test_one_that_reports_late_is_back_within_the_grace(
    tables: Tables, nats_url: str, unique: str, clock: DrivenClock
) -> None:
    async with presence(tables, nats_url, unique, clock, lease_s=1) as service:
        clock.advance(1000)
        gateway = Gateway(service, "gateway")
        table = await all_there(gateway, tables)
        version = (await tables.head(table)).version
        clock.advance(1000)
        await eventually(lambda: not service.service.picture.leases)
        clock.advance(GRACE_MS - 1)
        assert (await gateway.report()).full_wanted
        await gateway.report(*((table, person, CONNECTED) for person in (ANN, BOB, CID)), full=True)
        clock.advance(500)
        await service.settled()
        assert (await tables.head(table)).version == version


async def test_a_lost_store_takes_nobody_along(
    own_nats: EmbeddedNats, make_database: MakeDatabase, unique: str, clock: DrivenClock, tmp_path: Any
) -> None:
    url = own_nats.start()
    async with (
        table_service(await make_database(MIGRATIONS), url) as tables,
        presence(tables, url, unique, clock, lease_s=30) as one,
        presence(tables, url, unique, clock, lease_s=30) as other,
    ):
        here, there = Gateway(one, "here"), Gateway(other, "there")
        table = await tables.start()
        await here.report((table, ANN, CONNECTED), full=True)
        await there.report((table, BOB, CONNECTED), (table, CID, CONNECTED), full=True)
        everybody = {(table, person): CONNECTED for person in (ANN, BOB, CID)}
        for service in (one, other):
            await eventually(lambda service=service: _sees(service, table, everybody))
        version = (await tables.head(table)).version
        await asyncio.to_thread(own_nats.kill)
        await eventually(lambda: not one.service.sharing.in_sight)
        shutil.rmtree(tmp_path / "nats" / "store")
        # While NATS is away reports are taken in and told; nobody is gone for want of a key.
        clock.advance(60_000)
        assert not (await here.report((table, ANN, CONNECTED))).full_wanted
        assert await one.who(table) == everybody
        await asyncio.to_thread(own_nats.start)
        for service in (one, other):
            await eventually(lambda service=service: service.service.sharing.in_sight)
            await service.settled()
        await here.report()
        clock.advance(29_000)
        await here.report()
        await one.settled()
        assert (await tables.head(table)).version == version
        # The other gateway had a lease period to report and did not.
        clock.advance(2000)
        await eventually(lambda: "there" not in one.service.picture.leases)
        clock.advance(GRACE_MS)
        for service in (one, other):
            await service.settled()
        assert [entry[0] for entry in await seats(tables, table)] == [True, False, False]


async def _sees(service: Presence, table: str, people: dict[tuple[str, str], int]) -> bool:
    return await service.who(table) == people


# --- Replicas


async def test_replicas_agree_and_one_of_them_tells(
    tables: Tables, nats_url: str, unique: str, clock: DrivenClock
) -> None:
    async with presence(tables, nats_url, unique, clock) as one, presence(tables, nats_url, unique, clock) as other:
        both = (one, other)
        for service in both:
            await eventually(lambda service=service: len(service.service.sharing._others) == 1)
        here, there = Gateway(one, "here"), Gateway(other, "there")
        names = [await tables.start() for _ in range(4)]
        for table in names:
            assert one.service.sharing.mine(table) != other.service.sharing.mine(table)
        await here.report(*((table, ANN, CONNECTED) for table in names), full=True)
        await there.report(*((table, person, CONNECTED) for table in names for person in (BOB, CID)), full=True)
        everybody = {(table, person): CONNECTED for table in names for person in (ANN, BOB, CID)}
        for service in both:
            await eventually(lambda service=service: _who_all(service, names, everybody))
            await service.settled()
        versions = {table: (await tables.head(table)).version for table in names}
        clock.advance(5000)
        await here.report(*((table, ANN, CLOSED) for table in names))
        for table in names:
            await eventually(lambda table=table: _gone(tables, table, 0))
            assert (await tables.head(table)).version == versions[table] + 1


async def _who_all(service: Presence, names: list[str], people: dict[tuple[str, str], int]) -> bool:
    return await service.who(*names) == people


async def _gone(tables: Tables, table: str, seat: int) -> bool:
    return not (await seats(tables, table))[seat][0]


async def test_a_replica_that_ends_leaves_its_tables_and_leases_to_the_others(
    tables: Tables, nats_url: str, unique: str, clock: DrivenClock
) -> None:
    async with presence(tables, nats_url, unique, clock) as other:
        async with presence(tables, nats_url, unique, clock) as one:
            for service in (one, other):
                await eventually(lambda service=service: len(service.service.sharing._others) == 1)
            gateway = Gateway(one, "gateway")
            table = await all_there(gateway, tables)
            everybody = {(table, person): CONNECTED for person in (ANN, BOB, CID)}
            await eventually(lambda: _sees(other, table, everybody))
            clock.advance(5000)
            await gateway.report((table, BOB, BROKEN))
            await eventually(lambda: _sees(other, table, everybody | {(table, BOB): BROKEN}))
        await eventually(lambda: not other.service.sharing._others)
        # The grace that began there ends here; and the gateway goes on here.
        clock.advance(GRACE_MS)
        await eventually(lambda: _gone(tables, table, 1))
        gateway.presence = other
        assert (await gateway.report((table, CID, CLOSED))).full_wanted
        assert not (await gateway.report((table, ANN, CONNECTED), (table, CID, CLOSED), full=True)).full_wanted
        await eventually(lambda: _gone(tables, table, 2))
        assert await other.who(table) == {(table, ANN): CONNECTED}


async def test_a_replica_that_has_ended_says_nothing_more(
    service: Presence, gateway: Gateway, tables: Tables, nats_url: str, clock: DrivenClock
) -> None:
    """Else the others wait for one that is gone, and a table is told what may no longer be so."""
    table = await all_there(gateway, tables)
    store = service.service.store
    bucket, key = store._bucket, store._own_key
    writing = asyncio.create_task(store.save_replica(1))
    await asyncio.sleep(0)
    await service.service.stop()
    await writing
    await gateway.report((table, BOB, CLOSED))
    clock.advance(RENEWED_MS)
    await store.save_replica(2)
    assert not await service.app.bus.get(bucket, key)
    service.service.reporting.go()
    assert not service.service.reporting._under_way
    assert (await seats(tables, table))[1] == HERE


async def test_a_restart_reads_what_was_shared_and_tells_what_was_not(
    tables: Tables, nats_url: str, unique: str, clock: DrivenClock
) -> None:
    async with presence(tables, nats_url, unique, clock) as before:
        gateway = Gateway(before, "gateway")
        table = await all_there(gateway, tables)
        clock.advance(600_001)
        await gateway.report((table, BOB, BROKEN))
    clock.advance(GRACE_MS)
    async with presence(tables, nats_url, unique, clock) as after:
        # Not before everybody has had the time to say what is not in the bucket.
        clock.advance(599_999)
        gateway.presence = after
        await gateway.report()
        await gateway.report((table, ANN, CONNECTED), (table, CID, CONNECTED), full=True)
        await after.settled()
        assert not await _gone(tables, table, 1)
        clock.advance(1)
        await eventually(lambda: _gone(tables, table, 1))
        assert await after.who(table) == {(table, ANN): CONNECTED, (table, CID): CONNECTED}


# --- A start from nothing


async def test_whom_tables_still_count_as_connected_is_gone_unless_reported(
    tables: Tables, nats_url: str, unique: str, clock: DrivenClock
) -> None:
    table = await tables.real()
    assert [entry[0] for entry in await seats(tables, table)] == [True] * 3
    async with presence(tables, nats_url, unique, clock) as service:
        assert service.service.sharing.began_empty
        gateway = Gateway(service, "gateway")
        await gateway.report((table, ANN, CONNECTED), full=True)
        await service.settled()
        clock.advance(600_000)
        await gateway.report()
        assert [entry[0] for entry in await seats(tables, table)] == [True] * 3
        await eventually(service.service._reported.is_set)
        clock.advance(599_000)
        await gateway.report()
        clock.advance(1000)
        await eventually(lambda: _gone(tables, table, 2))
        await eventually(lambda: _gone(tables, table, 1))
        assert (await seats(tables, table))[0] == HERE
        # The table is told since when they have been missed, so that it can take off what did not count of that.
        (told,) = service.service.telling._tables.values()
        since_ms = service.service.telling.since_ms(told, CID)
        assert 0 < since_ms <= clock.now_ms() - 600_000


async def test_after_a_restart_beside_living_leases_nobody_is_looked_for(
    tables: Tables, nats_url: str, unique: str, clock: DrivenClock
) -> None:
    async with presence(tables, nats_url, unique, clock) as before:
        await Gateway(before, "gateway").report(("t", ANN, CONNECTED), full=True)
    clock.advance(601_000)
    async with presence(tables, nats_url, unique, clock) as after:
        assert not after.service.sharing.began_empty


@pytest.mark.parametrize("meanwhile", ["seen anew", "another's"])
async def test_a_lease_that_changes_hands_or_is_lost_while_it_is_written(
    tables: Tables, nats_url: str, unique: str, clock: DrivenClock, meanwhile: str
) -> None:
    """A part that nobody writes again expires, and whoever stands in it is taken for gone by the other replicas."""
    async with presence(tables, nats_url, unique, clock) as service:
        gateway = Gateway(service, "gateway")
        table = await all_there(gateway, tables)
        store, bus = service.service.store, service.app.bus
        lease = service.service.picture.leases["gateway"]
        name = lease.lease.encode().hex()
        keys = {f"people.{name}.{shard_of(table)}": PeopleValue, f"lease.{name}": LeaseValue}
        put, shared = store._put, lease.revision

        async def written(key: str, value: Any) -> None:
            if not key.startswith("people."):
                return await put(key, value)  # its word that it lives, for which it is time too
            store._put = put  # type: ignore[method-assign]
            if meanwhile == "seen anew":
                store.all_changed(lease)
            else:
                store.forget(lease)
                lease.owner = "another"
            return await put(key, value)

        store._put = written  # type: ignore[method-assign]
        clock.advance(RENEWED_MS)
        await gateway.report()
        assert store._put == put, "a part was written"
        if meanwhile == "another's":
            value = msgspec.msgpack.decode(await bus.get(unique, f"lease.{name}") or b"", type=LeaseValue)
            assert value.revision == shared, "nothing more is said of it here"
            return
        clock.advance(RENEWED_MS)
        await gateway.report()
        for key, kind in keys.items():
            assert msgspec.msgpack.decode(await bus.get(unique, key) or b"", type=kind).revision == lease.revision


async def test_nobody_is_gone_while_a_part_of_a_lease_cannot_be_read(
    tables: Tables, nats_url: str, unique: str, clock: DrivenClock
) -> None:
    """Who left one gateway may have come to another, which says so in the very part that is missing."""
    async with presence(tables, nats_url, unique, clock) as before:
        first, second = Gateway(before, "first"), Gateway(before, "second")
        table = await all_there(first, tables)
        await second.report((table, CID, CONNECTED))
        clock.advance(600_001)
        await first.report((table, BOB, BROKEN))
        clock.advance(1)
        await second.report((table, BOB, CONNECTED))
        # as it is when who writes it is too slow to write it again before it expires
        bus, name = before.app.bus, b"second".hex()
        await bus.delete(unique, f"people.{name}.{shard_of(table)}")
    async with presence(tables, nats_url, unique, clock) as after:
        clock.advance(600_000 + GRACE_MS)
        first.presence = second.presence = after
        await first.report((table, ANN, CONNECTED), full=True)
        await after.settled()
        assert not await _gone(tables, table, 1)
        await second.report((table, BOB, CONNECTED), (table, CID, CONNECTED), full=True)
        assert await after.who(table) == {(table, ANN): CONNECTED, (table, BOB): CONNECTED, (table, CID): CONNECTED}
        await first.report((table, ANN, BROKEN))
        clock.advance(GRACE_MS)
        await eventually(lambda: _gone(tables, table, 0))
        assert not await _gone(tables, table, 1)
