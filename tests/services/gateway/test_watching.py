from __future__ import annotations

import asyncio

import grpc
import pytest

from omnipoly.rules import actions as act
from omnipoly.runtime.failures import Failure
from omnipoly.wire.gen.game.v1 import script_pb2
from omnipoly.wire.gen.gateway.v1 import play_pb2, watch_pb2
from tests.load.along import each
from tests.services.gateway.calling import Client, Stack, game
from tests.services.waiting import eventually


async def test_viewers_see_the_same_bytes_as_players(running: Stack, ann: Client, bob: Client, viewer: Client) -> None:
    table = await game(ann, bob)
    watching, playing = viewer.watch(table), ann.play()
    await watching.next("progress")
    await playing.follow(table)
    await playing.next("progress")
    await ann.act(table, act.Roll())
    seen = await watching.raw.read()
    assert watch_pb2.WatchResponse.FromString(seen).commit.version == 4
    while True:
        heard = await playing.raw.read()
        if play_pb2.PlayResponse.FromString(heard).HasField("commit"):
            break
    assert seen in each(heard)


async def test_viewers_get_neither_decisions_nor_answers(
    running: Stack, ann: Client, bob: Client, viewer: Client
) -> None:
    table = await game(ann, bob)
    watching = viewer.watch(table)
    assert await watching.kinds_until("progress") == ["snapshot", "progress"]
    await ann.act(table, act.Roll())
    await bob.act(table, act.Roll())
    assert await watching.kinds_until("commit") == ["commit"]
    assert await watching.kinds_until("commit") == ["commit"]


async def test_many_viewers_at_once_all_see_everything(running: Stack, ann: Client, bob: Client) -> None:
    table = await game(ann, bob)
    clients = [running.client(f"oidc:many-{n}", guest=False) for n in range(25)]
    # Eight streams a person are allowed. They come together: the table's queue is much shorter than that.
    streams = [client.watch(table) for client in clients for _ in range(8)]
    await asyncio.gather(*(stream.next("progress") for stream in streams))
    room = running.hub.rooms.find(table)
    assert len(room.followers) == len(streams)
    for client in (ann, bob):
        await client.act(table, act.Roll())
    for seen in await asyncio.gather(*(stream.up_to(5) for stream in streams)):
        assert [commit.version for commit in seen] == [4, 5]
    for client in clients:
        await client.channel.close(None)
    await eventually(lambda: running.hub.rooms.find(table) is None)


async def test_watching_needs_a_sign_in(running: Stack, ann: Client, bob: Client) -> None:
    table = await game(ann, bob)
    async with running.client("guest:cay") as stranger:
        failure = await stranger.watch(table).ended()
        assert failure is not None
        assert (failure.status, failure.reason) == (grpc.StatusCode.UNAUTHENTICATED, "sign_in_required")
        stream = stranger.play()
        await stream.follow(table)
        assert (await stream.next("refused")).status.message == "Watching needs a sign-in that is not a guest's."
        with pytest.raises(Failure, match="Watching needs a sign-in"):
            await stranger.call("Watch/History", watch_pb2.HistoryRequest(table=table))
    # Who plays may watch, guest or not.
    assert (await bob.watch(table).next("snapshot")).view.table == table


async def test_history_page_by_page(running: Stack, ann: Client, viewer: Client) -> None:
    table = await ann.create()
    for n in range(9):
        await ann.act(table, act.SetOptions(round_limit=n + 1))
    found: list[int] = []
    while True:
        request = watch_pb2.HistoryRequest(table=table, after=found[-1] if found else 0, page_size=4)
        page = await viewer.call("Watch/History", request)
        assert len(page.commits) <= 4
        assert (page.version, page.epoch) == (10, page.commits[0].epoch)
        found += [commit.version for commit in page.commits]
        if found[-1] == page.version:
            break
    assert found == list(range(1, 11))
    assert not (await viewer.call("Watch/History", watch_pb2.HistoryRequest(table=table, after=10))).commits


async def test_a_record_in_another_language(running: Stack, ann: Client, bob: Client, viewer: Client) -> None:
    table = await game(ann, bob, edition="globopoly")
    lines = {}
    for language in ("", "ru"):
        request = watch_pb2.RecordRequest(table=table, language=language)
        lines[language] = (await viewer.call("Watch/Record", request)).lines
    own, russian = lines.values()
    assert [(line.version, line.kind) for line in own] == [(line.version, line.kind) for line in russian]
    assert own[0].text.startswith("The table is opened for Globopoly; ")
    assert russian[0].text.startswith("Открыт стол «Глобополия»; ")
    first = await viewer.call("Watch/Record", watch_pb2.RecordRequest(table=table, page_size=2))
    request = watch_pb2.RecordRequest(table=table, page_token=first.next_page_token, language="ru")
    assert (await viewer.call("Watch/Record", request)).lines == russian[2:]


async def test_a_record_in_sentences(running: Stack, ann: Client, bob: Client, viewer: Client) -> None:
    table = await game(ann, bob, edition="rugpull", dev=True)
    stream = ann.play()
    script = script_pb2.Script(throws=[script_pb2.ScriptedThrow(dice=[1, 2])])
    await stream.act(table, act.Roll(), script=script)
    await stream.act(table, act.Buy())
    whole = await viewer.call("Watch/Record", watch_pb2.RecordRequest(table=table))
    assert not whole.next_page_token
    texts = [line.text for line in whole.lines]
    assert any("opens" in text or "opened" in text for text in texts[:2])
    assert any("1" in text and "2" in text for text in texts)
    assert [line.version for line in whole.lines] == sorted(line.version for line in whole.lines)
    assert whole.lines[-1].version == 5
    assert all(line.kind and line.at.seconds for line in whole.lines)
    # An edition without texts in a language is told in its own.
    request = watch_pb2.RecordRequest(table=table, language="ru")
    assert (await viewer.call("Watch/Record", request)).lines == whole.lines
    # Read in pages of any size it is the same.
    for size in (1, 2, 3, 7):
        found, token = [], ""
        while True:
            request = watch_pb2.RecordRequest(table=table, page_size=size, page_token=token)
            page = await viewer.call("Watch/Record", request)
            assert len(page.lines) <= size
            found += page.lines
            token = page.next_page_token
            if not token:
                break
        assert found == list(whole.lines)
    # Also from a page that nobody remembers.
    records = running.hub.records
    page = await viewer.call("Watch/Record", watch_pb2.RecordRequest(table=table, page_size=3))
    records._places.clear()
    request = watch_pb2.RecordRequest(table=table, page_token=page.next_page_token)
    assert (await viewer.call("Watch/Record", request)).lines == whole.lines[3:]


async def test_what_is_not_there_yet_is_unimplemented(running: Stack, viewer: Client) -> None:
    with pytest.raises(Failure) as caught:
        await viewer.raw("WatchService/GetAuction", b"")
    assert caught.value.status is grpc.StatusCode.UNIMPLEMENTED
