"""A table followed anew on the stream that follows it already, as who cannot go on from their picture does."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from omnipoly.rules import actions as act
from omnipoly.wire.gen.gateway.v1 import watch_pb2
from omnipoly.wire.gen.presence.v1 import presence_pb2
from omnipolyd.presence import telling
from tests.services.gateway.calling import Client, Stack, game, gateway
from tests.services.gateway.test_epochs import Held
from tests.services.gateway.test_viewers import presence
from tests.services.proxy import Proxy
from tests.services.waiting import eventually


async def events(client: Client, table: str) -> list[str]:
    """The kinds of everything that has happened."""
    page = await client.call("Watch/History", watch_pb2.HistoryRequest(table=table))
    return [str(event.WhichOneof("kind")) for commit in page.commits for event in commit.events]


@pytest.fixture
async def told(running: Stack, nats_url: str, unique: str) -> AsyncIterator[tuple[Stack, Proxy]]:
    """A gateway that tells a presence service; its line to the table, which can be cut."""
    async with (
        presence(running, nats_url, unique) as address,
        Proxy(f"tcp://{running.table.address}") as line,
        gateway(running.table, nats_url, presence_addr=address, table_addr=line.address) as stack,
    ):
        yield stack, line


@pytest.mark.parametrize("resumes", [False, True], ids=["anew", "resumed"])
async def test_who_follows_again_was_never_gone(
    told: tuple[Stack, Proxy], unique: str, monkeypatch: pytest.MonkeyPatch, *, resumes: bool
) -> None:
    """Alone with a bot: a table left by its only person would stand still besides."""
    monkeypatch.setattr(telling, "QUIET_MS", 0)
    stack, line = told
    async with stack.client(f"oidc:ann-{unique}", guest=False) as ann:
        table = await ann.create()
        await ann.act(table, act.AddBot())
        await ann.act(table, act.Start())
        stream = ann.play()
        await stream.follow(table)
        at = (await stream.next("progress")).resume
        await stream.next("prompt")
        await stack.hub.presence._report()
        held = line.hold(b"TableService/Admit")
        await stream.follow(table, at if resumes else None)
        await held.sprung.wait()
        await stack.hub.presence._report()  # whatever there is to be told by now
        held.released.set()
        assert await stream.kinds_until("progress") == ["progress"] if resumes else ["snapshot", "progress"]
        await stream.next("prompt")
        # She closes: what is told of her comes in order, so that by then all of it has.
        await stream.close()
        assert await stream.ended() is None

        async def stands_still() -> bool:
            return "paused" in await events(ann, table)

        await eventually(stands_still)
        found = await events(ann, table)
        assert [kind for kind in found if kind in {"connected", "disconnected", "paused", "resumed"}] == [
            "disconnected",
            "paused",
        ]


async def test_who_follows_again_in_vain_has_time_to_try_again(told: tuple[Stack, Proxy], unique: str) -> None:
    stack, line = told
    async with stack.client(f"guest:ann-{unique}") as ann, stack.client(f"guest:bob-{unique}") as bob:
        table = await game(ann, bob)
        stream = ann.play()
        await stream.follow(table)
        await stream.next("progress")
        here = stack.hub.presence._here[f"guest:ann-{unique}", table]
        here.called_until = 0.0
        assert here.streams == 1
        await line.stop()
        await stream.follow(table)
        await stream.next("refused")
        assert here.streams == 0
        assert here.status == presence_pb2.STATUS_BROKEN
        await line.start()
        answer = None
        while answer is None or answer.DESCRIPTOR.name == "Refused":
            await stream.follow(table)
            answer = await stream.next("progress", "refused")
        assert stack.hub.presence._here[f"guest:ann-{unique}", table].streams == 1


async def test_the_picture_is_of_now(running: Stack, ann: Client, viewer: Client) -> None:
    """What they could not go on from is in it: an older one and the commits since would lead them there once more."""
    table = await ann.create()
    stream, other = ann.play(), viewer.watch(table)
    await stream.follow(table)
    for one in (stream, other):
        await one.next("progress")
    for n in range(3):
        await stream.act(table, act.SetOptions(round_limit=n + 1))
    await stream.follow(table)
    assert (await stream.next("snapshot", "commit")).view.version == 4
    assert await stream.kinds_until("progress") == ["progress"]


async def test_who_sits_down_while_they_are_let_in(
    running: Stack, ann: Client, viewer: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What they are let in as was said before."""
    table = await ann.create()
    admit = Held(running.hub.upstream.admit)
    monkeypatch.setattr(running.hub.upstream, "admit", admit)
    stream = viewer.play()
    await stream.follow(table)
    await admit.arrived.wait()
    await stream.send_act(table, act.Join(""))
    (follower,) = running.hub.rooms.find(table).followers
    await eventually(lambda: follower.seated)
    admit.release.set()
    await stream.next("progress")
    assert follower.seated


async def test_who_sits_down_again_is_not_sent_away(
    running: Stack, ann: Client, bob: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A guest gets up, and is seated again before it is answered that somebody without a seat has to go."""
    table = await ann.create()
    await bob.act(table, act.Join(""))
    stream = bob.play()
    await stream.follow(table)
    await stream.next("progress")
    recheck = Held(running.hub.upstream.recheck)
    monkeypatch.setattr(running.hub.upstream, "recheck", recheck)
    await stream.act(table, act.Leave())
    await recheck.arrived.wait()
    await stream.act(table, act.Join(""))
    recheck.release.set()
    room = running.hub.rooms.find(table)
    await eventually(lambda: room.doorway._checking is None)
    (follower,) = room.followers
    assert follower.seated
