"""Heads, lists, pages of commits, exports; and opening, which has limits of its own."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from omnipoly.client import verify
from omnipoly.editions import loader
from omnipoly.rules import actions as act
from omnipoly.rules.ring import Game
from omnipoly.runtime.failures import Failure
from omnipoly.wire import commits
from omnipoly.wire.gen.game.v1 import table_pb2
from omnipoly.wire.gen.table.v1 import table_pb2 as pb
from omnipolyd.table import reading
from tests.services.table.calling import Caller, identity, replay, unique_id
from tests.services.table.conftest import Serve
from tests.services.table.past import Past, now_ms
from tests.services.table.playing import Picture, play
from tests.services.table.replicas import Replica
from tests.services.table.staging import staged

ANN, BOB, EVE = "guest:ann", "guest:bob", "guest:eve"


async def pages(caller: Caller, method: str, request: Any) -> AsyncIterator[Any]:
    """Every page, by its tokens."""
    for _ in range(200):
        page = await caller.call(method, request)
        yield page
        if not page.next_page_token:
            return
        assert len(page.next_page_token) <= 256
        request.page_token = page.next_page_token
    raise AssertionError("the pages do not end")


async def listed(caller: Caller, **wanted: Any) -> list[str]:
    request = pb.ListRequest(page_size=3, **wanted)
    return [row.table async for page in pages(caller, "List", request) for row in page.tables]


# --- lists ------------------------------------------------------------------------------------------------------------


async def test_lists(serve: Serve, game: Game) -> None:
    caller = (await serve()).caller
    lobby = [await caller.open(ANN) for _ in range(5)]
    playing = [await caller.started(game, person=BOB) for _ in range(4)]
    over = await caller.started(game, bots=1)
    await caller.act(over, ANN, act.Leave())
    full = await caller.open(EVE)
    for _ in range(15):
        await caller.act(full, EVE, act.AddBot())
    unseated = await caller.open(EVE, unseated=True)
    rugpull = (
        await caller.call("Open", pb.OpenRequest(identity=identity(EVE), command_id=unique_id(), edition="rugpull"))
    ).table
    everything = [*lobby, *playing, over, full, unseated, rugpull]

    assert await listed(caller) == everything[::-1]  # the latest opened first
    assert await listed(caller, status=table_pb2.TABLE_STATUS_PLAYING) == playing[::-1]
    assert await listed(caller, status=table_pb2.TABLE_STATUS_OVER) == [over]
    assert await listed(caller, status=table_pb2.TABLE_STATUS_PAUSED) == []
    assert await listed(caller, person=BOB) == playing[::-1]
    assert await listed(caller, host=EVE) == [rugpull, unseated, full]
    assert await listed(caller, person=EVE) == [rugpull, full]
    assert await listed(caller, edition="rugpull") == [rugpull]
    assert await listed(caller, open_only=True) == [rugpull, unseated, *lobby[::-1]]
    assert await listed(caller, open_only=True, person=EVE, edition="tubbypoly") == []
    assert await listed(caller, person="guest:nobody") == []

    # somebody sits down and gets up again
    await caller.act(lobby[0], BOB, act.Join("Bob"))
    assert await listed(caller, person=BOB) == [*playing[::-1], lobby[0]]
    await caller.act(lobby[0], BOB, act.Leave())
    assert await listed(caller, person=BOB) == playing[::-1]


async def test_what_a_list_shows(serve: Serve, game: Game) -> None:
    caller = (await serve()).caller
    table = await caller.started(game, bots=2)
    (row,) = (await caller.call("List", pb.ListRequest())).tables
    state = replay(await caller.log(table), game)
    assert (row.table, row.version, row.edition) == (table, 4, "tubbypoly")
    assert (row.status, row.host, row.host_name) == (table_pb2.TABLE_STATUS_PLAYING, ANN, ANN)
    assert (row.seats, row.bots, row.seats_in, row.most_seats) == (3, 2, 3, game.most_seats)
    assert row.started.ToMilliseconds() == state.started_ms
    assert row.opened.ToMilliseconds() <= row.started.ToMilliseconds()
    assert row.options.start_cash == 1500
    await caller.act(table, ANN, act.Leave())
    (row,) = (await caller.call("List", pb.ListRequest())).tables
    log = [commits.decode(body, game) for body in await caller.log(table)]
    assert row.version == len(log)
    if row.status == table_pb2.TABLE_STATUS_OVER:
        assert row.ended.ToMilliseconds() == log[-1].at_ms


async def test_pages_of_tables_opened_in_the_same_millisecond(serve: Serve, game: Game) -> None:
    """None is left out and none comes twice."""
    replica = await serve()
    at_ms = now_ms() - 12_345
    tables = set()
    for _ in range(10):
        past = Past(replica, game)
        await past.open(at_ms)
        tables.add(past.table)
    for size in (1, 3, 10):
        request = pb.ListRequest(page_size=size)
        found = [row.table async for page in pages(replica.caller, "List", request) for row in page.tables]
        assert len(found) == 10
        assert set(found) == tables


# --- heads ------------------------------------------------------------------------------------------------------------


async def test_heads(caller: Caller, game: Game) -> None:
    tables = [await caller.started(game, bots=1), await caller.open(ANN), await staged(caller)]
    answer = await caller.call("Heads", pb.HeadsRequest(tables=[*tables, "nowhere", *tables]))
    heads = {head.table: head for head in answer.heads}
    assert heads.keys() == set(tables)
    assert len(answer.heads) == 3
    assert [heads[table].version for table in tables] == [3, 1, 2]
    state = replay(await caller.log(tables[0]), game)
    assert heads[tables[0]].next_deadline.ToMilliseconds() == min(at for at in state.deadline_ms if at)
    lobby = replay(await caller.log(tables[1]), game)
    assert heads[tables[1]].next_deadline.ToMilliseconds() == lobby.now_ms + 3_600_000
    assert not heads[tables[2]].HasField("next_deadline")  # its clock stands still
    assert abs(answer.server_time.ToMilliseconds() - now_ms()) < 5000


async def test_pages_of_heads(serve: Serve, game: Game) -> None:
    """By what falls due first; what has nothing due comes last, and its pages end too."""
    caller = (await serve()).caller
    begun = datetime.now(UTC) - timedelta(seconds=60)
    playing = [await caller.started(game, bots=1) for _ in range(4)]
    lobby = [await caller.open(ANN) for _ in range(4)]
    never = [await staged(caller) for _ in range(7)]
    for size in (1, 3, 4, 15, 1000):
        request = pb.ListHeadsRequest(page_size=size)
        request.changed_since.FromDatetime(begun)
        heads = [head async for page in pages(caller, "ListHeads", request) for head in page.heads]
        assert [head.table for head in heads[:4]] == playing
        assert {head.table for head in heads[4:8]} == set(lobby)
        assert {head.table for head in heads[8:]} == set(never)
        assert len(heads) == 15
        request = pb.ListHeadsRequest(page_size=size)
        heads = [head async for page in pages(caller, "ListHeads", request) for head in page.heads]
        assert [head.table for head in heads[:4]] == playing
        assert len(heads) == 8
        # before a time: the bound itself is not in it
        request = pb.ListHeadsRequest(page_size=size, due_before=heads[2].next_deadline)
        due = [head.table async for page in pages(caller, "ListHeads", request) for head in page.heads]
        assert due == [
            head.table for head in heads if head.next_deadline.ToNanoseconds() < heads[2].next_deadline.ToNanoseconds()
        ]
    request = pb.ListHeadsRequest()
    request.changed_since.FromDatetime(datetime.now(UTC) + timedelta(seconds=60))
    assert not (await caller.call("ListHeads", request)).heads


# --- commits and exports ----------------------------------------------------------------------------------------------


async def test_pages_of_commits(caller: Caller, game: Game, monkeypatch: pytest.MonkeyPatch) -> None:
    table = await caller.started(game, bots=2)
    picture = await Picture.take(caller, table, game)
    await play([caller], picture, most=30)
    log = await caller.log(table)
    version = len(log)
    for after, size, found in (
        (0, 0, log), (0, 5, log[:5]), (4, 5, log[4:9]), (version - 1, 0, log[-1:]), (version, 0, []),
        (version + 100, 0, []), (-5, 2, log[:2]), (2**62, 1, []),
    ):  # fmt: skip
        page = await caller.call("Commits", pb.CommitsRequest(table=table, after=after, page_size=size))
        assert list(page.commits) == found
        assert page.version == version
    monkeypatch.setattr(reading, "PAGE_BYTES", 10)  # smaller than any commit: one goes all the same
    page = await caller.call("Commits", pb.CommitsRequest(table=table, after=3))
    assert (list(page.commits), page.version) == (log[3:4], version)
    found = [page async for page in pages(caller, "Export", pb.ExportRequest(table=table))]
    assert [list(page.commits) for page in found[:-1]] == [[body] for body in log][: len(found) - 1]
    assert [body for page in found for body in page.commits] == log


def test_pages_are_cut_by_their_size() -> None:
    rows = [bytes(300) for _ in range(5)]
    assert [len(reading._page(rows, room)) for room in (-5, 0, 299, 300, 599, 600, 1500, 9999)] == [
        1, 1, 1, 1, 1, 2, 5, 5
    ]  # fmt: skip
    assert reading._page([], 0) == []


async def test_an_export_is_all_that_a_game_can_be_checked_from(caller: Caller, game: Game) -> None:
    table = await caller.open(ANN)
    for action in (act.AddBot(), act.SetOptions(round_limit=2), act.Start()):
        await caller.act(table, ANN, action)
    picture = await Picture.take(caller, table, game)
    await play([caller], picture)
    log = await caller.log(table)
    for size in (1, 7, len(log), 200):
        found = [page async for page in pages(caller, "Export", pb.ExportRequest(table=table, page_size=size))]
        assert [body for page in found for body in page.commits] == log
        assert [bool(page.edition) for page in found] == [True] + (len(found) - 1) * [False]
    first = found[0]
    edition = loader.from_text(first.edition_text, first.edition.partition("/")[2])
    assert (edition.id, edition.digest) == (first.edition, first.digest)
    verdict = verify.check(Game(edition), [commits.decode(body, Game(edition)) for body in log])
    assert verdict.holds, verdict.problems
    with pytest.raises(Failure) as caught:
        await caller.call("Export", pb.ExportRequest(table="nowhere", page_token="5"))
    assert caught.value.reason == "unknown_table"


# --- opening ----------------------------------------------------------------------------------------------------------


async def test_no_more_open_tables_than_allowed(serve: Serve, game: Game) -> None:
    """Counted for each person, also when they come all at once and through different replicas."""
    one, two = await serve(open_tables=3), await serve(open_tables=3)
    opened = await asyncio.gather(
        *((one, two)[number % 2].caller.open(ANN) for number in range(12)), return_exceptions=True
    )
    tables = [table for table in opened if isinstance(table, str)]
    assert len(tables) == 3
    for failure in opened:
        if not isinstance(failure, str):
            assert isinstance(failure, Failure)
            assert (failure.status.name, failure.reason) == ("RESOURCE_EXHAUSTED", "too_many_tables")
    await one.caller.open(BOB)
    # a game that is over makes room, one that goes on does not
    await one.caller.act(tables[0], ANN, act.AddBot())
    await one.caller.act(tables[0], ANN, act.Start())
    with pytest.raises(Failure):
        await two.caller.open(ANN)
    await one.caller.act(tables[0], ANN, act.Leave())
    last = unique_id()
    table = await two.caller.open(ANN, command_id=last)
    # the same command again is no further table
    assert await asyncio.gather(*(one.caller.open(ANN, command_id=last) for _ in range(4))) == 4 * [table]


@pytest.mark.parametrize(
    ("wrong", "status", "reason"),
    [
        ({"edition": "monopoly"}, "NOT_FOUND", "unknown_edition"),
        ({"edition": ""}, "NOT_FOUND", "unknown_edition"),
        ({"edition": "tubbypoly/none"}, "NOT_FOUND", "unknown_edition"),
        ({"edition": "../../etc/passwd"}, "NOT_FOUND", "unknown_edition"),
        ({"edition": "x\x00y"}, "NOT_FOUND", "unknown_edition"),
        ({"edition": "x" * 10_000}, "NOT_FOUND", "unknown_edition"),
        ({"options": {"start_cash": 1234}}, "FAILED_PRECONDITION", "bad_option"),
        ({"options": {"auto_claim": True}}, "FAILED_PRECONDITION", "bad_option"),
        ({"options": {"entry_fee": 10**9}}, "FAILED_PRECONDITION", "bad_option"),
        ({"options": {"round_limit": -1}}, "FAILED_PRECONDITION", "bad_option"),
        ({"options": {"clock": {"seconds": 1}}}, "FAILED_PRECONDITION", "bad_option"),
        ({"options": {"clock": {"nanos": 5}}}, "INVALID_ARGUMENT", "bad_request"),
        ({"options": {"private": True}}, "FAILED_PRECONDITION", "bad_option"),
        ({"pin": "123"}, "INVALID_ARGUMENT", "bad_request"),
        ({"pin": "123456789"}, "INVALID_ARGUMENT", "bad_request"),
        ({"pin": "12a4"}, "INVALID_ARGUMENT", "bad_request"),
        ({"command_id": ""}, "INVALID_ARGUMENT", "bad_request"),
        ({"identity": {"person": "admin:x", "name": "x"}}, "INVALID_ARGUMENT", "bad_request"),
        ({"identity": {"person": "bot:1", "name": "x"}}, "INVALID_ARGUMENT", "bad_request"),
    ],
)
async def test_what_cannot_be_opened(
    replica: Replica, caller: Caller, wrong: dict[str, Any], status: str, reason: str
) -> None:
    before = await replica.sql("SELECT count(*) AS n FROM heads")
    asked = {"identity": identity(ANN), "command_id": unique_id(), "edition": "tubbypoly", **wrong}
    with pytest.raises(Failure) as caught:
        await caller.call("Open", pb.OpenRequest(**asked))
    assert (caught.value.status.name, caught.value.reason) == (status, reason)
    assert await replica.sql("SELECT count(*) AS n FROM heads") == before


async def test_every_edition_can_be_opened_and_started(caller: Caller) -> None:
    for name in loader.shipped():
        request = pb.OpenRequest(identity=identity(ANN), command_id=unique_id(), edition=name)
        table = (await caller.call("Open", request)).table
        game = Game(loader.edition(name))
        for _ in range(game.least_seats - 1):
            await caller.act(table, ANN, act.AddBot())
        await caller.act(table, ANN, act.Start())
        picture = await Picture.take(caller, table, game)
        await play([caller], picture, most=20)
        assert replay(await caller.log(table), game) == picture.state


async def test_options_are_kept(caller: Caller, game: Game) -> None:
    options = {"start_cash": 2000, "clock": {"seconds": 30}, "round_limit": 77, "viewers_chat": True}
    table = await caller.open(ANN, options=options)
    state = replay(await caller.log(table), game)
    assert (state.options.start_cash, state.options.clock_s, state.options.round_limit) == (2000, 30, 77)
    assert state.options.viewers_chat
    assert state.holder == [ANN]
    unseated = replay(await caller.log(await caller.open(ANN, unseated=True)), game)
    assert (unseated.holder, unseated.host) == ([], ANN)
    assert time.time_ns() // 1_000_000 - state.now_ms < 60_000
