from __future__ import annotations

from typing import Any

import grpc
import pytest

from omnipoly.editions import loader
from omnipoly.rules import actions as act
from omnipoly.runtime.errors import StartError
from omnipoly.runtime.failures import Failure
from omnipoly.wire.gen.game.v1 import actions_pb2, table_pb2
from omnipoly.wire.gen.gateway.v1 import lobby_pb2
from omnipolyd.gateway.catalogue import Catalogue
from tests.services.gateway.calling import Client, Stack, game, unique_id

# --- Editions


async def test_editions_are_listed_page_by_page(running: Stack, ann: Client) -> None:
    found, token = [], ""
    while True:
        request = lobby_pb2.ListEditionsRequest(page_size=2, page_token=token)
        page = await ann.call("Lobby/ListEditions", request)
        assert 1 <= len(page.editions) <= 2
        found += [edition.id for edition in page.editions]
        token = page.next_page_token
        if not token:
            break
    assert found == sorted(loader.shipped())
    whole = await ann.call("Lobby/ListEditions", lobby_pb2.ListEditionsRequest())
    assert [edition.id for edition in whole.editions] == found


@pytest.mark.parametrize("name", ["tubbypoly", "globopoly", "globopoly/quick", "tubbypoly/ring56", "laspoly"])
async def test_an_edition_by_name_and_by_digest(running: Stack, ann: Client, name: str) -> None:
    wanted = loader.edition(name)
    request = lobby_pb2.GetEditionRequest(edition=name)
    edition = (await ann.call("Lobby/GetEdition", request)).edition
    assert (edition.id, edition.digest, edition.text) == (wanted.id, wanted.digest, "")
    assert len(edition.boards) == len(wanted.boards)
    request = lobby_pb2.GetEditionRequest(digest=wanted.digest, with_text=True)
    same = (await ann.call("Lobby/GetEdition", request)).edition
    assert (same.id, same.text) == (wanted.id, wanted.text)


@pytest.mark.parametrize(
    "asked",
    [
        {"edition": "nopoly"},
        {"edition": "tubbypoly/nothing"},
        {"edition": ""},
        {"digest": "0" * 64},
        {"edition": "../x"},
    ],
)
async def test_an_edition_that_is_not_there(running: Stack, ann: Client, asked: dict[str, str]) -> None:
    with pytest.raises(Failure) as caught:
        await ann.call("Lobby/GetEdition", lobby_pb2.GetEditionRequest(**asked))
    assert (caught.value.status, caught.value.reason) == (grpc.StatusCode.NOT_FOUND, "unknown_edition")


async def test_an_edition_in_the_language_asked_for(running: Stack, ann: Client) -> None:
    titles = {}
    for language in ("", "en", "ru", "xx"):
        request = lobby_pb2.GetEditionRequest(edition="globopoly/quick", language=language)
        edition = (await ann.call("Lobby/GetEdition", request)).edition
        titles[language] = (edition.language, edition.title, edition.boards[0].fields[0].name)
    own = ("en", "Globopoly Quick", "Start")
    russian = ("ru", "Глобополия: быстрый режим", "Старт")
    assert titles == {"": own, "en": own, "ru": russian, "xx": own}
    with pytest.raises(Failure) as caught:
        await ann.call("Lobby/GetEdition", lobby_pb2.GetEditionRequest(edition="globopoly", language="russian"))
    assert caught.value.reason == "bad_request"


async def test_the_card_of_a_field(running: Stack, ann: Client, bob: Client, viewer: Client) -> None:
    """TUB-RENT-CARDINFO: the whole rent table, and the row that applies as the table stands."""
    table = await ann.create("globopoly")
    await bob.act(table, act.Join(""))

    async def card(client: Client, field: int, **more: Any) -> Any:
        request = lobby_pb2.GetFieldCardRequest(table=table, field=field, **more)
        return (await client.call("Lobby/GetFieldCard", request)).card

    paris = await card(ann, 24)
    assert (paris.details.name, paris.owner, paris.applies) == ("Paris", -1, -1)
    assert [row.amount for row in paris.details.rent_table] == [20, 40, 100, 300, 750, 925, 1100, 0]
    assert (await card(bob, 24, language="ru")).details.name == "Париж"
    await ann.act(table, act.Start())
    version = (await ann.view(table)).version
    started = await card(viewer, 24, at_least=version)
    assert (started.version, started.applies) == (version, -1)
    for field in (-1, 40):
        with pytest.raises(Failure) as caught:
            await card(ann, field)
        assert caught.value.reason == "bad_request"
    async with running.client("guest:nobody-there") as guest:
        with pytest.raises(Failure) as caught:
            await card(guest, 24)
        assert caught.value.reason == "sign_in_required"


def test_editions_of_the_operators_own(tmp_path) -> None:
    text = loader.edition("laspoly").text
    (tmp_path / "own.toml").write_text(text.replace('id = "laspoly"', 'id = "vegas"', 1))
    catalogue = Catalogue(str(tmp_path))
    assert "vegas" in [edition.id for edition in catalogue.summaries]
    assert catalogue.find("vegas").id == "vegas"
    assert catalogue.find("", catalogue.find("vegas").digest).id == "vegas"
    (tmp_path / "world.toml").write_text(
        loader.edition("globopoly").text.replace('id = "globopoly"', 'id = "world"', 1)
    )
    catalogue = Catalogue(str(tmp_path))
    assert {"vegas", "world/classic", "world/quick"} <= {edition.id for edition in catalogue.summaries}
    assert catalogue.find("world/quick").rules.turn.speed_die
    (tmp_path / "again.toml").write_text(text.replace('id = "laspoly"', 'id = "vegas"', 1))
    with pytest.raises(StartError, match=r"its id vegas is that of again\.toml, too"):
        Catalogue(str(tmp_path))
    (tmp_path / "again.toml").unlink()
    (tmp_path / "wrong.toml").write_text("id = 7")
    with pytest.raises(StartError, match=r"wrong\.toml"):
        Catalogue(str(tmp_path))
    with pytest.raises(StartError, match="OMNIPOLY_EDITIONS"):
        Catalogue(str(tmp_path / "nowhere"))


# --- Opening


async def test_opening_a_table(running: Stack, ann: Client) -> None:
    options = actions_pb2.SetOptions(round_limit=40, start_cash=2000)
    request = lobby_pb2.CreateTableRequest(request_id=unique_id(), edition="tubbypoly", options=options)
    opened = await ann.call("Lobby/CreateTable", request)
    assert (opened.version, opened.duplicate) == (1, False)
    assert [commit.version for commit in opened.commits] == [1]
    view = await ann.view(opened.table)
    assert (view.host, view.options.round_limit, view.options.start_cash) == (view.seats[0].holder, 40, 2000)
    again = await ann.call("Lobby/CreateTable", request)
    assert (again.table, again.version, again.duplicate) == (opened.table, 1, True)
    assert again.commits == opened.commits


async def test_opening_without_a_seat(running: Stack, ann: Client) -> None:
    table = await ann.create(unseated=True)
    view = await ann.view(table)
    assert view.host.startswith("guest:ann")
    assert not view.seats
    # A host sees their own table, guest or not.
    stream = ann.play()
    await stream.follow(table)
    assert (await stream.next("snapshot")).view.table == table


@pytest.mark.parametrize(
    ("change", "status", "reason"),
    [
        ({"edition": "nopoly"}, grpc.StatusCode.NOT_FOUND, "unknown_edition"),
        ({"edition": ""}, grpc.StatusCode.INVALID_ARGUMENT, "bad_request"),
        ({"request_id": ""}, grpc.StatusCode.INVALID_ARGUMENT, "bad_request"),
        ({"options": actions_pb2.SetOptions(start_cash=7)}, grpc.StatusCode.FAILED_PRECONDITION, "bad_option"),
        ({"options": actions_pb2.SetOptions(start_cash=-1)}, grpc.StatusCode.FAILED_PRECONDITION, "bad_option"),
    ],
)
async def test_tables_that_cannot_be_opened(
    running: Stack, ann: Client, change: dict[str, object], status: grpc.StatusCode, reason: str
) -> None:
    given = {"request_id": unique_id(), "edition": "tubbypoly"} | change
    with pytest.raises(Failure) as caught:
        await ann.call("Lobby/CreateTable", lobby_pb2.CreateTableRequest(**given))
    assert (caught.value.status, caught.value.reason) == (status, reason)


# --- Filling


async def test_from_opening_to_start(running: Stack, ann: Client, bob: Client) -> None:
    table = await ann.create()
    assert (await bob.act(table, act.Join(""))).version == 2
    assert (await ann.act(table, act.AddBot("Bo"))).version == 3
    assert (await ann.act(table, act.SetOptions(round_limit=30))).version == 4
    assert (await bob.act(table, act.Contribute("by the river"))).version == 5
    assert (await ann.act(table, act.Remove(2))).version == 6
    assert (await bob.act(table, act.Leave())).version == 7
    assert (await bob.act(table, act.Join("Bobby"))).version == 8
    assert (await ann.act(table, act.Start())).version == 9
    view = await ann.view(table)
    assert [seat.name for seat in view.seats][1] == "Bobby"
    assert view.in_play
    assert list(view.contributions) == ["by the river"]
    assert view.options.round_limit == 30


async def test_a_name_is_the_sessions_own_unless_another_is_given(running: Stack, ann: Client, bob: Client) -> None:
    table = await ann.create()
    await bob.act(table, act.Join(""))
    names = [seat.name for seat in (await ann.view(table)).seats]
    assert names[0].startswith("Ann-")
    assert names[1].startswith("Bob-")


# --- Looking


async def test_who_may_look_at_a_table(running: Stack, ann: Client, bob: Client, viewer: Client) -> None:
    table = await ann.create()
    # Before the start anybody sees what they might sit down to.
    assert (await bob.view(table)).version == 1
    assert (await bob.view(table, at_least=1)).version == 1
    await bob.act(table, act.Join(""))
    await ann.act(table, act.Start())
    async with running.client("guest:cay") as stranger:
        with pytest.raises(Failure) as caught:
            await stranger.view(table)
    assert (caught.value.status, caught.value.reason) == (grpc.StatusCode.UNAUTHENTICATED, "sign_in_required")
    assert caught.value.sentence == "Watching needs a sign-in that is not a guest's."
    assert (await viewer.view(table)).in_play
    assert (await bob.view(table)).in_play


async def test_tables_are_listed(running: Stack, ann: Client, bob: Client) -> None:
    tables = [await ann.create("laspoly") for _ in range(5)]
    playing = await game(ann, bob, edition="laspoly")

    async def listed(client: Client, **asked: object) -> list[str]:
        found, token = [], ""
        while True:
            request = lobby_pb2.ListTablesRequest(edition="laspoly", page_size=2, page_token=token, **asked)
            page = await client.call("Lobby/ListTables", request)
            assert len(page.tables) <= 2
            found += [table.table for table in page.tables]
            token = page.next_page_token
            if not token:
                return found

    assert await listed(ann, mine=True) == [playing, *reversed(tables)]
    assert await listed(bob, mine=True) == [playing]
    assert await listed(ann, mine=True, status=table_pb2.TABLE_STATUS_PLAYING) == [playing]
    assert await listed(ann, mine=True, open_only=True) == [*reversed(tables)]
    assert set(tables) <= set(await listed(bob, open_only=True))


async def test_services_that_this_platform_does_without_are_unimplemented(running: Stack, ann: Client) -> None:
    with pytest.raises(Failure) as caught:
        await ann.raw("TradesService/ListOffers", b"")
    assert caught.value.status is grpc.StatusCode.UNIMPLEMENTED
