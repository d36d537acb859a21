"""The log has another history, and something of the old one is under way: nothing of it is shown behind the new one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import asyncpg
import pytest

from omnipoly.rules import actions as act
from omnipoly.runtime.embedded import EmbeddedNats
from omnipoly.wire.gen.gateway.v1 import chat_pb2, stream_pb2
from omnipoly.wire.gen.table.v1 import table_pb2
from tests.services.conftest import MakeDatabase
from tests.services.gateway.calling import Client, Stack, game, gateway, stack, unique_id
from tests.services.gateway.test_lost_messages import raise_epoch
from tests.services.gateway.test_viewers import bar
from tests.services.waiting import eventually


class Held:
    """Answers of one method, held back before they get to the room that asked."""

    def __init__(self, ask: Callable[..., Awaitable[Any]]) -> None:
        self._ask = ask
        self.arrived = asyncio.Event()
        self.release = asyncio.Event()

    async def __call__(self, *given: Any, **more: Any) -> Any:
        answer = await self._ask(*given, **more)
        if not self.release.is_set():
            self.arrived.set()
            await self.release.wait()
        return answer


@pytest.fixture
def hold(monkeypatch: pytest.MonkeyPatch) -> Callable[[Any, str], Held]:
    """Has the answers of a method held back from now on."""

    def hold(owner: Any, method: str) -> Held:
        held = Held(getattr(owner, method))
        monkeypatch.setattr(owner, method, held)
        return held

    return hold


@pytest.fixture
async def running(make_database: MakeDatabase, nats_url: str) -> AsyncIterator[Failing]:
    """A stack whose log can go back."""
    url = await make_database("omnipolyd.table.migrations")
    async with stack(
        url, nats_url, table={"chat_lines_per_second": 1000}, heads_every_s=0.1, progress_after_s=600
    ) as running:
        yield Failing(running.table, running.gateway, running.service, url)


class Failing(Stack):
    """A stack before a database that fails over to a standby which lacks something."""

    def __init__(self, table: Any, gateway: Any, service: Any, url: str) -> None:
        super().__init__(table, gateway, service)
        self.url = url

    async def fail_over(self, table: str, version: int, door: int | None = None) -> None:
        """To a standby that knows of the table's commits up to a version alone, and of its door up to a revision."""
        connection = await asyncpg.connect(self.url)
        try:
            await connection.execute("DELETE FROM commits WHERE table_id = $1 AND version > $2", table, version)
            await connection.execute("UPDATE heads SET version = $2 WHERE table_id = $1", table, version)
            if door is not None:
                await connection.execute("UPDATE doors SET revision = $2 WHERE table_id = $1", table, door)
        finally:
            await connection.close()
        await raise_epoch(self.url)


async def grown(client: Client, version: int) -> str:
    """A table before its start, at that version."""
    table = await client.create()
    for n in range(version - 1):
        await client.act(table, act.SetOptions(round_limit=n + 1))
    return table


async def test_a_page_of_the_old_history_is_nothing_to_go_on_from(
    running: Failing, hold: Callable[[Any, str], Held]
) -> None:
    """Somebody comes back with what they had; before the log has said what they missed, it has another history."""
    async with running.client("guest:ann") as ann, running.client("oidc:vic", guest=False) as viewer:
        table = await grown(ann, 10)
        stream = viewer.watch(table)
        old = (await stream.next("progress")).resume
        room = running.hub.rooms.find(table)
        page = hold(running.hub.upstream.tables, "commits")
        back = ann.play()
        await back.follow(table, stream_pb2.Resume(epoch=old.epoch, version=9))
        await page.arrived.wait()
        await running.fail_over(table, 8)
        await eventually(lambda: room.epoch > old.epoch and room.known)
        for n in range(3):
            await ann.act(table, act.SetOptions(round_limit=100 + n))
        assert room._covers(9)
        page.release.set()
        assert (await back.next()).view.version >= 8
        assert [commit.version for commit in await stream.up_to(11)][-3:] == [9, 10, 11]


async def test_a_page_of_the_old_history_does_not_lead_back_to_it(
    running: Failing, hold: Callable[[Any, str], Held]
) -> None:
    async with running.client("guest:ann") as ann, running.client("oidc:vic", guest=False) as viewer:
        table = await grown(ann, 10)
        stream = viewer.watch(table)
        old = (await stream.next("progress")).resume
        room = running.hub.rooms.find(table)
        page, picture = hold(running.hub.upstream.tables, "commits"), hold(running.hub.upstream, "read")
        back = ann.play()
        await back.follow(table, stream_pb2.Resume(epoch=old.epoch, version=9))
        await page.arrived.wait()
        await running.fail_over(table, 9)
        await picture.arrived.wait()
        assert room.epoch > old.epoch
        assert not room.known
        page.release.set()
        for _ in range(10):
            await asyncio.sleep(0)  # it is taken in
        assert room.epoch > old.epoch
        picture.release.set()
        shown = await back.next()
        assert (shown.resume.epoch, shown.view.version) == (room.epoch, 9)
        assert (await stream.next("snapshot")).resume.epoch == room.epoch


async def test_an_answer_that_waits_for_a_commit_that_is_no_more(
    running: Failing, own_nats: EmbeddedNats, hold: Callable[[Any, str], Held]
) -> None:
    """It waits for what lies before it, which is still being fetched when the log goes back behind all of it."""
    async with (
        gateway(running.table, own_nats.url, heads_every_s=0.1, progress_after_s=600) as deaf,
        running.client("guest:ann") as ann,
        deaf.client("guest:ann") as there,
    ):
        table = await grown(ann, 3)
        stream = there.play()
        await stream.follow(table)
        old = (await stream.next("progress")).resume
        page = hold(deaf.hub.upstream.tables, "commits")
        for n in range(2):
            await ann.act(table, act.SetOptions(round_limit=100 + n))
        await stream.send_act(table, act.SetOptions(round_limit=200), command_id="waits")
        room = deaf.hub.rooms.find(table)
        await eventually(lambda: room._holding)
        await running.fail_over(table, 3)
        assert (await stream.kinds_until("snapshot"))[-2:] == ["accepted", "snapshot"]
        assert (room.epoch > old.epoch, room.version) == (True, 3)
        assert not room._holding
        page.release.set()


async def test_a_decision_asked_for_in_the_old_history(running: Failing, hold: Callable[[Any, str], Held]) -> None:
    async with running.client("guest:ann") as ann, running.client("guest:bob") as bob:
        table = await game(ann, bob)
        await ann.act(table, act.Roll())
        legal = hold(running.hub.upstream, "legal")
        stream = bob.play()
        await stream.follow(table)
        old = (await stream.next("progress")).resume
        await legal.arrived.wait()
        await running.fail_over(table, 3)
        assert (await stream.next("snapshot")).resume.epoch > old.epoch
        legal.release.set()
        assert (await stream.next("prompt")).seat == 1
        room = running.hub.rooms.find(table)
        await eventually(lambda: not room.decisions._asking)
        assert (room.version, room.decisions.waiting) == (3, {})


async def test_a_decision_opened_in_the_old_history(running: Failing, hold: Callable[[Any, str], Held]) -> None:
    """The answer that tells of it comes late."""
    async with running.client("guest:ann") as ann, running.client("guest:bob") as bob:
        table = await game(ann, bob)
        await ann.act(table, act.Roll())
        stream = bob.play()
        await stream.follow(table)
        old = (await stream.next("progress")).resume
        answer = hold(running.hub.upstream, "act")
        rolled = asyncio.create_task(bob.act(table, act.Roll()))
        await answer.arrived.wait()
        await running.fail_over(table, 3)
        while (await stream.next("snapshot")).resume.epoch == old.epoch:
            pass
        answer.release.set()
        assert (await rolled).version == 5
        room = running.hub.rooms.find(table)
        assert (room.version, room.decisions.waiting) == (3, {})


async def test_lines_asked_for_in_the_old_history(
    running: Failing, own_nats: EmbeddedNats, hold: Callable[[Any, str], Held]
) -> None:
    async with (
        gateway(running.table, own_nats.url, heads_every_s=0.1) as deaf,
        running.client("guest:ann") as ann,
        deaf.client("oidc:vic", guest=False) as viewer,
    ):
        table = await grown(ann, 3)
        await say(ann, table, "one")
        stream = viewer.watch(table)
        assert (await stream.next("chat")).number == 1
        lines = hold(deaf.hub.upstream, "lines")
        await say(ann, table, "two")
        await lines.arrived.wait()
        await running.fail_over(table, 3)
        room = deaf.hub.rooms.find(table)
        await eventually(lambda: not room.talk._known)
        lines.release.set()
        await stream.next("snapshot")
        assert [(await stream.next("chat")).number for _ in range(2)] == [1, 2]


async def say(client: Client, table: str, text: str) -> None:
    request = chat_pb2.SayRequest(table=table, command_id=unique_id(), text=text)
    await client.call("Chat/Say", request)


async def test_a_door_that_has_gone_back_moves_again(running: Failing) -> None:
    """The same revision twice: the second time it is another one, and whoever has to go is found by it."""
    async with running.client("oidc:ann", guest=False) as ann, running.client("oidc:vic", guest=False) as viewer:
        table = await grown(ann, 3)
        stream = viewer.watch(table)
        old = (await stream.next("progress")).resume
        doorway = running.hub.rooms.find(table).doorway
        for person in ("oidc:x", "oidc:y"):
            await bar(ann, table, person)
        await eventually(lambda: doorway._revision == 2 and doorway._checking is None)
        await running.fail_over(table, 3, door=1)
        assert (await stream.next("snapshot")).resume.epoch > old.epoch
        await eventually(lambda: doorway._revision == 1 and doorway._checking is None)
        await bar(ann, table, "oidc:vic")
        assert (await stream.next("left")).reason == stream_pb2.Left.REASON_BARRED


async def test_what_was_said_of_a_door_that_is_no_more(running: Failing) -> None:
    """A message of the old history comes late: the door's own revision is what counts."""
    async with running.client("oidc:ann", guest=False) as ann, running.client("oidc:vic", guest=False) as viewer:
        table = await grown(ann, 3)
        stream = viewer.watch(table)
        await stream.next("progress")
        doorway = running.hub.rooms.find(table).doorway
        doorway.heard(table_pb2.DoorMoved(table=table, door=1).SerializeToString())
        await eventually(lambda: doorway.checks == 1 and doorway._checking is None)
        await bar(ann, table, "oidc:vic")
        assert (await stream.next("left")).reason == stream_pb2.Left.REASON_BARRED
