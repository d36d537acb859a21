"""Small parts: feeds, pauses, names, exports."""

from __future__ import annotations

import asyncio

import pytest
from google.protobuf import json_format

from omnipoly.client import Refused, exports, names
from omnipoly.client.backoff import LONGEST_S, Backoff
from omnipoly.client.feed import LONGEST, Feed, Feeds
from omnipoly.client.happenings import Gone, Missed
from omnipoly.wire import commits
from omnipoly.wire.gen.gateway.v1 import watch_pb2
from omnipoly.wire.malformed import Malformed
from tests.client.games import Log, played


def gone(number: int) -> Gone:
    return Gone(str(number), "", "")


async def test_a_reader_that_is_too_slow_misses_what_waited_and_is_told() -> None:
    feed = Feed()
    for number in range(LONGEST + 2):
        feed.put(gone(number))
    feed.end()
    assert [happening async for happening in feed] == [Missed(LONGEST), gone(LONGEST), gone(LONGEST + 1)]


async def test_a_reader_waits_and_is_woken() -> None:
    feeds = Feeds()
    feed = feeds.open()
    waiting = asyncio.ensure_future(anext(feed))
    await asyncio.sleep(0)
    feeds.put(gone(1))
    assert await waiting == gone(1)
    feeds.end(Refused("banned", "No."))
    feeds.put(gone(2))
    for late in (feed, feeds.open()):
        with pytest.raises(Refused):
            await anext(late)


async def test_a_reader_that_is_gone_is_forgotten() -> None:
    feeds = Feeds()
    kept, gone_ = feeds.open(), feeds.open()
    del gone_
    feeds.put(gone(1))
    assert len(feeds._feeds) == 1
    assert await anext(kept) == gone(1)


def test_pauses_grow_and_are_never_shorter_than_asked_for() -> None:
    backoff = Backoff()
    pauses = [backoff.pause_s() for _ in range(12)]
    assert pauses[0] <= 0.1
    assert LONGEST_S / 2 <= pauses[-1] <= LONGEST_S
    assert backoff.pause_s(60) >= 60
    backoff.reset()
    assert backoff.pause_s() <= 0.1


def test_names_are_never_the_same() -> None:
    assert len({names.fresh() for _ in range(100)}) == 100
    assert len(names.fresh()) <= 64


def export(log: Log) -> watch_pb2.ExportResponse:
    edition = log.game.edition
    whole = watch_pb2.ExportResponse(edition=edition.id, digest=edition.digest, edition_text=edition.text)
    for commit in log.commits:
        data = commits.encode("t", commit.version, 1, commit.at_ms, commit.events, actor=commit.actor)
        whole.commits.add().ParseFromString(data)
    return whole


def test_an_export_is_read_from_pages_behind_one_another_and_from_json() -> None:
    log = played("globopoly/quick")
    whole = export(log)
    first, second = watch_pb2.ExportResponse(), watch_pb2.ExportResponse()
    first.CopyFrom(whole)
    del first.commits[100:]
    second.commits.extend(whole.commits[100:])
    for data in (first.SerializeToString() + second.SerializeToString(), json_format.MessageToJson(whole).encode()):
        exported = exports.read(exports.parse(data))
        assert exported.game.edition == log.game.edition
        assert [commit.events for commit in exported.log] == [commit.events for commit in log.commits]


@pytest.mark.parametrize("data", [b"\xff\xff", b"{", b'{"a": 1}', b"no game at all", b""])
def test_what_is_no_export_is_said(data: bytes) -> None:
    with pytest.raises(Malformed):
        exports.read(exports.parse(data))


def test_an_export_with_another_text_is_refused() -> None:
    whole = export(played("rugpull"))
    whole.edition_text += "\n"
    with pytest.raises(Refused):
        exports.read(whole)
    whole.edition_text = "nonsense"
    with pytest.raises(Malformed):
        exports.read(whole)
