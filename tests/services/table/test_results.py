"""Finished games and who stands where by them: rows of the commits that end games, once, whatever breaks."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import asyncpg
import pytest

from omnipoly.rules import actions as act
from omnipoly.rules.ending import net_worth
from omnipoly.rules.ring import Game
from omnipoly.rules.state import Out
from omnipoly.runtime.failures import Failure
from omnipoly.wire.gen.game.v1 import types_pb2
from omnipoly.wire.gen.table.v1 import table_pb2 as pb
from omnipolyd.table.results.making import scores
from tests.services.proxy import Cut, Proxy
from tests.services.table.calling import Caller, replay, unique_id
from tests.services.table.conftest import Serve
from tests.services.table.operators import close
from tests.services.table.playing import Picture, play
from tests.services.table.replicas import Replica
from tests.services.table.staging import advance, staged
from tests.services.waiting import eventually


async def results(caller: Caller, **asked: Any) -> list[Any]:
    found: list[Any] = []
    token = ""
    while True:
        page = await caller.call("ListResults", pb.ListResultsRequest(page_token=token, **asked))
        found += page.results
        token = page.next_page_token
        if not token:
            return found


async def ranking(caller: Caller, **asked: Any) -> list[tuple[int, str, int, int, int]]:
    """(place, person, games, wins, points)."""
    found: list[tuple[int, str, int, int, int]] = []
    token = ""
    while True:
        page = await caller.call("Leaderboard", pb.LeaderboardRequest(page_token=token, **asked))
        found += [(one.place, one.person, one.games, one.wins, one.points) for one in page.standings]
        token = page.next_page_token
        if not token:
            return found


async def won_by(caller: Caller, *persons: str, edition: str = "tubbypoly") -> str:
    """A game that all leave but the first, who wins it, the last one first; so nobody else has finished it."""
    table = await begun(caller, *persons, edition=edition)
    for person in reversed(persons[1:]):
        await caller.act(table, person, act.Leave())
    return table


async def begun(caller: Caller, *persons: str, edition: str = "tubbypoly") -> str:
    from tests.services.table.calling import identity

    request = pb.OpenRequest(identity=identity(persons[0]), command_id=unique_id(), edition=edition)
    table = str((await caller.call("Open", request)).table)
    for person in persons[1:]:
        await caller.act(table, person, act.Join(person.partition(":")[2]))
    await caller.act(table, persons[0], act.Start())
    return table


def month() -> str:
    return f"{datetime.now(UTC):%Y-%m}"


async def test_a_games_result_is_what_its_log_says(caller: Caller, game: Game, unique: str) -> None:
    """A whole game of bots and one person: every seat with its place and worth, and the seed."""
    ann = f"guest:{unique}"
    table = await caller.open(ann)
    for _ in range(3):
        await caller.act(table, ann, act.AddBot())
    await caller.act(table, ann, act.SetOptions(round_limit=3))
    await caller.act(table, ann, act.Start())
    picture = await Picture.take(caller, table, game)
    await play([caller], picture)
    s = replay(await caller.log(table), game)
    (result,) = await results(caller, table=table)
    assert (result.table, result.edition, result.version) == (table, "tubbypoly", picture.version)
    assert (result.commitment, result.seed) == (s.commitment, s.seed) != ("", "")
    assert (result.ended, result.rounds) == (types_pb2.ENDING_ROUND_LIMIT, s.round)
    assert (result.started.ToMilliseconds(), result.finished.ToMilliseconds()) == (s.started_ms, s.now_ms)
    assert [(seat.holder, seat.name, seat.bot, seat.place) for seat in result.seats] == list(
        zip(s.holder, s.name, s.bot, s.places, strict=True)
    )
    worth = [net_worth(s, seat) if s.out[seat] == Out.IN else 0 for seat in range(4)]
    assert [seat.net_worth for seat in result.seats] == worth
    assert [seat.out - 1 for seat in result.seats] == s.out
    assert await results(caller, person=ann) == [result]
    (mine,) = [row for row in await ranking(caller, edition="tubbypoly") if row[1] == ann]
    behind = sum(place > s.places[0] for place in s.places)
    assert mine[2:] == (1, int(s.places[0] == 1 and behind > 0), behind)
    assert [score.person for score in scores(s)] == [ann]


async def test_games_of_a_person_of_an_edition_of_all(serve: Serve) -> None:
    """Lists by each filter, the latest first, in pages of any size."""
    caller = (await serve()).caller
    ann, bob, cid = "guest:ann", "guest:bob", "guest:cid"
    played = [
        (await won_by(caller, ann, bob), {ann, bob}, "tubbypoly"),
        (await won_by(caller, ann, cid, edition="laspoly"), {ann, cid}, "laspoly"),
        (await won_by(caller, bob, cid, edition="globopoly/quick"), {bob, cid}, "globopoly/quick"),
        (await won_by(caller, ann, bob, cid, edition="laspoly"), {ann, bob, cid}, "laspoly"),
        (await won_by(caller, bob, ann), {ann, bob}, "tubbypoly"),
    ]
    for person in ("", ann, bob, cid, "guest:zoe"):
        for edition in ("", "tubbypoly", "laspoly", "globopoly/quick", "globopoly"):
            wanted = [
                table
                for table, persons, of in reversed(played)
                if (not person or person in persons) and edition in ("", of)
            ]
            for size in (0, 1, 2, 5):
                found = await results(caller, person=person, edition=edition, page_size=size)
                assert [one.table for one in found] == wanted
    assert [one.table for one in await results(caller, table=played[0][0], page_size=1)] == [played[0][0]]


async def test_who_stands_where(serve: Serve) -> None:
    """By players left behind, then games won; equals share their place, also across pages; bots are ranked nowhere."""
    caller = (await serve()).caller
    ann, bob, cid, dan, eve = (f"guest:{name}" for name in ("ann", "bob", "cid", "dan", "eve"))
    await won_by(caller, ann, bob, cid)  # ann: 1 game, 1 win, 2 points
    await won_by(caller, bob, ann)  # bob: 1, 1, 1
    await won_by(caller, cid, ann)  # cid: 1, 1, 1
    await won_by(caller, dan, eve, edition="laspoly")  # dan: 1, 1, 1
    table = await begun(caller, eve, dan)
    await close(caller, table)  # as it stands: nobody has left anybody behind
    everything = [(1, ann, 1, 1, 2), (2, bob, 1, 1, 1), (2, cid, 1, 1, 1), (2, dan, 2, 1, 1), (5, eve, 1, 0, 0)]
    for size in (0, 1, 2, 3, 5):
        assert await ranking(caller, page_size=size) == everything
        assert await ranking(caller, page_size=size, month=month()) == everything
    assert await ranking(caller, edition="laspoly") == [(1, dan, 1, 1, 1)]
    assert await ranking(caller, edition="tubbypoly") == [
        (1, ann, 1, 1, 2),
        (2, bob, 1, 1, 1),
        (2, cid, 1, 1, 1),
        (4, dan, 1, 0, 0),
        (4, eve, 1, 0, 0),
    ]
    assert await ranking(caller, month="2001-01") == []
    assert await ranking(caller, edition="rugpull") == []


async def test_what_is_no_game_leaves_nothing(caller: Caller, game: Game, unique: str) -> None:
    """A table that never started; and one whose dice were scripted is in the lists, but counts for nobody."""
    ann, bob = f"guest:a{unique}", f"guest:b{unique}"
    lobby = await caller.open(ann, dev=True)
    await advance(caller, lobby, 3600)
    assert (await caller.view(lobby)).ended
    assert await results(caller, table=lobby) == []
    table = await staged(caller, (ann, bob), turn=ann)
    await caller.act(table, bob, act.Leave())
    (result,) = await results(caller, person=bob)
    assert (result.table, result.commitment, result.seed) == (table, "", "")
    assert [seat.place for seat in result.seats] == [1, 2]
    assert [row for row in await ranking(caller, edition="tubbypoly") if row[1] in (ann, bob)] == []


@pytest.mark.parametrize("cut", Cut)
@pytest.mark.parametrize("at", ["command", "results", "COMMIT"])
async def test_an_end_that_is_cut(serve: Serve, proxy: Proxy, at: str, cut: Cut) -> None:
    """Wherever it is cut: the result is there once, with the commit, and counted once."""
    replica = await serve(proxy.url)
    caller = replica.caller
    for number in range(1, 3):
        table = await begun(caller, "guest:ann", "guest:bob")
        held = proxy.hold(b"ends-it-" + str(number).encode())
        ending = asyncio.create_task(caller.act(table, "guest:bob", act.Leave(), command_id=f"ends-it-{number}"))
        await held.sprung.wait()
        if at == "command":
            held.released.set()
            # seen again with the look-up, or with the command decided anew: either way it has been given once
            proxy.cut_all()
            trap = None
        else:
            trap = proxy.cut_at({"results": table.encode(), "COMMIT": b"COMMIT"}[at], cut)
            held.released.set()
        answer = await ending
        assert trap is None or trap.done.is_set()
        (result,) = await results(caller, table=table)
        assert result.version == answer.version == len(await caller.log(table))
        assert await ranking(caller) == [(1, "guest:ann", number, number, number)]


async def test_many_that_end_at_once(serve: Serve, log_url: str) -> None:
    """The same two at many tables that end in the same appends, at two replicas: counted right, and nobody waits in a
    ring."""
    one, two = await serve(), await serve()
    persons = ["guest:ann", "guest:bob", "guest:cid"]
    tables: list[tuple[str, Sequence[str]]] = []
    for number in range(24):
        first, second = persons[number % 3], persons[(number + 1) % 3]
        tables.append((await begun(one.caller, first, second), (first, second)))
    for table, _ in tables[12:]:
        await two.caller.view(table)
    blocker, watcher = await asyncpg.connect(log_url), await asyncpg.connect(log_url)
    try:
        async with blocker.transaction():
            # both replicas' appends gather behind this
            await blocker.execute("LOCK TABLE standings IN SHARE MODE")
            ending = [
                asyncio.create_task((one if number < 12 else two).caller.act(table, second, act.Leave()))
                for number, (table, (_, second)) in enumerate(tables)
            ]
            await eventually(lambda: _both_wait(watcher))
        await asyncio.gather(*ending)
    finally:
        await blocker.close()
        await watcher.close()
    assert len(await results(one.caller)) == 24
    assert await ranking(two.caller) == [(1, person, 8, 8, 8) for person in persons]
    (row,) = await one.sql("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()")
    assert row["deadlocks"] == 0


async def _both_wait(connection: asyncpg.Connection) -> bool:
    waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
    return bool(await connection.fetchval(waiting) == 2)


@pytest.mark.parametrize(
    "asked",
    [
        ("ListResults", {"page_size": 101}),
        ("ListResults", {"page_size": -1}),
        ("ListResults", {"person": "a b"}),
        ("ListResults", {"table": "A"}),
        ("ListResults", {"edition": 66 * "x"}),
        ("ListResults", {"page_token": "x"}),
        ("Leaderboard", {"month": "2026-13"}),
        ("Leaderboard", {"month": "2026-1"}),
        ("Leaderboard", {"month": "26-10"}),
        ("Leaderboard", {"edition": "a b"}),
        ("Leaderboard", {"page_size": 101}),
        ("Leaderboard", {"page_token": "MSAyIDM="}),
        ("Leaderboard", {"page_token": "YSBiIGMgZCBl"}),
    ],
)
async def test_what_is_malformed(caller: Caller, asked: tuple[str, dict[str, Any]]) -> None:
    method, given = asked
    with pytest.raises(Failure) as caught:
        await caller.call(method, getattr(pb, f"{method}Request")(**given))
    assert (caught.value.status.name, caught.value.reason) == ("INVALID_ARGUMENT", "bad_request")


async def test_no_list_reads_every_game(replica: Replica) -> None:
    """By the plans: each list is read along an index, as far as its page goes."""
    from omnipolyd.table.results import sql

    async with replica.app.database.acquire() as connection, connection.transaction():
        await connection.execute("SET LOCAL enable_seqscan = off")
        await connection.execute("SET LOCAL enable_sort = off")
        await connection.execute("SET LOCAL enable_bitmapscan = off")
        now = "now()"
        for text, arguments in (
            (sql.RESULTS, (now, "'z'", "50")),
            (sql.RESULTS_OF_EDITION, (now, "'z'", "50", "'tubbypoly'")),
            (sql.RESULTS_OF_PERSON, (now, "'z'", "50", "'p'")),
            (sql.RESULTS_OF_PERSON_AND_EDITION, (now, "'z'", "50", "'p'", "'tubbypoly'")),
            (sql.STANDINGS, ("''", "''", "9", "9", "'p'", "50")),
        ):
            asked = text
            for number, value in enumerate(arguments, start=1):
                asked = asked.replace(f"${number}", value)
            plan = "\n".join(row[0] for row in await connection.fetch(f"EXPLAIN {asked}"))
            assert "Seq Scan" not in plan, plan
            inner = plan.partition("Limit")[2]
            assert "Sort" not in inner, plan
