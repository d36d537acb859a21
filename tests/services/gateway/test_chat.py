"""The chat on streams: who follows a table gets each line once, in order, whatever breaks and wherever that is."""

from __future__ import annotations

import asyncio
import random
from functools import partial
from typing import Any

import pytest

from omnipoly.rules import actions as act
from omnipoly.runtime.database import FAULTS, Database
from omnipoly.runtime.embedded import EmbeddedNats
from omnipoly.runtime.failures import Failure, from_status
from omnipoly.wire.gen.gateway.v1 import chat_pb2, lobby_pb2, play_pb2, stream_pb2
from tests.services.conftest import MakeDatabase
from tests.services.gateway.calling import Client, Playing, Stack, Watching, game, gateway, stack, unique_id
from tests.services.gateway.refusing import DENIED, told
from tests.services.gateway.test_lost_messages import raise_epoch
from tests.services.waiting import eventually

FAST = {"chat_lines_per_second": 1000}


async def say(client: Client, table: str, text: str, command_id: str = "") -> int:
    """A line, written again for as long as its writer is asked to wait a moment; its number."""
    request = chat_pb2.SayRequest(table=table, command_id=command_id or unique_id(), text=text)
    while True:
        try:
            return int((await client.call("Chat/Say", request)).line.number)
        except Failure as failure:
            if failure.reason != "rate_limited":
                raise


async def mute(client: Client, table: str, person: str, **more: Any) -> int:
    request = chat_pb2.MuteRequest(table=table, command_id=unique_id(), person=person, **more)
    return int((await client.call("Chat/Mute", request)).muted)


async def heard(stream: Watching, last: int) -> list[int]:
    """The numbers of the lines that come, up to the last."""
    numbers: list[int] = []
    while not numbers or numbers[-1] < last:
        numbers.append((await stream.next("chat")).number)
    return numbers


async def begin(stream: Playing, table: str, resume: stream_pb2.Resume | None = None) -> list[int]:
    """Follows a table; the numbers of the lines that come before it is up to date."""
    await stream.follow(table, resume)
    numbers: list[int] = []
    while True:
        message = await stream.read()
        kind = message.WhichOneof("response")
        if kind == "chat":
            numbers.append(message.chat.number)
        elif kind == "progress":
            assert not numbers or message.progress.resume.chat >= numbers[-1]
            return numbers


async def test_what_is_said_is_heard_by_all(
    running: Stack, nats_url: str, ann: Client, bob: Client, viewer: Client, unique: str
) -> None:
    table = await game(ann, bob)
    async with gateway(running.table, nats_url) as second, second.client(f"guest:bob-{unique}") as bob_there:
        streams: list[Watching] = [viewer.watch(table), bob_there.play()]
        assert isinstance(streams[1], Playing)
        await streams[1].follow(table)
        for stream in streams:
            await stream.next("progress")
        speaker = ann.play()
        await speaker.follow(table)
        await speaker.next("progress")
        await speaker.send(say=play_pb2.Say(table=table, command_id="hi", text="Hello!"))
        line = await speaker.next("chat")
        accepted = await speaker.next("accepted")
        assert (accepted.command_id, accepted.version, accepted.duplicate) == ("hi", 1, False)
        assert (line.text, line.seat, line.name) == ("Hello!", 0, f"Ann-{unique.title()}")
        for stream in streams:
            assert await stream.next("chat") == line
        # the same again is the first answer, and no line
        await speaker.send(say=play_pb2.Say(table=table, command_id="hi", text="Hello!"))
        assert (await speaker.next("accepted", "chat")).duplicate
        assert await say(bob_there, table, "Hi.") == 2
        for stream in (*streams, speaker):
            assert (await stream.next("chat")).number == 2
        # who follows nothing may write, too
        other = bob.play()
        await other.send(say=play_pb2.Say(table=table, command_id="x", text="From afar."))
        assert (await other.next()).version == 3


async def test_whoever_comes_gets_what_is_kept_or_was_missed(
    running: Stack, nats_url: str, ann: Client, bob: Client, unique: str
) -> None:
    table = await game(ann, bob)
    for number in range(5):
        await say(ann, table, f"line {number + 1}")
    stream = bob.play()
    assert await begin(stream, table) == [1, 2, 3, 4, 5]
    async with gateway(running.table, nats_url) as second, second.client(f"guest:bob-{unique}") as bob_there:
        version, epoch = 3, (await bob.view(table)).epoch
        for chat in range(6):
            resume = stream_pb2.Resume(epoch=epoch, version=version, chat=chat)
            for client in (bob, bob_there):
                assert await begin(client.play(), table, resume) == list(range(chat + 1, 6))
        # one that knows of more than this gateway has heard is told nothing twice
        ahead = stream_pb2.Resume(epoch=epoch, version=version, chat=6)
        there = bob_there.play()
        assert await begin(there, table, ahead) == []
        for number in (6, 7):
            assert await say(ann, table, "more") == number
        assert (await there.next("chat")).number == 7
    # a snapshot says where its reader stands in the chat
    resume = stream_pb2.Resume(epoch=epoch, version=10**6, chat=4)
    again = bob.play()
    await again.follow(table, resume)
    assert (await again.next("snapshot")).resume == stream_pb2.Resume(epoch=epoch, version=version, chat=4)
    assert await heard(again, 7) == [5, 6, 7]


async def test_the_last_200_are_kept(running: Stack, ann: Client, bob: Client, viewer: Client) -> None:
    table = await game(ann, bob)
    early = viewer.watch(table)
    await early.next("progress")
    for number in range(205):
        await say(ann, table, f"line {number + 1}")
    assert await heard(early, 205) == list(range(1, 206))
    assert await begin(bob.play(), table) == list(range(6, 206))
    page = await bob.call("Chat/Lines", chat_pb2.LinesRequest(table=table, after=203))
    assert ([line.number for line in page.lines], page.last) == ([204, 205], 205)
    page = await bob.call("Chat/Lines", chat_pb2.LinesRequest(table=table, page_size=2))
    assert [line.number for line in page.lines] == [6, 7]
    # also where nobody has followed the table before
    running.hub.rooms.find(table).talk.forget()
    assert await begin(bob.play(), table, stream_pb2.Resume(chat=3)) == list(range(6, 206))


async def test_nothing_is_lost_or_told_twice_whatever_breaks(
    running: Stack, nats_url: str, ann: Client, bob: Client, unique: str
) -> None:
    """Bob's stream breaks again and again and goes on at another gateway, while Ann talks."""
    table = await game(ann, bob)
    chance, lines = random.Random(unique), 120

    async def talk() -> None:
        for number in range(lines):
            await say(ann, table, f"line {number + 1}")

    async with gateway(running.table, nats_url) as second, second.client(f"guest:bob-{unique}") as bob_there:
        talking = asyncio.create_task(talk())
        numbers: list[int] = []
        resume = stream_pb2.Resume()
        while not numbers or numbers[-1] < lines:
            stream = chance.choice((bob, bob_there)).play()
            await stream.follow(table, resume)
            for _ in range(chance.randrange(3, 20)):
                message = await stream.read()
                kind = message.WhichOneof("response")
                if kind == "chat":
                    numbers.append(message.chat.number)
                elif kind == "snapshot":
                    resume.version, resume.epoch = message.snapshot.view.version, message.snapshot.view.epoch
                if numbers and numbers[-1] == lines:
                    break
            resume.chat = numbers[-1] if numbers else 0
            stream.raw.cancel()
        await talking
    assert numbers == list(range(1, lines + 1))


async def test_lost_messages_are_found(
    running: Stack, own_nats: EmbeddedNats, ann: Client, bob: Client, unique: str
) -> None:
    """A gateway that hears nothing looks at the heads; one that hears a later line fetches those before."""
    table = await game(ann, bob)
    async with (
        gateway(running.table, own_nats.url, heads_every_s=0.05) as deaf,
        gateway(running.table, own_nats.url, heads_every_s=60) as hard_of_hearing,
        deaf.client(f"oidc:x-{unique}", guest=False) as x,
        hard_of_hearing.client(f"oidc:y-{unique}", guest=False) as y,
    ):
        one, two = x.watch(table), y.watch(table)
        for stream in (one, two):
            await stream.next("progress")
        for number in range(3):
            await say(ann, table, f"line {number + 1}")
        assert await heard(one, 3) == [1, 2, 3]
        page = await ann.call("Chat/Lines", chat_pb2.LinesRequest(table=table))
        await hard_of_hearing.gateway.bus.flush()
        for data in (b"\xff", page.lines[2].SerializeToString(), page.lines[0].SerializeToString()):
            hard_of_hearing.gateway.bus.publish(f"omnipoly.chat.{table}", data)
        assert await heard(two, 3) == [1, 2, 3]


async def test_a_slow_reader_gets_every_line_in_the_end(running: Stack, ann: Client, bob: Client, unique: str) -> None:
    table = await game(ann, bob)
    async with running.client(f"oidc:slow-{unique}", guest=False, slow=True) as client:
        slow = client.watch(table)
        await slow.next("progress")
        room = running.hub.rooms.find(table)
        (follower,) = room.followers
        last = 0
        while follower.live and last < 2000:
            last = await say(ann, table, f"{last + 1:0300}")
        assert not follower.live
        kept = last - 199
        numbers = await heard(slow, last)
        # what was on its way when it fell behind, then all that is kept
        assert numbers == sorted(set(numbers))
        assert numbers[-200:] == list(range(kept, last + 1))
        assert await say(ann, table, "still there?") == last + 1
        assert (await slow.next("chat")).number == last + 1


async def test_who_may_not_write(running: Stack, ann: Client, bob: Client, viewer: Client, unique: str) -> None:
    table = await game(ann, bob)
    stream = viewer.play()
    await stream.follow(table)
    await stream.next("progress")

    async def refused(text: str = "hello") -> Failure:
        command_id = unique_id()
        await stream.send(say=play_pb2.Say(table=table, command_id=command_id, text=text))
        answer = await stream.next("refused")
        assert answer.command_id == command_id
        return from_status(answer.status)

    told(await refused(), DENIED, "viewers_closed")
    await ann.act(table, act.SetOptions(viewers_chat=True))
    assert await say(viewer, table, "hello") == 1
    vic = f"oidc:vic-{unique}"
    with pytest.raises(Failure) as caught:
        await mute(bob, table, vic)
    told(caught.value, DENIED, "not_host")
    assert await mute(ann, table, vic) == 1
    told(await refused(), DENIED, "muted")
    assert await mute(ann, table, vic, lift=True) == 0
    assert await say(viewer, table, "hello again") == 2
    await ann.call("Lobby/BarViewer", lobby_pb2.BarViewerRequest(table=table, command_id=unique_id(), person=vic))
    failure = await refused()
    told(failure, DENIED, "viewers_closed")
    assert failure.sentence == "The host has sent you away from this table."
    # a guest without a seat does not watch, and so has nothing to say
    async with running.client(f"guest:cay-{unique}") as guest:
        for answer in (say(guest, table, "hello"), guest.call("Chat/Lines", chat_pb2.LinesRequest(table=table))):
            with pytest.raises(Failure, match="Watching needs a sign-in"):
                await answer
    async with running.client("oidc:root", guest=False, roles=["admin"]) as admin:
        assert await mute(admin, table, f"guest:ann-{unique}") == 1
    with pytest.raises(Failure) as caught:
        await say(ann, table, "But I am the host!")
    told(caught.value, DENIED, "muted")


async def found_another(database: Database, epoch: int) -> bool:
    """A new connection finds it out; those that are open were ended, some in the middle of a statement."""
    try:
        return await database.read_epoch() > epoch
    except FAULTS:
        return False


async def test_a_new_history_of_the_log_has_a_chat_of_its_own(
    make_database: MakeDatabase, nats_url: str, unique: str
) -> None:
    """After a restore to a point in time numbers are given anew: everybody gets what is kept, from the first line."""
    url = await make_database("omnipolyd.table.migrations")
    async with (
        stack(url, nats_url, table=FAST, heads_every_s=0.05) as running,
        running.client("guest:ann") as ann,
        running.client("guest:bob") as bob,
    ):
        table = await game(ann, bob)
        for number in range(3):
            await say(ann, table, f"line {number + 1}")
        stream = bob.play()
        assert await begin(stream, table) == [1, 2, 3]
        epoch = (await bob.view(table)).epoch
        for text in (
            "UPDATE chats SET last = 1",
            "DELETE FROM chat_lines WHERE number > 1",
        ):
            await running.table.database.execute(text)
        await raise_epoch(url)
        await eventually(partial(found_another, running.table.database, epoch))
        await ann.act(table, act.Roll())
        snapshot = await stream.next("snapshot")
        assert (snapshot.resume.epoch > epoch, snapshot.resume.chat) == (True, 0)
        assert (await stream.next("chat")).text == "line 1"
        assert await say(ann, table, "another second line") == 2
        assert (await stream.next("chat")).text == "another second line"
        old = stream_pb2.Resume(epoch=epoch, version=3, chat=3)
        assert await begin(bob.play(), table, old) == [1, 2]


async def test_the_platforms_bots_do_not_listen(running: Stack, ann: Client, bob: Client) -> None:
    table = await game(ann, bob)
    async with running.client("service:bots", guest=False, roles=["bots"]) as bots:
        stream = bots.play()
        assert await begin(stream, table) == []
        await say(ann, table, "hello")
        await ann.act(table, act.Roll())
        assert (await stream.kinds_until("commit")) == ["commit"]


async def test_a_chat_that_cannot_be_read_keeps_nobody_from_the_game(
    running: Stack, nats_url: str, ann: Client, bob: Client, unique: str
) -> None:
    table = await game(ann, bob)
    await say(ann, table, "hello")
    async with (
        gateway(running.table, nats_url, heads_every_s=0.05) as second,
        second.client(f"guest:bob-{unique}") as bob_there,
    ):
        await running.table.database.execute("ALTER TABLE chat_lines RENAME TO chat_lines_away")
        try:
            stream = bob_there.play()
            assert await begin(stream, table) == []
        finally:
            await running.table.database.execute("ALTER TABLE chat_lines_away RENAME TO chat_lines")
        assert (await stream.next("chat")).text == "hello"
        await eventually(lambda: second.hub.rooms.find(table).talk.last == 1)
