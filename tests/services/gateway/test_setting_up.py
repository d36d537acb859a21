"""TUB-SETUP over the wire: every option of every edition, seats and their order, the office of host, limits, lists."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from omnipoly.editions import loader
from omnipoly.rules import actions as act
from omnipoly.runtime.failures import Failure, from_status
from omnipoly.wire.gen.game.v1 import actions_pb2, table_pb2, types_pb2
from omnipoly.wire.gen.gateway.v1 import dev_pb2, lobby_pb2, play_pb2
from tests.services.conftest import MakeDatabase
from tests.services.gateway.calling import Client, Stack, game, stack, unique_id
from tests.services.gateway.refusing import DENIED, EXHAUSTED, INVALID, PRECONDITION, told

SWITCHES = [{"viewers_chat": True}, {"viewers_chat": False}, {"viewers_take_bots": True}]
CLOCKS = [{"clock": {"seconds": seconds}} for seconds in (20, 30, 45, 60, 90)]
ROUNDS = [{"round_limit": rounds} for rounds in (0, 1, 1000)]
ODD_CLOCKS = [{"clock": {"seconds": seconds}} for seconds in (-45, 0, 1, 19, 46, 91, 3600)]
ODD_ROUNDS = [{"round_limit": rounds} for rounds in (-1, 1001, 2**31 - 1)]
NO_CASH = [{"start_cash": cash} for cash in (1000, 1500, 2000)]
NO_TIME = [{"time_limit": {"seconds": 900}}, {"time_limit": {"seconds": 1800}}]
NO_FEE = [{"entry_fee": fee} for fee in (1, 10, 10_000)]
NO_CLAIM = [{"auto_claim": True}, {"auto_claim": False}]
NEGATIVE = [{"start_cash": -1}, {"entry_fee": -1}]

GOOD: dict[str, list[dict[str, Any]]] = {
    "tubbypoly": [
        *({"start_cash": cash} for cash in (1000, 1500, 2000, 3000)),
        *CLOCKS,
        *ROUNDS,
        *SWITCHES,
        {"start_cash": 3000, "clock": {"seconds": 90}, "round_limit": 7, "viewers_chat": True},
    ],
    "rugpull": [*ROUNDS, *SWITCHES, {"entry_fee": 0}, {"entry_fee": 1}, {"entry_fee": 10_000}],
    "globopoly/classic": [*CLOCKS, *ROUNDS, *SWITCHES, {"auto_claim": True}, {"auto_claim": False}],
    "globopoly/quick": [
        *CLOCKS,
        *ROUNDS,
        *SWITCHES,
        {"auto_claim": True},
        *({"time_limit": {"seconds": minutes * 60}} for minutes in (15, 16, 30)),
    ],
    "laspoly": [*CLOCKS, *ROUNDS, *SWITCHES],
}
"""What the host may pick, by edition."""

BAD: dict[str, list[dict[str, Any]]] = {
    "tubbypoly": [
        *({"start_cash": cash} for cash in (0, 999, 1200, 3001, 10**12)),
        *ODD_CLOCKS,
        *ODD_ROUNDS,
        *NO_TIME,
        *NO_FEE,
        *NO_CLAIM,
        *NEGATIVE,
        {"start_cash": 2000, "clock": {"seconds": 21}},
    ],
    "rugpull": [
        *NO_CASH,
        *CLOCKS,
        *ODD_ROUNDS,
        *NO_TIME,
        *NO_CLAIM,
        *NEGATIVE,
        {"entry_fee": 10_001},
        {"entry_fee": 10, "round_limit": 5},
        {"entry_fee": 10, "viewers_take_bots": True},
    ],
    "globopoly/classic": [*NO_CASH, *ODD_CLOCKS, *ODD_ROUNDS, *NO_TIME, *NO_FEE, *NEGATIVE],
    "globopoly/quick": [
        *NO_CASH,
        *ODD_CLOCKS,
        *ODD_ROUNDS,
        *({"time_limit": {"seconds": seconds}} for seconds in (0, 14 * 60, 31 * 60)),
        *NO_FEE,
        *NEGATIVE,
    ],
    "laspoly": [*NO_CASH, *ODD_CLOCKS, *ODD_ROUNDS, *NO_TIME, *NO_FEE, *NO_CLAIM, *NEGATIVE],
}
"""What it may not be."""

MALFORMED = [
    {"clock": {"seconds": 45, "nanos": 1}},
    {"time_limit": {"seconds": 901}},
    {"time_limit": {"seconds": 900, "nanos": 5}},
]
"""What no edition could mean."""


def options_of(view: Any) -> types_pb2.Options:
    return types_pb2.Options.FromString(view.options.SerializeToString())


def test_every_edition_stands_in_the_table() -> None:
    assert set(GOOD) == set(BAD) == set(loader.shipped())


@pytest.mark.parametrize("edition", GOOD)
async def test_what_the_host_may_pick(viewer: Client, edition: str) -> None:
    table = await viewer.create(edition)
    for options in GOOD[edition]:
        given = actions_pb2.SetOptions(**options)
        opened = await viewer.create(edition, options=given)
        request = lobby_pb2.SetOptionsRequest(table=table, command_id=unique_id(), **options)
        if "entry_fee" in options or "viewers_take_bots" in options:  # not both at one table
            request.table = await viewer.create(edition)
        await viewer.call("Lobby/SetOptions", request)
        for where in (opened, request.table):
            set_ = options_of(await viewer.view(where))
            for name in options:
                assert getattr(set_, name) == getattr(given, name), (edition, name)


@pytest.mark.parametrize("edition", BAD)
async def test_what_it_may_not_be(viewer: Client, edition: str) -> None:
    table = await viewer.create(edition)
    before = await viewer.view(table)
    stream = viewer.play()
    for options in BAD[edition]:
        given = actions_pb2.SetOptions(**options)
        create = lobby_pb2.CreateTableRequest(request_id=unique_id(), edition=edition, options=given)
        request = lobby_pb2.SetOptionsRequest(table=table, command_id=unique_id(), **options)
        for answer in (viewer.call("Lobby/CreateTable", create), viewer.call("Lobby/SetOptions", request)):
            with pytest.raises(Failure) as caught:
                await answer
            told(caught.value, PRECONDITION, "bad_option")
        action = actions_pb2.Action(set_options=given)
        await stream.send(act=play_pb2.Act(table=table, command_id=unique_id(), action=action))
        told(from_status((await stream.next("refused", "accepted")).status), PRECONDITION, "bad_option")
    assert await viewer.view(table) == before


@pytest.mark.parametrize("options", MALFORMED, ids=str)
async def test_what_no_edition_could_mean(ann: Client, options: dict[str, Any]) -> None:
    table = await ann.create("globopoly/quick")
    request = lobby_pb2.SetOptionsRequest(table=table, command_id=unique_id(), **options)
    with pytest.raises(Failure) as caught:
        await ann.call("Lobby/SetOptions", request)
    told(caught.value, INVALID, "bad_request")


async def test_the_host_alone_sets_up(ann: Client, bob: Client, viewer: Client) -> None:
    table = await ann.create()
    await bob.act(table, act.Join(""))
    for client in (bob, viewer):
        for action in (act.SetOptions(clock_s=20), act.AddBot(), act.Remove(0), act.Start()):
            with pytest.raises(Failure) as caught:
                await client.act(table, action)
            told(caught.value, DENIED, "not_host")
    await ann.act(table, act.Start())
    for late in (act.SetOptions(clock_s=20), act.AddBot(), act.Start()):
        with pytest.raises(Failure) as caught:
            await ann.act(table, late)
        told(caught.value, PRECONDITION, "table_started")


# --- seats


async def holders(client: Client, table: str) -> list[str]:
    """Who sits there, in order, without the unique part of their ids."""
    return [seat.holder.partition("-")[0] for seat in (await client.view(table)).seats]


async def test_seats_are_taken_in_order_and_those_behind_move_up(
    running: Stack, ann: Client, bob: Client, viewer: Client
) -> None:
    table = await ann.create()
    await ann.act(table, act.AddBot("Botto"))
    await bob.act(table, act.Join(""))
    await ann.act(table, act.AddBot())
    await viewer.act(table, act.Join("Vic"))
    assert await holders(ann, table) == ["guest:ann", "bot:0", "guest:bob", "bot:1", "oidc:vic"]
    names = [seat.name for seat in (await ann.view(table)).seats]
    assert (names[1], names[3], names[4]) == ("Botto", "Bot 2", "Vic")
    await ann.act(table, act.Remove(1))
    await bob.act(table, act.Leave())
    assert await holders(ann, table) == ["guest:ann", "bot:1", "oidc:vic"]
    await bob.act(table, act.Join(""))
    await ann.act(table, act.AddBot())  # the number that is free again
    assert await holders(ann, table) == ["guest:ann", "bot:1", "oidc:vic", "guest:bob", "bot:0"]
    with pytest.raises(Failure) as caught:
        await bob.act(table, act.Join(""))
    told(caught.value, PRECONDITION, "bad_partner")  # nobody sits twice
    await ann.act(table, act.Start())
    assert await holders(ann, table) == ["guest:ann", "bot:1", "oidc:vic", "guest:bob", "bot:0"]


async def test_a_table_has_as_many_seats_as_its_edition(ann: Client, bob: Client) -> None:
    table = await ann.create("globopoly")
    for _ in range(4):
        await ann.act(table, act.AddBot())
    for client, action in ((bob, act.Join("")), (ann, act.AddBot())):
        with pytest.raises(Failure) as caught:
            await client.act(table, action)
        told(caught.value, PRECONDITION, "table_full")
    one = await ann.create("globopoly")
    with pytest.raises(Failure) as caught:
        await ann.act(one, act.Start())
    told(caught.value, PRECONDITION, "bad_partner")


async def test_the_office_of_host_passes_on_before_the_start(ann: Client, bob: Client, viewer: Client) -> None:
    """CORE-HOST: to the next person in order of seats; a bot is nobody's host."""
    table = await ann.create()
    await ann.act(table, act.AddBot())
    await viewer.act(table, act.Join(""))
    await bob.act(table, act.Join(""))
    stream = bob.play()
    await stream.follow(table)
    await stream.next("progress")
    await ann.act(table, act.Leave())
    kinds = [event.WhichOneof("kind") for event in (await stream.next("commit")).events]
    assert kinds == ["host_changed", "seat_freed"]
    assert (await bob.view(table)).host.startswith("oidc:vic")
    await viewer.act(table, act.SetOptions(clock_s=20))
    await viewer.act(table, act.Leave())
    await bob.act(table, act.Start())
    assert (await bob.view(table)).host.startswith("guest:bob")


# --- limits, lists, and tables that never start


@pytest.fixture(scope="module")
async def strict(make_module_database: MakeDatabase, nats_url: str) -> AsyncIterator[Stack]:
    """A stack with the limit that operators have."""
    url = await make_module_database("omnipolyd.table.migrations")
    async with stack(url, nats_url, table={"open_tables": 5}) as strict:
        yield strict


async def advance(client: Client, table: str, seconds: int) -> None:
    request = dev_pb2.AdvanceRequest(table=table, command_id=unique_id())
    request.by.FromSeconds(seconds)
    await client.call("Dev/Advance", request)


async def test_a_person_has_so_many_tables_open(strict: Stack, unique: str) -> None:
    """One of bots alone counts like any other, and ends like any other."""
    async with strict.client(f"guest:ann-{unique}") as ann, strict.client(f"guest:bob-{unique}") as bob:
        limit = actions_pb2.SetOptions(round_limit=1)
        of_bots = await ann.create("rugpull", unseated=True, dev=True, options=limit)
        for _ in range(2):
            await ann.act(of_bots, act.AddBot())
        await ann.act(of_bots, act.Start())
        lobbies = [await ann.create(dev=True) for _ in range(3)]
        playing = await game(ann, bob)  # is Ann's, not Bob's
        with pytest.raises(Failure) as caught:
            await ann.create()
        told(caught.value, EXHAUSTED, "too_many_tables")
        assert caught.value.sentence == "You have as many open tables as you may have."
        await bob.create()
        # the bots' clocks run out, and with them the only round
        await advance(ann, of_bots, 3600)
        assert (await ann.view(of_bots)).ended == types_pb2.ENDING_ROUND_LIMIT
        one_more = await ann.create(dev=True)
        with pytest.raises(Failure, match="as many open tables"):
            await ann.create()
        # a table that never starts goes by itself
        await advance(ann, lobbies[0], 3600)
        await ann.create()
        with pytest.raises(Failure, match="as many open tables"):
            await ann.create()
        assert len({of_bots, *lobbies, playing, one_more}) == 6


async def test_a_table_that_never_starts_is_shown_and_listed_no_more(ann: Client, bob: Client) -> None:
    """TUB-PAUSE: an hour without a move ends it; until then somebody may still sit down."""
    table, other = await ann.create(dev=True), await ann.create(dev=True)
    stream = bob.play()
    await bob.act(table, act.Join(""))
    await stream.follow(table)
    await stream.next("progress")
    await advance(ann, table, 3599)
    assert table in await listed(ann, mine=True)
    await advance(ann, table, 1)
    commit = (await stream.up_to((await ann.view(table)).version))[-1]
    assert [event.WhichOneof("kind") for event in commit.events][-1] == "game_ended"
    assert (await bob.view(table)).ended == types_pb2.ENDING_ABANDONED
    for wanted in ({"mine": True}, {"open_only": True}, {"status": table_pb2.TABLE_STATUS_OVER, "mine": True}):
        assert table not in await listed(ann, **wanted)
    assert other in await listed(ann, mine=True)
    with pytest.raises(Failure) as caught:
        await bob.act(table, act.Leave())
    told(caught.value, PRECONDITION, "table_closed")


async def listed(client: Client, *, page_size: int = 100, **wanted: Any) -> list[str]:
    """Ids of tables, page by page."""
    found: list[str] = []
    request = lobby_pb2.ListTablesRequest(page_size=page_size, **wanted)
    while True:
        page = await client.call("Lobby/ListTables", request)
        assert len(page.tables) <= page_size
        found += [row.table for row in page.tables]
        if not page.next_page_token:
            return found
        request.page_token = page.next_page_token


async def test_lists_by_what_is_asked_for(ann: Client, bob: Client) -> None:
    """Each filter alone and together, in pages of any size; a table that is opened meanwhile moves nothing."""
    waiting = await ann.create("laspoly")
    full = await ann.create("globopoly")
    for _ in range(4):
        await ann.act(full, act.AddBot())
    private = await ann.create("laspoly", pin="4815")
    playing = await game(ann, bob, edition="laspoly")
    over = await game(ann, bob, edition="laspoly")
    await bob.act(over, act.Leave())
    mine = [over, playing, private, full, waiting]
    for size in (1, 2, 3, 100):
        assert await listed(ann, mine=True, page_size=size) == mine
        assert await listed(ann, mine=True, edition="laspoly", page_size=size) == [over, playing, private, waiting]
    assert await listed(ann, mine=True, open_only=True) == [waiting]
    assert await listed(ann, mine=True, status=table_pb2.TABLE_STATUS_LOBBY) == [private, full, waiting]
    assert await listed(ann, mine=True, status=table_pb2.TABLE_STATUS_PLAYING) == [playing]
    assert await listed(ann, mine=True, status=table_pb2.TABLE_STATUS_OVER) == [over]
    assert await listed(ann, mine=True, status=table_pb2.TABLE_STATUS_PLAYING, edition="globopoly/classic") == []
    first = await ann.call("Lobby/ListTables", lobby_pb2.ListTablesRequest(mine=True, page_size=2))
    await ann.create()
    request = lobby_pb2.ListTablesRequest(mine=True, page_size=100, page_token=first.next_page_token)
    rest = await ann.call("Lobby/ListTables", request)
    assert [row.table for row in (*first.tables, *rest.tables)] == mine


@pytest.mark.parametrize(
    "wrong", [{"page_size": 101}, {"page_size": -1}, {"page_token": "no"}, {"edition": "x" * 66}, {"status": 99}]
)
async def test_lists_that_cannot_be(ann: Client, wrong: dict[str, Any]) -> None:
    with pytest.raises(Failure) as caught:
        await ann.call("Lobby/ListTables", lobby_pb2.ListTablesRequest(**wrong))
    told(caught.value, INVALID, "bad_request")
