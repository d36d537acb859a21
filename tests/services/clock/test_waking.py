"""Wake-ups of a real table, by commits heard and heads read, one replica or two."""

from __future__ import annotations

import asyncio
import time
import types
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from prometheus_client import REGISTRY

from omnipoly.rules import actions as act
from omnipoly.runtime import app
from omnipoly.runtime.embedded import EmbeddedNats
from omnipoly.runtime.failures import Failure
from omnipoly.wire.gen.clock.v1 import clock_pb2
from omnipoly.wire.gen.game.v1 import table_pb2 as game_table_pb2
from omnipoly.wire.gen.table.v1 import table_pb2
from omnipolyd.clock import waking
from omnipolyd.clock.agenda import Entry
from omnipolyd.clock.config import ClockSettings
from omnipolyd.clock.service import ClockService
from tests.services.playing import ANN, MIGRATIONS, Asking, Tables, free_port, table_service
from tests.services.waiting import eventually

MakeDatabase = Callable[..., Awaitable[str]]


@pytest.fixture(scope="module")
async def tables(make_module_database: MakeDatabase, nats_url: str) -> AsyncIterator[Tables]:
    async with table_service(await make_module_database(MIGRATIONS), nats_url) as tables:
        yield tables


class Clock:
    """A clock service, asked over a link."""

    def __init__(self, running: app.App, service: ClockService) -> None:
        self.app = running
        self.service = service
        self.ask = Asking(running.address, "omnipoly.clock.v1.ClockService", clock_pb2)

    async def knows(self, tables: Tables, table: str) -> Entry:
        """The table's entry, once it is that of its head."""
        head = await tables.head(table)

        def entry() -> Entry | None:
            return self.service.agenda.entry(table)

        await eventually(lambda: (found := entry()) is not None and found.version >= head.version)
        found = entry()
        assert found is not None
        return found


@asynccontextmanager
async def clock_service(tables: Tables, nats_url: str, **more: Any) -> AsyncIterator[Clock]:
    settings = {"table_addr": tables.address, "clock_addr": "127.0.0.1:1", "port": 0} | more
    service = ClockService(ClockSettings(nats_url=nats_url, **settings))
    async with app.running(service) as running:
        await eventually(service.heads.complete.is_set)
        clock = Clock(running, service)
        yield clock
        await clock.ask.close()


@pytest.fixture
async def clock(tables: Tables, nats_url: str) -> AsyncIterator[Clock]:
    async with clock_service(tables, nats_url) as clock:
        await clock.app.bus.wait_connected(20)
        await clock.app.bus.flush()
        yield clock


async def played(tables: Tables, table: str, version: int) -> None:
    """Somebody has played what was due."""

    async def moved() -> bool:
        return bool((await tables.head(table)).version > version)

    await eventually(moved)


def counted(kind: str) -> float:
    return REGISTRY.get_sample_value("omnipoly_timer_lateness_seconds_count", {"kind": kind}) or 0.0


# --- One replica


async def test_a_table_is_woken_when_it_is_due(clock: Clock, tables: Tables) -> None:
    table = await tables.real()
    before = counted("due")
    version = await tables.close(table)
    entry = await clock.knows(tables, table)
    due_ms = (await tables.head(table)).next_deadline.ToMilliseconds()
    assert (entry.version, entry.due_ms) == (version, due_ms)
    assert 0 < due_ms - time.time() * 1000 <= 2000
    await played(tables, table, version)
    assert time.time() * 1000 >= due_ms
    assert len((await tables.view(table)).seats[0].throws) == 1
    assert counted("due") > before


async def test_a_deadline_that_was_moved_wakes_nobody(clock: Clock, tables: Tables) -> None:
    table = await tables.real()
    version = await tables.close(table)
    soon = await clock.knows(tables, table)
    due_ms = soon.due_ms
    await tables.act(table, ANN, act.Roll())
    entry = await clock.knows(tables, table)
    assert entry.due_ms > due_ms + 10_000
    assert entry.version == version + 1
    assert clock.service.agenda.next_ms() != due_ms


async def test_a_deadline_of_an_auction_that_is_over_does_nothing_to_the_next(tables: Tables) -> None:
    """Row 6 of the known faults."""
    table = await tables.start()
    await tables.auction(table)
    await tables.act(table, "guest:bob", act.Bid(1, 50))
    old = await tables.head(table)
    await tables.act(table, "guest:bob", act.Leave())  # the auction begins anew
    anew = await tables.view(table)
    assert anew.auctions == 2
    wake = table_pb2.WakeRequest(table=table, at_least=old.version)
    wake.due.FromMilliseconds(round(time.time() * 1000) - 1)
    answer = await tables.ask("Wake", wake)
    assert (list(answer.commits), answer.version) == ([], anew.version)
    assert (await tables.view(table)).auction == anew.auction


async def test_what_was_due_before_the_start_is_played_after_it(tables: Tables, nats_url: str) -> None:
    waiting = [await tables.real() for _ in range(3)]
    versions = [await tables.close(table) for table in waiting]
    async with clock_service(tables, nats_url):
        for table, version in zip(waiting, versions, strict=True):
            await played(tables, table, version)


async def test_what_is_long_overdue_is_played_at_a_bounded_rate(tables: Tables, nats_url: str) -> None:
    names = [await tables.real() for _ in range(5)]
    async with clock_service(tables, nats_url, overdue_per_second=1000) as clock:
        # As if the deadlines had passed a minute ago: the table says when each is really due.
        before = counted("overdue")
        heads = [await tables.head(name) for name in names]
        long_ago = round(time.time() * 1000) - 60_000
        for number, head in enumerate(heads):
            clock.service.agenda.drop(head.table)
            clock.service.agenda.set(head.table, head.epoch, head.version, long_ago + number)
        clock.service.waker.changed()

        def put_right() -> bool:
            entries = [clock.service.agenda.entry(name) for name in names]
            return all(
                entry is not None and entry.place and entry.at_ms >= head.next_deadline.ToMilliseconds()
                for entry, head in zip(entries, heads, strict=True)
            )

        await eventually(put_right)
        assert counted("overdue") >= before + 5
        assert [(await tables.head(name)).version for name in names] == [head.version for head in heads]


async def test_a_wake_up_that_is_too_early_is_tried_again_when_told(clock: Clock, tables: Tables) -> None:
    table = await tables.real()
    entry = await clock.knows(tables, table)
    entry.place = 0  # as if its time had come by a clock that is fast
    await clock.service.waker._wake(entry, "")
    assert abs(entry.at_ms - entry.due_ms) < 100
    assert (entry.tries, entry.place > 0) == (1, True)


async def test_a_table_that_is_not_there_is_dropped(clock: Clock) -> None:
    clock.service.agenda.set("no-such-table", 1, 1, round(time.time() * 1000))
    clock.service.waker.changed()
    await eventually(lambda: clock.service.agenda.entry("no-such-table") is None)


async def test_set_back_what_is_overdue_is_played_as_soon_as_ever(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its pace does not wait until it is as late again as it was."""

    def overdue(name: str) -> None:
        clock.service.agenda.set(name, 1, 1, round(time.time() * 1000) - 60_000)
        clock.service.waker.changed()

    wall = types.SimpleNamespace(ahead_ns=3_600_000_000_000)
    wall.time_ns = lambda: time.time_ns() + wall.ahead_ns
    monkeypatch.setattr(waking, "time", wall)
    overdue("before")
    await eventually(lambda: clock.service.agenda.entry("before") is None)
    wall.ahead_ns = 0
    overdue("after")
    await eventually(lambda: clock.service.agenda.entry("after") is None)


async def test_a_table_service_that_is_away_is_waited_for(make_database: MakeDatabase, nats_url: str) -> None:
    database, port = await make_database(MIGRATIONS), free_port()
    async with table_service(database, nats_url, port=port) as tables:
        table = await tables.real()
        service = ClockService(
            ClockSettings(nats_url=nats_url, table_addr=tables.address, clock_addr="127.0.0.1:1", port=0)
        )
        async with app.running(service) as running:
            clock = Clock(running, service)
            await clock.knows(tables, table)
            version = await tables.close(table)
            await clock.knows(tables, table)
            await tables.app.server.stop(0)
            entry = service.agenda.entry(table)
            assert entry is not None
            await eventually(lambda: entry.tries > 0)
            async with table_service(database, nats_url, port=free_port()) as again:
                # Its address is another: the list of members would tell.
                running._peers[0]._set_members({again.address})
                await played(again, table, version)
            await clock.ask.close()


async def test_messages_that_are_lost_are_made_up_for_by_heads(own_nats: EmbeddedNats, make_database: Any) -> None:
    url = own_nats.start()
    async with table_service(await make_database(MIGRATIONS), url) as tables, clock_service(tables, url) as clock:
        await clock.app.bus.wait_connected(20)
        await asyncio.to_thread(own_nats.kill)
        table = await tables.real()
        assert clock.service.agenda.entry(table) is None
        clock.service.heads.hurry()
        await clock.knows(tables, table)
        version = await tables.close(table)
        await asyncio.to_thread(own_nats.start)
        # The reconnect has heads read at once.
        await played(tables, table, version)


async def test_a_game_that_is_over_has_no_deadline(clock: Clock, tables: Tables) -> None:
    table = await tables.real()
    await clock.knows(tables, table)
    for person in ("guest:bob", "guest:cid"):
        await tables.act(table, person, act.Leave())
    assert (await tables.head(table)).status == game_table_pb2.TABLE_STATUS_OVER
    await eventually(lambda: clock.service.agenda.quiet(table))
    assert clock.service.agenda.entry(table) is None


# --- More replicas


async def test_the_first_in_a_tables_order_wakes_it_and_the_next_a_second_later(tables: Tables, nats_url: str) -> None:
    here, gone = free_port(), free_port()
    members = f"127.0.0.1:{here},127.0.0.1:{gone}"
    async with clock_service(tables, nats_url, clock_addr=members, port=here) as clock:
        own = f"127.0.0.1:{here}"
        await eventually(lambda: clock.service.standing.own == own)
        mine, theirs = "", ""
        while not mine or not theirs:
            table = await tables.real()
            if clock.service.standing.delay_ms(table) == 0:
                mine = table
            else:
                theirs = table
        before = counted("standby")
        versions = [await tables.close(table) for table in (mine, theirs)]
        due_ms = (await clock.knows(tables, theirs)).due_ms
        await played(tables, mine, versions[0])
        await played(tables, theirs, versions[1])
        assert time.time() * 1000 >= due_ms + 1000
        assert counted("standby") == before + 1


async def test_two_replicas_wake_a_table_once(tables: Tables, nats_url: str) -> None:
    ports = [free_port(), free_port()]
    members = ",".join(f"127.0.0.1:{port}" for port in ports)
    async with (
        clock_service(tables, nats_url, clock_addr=members, port=ports[0]) as one,
        clock_service(tables, nats_url, clock_addr=members, port=ports[1]) as other,
    ):
        for clock, port in ((one, ports[0]), (other, ports[1])):
            await eventually(lambda clock=clock, port=port: clock.service.standing.own == f"127.0.0.1:{port}")
        names = [await tables.real() for _ in range(4)]
        before = counted("standby")
        versions = [await tables.close(table) for table in names]
        for table, version in zip(names, versions, strict=True):
            await played(tables, table, version)
            for clock in (one, other):
                await clock.knows(tables, table)
            assert (await tables.head(table)).version == version + 1
        assert counted("standby") == before


# --- What is asked


async def test_readings_and_deadlines(clock: Clock, tables: Tables) -> None:
    names = [await tables.real() for _ in range(3)]
    for table in names:
        await clock.knows(tables, table)
    heads = {table: await tables.head(table) for table in names}
    reading = await clock.ask("Reading", clock_pb2.ReadingRequest(tables=[*names, "no-such-table"]))
    assert {entry.table for entry in reading.deadlines} == set(names)
    for entry in reading.deadlines:
        assert (entry.version, entry.due) == (heads[entry.table].version, heads[entry.table].next_deadline)
    assert abs(reading.server_time.ToMilliseconds() - time.time() * 1000) < 5000

    found: list[Any] = []
    token = ""
    while not found or token:
        page = await clock.ask("Deadlines", clock_pb2.DeadlinesRequest(page_size=2, page_token=token))
        assert len(page.deadlines) <= 2
        found += page.deadlines
        token = page.next_page_token
    assert [entry.due.ToMilliseconds() for entry in found] == sorted(entry.due.ToMilliseconds() for entry in found)
    assert set(names) <= {entry.table for entry in found}
    assert page.tables == len(found) == len(clock.service.agenda)
    assert page.replica == clock.app.instance[:64]
    soon = clock_pb2.DeadlinesRequest()
    soon.due_before.FromMilliseconds(round(time.time() * 1000))
    assert (await clock.ask("Deadlines", soon)).overdue == 0
    for wrong in (
        clock_pb2.DeadlinesRequest(page_size=1001),
        clock_pb2.DeadlinesRequest(page_token="~"),
    ):
        with pytest.raises(Failure, match="bad_request"):
            await clock.ask("Deadlines", wrong)
    with pytest.raises(Failure, match="bad_request"):
        await clock.ask("Reading", clock_pb2.ReadingRequest(tables=["t"] * 101))
