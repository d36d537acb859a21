"""Tables that come into memory and leave it: from snapshots, from nothing, and what cannot be loaded at all."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from prometheus_client import REGISTRY

from omnipoly.rules import actions as act
from omnipoly.rules.ring import Game
from omnipoly.runtime.failures import Failure
from omnipoly.wire import commits, views
from omnipoly.wire.gen.game.v1 import commit_pb2, events_pb2
from omnipoly.wire.gen.table.v1 import table_pb2 as pb
from omnipolyd.table import tables
from tests.services.table.calling import Caller, replay
from tests.services.table.conftest import Serve
from tests.services.table.past import Past, now_ms
from tests.services.table.playing import Picture, play
from tests.services.table.replicas import Replica
from tests.services.table.staging import staged
from tests.services.waiting import eventually

ANN = "guest:ann"


def metric(name: str, **labels: str) -> float:
    return REGISTRY.get_sample_value(name, labels) or 0.0


async def broken(caller: Caller, table: str) -> None:
    """The table says so, whatever it is asked."""
    for asked in (
        caller.act(table, ANN, act.Roll()),
        caller.view(table),
        caller.call("Legal", pb.LegalRequest(table=table, person=ANN)),
        caller.call("Wake", pb.WakeRequest(table=table)),
    ):
        with pytest.raises(Failure) as caught:
            await asked
        assert (caught.value.status.name, caught.value.reason) == ("DATA_LOSS", "table_broken")
        assert caught.value.sentence


# --- snapshots --------------------------------------------------------------------------------------------------------


async def test_from_a_snapshot_as_from_nothing(serve: Serve, game: Game) -> None:
    replica = await serve(snapshot_every=7)
    caller = replica.caller
    table = await caller.started(game, bots=2)
    picture = await Picture.take(caller, table, game)
    for _ in range(12):
        await play([caller], picture, most=5)
        await replica.tables.drained()
        rows = await replica.sql("SELECT version, body FROM snapshots WHERE table_id = $1", table)
        assert len(rows) <= 1  # older ones are dropped
        replica.forget(table)
        assert await caller.state(table, game) == picture.state
        log = await caller.log(table)
        assert replay(log, game) == picture.state
        if rows:
            version = rows[0]["version"]
            assert views.decode(rows[0]["body"], game).state == replay(log[:version], game)
            assert replica.memory(table).snapshot_version == version
            assert picture.version - version < 7
    assert picture.version > 50


async def test_a_snapshot_that_cannot_be_read_costs_nothing(serve: Serve, game: Game) -> None:
    """It can be made again, the log cannot: the table is loaded from all its commits."""
    replica = await serve(snapshot_every=5)
    caller = replica.caller
    table = await caller.started(game, bots=2)
    picture = await Picture.take(caller, table, game)
    await play([caller], picture, most=9)
    await replica.tables.drained()
    for body in (b"\xff\xff", b"", views.encode(replay((await caller.log(table))[:3], game), 3, 1)):
        await replica.sql("UPDATE snapshots SET body = $2 WHERE table_id = $1", table, body)
        replica.forget(table)
        assert await caller.state(table, game) == picture.state
        assert await replica.sql("SELECT FROM snapshots WHERE table_id = $1", table) == []
        await play([caller], picture, most=6)
        await replica.tables.drained()
        assert await replica.sql("SELECT FROM snapshots WHERE table_id = $1", table) != []


async def test_a_snapshot_of_another_history_is_not_looked_at(serve: Serve, game: Game) -> None:
    """Written late by a replica that does not know yet that the log went back in time."""
    replica = await serve(snapshot_every=5)
    caller = replica.caller
    table = await caller.open(ANN)
    for number in range(7):
        await caller.act(table, ANN, act.AddBot(f"Bot {number}"))
    await replica.tables.drained()
    before = await caller.state(table, game)
    elsewhere = views.encode(replay((await caller.log(table))[:3], game), 8, 99)
    await replica.sql("INSERT INTO snapshots VALUES ($1, 8, 99, $2)", table, elsewhere)
    replica.forget(table)
    assert await caller.state(table, game) == before
    # nor is it taken in from somebody who is late
    await replica.tables._snapshots._store.keep_snapshot(table, 7, 99, elsewhere)
    assert await replica.sql("SELECT FROM snapshots WHERE table_id = $1 AND version = 7", table) == []


async def test_a_snapshot_of_a_set_up_table(serve: Serve, game: Game) -> None:
    replica = await serve(snapshot_every=2)
    table = await staged(replica.caller, owns={"A": (1, 3)}, buildings={1: 2, 3: 1}, cash={"B": 7})
    before = await replica.caller.state(table, game)
    await replica.tables.drained()
    replica.forget(table)
    assert await replica.caller.state(table, game) == before
    assert replica.memory(table).scripted


# --- memory -----------------------------------------------------------------------------------------------------------


async def test_tables_leave_memory_and_come_back(serve: Serve, game: Game, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tables, "EVICT_EVERY_S", 0.02)
    replica = await serve(evict_after_s=0.05)
    caller = replica.caller
    table = await caller.started(game)
    before = await caller.state(table, game)
    await eventually(lambda: not replica.tables._tables)
    loads = metric("omnipoly_table_loads_total")
    assert await caller.state(table, game) == before
    assert metric("omnipoly_table_loads_total") == loads + 1
    await caller.act(table, ANN, act.Roll())


async def test_no_more_tables_than_allowed(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    """The one that was not used for longest goes first; one that is busy stays, and does not keep the others."""
    monkeypatch.setattr(tables, "EVICT_EVERY_S", 0.02)
    replica = await serve(cached_tables=3)
    caller = replica.caller
    ids = [await caller.open(ANN) for _ in range(8)]
    for table in ids:
        await caller.act(table, ANN, act.AddBot())
    await eventually(lambda: len(replica.tables._tables) == 3)
    assert list(replica.tables._tables) == ids[5:]
    replica.memory(ids[5]).busy = True
    for table in ids[:3]:
        await caller.view(table)
    await eventually(lambda: len(replica.tables._tables) == 3)
    assert list(replica.tables._tables) == [ids[5], *ids[1:3]]
    replica.memory(ids[5]).busy = False


# --- out of play ------------------------------------------------------------------------------------------------------


def with_event(message_bytes: bytes) -> Any:
    def changed(body: bytes) -> bytes:
        message = commit_pb2.Commit.FromString(body)
        message.events.add(must_understand=True).MergeFromString(message_bytes)
        return message.SerializeToString()

    return changed


def of_negative_money(body: bytes) -> bytes:
    message = commit_pb2.Commit.FromString(body)
    paid = next(event.paid for event in message.events if event.WhichOneof("kind") == "paid")
    paid.amount = -paid.amount
    return message.SerializeToString()


HARM: dict[str, tuple[str, Any]] = {
    "bytes that are no commit": ("UPDATE commits SET body = $2 WHERE table_id = $1 AND version = 3", b"\xff\xff"),
    "an event that does not say how": (
        "UPDATE commits SET body = $2 WHERE table_id = $1 AND version = 3",
        with_event(events_pb2.Event(moved=events_pb2.Moved(field=3)).SerializeToString()),
    ),
    "an event of no kind": ("UPDATE commits SET body = $2 WHERE table_id = $1 AND version = 3", with_event(b"")),
    "an invariant that does not hold": (
        "UPDATE commits SET body = $2 WHERE table_id = $1 AND version = 3",
        of_negative_money,
    ),
    "a gap": ("DELETE FROM commits WHERE table_id = $1 AND version = 2", None),
    "an end that is missing": ("DELETE FROM commits WHERE table_id = $1 AND version = 3", None),
    "a head that is behind": ("UPDATE heads SET version = 2 WHERE table_id = $1", None),
    "events that fit no state": ("UPDATE commits SET body = $2 WHERE table_id = $1 AND version = 1", lambda body: body),
    "no seed": ("DELETE FROM secrets WHERE table_id = $1", None),
    "another seed": ("UPDATE secrets SET seed = $2 WHERE table_id = $1", b"another"),
    "an edition that cannot be read": ("UPDATE heads SET digest = repeat('0', 64) WHERE table_id = $1", None),
}


NEW_FIELD = events_pb2.TurnStarted.FromString(b"\x10\x03\xf8\x3e\x01")
"""A turn that has begun, with what only a later version knows of it."""
LATER = {
    "a kind of event": b"\xfa\x3e\x00",
    "a value of an enum": events_pb2.Event(moved=events_pb2.Moved(way=99)).SerializeToString(),  # type: ignore[arg-type]
    "a field of a known kind": events_pb2.Event(turn_started=NEW_FIELD).SerializeToString(),
}


@pytest.mark.parametrize("harm", HARM)
async def test_what_cannot_be_loaded_is_taken_out_of_play(serve: Serve, game: Game, harm: str) -> None:
    replica = await serve()
    caller = replica.caller
    table, other = await caller.started(game, bots=1), await caller.started(game, bots=1)
    log = await caller.log(table)
    assert len(log) == 3
    sql, change = HARM[harm]
    await replica.sql("INSERT INTO editions VALUES (repeat('0', 64), 'tubbypoly', 'no toml')")
    await replica.sql(sql, table, *([] if change is None else [change(log[2]) if callable(change) else change]))
    replica.forget(table)
    counted = metric("omnipoly_tables_quarantined_total")
    await broken(caller, table)
    assert metric("omnipoly_tables_quarantined_total") == counted + 1
    (row,) = await replica.sql("SELECT reason FROM quarantined WHERE table_id = $1", table)
    assert len(row["reason"]) > 15
    # others are not affected
    await caller.act(other, ANN, act.Roll())
    # nor does another replica, or the next start, try its luck
    again = await serve()
    await broken(again.caller, table)
    assert metric("omnipoly_tables_quarantined_total") == counted + 1
    # it can still be looked into
    assert len((await caller.call("Commits", pb.CommitsRequest(table=table))).commits) >= 2
    assert table in {row.table for row in (await caller.call("List", pb.ListRequest(person=ANN))).tables}


@pytest.mark.parametrize("later", LATER)
async def test_what_a_later_version_has_played_is_left_to_it(serve: Serve, game: Game, later: str) -> None:
    """In the middle of an upgrade: this replica cannot read it, which says nothing against the table."""
    replica = await serve()
    caller = replica.caller
    table = await caller.started(game, bots=1)
    body = (await caller.log(table))[2]
    change = "UPDATE commits SET body = $2 WHERE table_id = $1 AND version = 3"
    await replica.sql(change, table, with_event(LATER[later])(body))
    replica.forget(table)
    counted = metric("omnipoly_tables_quarantined_total"), metric("omnipoly_tables_newer_total")
    for asked in (
        caller.act(table, ANN, act.Roll()),
        caller.view(table),
        caller.call("Wake", pb.WakeRequest(table=table)),
    ):
        with pytest.raises(Failure) as caught:
            await asked
        assert (caught.value.status.name, caught.value.reason) == ("UNAVAILABLE", "unavailable")
    assert metric("omnipoly_tables_quarantined_total") == counted[0]
    assert metric("omnipoly_tables_newer_total") == counted[1] + 3
    assert not await replica.sql("SELECT reason FROM quarantined WHERE table_id = $1", table)
    # As the later version reads it, which is this one as soon as it knows all there is.
    await replica.sql(change, table, body)
    await caller.act(table, ANN, act.Roll())


async def test_a_later_versions_snapshot_is_left_to_it(serve: Serve, game: Game) -> None:
    """What this replica does not know of would be lost from the table, and from the next snapshot."""
    replica = await serve(snapshot_every=2)
    table = await replica.caller.started(game, bots=1)
    await replica.tables.drained()
    (kept,) = await replica.sql("SELECT version, body FROM snapshots WHERE table_id = $1", table)
    change = "UPDATE snapshots SET body = $2 WHERE table_id = $1"
    await replica.sql(change, table, kept["body"] + b"\xf8\x3e\x01")
    replica.forget(table)
    with pytest.raises(Failure) as caught:
        await replica.caller.act(table, ANN, act.Roll())
    assert (caught.value.status.name, caught.value.reason) == ("UNAVAILABLE", "unavailable")
    assert len(await replica.sql("SELECT FROM snapshots WHERE table_id = $1", table)) == 1
    await replica.sql(change, table, kept["body"])
    await replica.caller.act(table, ANN, act.Roll())


async def test_back_in_play_when_an_operator_says_so(serve: Serve, game: Game) -> None:
    """Repaired and taken off the list: the next command loads it, on every replica."""
    one, two = await serve(), await serve()
    table = await one.caller.started(game, bots=1)
    (seed,) = await one.sql("DELETE FROM secrets WHERE table_id = $1 RETURNING seed", table)
    one.forget(table)
    for replica in (one, two):
        await broken(replica.caller, table)
    await one.sql("INSERT INTO secrets VALUES ($1, $2)", table, seed["seed"])
    await one.sql("DELETE FROM quarantined WHERE table_id = $1", table)
    for replica in (one, two):
        assert (await replica.caller.view(table)).table == table
    await two.caller.act(table, ANN, act.Roll())


async def test_a_quarantine_that_could_not_be_written_down(serve: Serve, game: Game) -> None:
    """The replica knows all the same, and writes it down as soon as it can."""
    replica = await serve()
    table = await replica.caller.started(game, bots=1)
    await replica.sql("DELETE FROM secrets WHERE table_id = $1", table)
    replica.forget(table)
    await replica.sql("ALTER TABLE quarantined ADD CONSTRAINT not_now CHECK (reason = '')")
    await broken(replica.caller, table)
    assert replica.memory(table).broken
    await replica.sql("ALTER TABLE quarantined DROP CONSTRAINT not_now")
    await broken(replica.caller, table)
    assert not replica.memory(table).broken
    assert len(await replica.sql("SELECT FROM quarantined")) == 1


async def test_an_invariant_that_a_command_breaks(serve: Serve, game: Game) -> None:
    """Nothing of it is stored, and the table is looked at before it goes on."""
    replica = await serve()
    caller = replica.caller
    table, other = await caller.started(game, bots=1), await caller.started(game, bots=1)
    await caller.view(table)
    state = replica.memory(table).state
    assert state is not None
    state.bank += 1  # as a fault of the rules would
    await broken(caller, table)
    assert len(await caller.log(table)) == 3
    (row,) = await replica.sql("SELECT reason FROM quarantined WHERE table_id = $1", table)
    assert row["reason"].startswith("an invariant fails: money")
    await caller.act(other, ANN, act.Roll())


async def test_a_fault_of_the_rules_ends_its_command_alone(
    serve: Serve, game: Game, caplog: pytest.LogCaptureFixture
) -> None:
    """INTERNAL with an id; its text is in the log under that id, and only there; the table goes on."""
    replica = await serve()
    caller = replica.caller
    table = await caller.open(ANN)
    await caller.view(table)
    state = replica.memory(table).state
    assert state is not None
    state.holder.append("the secret")  # one row longer than the others: nothing fits any more
    for _ in range(3):
        with pytest.raises(Failure) as caught:
            await caller.act(table, ANN, act.Leave())
        assert (caught.value.status.name, caught.value.reason) == ("INTERNAL", "internal")
        assert caught.value.metadata["error_id"] in caught.value.sentence
        assert "secret" not in repr(vars(caught.value))
    assert caught.value.metadata["error_id"] in caplog.text
    state.holder.pop()
    await caller.act(table, ANN, act.Leave())


async def test_what_cannot_be_written_ends_its_command_alone(serve: Serve, game: Game) -> None:
    """A number that its field cannot hold, a time beyond all calendars: INTERNAL, never a table that hangs."""
    replica = await serve()
    caller = replica.caller
    table = await caller.open(ANN)
    view = await caller.view(table)
    memory = replica.memory(table).state
    assert memory is not None
    # in the picture
    memory.votes = 2**40
    for _ in range(2):
        with pytest.raises(Failure) as caught:
            await caller.view(table)
        assert caught.value.reason == "internal"
    memory.votes = 0
    assert await caller.view(table) == view
    # in the head
    last_move_ms, memory.last_move_ms = memory.last_move_ms, 10**18
    report = pb.ReportRequest(table=table, revision=1, persons=[pb.PersonPresence(person=ANN, status=2)])
    for _ in range(2):
        with pytest.raises(Failure) as caught:
            await caller.call("Report", report)
        assert caught.value.reason == "internal"
    memory.last_move_ms = last_move_ms
    assert (await caller.call("Report", report)).version == 2


async def test_a_command_that_was_queued_behind_a_broken_table(serve: Serve, game: Game) -> None:
    replica = await serve()
    table = await replica.caller.started(game, bots=1)
    await replica.sql("DELETE FROM commits WHERE table_id = $1 AND version = 2", table)
    replica.forget(table)
    said = await asyncio.gather(*(replica.caller.view(table) for _ in range(10)), return_exceptions=True)
    assert [getattr(failure, "reason", failure) for failure in said] == 10 * ["table_broken"]


async def test_a_log_written_elsewhere_is_played_on(replica: Replica, caller: Caller, game: Game) -> None:
    """Nothing but the log counts: what another process has written is loaded and goes on."""
    past = Past(replica, game)
    await past.open(now_ms() - 5000)
    await past.act(now_ms() - 4000, ANN, act.AddBot())
    await past.act(now_ms() - 3000, ANN, act.Start())
    assert await caller.state(past.table, game) == past.state
    answer = await caller.act(past.table, ANN, act.Roll())
    assert commits.decode(answer.commits[0], game).version == 4
