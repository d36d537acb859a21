"""Gateways that do not hear what is published, or hear it late, twice or wrongly: nobody loses anything."""

from __future__ import annotations

from collections.abc import AsyncIterator

import asyncpg
import pytest

from omnipoly.rules import actions as act
from omnipoly.runtime.embedded import EmbeddedNats
from omnipoly.wire.gen.game.v1 import script_pb2, types_pb2
from omnipoly.wire.gen.gateway.v1 import stream_pb2, watch_pb2
from omnipoly.wire.gen.table.v1 import table_pb2
from omnipolyd.gateway import room as rooms
from tests.services.conftest import MakeDatabase
from tests.services.gateway.calling import Client, Playing, Stack, Watching, game, gateway, stack
from tests.services.waiting import eventually


@pytest.fixture
async def deaf(running: Stack, own_nats: EmbeddedNats) -> AsyncIterator[Stack]:
    """A gateway on a NATS of its own: what the table publishes never gets here, what a test publishes does."""
    async with gateway(running.table, own_nats.url, heads_every_s=0.2) as deaf:
        yield deaf


@pytest.fixture
async def far(deaf: Stack, unique: str) -> AsyncIterator[Client]:
    """Somebody signed in who watches there."""
    async with deaf.client(f"oidc:far-{unique}", guest=False) as client:
        yield client


async def watching(client: Client, table: str) -> Watching:
    stream = client.watch(table)
    await stream.next("progress")
    return stream


async def commits(client: Client, table: str, after: int = 0) -> list[bytes]:
    request = watch_pb2.HistoryRequest(table=table, after=after)
    page = await client.call("Watch/History", request)
    return [commit.SerializeToString() for commit in page.commits]


async def test_a_lost_last_message_is_found_by_the_heads(ann: Client, bob: Client, far: Client) -> None:
    table = await game(ann, bob)
    stream = await watching(far, table)
    for client in (ann, bob):
        await client.act(table, act.Roll())
    # Nothing comes after it that could tell of the gap.
    assert [commit.version for commit in await stream.up_to(5)] == [4, 5]


async def test_a_lost_message_is_found_by_the_next(
    running: Stack, ann: Client, bob: Client, own_nats: EmbeddedNats
) -> None:
    table = await game(ann, bob)
    async with (
        gateway(running.table, own_nats.url, heads_every_s=60) as far_away,
        far_away.client("oidc:far", guest=False) as far,
    ):
        stream = await watching(far, table)
        for client in (ann, bob):
            await client.act(table, act.Roll())
        *_, last = await commits(ann, table, 3)
        await far_away.gateway.bus.flush()
        # Twice, and what is no commit at all: the first tells of the gap, the rest of nothing.
        for data in (b"\xff", last, last):
            far_away.gateway.bus.publish(f"omnipoly.table.{table}", data)
        assert [commit.version for commit in await stream.up_to(5)] == [4, 5]
        room = far_away.hub.rooms.find(table)
        assert room.version == 5


async def test_messages_in_any_order_are_shown_once_and_in_order(
    running: Stack, ann: Client, own_nats: EmbeddedNats
) -> None:
    table = await ann.create()
    async with (
        gateway(running.table, own_nats.url, heads_every_s=60) as far_away,
        far_away.client("oidc:far", guest=False) as far,
    ):
        stream = await watching(far, table)
        for n in range(20):
            await ann.act(table, act.SetOptions(round_limit=n + 1))
        data = await commits(far, table, 1)
        await far_away.gateway.bus.flush()
        for n in (1, 0, 4, 3, 2, 2, 19, 0, 7, 6, 5, *range(20)):
            far_away.gateway.bus.publish(f"omnipoly.table.{table}", data[n])
        assert [commit.version for commit in await stream.up_to(21)] == list(range(2, 22))


async def test_decisions_whose_message_is_lost_are_asked_for(
    deaf: Stack, ann: Client, bob: Client, unique: str
) -> None:
    table = await game(ann, bob, edition="rugpull", dev=True)
    async with deaf.client(f"guest:bob-{unique}") as far:
        stream = far.play()
        await stream.follow(table)
        assert await stream.kinds_until("progress") == ["snapshot", "progress"]
        script = script_pb2.Script(throws=[script_pb2.ScriptedThrow(dice=[1, 2])])
        mine = ann.play()
        await mine.act(table, act.Roll(), script=script)
        await mine.act(table, act.Decline())
        prompt = await stream.next("prompt")
        assert (prompt.seat, prompt.phase) == (1, types_pb2.PHASE_AUCTION)
        assert deaf.hub.rooms.find(table).version == 5


async def test_own_answers_keep_a_gateway_going_without_nats(
    running: Stack, ann: Client, bob: Client, own_nats: EmbeddedNats, unique: str
) -> None:
    table = await game(ann, bob)
    async with (
        gateway(running.table, own_nats.url, heads_every_s=60) as far_away,
        far_away.client(f"guest:ann-{unique}") as far,
        far_away.client("oidc:far", guest=False) as viewer,
    ):
        own_nats.kill()
        await eventually(lambda: not far_away.gateway.bus.connected)
        playing, stream = far.play(), await watching(viewer, table)
        await playing.follow(table)
        await playing.next("progress")
        assert (await playing.act(table, act.Roll())).version == 4
        assert (await stream.next("commit")).version == 4
        # Somebody else's commands, elsewhere, are found behind the next of our own.
        await bob.act(table, act.Roll())
        assert (await playing.act(table, act.Leave())).version == 6
        assert [commit.version for commit in await stream.up_to(6)] == [5, 6]
        # NATS is back: what is published is heard again.
        own_nats.start()
        await eventually(lambda: far_away.gateway.bus.connected)


async def test_what_was_missed_while_nats_was_away_comes_with_it(
    running: Stack, ann: Client, own_nats: EmbeddedNats
) -> None:
    table = await ann.create()
    async with (
        gateway(running.table, own_nats.url, heads_every_s=60) as far_away,
        far_away.client("oidc:far", guest=False) as far,
    ):
        stream = await watching(far, table)
        own_nats.kill()
        await eventually(lambda: not far_away.gateway.bus.connected)
        await ann.act(table, act.SetOptions(round_limit=5))
        own_nats.start()
        # The heads are looked at as soon as there is a connection, not when their time has come.
        assert (await stream.next("commit")).version == 2


async def test_a_gap_that_is_too_wide_is_a_snapshot(running: Stack, ann: Client, own_nats: EmbeddedNats) -> None:
    table = await ann.create()
    async with (
        gateway(running.table, own_nats.url, heads_every_s=60) as far_away,
        far_away.client("oidc:far", guest=False) as far,
    ):
        stream = await watching(far, table)
        room = far_away.hub.rooms.find(table)
        await ann.act(table, act.SetOptions(round_limit=5))
        room.look(rooms.FAR + 2, room.epoch)
        assert (await stream.next()).view.version == 2
        assert (await stream.next()).resume.version == 2
        assert room.version == 2


async def test_a_new_epoch_is_a_fresh_snapshot_for_all(make_database: MakeDatabase, nats_url: str, unique: str) -> None:
    url = await make_database("omnipolyd.table.migrations")
    async with (
        stack(url, nats_url, heads_every_s=0.2) as running,
        running.client("guest:ann") as ann,
        running.client("guest:bob") as bob,
        running.client("oidc:vic", guest=False) as viewer,
    ):
        table = await game(ann, bob)
        playing, stream = ann.play(), await watching(viewer, table)
        await playing.follow(table)
        old = (await playing.next("progress")).resume
        await raise_epoch(url)
        # The next commit carries it; or the heads tell of it, whichever comes first.
        await bob.act(table, act.Leave())
        for one in (playing, stream):
            snapshot = await one.next("snapshot")
            assert snapshot.resume.epoch > old.epoch
            progress = await one.next("progress")
            assert progress.resume.epoch == snapshot.resume.epoch
            assert progress.version == (await ann.view(table)).version
        # Who comes back with what they had of the old epoch gets a snapshot as well.
        again = ann.play()
        await again.follow(table, old)
        assert (await again.next()).resume.epoch > old.epoch


async def test_a_table_that_is_kept_no_longer(make_database: MakeDatabase, nats_url: str) -> None:
    url = await make_database("omnipolyd.table.migrations")
    async with (
        stack(url, nats_url, heads_every_s=0.2) as running,
        running.client("guest:ann") as ann,
        running.client("oidc:vic", guest=False) as viewer,
    ):
        gone, kept = await ann.create(), await ann.create()
        playing, stream = ann.play(), await watching(viewer, gone)
        for table in (gone, kept):
            await playing.follow(table)
            await playing.next("progress")
        connection = await asyncpg.connect(url)
        await connection.execute("DELETE FROM heads WHERE table_id = $1", gone)
        await connection.close()
        for one in (playing, stream):
            left = await one.next("left")
            assert (left.table, left.reason) == (gone, stream_pb2.Left.REASON_GONE)
        # A viewer's stream ends with it, a player's goes on with the other tables.
        assert await stream.ended() is None
        assert running.hub.rooms.find(gone) is None
        assert (await playing.act(kept, act.SetOptions(round_limit=5))).version == 2


async def raise_epoch(url: str) -> None:
    """What an operator does who restores the log from a dump: the number rises, and everybody connects anew."""
    connection = await asyncpg.connect(url)
    try:
        await connection.execute("UPDATE epochs SET number = number + 1")
        await connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
    finally:
        await connection.close()


async def test_prompts_wait_for_the_commit_that_opened_them(
    running: Stack, ann: Client, bob: Client, own_nats: EmbeddedNats, unique: str
) -> None:
    table = await game(ann, bob)
    async with (
        gateway(running.table, own_nats.url, heads_every_s=60) as far_away,
        far_away.client(f"guest:bob-{unique}") as far,
    ):
        stream: Playing = far.play()
        await stream.follow(table)
        await stream.next("progress")
        room = far_away.hub.rooms.find(table)
        await eventually(lambda: not room.decisions._asking)
        await ann.act(table, act.Roll())
        (data,) = await commits(ann, table, 3)
        message = table_pb2.SeatPrompts(table=table, version=4)
        message.prompts.add(person=f"guest:bob-{unique}", prompt=b"\x18\x07")
        message.prompts.add(person=f"guest:ann-{unique}", prompt=b"\x18\x08")
        await far_away.gateway.bus.flush()
        for subject, body in (
            ("prompts", b"\xff"),
            ("prompts", message.SerializeToString()),
            ("prompts", message.SerializeToString()),
            ("table", data),
        ):
            far_away.gateway.bus.publish(f"omnipoly.{subject}.{table}", body)
        while (first := await stream.read()).WhichOneof("response") == "prompt":
            assert first.prompt.prompt_id == 2  # the one asked for when the stream began
        assert first.commit.version == 4
        assert (await stream.next("prompt")).prompt_id == 7
