"""Time in which the platform could not commit counts for nobody (CORE-CLOCK): written down once, made up for once."""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from omnipoly.rules import actions as act
from omnipoly.rules.events import ClocksMoved, GameEnded, WentAway
from omnipoly.rules.ring import Game
from omnipoly.rules.state import Phase
from omnipoly.runtime.failures import Failure
from omnipoly.wire import commits, views
from omnipoly.wire.gen.table.v1 import table_pb2 as pb
from omnipolyd.table import outages, store
from omnipolyd.table.outages import Outages
from omnipolyd.table.store import Store
from tests.services.proxy import Proxy
from tests.services.table.calling import Caller, replay
from tests.services.table.conftest import Serve
from tests.services.table.past import Past, begun, now_ms
from tests.services.table.replicas import Replica
from tests.services.waiting import eventually

ANN, BOB = "guest:ann", "guest:bob"
GAP_MS = 500
CLOCK_MS = 45_000


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """What another replica has written down is known at once."""
    monkeypatch.setattr(outages, "PULSE_S", 0.02)


@pytest.fixture
def _short_gaps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outages, "GAP_S", GAP_MS / 1000)
    monkeypatch.setattr(store, "PULSE_S", 0.1)


async def moved(caller: Caller, table: str, game: Game) -> list[int]:
    """By how much the table's clocks were moved, each time."""
    return [
        event.by_ms
        for body in await caller.log(table)
        for event in commits.decode(body, game).events
        if type(event) is ClocksMoved
    ]


async def written(replica: Replica, start_ms: int, end_ms: int) -> None:
    """An outage that another replica has found, known here."""
    start, end = (datetime.fromtimestamp(at / 1000, UTC) for at in (start_ms, end_ms))
    await replica.sql("INSERT INTO outages (from_at, to_at) VALUES ($1, $2)", start, end)
    await known(replica, end_ms)


async def known(replica: Replica, end_ms: int) -> None:
    await eventually(lambda: _outages(replica).ended_ms == end_ms)


async def heart_stands_still(connection: Any) -> None:
    """Keep every replica from beating until that is an outage."""
    await connection.execute("LOCK TABLE heartbeat IN ACCESS EXCLUSIVE MODE")
    at = await connection.fetchval("SELECT at FROM heartbeat")
    await eventually(lambda: now_ms() > at.timestamp() * 1000 + GAP_MS + 50)


def _outages(replica: Replica) -> Outages:
    return replica.tables._player._outages


@pytest.mark.usefixtures("_short_gaps")
async def test_a_gap_is_written_down_once(serve: Serve, proxy: Proxy, game: Game) -> None:
    """Nobody can commit for a while: one outage, whoever finds it; every table is moved by it once."""
    one, two = await serve(proxy.url), await serve(proxy.url)
    tables = [await one.caller.started(game, bots=1) for _ in range(3)]
    before = {table: views.from_view(await two.caller.view(table), game) for table in tables}
    await proxy.stop()
    stopped_ms = now_ms()
    await eventually(lambda: not _outages(one).fresh and not _outages(two).fresh)
    await eventually(lambda: now_ms() > stopped_ms + GAP_MS + 200)
    await proxy.start()
    started_ms = now_ms()
    await eventually(lambda: _outages(one).fresh and _outages(two).fresh)
    for table in tables:
        # each at both, at once
        said = await asyncio.gather(
            *(replica.caller.act(table, who, act.Roll()) for replica in (one, two) for who in (ANN, "bot:0")),
            return_exceptions=True,
        )
        assert sum(not isinstance(answer, Exception) for answer in said) >= 2
    rows = await one.sql("SELECT from_at, to_at FROM outages")
    assert len(rows) == 1
    begun_ms, ended_ms = (round(at.timestamp() * 1000) for at in rows[0])
    assert stopped_ms - GAP_MS <= begun_ms <= stopped_ms + 50
    assert started_ms - 50 <= ended_ms <= started_ms + 5000
    for table in tables:
        (by_ms,) = await moved(one.caller, table, game)
        assert by_ms == ended_ms - max(begun_ms, before[table].now_ms)


async def test_nothing_that_was_due_meanwhile_is_played(serve: Serve, game: Game) -> None:
    """Deadlines that passed during the outage are later by it, the hour without a move too."""
    replica = await serve()
    caller = replica.caller
    past = await begun(replica, game, started_ms=now_ms() - 10_000)
    asleep = await begun(replica, game, started_ms=now_ms() - 10_000)
    before = past.state
    start_ms = now_ms()
    await written(replica, start_ms, start_ms + 7_200_000)
    answer = await caller.call("Wake", pb.WakeRequest(table=past.table))
    events = [event for body in answer.commits for event in commits.decode(body, game).events]
    assert [type(event) for event in events] == [ClocksMoved]
    by_ms = events[0].by_ms  # type: ignore[attr-defined]
    assert by_ms == 7_200_000
    after = replay(await caller.log(past.table), game)
    assert after.deadline_ms == [at + by_ms for at in before.deadline_ms]
    assert after.last_move_ms == before.last_move_ms + by_ms
    assert answer.next_deadline.ToMilliseconds() == min(after.deadline_ms)
    # a refused command leaves it too
    await caller.refused(asleep.table, BOB, act.EndTurn())
    assert await moved(caller, asleep.table, game) == [by_ms]
    assert replay(await caller.log(asleep.table), game).phase is Phase.ORDER


async def test_once_for_all_that_follow(serve: Serve, game: Game) -> None:
    """Also where this machine's clock is behind that of the database: the outage ends in its future."""
    one, two = await serve(), await serve()
    table = await one.caller.started(game, bots=3)
    end_ms = now_ms() + 3000
    await written(one, now_ms() - 1, end_ms)
    await known(two, end_ms)
    for number in range(10):
        await (one, two)[number % 2].caller.refused(table, ANN, act.Bid(1, 1))
        if number == 4:
            await one.caller.act(table, ANN, act.Roll())
    assert len(await moved(one.caller, table, game)) == 1
    log = [commits.decode(body, game) for body in await one.caller.log(table)]
    assert log[-1].at_ms >= end_ms


async def test_what_was_due_before_the_outage_is_played_after_it(serve: Serve, game: Game) -> None:
    """First the clocks, then what fell due, then the command: all in one commit, or two."""
    replica = await serve()
    past = await begun(replica, game, started_ms=now_ms() - CLOCK_MS - 2000)
    end_ms = now_ms() - 500
    await written(replica, end_ms - 500, end_ms)
    answer = await replica.caller.act(past.table, ANN, act.ProposeEnd())
    kinds = [type(event).__name__ for event in commits.decode(answer.commits[0], game).events]
    assert kinds[0] == "ClocksMoved"
    assert kinds.count("WentAway") == 2
    assert kinds.index("WentAway") < kinds.index("VoteOpened")
    assert await moved(replica.caller, past.table, game) == [500]


async def test_a_table_that_is_loaded_long_after(serve: Serve, game: Game) -> None:
    """Older than what a replica remembers: asked of the log. A table after it has nothing to make up for."""
    hour = 3_600_000
    first = await serve()
    t0 = now_ms() - 30 * hour
    past = await begun(first, game, started_ms=t0)
    for start, end in (
        (t0 - 9 * hour, t0 - 8 * hour),
        (t0 + 1000, t0 + 9 * hour),
        (t0 + 10 * hour, t0 + 30 * hour - 60_000),
    ):
        await first.sql(
            "INSERT INTO outages (from_at, to_at) VALUES ($1, $2)",
            datetime.fromtimestamp(start / 1000, UTC),
            datetime.fromtimestamp(end / 1000, UTC),
        )
    replica = await serve()
    assert not _outages(replica).covers(t0)
    # an hour counts: two and a half hours after Start nobody has moved for an hour
    await replica.caller.call("Wake", pb.WakeRequest(table=past.table))
    assert await moved(replica.caller, past.table, game) == [9 * hour - 1000 + 20 * hour - 60_000]
    state = replay(await replica.caller.log(past.table), game)
    assert state.ended == "idle"
    assert _outages(replica).covers(t0)
    young = await begun(replica, game, started_ms=now_ms() - 1000)
    await replica.caller.refused(young.table, ANN, act.EndTurn())
    assert await moved(replica.caller, young.table, game) == []


async def test_a_table_in_memory_since_before_what_is_remembered(
    serve: Serve, game: Game, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outages, "REMEMBERED", timedelta(0))
    replica = await serve()
    table = await replica.caller.started(game)
    beats = _outages(replica)._beaten
    await eventually(lambda: _outages(replica)._beaten > beats + 0.1)
    assert replica.memory(table).state is not None
    start_ms = now_ms()
    await written(replica, start_ms, start_ms + 5000)
    await replica.caller.refused(table, ANN, act.EndTurn())
    assert await moved(replica.caller, table, game) == [5000]


async def test_a_table_that_stands_still(serve: Serve, game: Game) -> None:
    """Paused through an outage: it goes on with the time that was left, the outage given once."""
    replica = await serve()
    caller = replica.caller
    now = now_ms()
    past = await begun(replica, game, started_ms=now - 20_000)
    for person in (ANN, BOB):
        await past.act(now - 15_000, person, act.Disconnect(broken=False))
    paused = past.state
    assert paused.paused_ms
    left = [at - paused.paused_ms for at in paused.deadline_ms]
    await written(replica, now - 10_000, now - 4_000)
    report = pb.ReportRequest(table=past.table, revision=1, persons=[pb.PersonPresence(person=ANN, status=1)])
    await caller.call("Report", report)
    state = replay(await caller.log(past.table), game)
    assert not state.paused_ms
    assert await moved(caller, past.table, game) == [6000]
    assert [at - state.now_ms for at in state.deadline_ms] == left


@pytest.mark.usefixtures("_short_gaps")
async def test_nothing_is_decided_without_a_pulse(serve: Serve, game: Game) -> None:
    """A replica that cannot beat does not know whether time stands still, and waits, also for what it has in memory."""
    replica = await serve()
    caller = replica.caller
    table = await caller.started(game)
    async with replica.app.database.acquire() as connection, connection.transaction():
        await heart_stands_still(connection)
        assert not _outages(replica).fresh
        with pytest.raises(Failure) as caught:
            await caller.act(table, ANN, act.Roll(), command_id="waits", timeout={"nanos": 100_000_000})
        assert (caught.value.status.name, caught.value.reason) == ("UNAVAILABLE", "unavailable")
        waiting = asyncio.create_task(caller.act(table, ANN, act.Roll(), command_id="waits"))
        await eventually(lambda: replica.memory(table).busy)
    answer = await waiting
    assert not answer.duplicate
    assert len(await moved(caller, table, game)) == 1
    kinds = [type(event) for body in answer.commits for event in commits.decode(body, game).events]
    assert WentAway not in kinds
    assert GameEnded not in kinds


@pytest.mark.usefixtures("_short_gaps")
async def test_a_load_that_outlasts_the_pulse(serve: Serve, proxy: Proxy, game: Game) -> None:
    """The pulse was fresh when the table began to be loaded, and is not any more: it is waited for once more."""
    replica = await serve(proxy.url)
    past = await begun(replica, game, started_ms=now_ms() - 1000)
    held = proxy.hold(past.table.encode())
    waiting = asyncio.create_task(replica.caller.act(past.table, ANN, act.Roll()))
    await held.sprung.wait()
    async with replica.app.database.acquire() as connection, connection.transaction():
        await heart_stands_still(connection)
        assert not _outages(replica).fresh
        held.released.set()
        await eventually(lambda: replica.memory(past.table).state is not None)
        assert len(await replica.sql("SELECT FROM commits WHERE table_id = $1", past.table)) == past.version
    await waiting
    assert len(await moved(replica.caller, past.table, game)) == 1


async def test_a_machine_that_was_put_to_sleep(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    """One clock stands still meanwhile, the other is far ahead: the pulse is not fresh by it."""
    replica = await serve()
    beats = Outages(Store(replica.app.database))
    assert not beats.fresh
    await beats.beat()
    assert beats.fresh
    wall = time.time
    for hours in (8, -8):
        with monkeypatch.context() as patch:
            patch.setattr(time, "time", lambda hours=hours: wall() + hours * 3600)
            assert not beats.fresh
    beats.forget()
    assert not beats.fresh


async def test_an_outage_of_before_a_table_was_opened(serve: Serve, game: Game) -> None:
    replica = await serve()
    end_ms = now_ms() - 1000
    await written(replica, end_ms - 59_000, end_ms)
    table = await replica.caller.started(game)
    await replica.caller.act(table, ANN, act.Roll())
    assert await moved(replica.caller, table, game) == []
    lobby = Past(replica, game)
    await lobby.open(end_ms - 29_000)
    await replica.caller.act(lobby.table, ANN, act.AddBot())
    assert await moved(replica.caller, lobby.table, game) == [29_000]


async def test_outages_sum_up(replica: Replica) -> None:
    found: Any = Outages(Store(replica.app.database))
    found._known = [(100, 200), (300, 400), (1000, 5000)]
    found._since_ms = 50
    assert [found.missed_ms(since) for since in (50, 150, 200, 250, 399, 400, 4999, 5000, 9999)] == [
        4200, 4150, 4100, 4100, 4001, 4000, 1, 0, 0
    ]  # fmt: skip
    assert not found.covers(49)


async def test_the_time_to_come_back_is_given_without_the_outage(serve: Serve, game: Game) -> None:
    """Whose stream breaks cannot come back while nothing can be committed; who closed it is gone all the same."""
    replica = await serve()
    caller = replica.caller
    table = await caller.open(ANN)
    await caller.act(table, BOB, act.Join("Bob"))
    await caller.act(table, ANN, act.Start())
    now = now_ms()
    await written(replica, now - 8000, now - 1000)

    async def report(revision: int, status: int, broken_for_ms: int) -> pb.ReportResponse:
        row = pb.PersonPresence(person=ANN, status=status)  # type: ignore[arg-type]
        row.since.FromMilliseconds(now - broken_for_ms)
        closed = pb.PersonPresence(person=BOB, status=1 + revision % 2)  # type: ignore[arg-type]
        return await caller.call("Report", pb.ReportRequest(table=table, revision=revision, persons=[row, closed]))

    async def connected() -> list[bool]:
        return [seat.connected for seat in (await caller.view(table)).seats]

    for revision in (1, 2):
        answer = await report(revision, 3, 10_500)
        assert 6000 < answer.again_in.ToMilliseconds() <= 6500
        assert await connected() == [True, revision == 2]
    # the same again, by who has forgotten since when; and what is older than the outage and its grace
    assert not (await report(3, 3, 17_500)).HasField("again_in")
    assert await connected() == [False, False]
    assert not (await report(4, 1, 0)).HasField("again_in")
    answer = await report(5, 3, 0)  # it broke after the outage: whoever reports has waited, and is believed
    assert not answer.HasField("again_in")
    assert await connected() == [False, False]
