from __future__ import annotations

from omnipoly.rules import actions as act
from omnipoly.runtime import link_server
from omnipoly.runtime.embedded import EmbeddedNats
from omnipoly.wire.gen.gateway.v1 import stream_pb2
from omnipolyd.gateway import room
from tests.services.gateway.calling import Client, Playing, Stack, gateway
from tests.services.waiting import eventually


async def grown(client: Client, commits: int) -> tuple[str, int, int]:
    """A table before its start with so many commits; its id, version and epoch."""
    table = await client.create()
    for n in range(commits - 1):
        await client.act(table, act.SetOptions(round_limit=n + 1))
    view = await client.view(table)
    assert view.version == commits
    return table, view.version, view.epoch


async def resumed(client: Client, table: str, epoch: int, version: int) -> tuple[Playing, list[int], int]:
    """A stream that resumes there; the versions of the commits it got, and of the snapshot, 0 for none."""
    stream = client.play()
    await stream.follow(table, stream_pb2.Resume(epoch=epoch, version=version))
    versions, snapshot = [], 0
    while (message := await stream.read()).WhichOneof("response") != "progress":
        if message.HasField("snapshot"):
            assert not versions
            assert not snapshot
            snapshot = message.snapshot.view.version
        else:
            versions.append(message.commit.version)
    return stream, versions, snapshot


async def test_commits_missed_come_once_and_in_order(running: Stack, ann: Client) -> None:
    table, version, epoch = await grown(ann, 20)
    for since in (1, 12, 19, 20):
        # Each opens the room anew: it knows nothing of before.
        assert running.hub.rooms.find(table) is None
        stream, versions, snapshot = await resumed(ann, table, epoch, since)
        assert versions == list(range(since + 1, version + 1))
        assert not snapshot
        assert (await stream.act(table, act.SetOptions(round_limit=100 + since))).version == version + 1
        version += 1
        stream.raw.cancel()
        await eventually(lambda: running.hub.rooms.find(table) is None)


async def test_what_others_have_seen_comes_from_the_room(running: Stack, ann: Client) -> None:
    table, version, epoch = await grown(ann, 10)
    stream, _, _ = await resumed(ann, table, epoch, version)
    for n in range(10):
        await stream.act(table, act.SetOptions(round_limit=100 + n))
    asked = pages_asked(running)
    for since in (version, 15, 20):
        other, versions, snapshot = await resumed(ann, table, epoch, since)
        assert versions == list(range(since + 1, 21))
        assert not snapshot
        other.raw.cancel()
    assert pages_asked(running) == asked
    # From before the room: the missing ones are fetched, and kept for the next.
    for since in (5, 3, 5):
        other, versions, snapshot = await resumed(ann, table, epoch, since)
        assert versions == list(range(since + 1, 21))
        assert not snapshot
        other.raw.cancel()
    assert pages_asked(running) == asked + 2


def pages_asked(running: Stack) -> float:
    """How many pages of commits were asked of the table so far."""
    (metric,) = link_server.ITEMS.collect()
    return sum(
        sample.value
        for sample in metric.samples
        if sample.name.endswith("_total") and sample.labels["method"].endswith("/Commits")
    )


async def test_who_was_away_too_long_gets_a_snapshot(running: Stack, ann: Client) -> None:
    table, version, epoch = await grown(ann, room.MISSED + 2)
    stream, versions, snapshot = await resumed(ann, table, epoch, 1)
    assert (versions, snapshot) == ([], version)
    assert (await stream.act(table, act.SetOptions(round_limit=1))).version == version + 1
    # A picture that is a little old serves, with what came after it.
    _, versions, snapshot = await resumed(ann, table, epoch, 2)
    assert (versions, snapshot) == ([version + 1], version)
    _, versions, snapshot = await resumed(ann, table, epoch, 3)
    assert versions == list(range(4, version + 2))
    assert not snapshot


async def test_another_epoch_is_answered_by_a_snapshot(running: Stack, ann: Client) -> None:
    table, version, epoch = await grown(ann, 5)
    for other in (epoch - 1, epoch + 1):
        stream, versions, snapshot = await resumed(ann, table, other, 3)
        assert (versions, snapshot) == ([], version)
        again, versions, snapshot = await resumed(ann, table, other, 3)
        assert (versions, snapshot) == ([], version)
        stream.raw.cancel()
        again.raw.cancel()
        await eventually(lambda: running.hub.rooms.find(table) is None)


async def test_a_version_that_is_not_there_yet_is_answered_by_a_snapshot(running: Stack, ann: Client) -> None:
    table, version, epoch = await grown(ann, 5)
    stream, versions, snapshot = await resumed(ann, table, epoch, version + 10)
    assert (versions, snapshot) == ([], version)
    _, versions, snapshot = await resumed(ann, table, epoch, 2**62)
    assert (versions, snapshot) == ([], version)
    assert (await stream.act(table, act.SetOptions(round_limit=1))).version == version + 1


async def test_a_resume_that_says_nothing_is_none(running: Stack, ann: Client) -> None:
    table, version, epoch = await grown(ann, 3)
    for said in (0, -1):
        _, versions, snapshot = await resumed(ann, table, epoch, said)
        assert (versions, snapshot) == ([], version)


async def test_watching_resumes_likewise(running: Stack, ann: Client, viewer: Client) -> None:
    table, version, epoch = await grown(ann, 8)
    stream = viewer.watch(table, resume=stream_pb2.Resume(epoch=epoch, version=5))
    assert [commit.version for commit in await stream.up_to(version)] == [6, 7, 8]
    assert (await stream.next()).resume.version == version


async def test_who_has_seen_more_elsewhere_is_not_led_back(
    running: Stack, ann: Client, own_nats: EmbeddedNats, unique: str
) -> None:
    """The other gateway has heard of nothing lately: it looks into the log, and goes on from where they were."""
    table, version, epoch = await grown(ann, 5)
    async with (
        gateway(running.table, own_nats.url, heads_every_s=60) as deaf,
        deaf.client(f"guest:ann-{unique}") as ann_there,
    ):
        behind, _, snapshot = await resumed(ann_there, table, epoch, 0)
        assert snapshot == version
        for n in range(10):
            await ann.act(table, act.SetOptions(round_limit=100 + n))
        assert deaf.hub.rooms.find(table).version == version
        there, versions, snapshot = await resumed(ann_there, table, epoch, version + 7)
        assert (versions, snapshot) == ([version + 8, version + 9, version + 10], 0)
        assert [commit.version for commit in await behind.up_to(version + 10)] == list(range(version + 1, version + 11))
        assert (await there.act(table, act.SetOptions(round_limit=1))).version == version + 11
