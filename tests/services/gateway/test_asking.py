"""Open decisions whose message nobody sent or heard: they are asked for, of whoever may have missed one, until there is
an answer."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from omnipoly.rules import actions as act
from omnipoly.runtime.embedded import EmbeddedNats
from omnipoly.wire.gen.game.v1 import script_pb2, types_pb2
from omnipoly.wire.gen.gateway.v1 import stream_pb2
from tests.services.gateway.calling import Client, Stack, game, gateway
from tests.services.proxy import Cut, Proxy
from tests.services.waiting import eventually

LEGAL = b"TableService/Legal"


@pytest.fixture
async def line(running: Stack) -> AsyncIterator[Proxy]:
    """What can be cut between a gateway and the table."""
    async with Proxy(f"tcp://{running.table.address}") as line:
        yield line


@pytest.fixture
async def deaf(running: Stack, own_nats: EmbeddedNats, line: Proxy) -> AsyncIterator[Stack]:
    """A gateway that hears nothing of what is published, and looks at no heads."""
    async with gateway(running.table, own_nats.url, table_addr=line.address, heads_every_s=60) as deaf:
        yield deaf


async def test_a_question_without_an_answer_is_asked_again(
    deaf: Stack, line: Proxy, ann: Client, bob: Client, unique: str
) -> None:
    """The table goes away just when somebody has come back: they are shown their decision once it is there again."""
    table = await game(ann, bob)
    # what breaks is sent again once: the second time it has failed
    cuts = [line.cut_at(LEGAL, Cut.BEFORE) for _ in range(2)]
    async with deaf.client(f"guest:bob-{unique}") as there:
        stream = there.play()
        await stream.follow(table)
        assert await stream.kinds_until("progress") == ["snapshot", "progress"]
        for cut in cuts:
            await cut.done.wait()
        assert (await stream.next("prompt")).seat == 1
        await eventually(lambda: not deaf.hub.rooms.find(table).decisions._asking)


async def test_who_has_no_seat_any_more_is_asked_about_once(deaf: Stack, ann: Client, bob: Client, unique: str) -> None:
    table = await ann.create()
    await bob.act(table, act.Join(""))
    async with deaf.client(f"guest:bob-{unique}") as there:
        stream = there.play()
        await stream.follow(table)
        await stream.next("progress")
        decisions = deaf.hub.rooms.find(table).decisions
        await eventually(lambda: not decisions._asking)
        await bob.act(table, act.Leave())
        decisions.ask_all()
        assert decisions._asking
        await eventually(lambda: not decisions._asking)


async def test_what_somebody_else_has_missed_brings_its_decisions(
    deaf: Stack, ann: Client, bob: Client, unique: str
) -> None:
    """One who comes back from before has a page fetched: all are shown it, and who is to decide by it is asked."""
    table = await game(ann, bob, edition="rugpull", dev=True)
    async with (
        deaf.client(f"guest:bob-{unique}") as there,
        deaf.client(f"oidc:vic-{unique}", guest=False) as viewer,
    ):
        stream = there.play()
        await stream.follow(table)
        at = (await stream.next("progress")).resume
        await eventually(lambda: not deaf.hub.rooms.find(table).decisions._asking)
        script = script_pb2.Script(throws=[script_pb2.ScriptedThrow(dice=[1, 2])])
        mine = ann.play()
        await mine.act(table, act.Roll(), script=script)
        await mine.act(table, act.Decline())
        earlier = viewer.watch(table, resume=stream_pb2.Resume(epoch=at.epoch, version=at.version - 1))
        assert [commit.version for commit in await earlier.up_to(5)] == [3, 4, 5]
        prompt = await stream.next("prompt")
        assert (prompt.seat, prompt.phase) == (1, types_pb2.PHASE_AUCTION)


async def test_a_command_that_was_done_already_brings_its_decisions(
    deaf: Stack, ann: Client, bob: Client, unique: str
) -> None:
    """The replica that did it died before a word of it left: who sends it again has everybody asked, once."""
    table = await game(ann, bob, edition="rugpull", dev=True)
    script = script_pb2.Script(throws=[script_pb2.ScriptedThrow(dice=[1, 2])])
    mine = ann.play()
    await mine.act(table, act.Roll(), script=script)
    async with (
        deaf.client(f"guest:ann-{unique}") as ann_there,
        deaf.client(f"guest:bob-{unique}") as bob_there,
    ):
        again, stream = ann_there.play(), bob_there.play()
        for one in (again, stream):
            await one.follow(table)
            await one.next("progress")
        decisions = deaf.hub.rooms.find(table).decisions
        await eventually(lambda: not decisions._asking)
        # Of this nothing gets to that gateway, as if the replica had stopped right behind the log's answer.
        await mine.act(table, act.Decline(), command_id="again")
        answer = await again.act(table, act.Decline(), command_id="again")
        assert (answer.version, answer.duplicate) == (5, True)
        prompt = await stream.next("prompt")
        assert (prompt.seat, prompt.phase) == (1, types_pb2.PHASE_AUCTION)
        await eventually(lambda: not decisions._asking)
        assert (await again.act(table, act.Decline(), command_id="again")).duplicate
        assert not decisions._asking
