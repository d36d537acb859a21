"""A standby takes the place of the primary and lacks its last commits: one history is left, for everybody."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import NamedTuple

import pytest

from omnipoly.rules import actions as act
from omnipoly.runtime import migrations
from omnipoly.runtime.embedded import EmbeddedPostgres
from omnipoly.wire.gen.gateway.v1 import stream_pb2
from tests.services.conftest import roomy_folder
from tests.services.gateway.calling import Client, Watching, gateway, stack
from tests.services.proxy import Proxy
from tests.services.standby import Standby
from tests.services.waiting import eventually


class Servers(NamedTuple):
    """Primary and standby, and what services connect to."""

    primary: EmbeddedPostgres
    standby: Standby
    proxy: Proxy

    async def fail_over(self) -> None:
        """The primary dies with what only it has."""
        await asyncio.to_thread(self.primary.kill)
        self.proxy.lead_to(self.standby.url)
        await self.standby.promote()


@pytest.fixture
async def servers() -> AsyncIterator[Servers]:
    primary = EmbeddedPostgres(roomy_folder(), ephemeral=True)
    await asyncio.to_thread(primary.start)
    standby = Standby(roomy_folder(), primary)
    try:
        await migrations.migrate(primary.url, "omnipolyd.table.migrations")
        await standby.open_line()
        await asyncio.to_thread(standby.start)
        async with Proxy(primary.url) as proxy:
            yield Servers(primary, standby, proxy)
    finally:
        await standby.cut_off()
        await asyncio.gather(asyncio.to_thread(standby.stop), asyncio.to_thread(primary.stop))


class Reader:
    """What one stream has shown of a table, as long as it stands."""

    def __init__(self, stream: Watching) -> None:
        self.shown: list[tuple[int, int, bytes]] = []
        """(epoch, version, bytes) of commits, pictures with no bytes."""
        self.resume = stream_pb2.Resume()
        self._task = asyncio.create_task(self._read(stream))

    async def _read(self, stream: Watching) -> None:
        while (message := await stream.read()) is not None:
            kind = message.WhichOneof("response")
            if kind == "commit":
                commit = message.commit
                self.shown.append((commit.epoch, commit.version, commit.SerializeToString()))
            elif kind == "snapshot":
                view = message.snapshot.view
                self.shown.append((message.snapshot.resume.epoch, view.version, b""))
            elif kind == "progress":
                self.resume = message.progress.resume

    @property
    def at(self) -> tuple[int, int]:
        """(epoch, version) it has come to."""
        return self.shown[-1][:2] if self.shown else (0, 0)

    async def close(self) -> None:
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    def history(self) -> list[tuple[int, int, bytes]]:
        """What it has shown since its last picture; before it nothing is of a newer epoch, nothing is out of order."""
        assert [epoch for epoch, _, _ in self.shown] == sorted(epoch for epoch, _, _ in self.shown)
        last = max(place for place, (_, _, body) in enumerate(self.shown) if not body)
        since = self.shown[last:]
        assert [version for _, version, _ in since] == list(range(since[0][1], since[0][1] + len(since)))
        return since


async def history(client: Client, table: str) -> list[bytes]:
    from omnipoly.wire.gen.gateway.v1 import watch_pb2

    page = await client.call("Watch/History", watch_pb2.HistoryRequest(table=table))
    return [commit.SerializeToString() for commit in page.commits]


async def test_a_standby_that_lacks_the_last_commits(servers: Servers, nats_url: str) -> None:
    async with (
        stack(servers.proxy.url, nats_url, heads_every_s=0.2) as running,
        gateway(running.table, nats_url, heads_every_s=0.2) as elsewhere,
        running.client("guest:ann") as ann,
        elsewhere.client("guest:ann") as ann_elsewhere,
        elsewhere.client("oidc:vic", guest=False) as viewer,
    ):
        moved, quiet = await ann.create(), await ann.create()
        playing = {table: ann.play() for table in (moved, quiet)}
        for table, stream in playing.items():
            await stream.follow(table)
        readers = [Reader(playing[moved]), Reader(playing[quiet])]
        readers += [Reader(viewer.watch(table)) for table in (moved, quiet)]
        for table in (moved, quiet):
            await ann.act(table, act.AddBot("kept"), command_id="kept")
        await eventually(lambda: all(reader.at == (1, 2) for reader in readers))

        # What is committed from here on is on the primary alone: acknowledged and shown, and then gone.
        await servers.standby.caught_up()
        await servers.standby.cut_off()
        for table in (moved, quiet):
            for name in ("lost", "lost-too"):
                await ann.act(table, act.AddBot(name), command_id=name)
        await eventually(lambda: all(reader.at == (1, 4) for reader in readers))
        old = [reader.resume for reader in readers[:2]]
        await servers.fail_over()

        # Nobody has to do anything for it: every reader takes a picture of the history that is left.
        await eventually(lambda: all(reader.at[0] > 1 for reader in readers))
        assert all(reader.at[1] == 2 for reader in readers)
        epoch = readers[0].at[0]
        assert {reader.at[0] for reader in readers} == {epoch}

        # The versions are taken again, by other commits; what was lost can be done again, what was kept was done.
        answer = await ann_elsewhere.act(moved, act.AddBot("lost-too"), command_id="lost-too")
        assert not answer.duplicate
        assert answer.version == 3
        assert (await ann.act(moved, act.AddBot("kept"), command_id="kept")).duplicate
        await ann.act(moved, act.AddBot("new"), command_id="new")
        await eventually(lambda: all(reader.at == (epoch, 4) for reader in (readers[0], readers[2])))
        log = await history(viewer, moved)
        assert len(log) == 4
        for reader in (readers[0], readers[2]):
            assert [body for _, _, body in reader.history() if body] == log[2:]
        for reader in (readers[1], readers[3]):
            assert [body for _, _, body in reader.history() if body] == []

        # Who comes back with what they had of the other history gets a picture, at either gateway.
        for client in (ann, ann_elsewhere):
            for table, resume in zip((moved, quiet), old, strict=True):
                again = client.play()
                await again.follow(table, resume)
                first = await again.next("snapshot", "commit", "progress")
                assert first.DESCRIPTOR.name == "Snapshot"
                assert first.view.epoch == epoch
                again.raw.cancel()
        for reader in readers:
            await reader.close()


async def test_services_that_start_after_it(servers: Servers, nats_url: str) -> None:
    """Nobody is left who has seen the epoch change: the heads say so all the same."""
    async with stack(servers.proxy.url, nats_url) as before, before.client("guest:ann") as ann:
        table = await ann.create()
        stream = ann.play()
        await stream.follow(table)
        await stream.next("progress")
        await servers.standby.caught_up()
        await servers.standby.cut_off()
        await stream.act(table, act.AddBot("lost"))
    await servers.fail_over()
    async with stack(servers.proxy.url, nats_url, heads_every_s=0.2) as after, after.client("guest:ann") as ann:
        again = ann.play()
        await again.follow(table, stream_pb2.Resume(epoch=1, version=1))
        while (shown := await again.next("snapshot")).resume.epoch == 1:
            pass
        assert shown.view.version == 1
