"""Signing in, finding and filling tables, and what a refusal looks like."""

from __future__ import annotations

import grpc
import pytest

from omnipoly.client import Client, Refused
from omnipoly.editions import loader
from omnipoly.rules import actions as act
from omnipoly.rules.codes import Code
from omnipoly.rules.state import Phase
from omnipoly.wire.gen.game.v1 import table_pb2


async def test_nobody_there_is_said_at_once() -> None:
    with pytest.raises(Refused) as refused:
        await Client.connect("127.0.0.1:1", timeout_s=5)
    assert refused.value.code == Code.UNAVAILABLE
    assert refused.value.passing


async def test_the_server_says_what_it_is(client: Client) -> None:
    assert client.server.dev
    assert [edition.id for edition in client.server.editions] == sorted(loader.shipped())
    with pytest.raises(LookupError):
        _ = client.session


async def test_a_guest_is_somebody_and_a_token_is_enough(client: Client) -> None:
    session = await client.sign_in_guest("Ann")
    assert session.name == "Ann"
    assert session.guest
    known = client.with_token(session.calls.tokens.session.access_token)
    table = await known.lobby.create("rugpull")
    view = await session.lobby.view(table)
    assert view.state.host == session.person
    assert view.state.name == ["Ann"]


async def test_a_token_that_is_none_is_refused(client: Client) -> None:
    with pytest.raises(Refused) as refused:
        await client.with_token("no token").lobby.create("rugpull")
    assert refused.value.known is Code.SIGN_IN_REQUIRED
    assert refused.value.status is grpc.StatusCode.UNAUTHENTICATED


async def test_editions_come_whole_and_are_compiled_once(client: Client) -> None:
    session = await client.sign_in_guest("Ann")
    listed = await session.lobby.editions()
    assert [edition.id for edition in listed] == sorted(loader.shipped())
    game = await session.lobby.game("globopoly/quick")
    assert game.edition == loader.edition("globopoly/quick")
    assert await session.lobby.game("globopoly/quick", game.edition.digest) is game
    with pytest.raises(Refused) as refused:
        await session.lobby.game("nothing")
    assert refused.value.known is Code.UNKNOWN_EDITION


async def test_a_table_is_opened_filled_and_started(client: Client) -> None:
    ann, bob = await client.sign_in_guest("Ann"), await client.sign_in_guest("Bob")
    table = await ann.lobby.create("tubbypoly", options=act.SetOptions(start_cash=2000))
    await ann.lobby.set_options(table, act.SetOptions(clock_s=30, round_limit=7))
    await bob.lobby.join(table, name="Robert")
    await ann.lobby.add_bot(table, "Clank")
    await ann.lobby.add_bot(table)
    await ann.lobby.remove(table, 2)
    await bob.lobby.contribute(table, "my luck")
    listed = [summary async for summary in ann.lobby.tables(status=table_pb2.TABLE_STATUS_LOBBY, mine=True)]
    assert [(one.table, one.seats, one.bots) for one in listed] == [(table, 3, 1)]
    answer = await ann.lobby.start(table)
    state, version, epoch = await bob.lobby.view(table)
    assert version == answer.version
    assert epoch == 1
    assert state.phase is not Phase.LOBBY
    assert state.name == ["Ann", "Robert", "Bot 2"]
    assert state.options.start_cash == 2000
    assert (state.options.clock_s, state.options.round_limit) == (30, 7)
    assert state.contributions == ["my luck"]


async def test_the_same_request_opens_one_table(client: Client) -> None:
    session = await client.sign_in_guest("Ann")
    first = await session.lobby.create("laspoly", request_id="one")
    assert await session.lobby.create("laspoly", request_id="one") == first
    assert await session.lobby.create("laspoly", request_id="two") != first


async def test_the_same_command_is_done_once_and_other_content_is_refused(client: Client) -> None:
    session = await client.sign_in_guest("Ann")
    table = await session.lobby.create("laspoly")
    first = await session.lobby.act(table, act.AddBot("Clank"), command_id="one")
    again = await session.lobby.act(table, act.AddBot("Clank"), command_id="one")
    assert not first.duplicate
    assert again.duplicate
    assert again.version == first.version
    with pytest.raises(Refused) as refused:
        await session.lobby.act(table, act.AddBot("Clonk"), command_id="one")
    assert refused.value.known is Code.KEY_REUSED
    assert refused.value.command_id == "one"
    assert (await session.lobby.view(table)).state.bot == [False, True]


async def test_a_refusal_has_code_and_sentence(client: Client) -> None:
    ann, bob = await client.sign_in_guest("Ann"), await client.sign_in_guest("Bob")
    table = await ann.lobby.create("laspoly")
    with pytest.raises(Refused) as refused:
        await bob.lobby.start(table)
    assert refused.value.known is Code.NOT_HOST
    assert refused.value.sentence == "Only the host may do that."
    assert refused.value.retry_after_s is None
    assert not refused.value.passing
    with pytest.raises(Refused) as refused:
        await bob.lobby.view("nosuchtable")
    assert refused.value.known is Code.UNKNOWN_TABLE
    with pytest.raises(Refused) as refused:
        await bob.lobby.act(table, act.CloseTable())
    assert refused.value.known is Code.BAD_REQUEST


async def test_a_code_of_a_newer_server_is_no_fault() -> None:
    refused = Refused("brand_new", "Something new.", status=grpc.StatusCode.FAILED_PRECONDITION)
    assert refused.known is None
    assert str(refused) == "Something new. (brand_new)"
