"""The chat at tables: who may write (TUB-VIEWERS), what, how fast; the last 200 lines, numbered without a gap."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from omnipoly.rules import actions as act
from omnipoly.runtime.failures import Failure
from omnipoly.wire.gen.game.v1 import table_pb2 as game_pb
from omnipoly.wire.gen.table.v1 import chat_pb2 as pb
from omnipoly.wire.gen.table.v1 import table_pb2
from tests.services.conftest import MakeDatabase
from tests.services.table.calling import Caller, identity, unique_id
from tests.services.table.conftest import PACKAGE, Serve
from tests.services.table.hearing import Ear
from tests.services.table.operators import close
from tests.services.table.replicas import Replica, serving
from tests.services.waiting import eventually

ANN, BOB, VIC, EVE = "guest:ann", "guest:bob", "oidc:vic", "oidc:eve"


@pytest.fixture(scope="module")
async def chatty(make_module_database: MakeDatabase, nats_url: str) -> AsyncIterator[Replica]:
    """A replica at which one may write as fast as one likes."""
    async with serving(await make_module_database(PACKAGE), nats_url, chat_lines_per_second=1000) as replica:
        yield replica


@pytest.fixture
def caller(chatty: Replica) -> Caller:
    return chatty.caller


@pytest.fixture
async def table(caller: Caller) -> str:
    """Ann's and Bob's, before its start."""
    table = await caller.open(ANN)
    await caller.act(table, BOB, act.Join("Bobby"))
    return table


async def say(caller: Caller, table: str, person: str, text: str, *, command_id: str = "", admin: bool = False) -> Any:
    """A line, written again for as long as its writer is asked to wait a moment."""
    request = pb.SayRequest(
        table=table, identity=identity(person, admin=admin), command_id=command_id or unique_id(), text=text
    )
    while True:
        try:
            return await caller.chat("Say", request)
        except Failure as failure:
            if failure.reason != "rate_limited" or failure.retry_after_s is None or failure.retry_after_s > 0.1:
                raise


async def refusal(answer: Any) -> Failure:
    with pytest.raises(Failure) as caught:
        await answer
    return caught.value


async def lines(caller: Caller, table: str, **more: Any) -> Any:
    return await caller.chat("ChatLines", pb.ChatLinesRequest(table=table, **more))


async def mute(caller: Caller, table: str, person: str, by: str = ANN, **more: Any) -> Any:
    admin = more.pop("admin", False)
    command_id = more.pop("command_id", "") or unique_id()
    request = pb.MuteRequest(
        table=table, identity=identity(by, admin=admin), command_id=command_id, person=person, **more
    )
    return await caller.chat("Mute", request)


async def bar(caller: Caller, table: str, person: str) -> None:
    request = table_pb2.BarViewerRequest(table=table, identity=identity(ANN), command_id=unique_id(), person=person)
    await caller.call("BarViewer", request)


async def test_what_is_said(caller: Caller, table: str, ear: Ear) -> None:
    heard: list[bytes] = []

    async def hear(message: Any) -> None:
        heard.append(message.data)

    await ear.bus.subscribe(f"omnipoly.chat.{table}", hear)
    await ear.bus.flush()
    first = (await say(caller, table, ANN, "  Hello, Bob! ")).line
    assert (first.table, first.number, first.person, first.seat) == (table, 1, ANN, 0)
    assert (first.name, first.text) == (ANN, "Hello, Bob!")
    assert abs(first.at.ToDatetime(UTC) - datetime.now(UTC)) < timedelta(minutes=1)
    second = (await say(caller, table, BOB, "Привет 👋🏽 👩‍👩‍👧")).line
    assert (second.number, second.seat, second.name) == (2, 1, "Bobby")
    found = await lines(caller, table)
    assert (list(found.lines), found.last) == ([first, second], 2)
    await eventually(lambda: len(heard) == 2)
    assert [game_pb.ChatLine.FromString(line) for line in heard] == [first, second]
    # no part of the game
    assert (await caller.view(table)).version == 2
    (head,) = (await caller.call("Heads", table_pb2.HeadsRequest(tables=[table]))).heads
    assert head.chat == 2
    assert (await lines(caller, "nobody-wrote-there")).last == 0


@pytest.mark.parametrize(
    "text",
    ["", "   ", "x" * 301, "a\nb", "a\tb", "a\x00b", "\x1b[31mred", "a\u202eb", "\u200d", "\u0301", "a\u2028b"],
)
async def test_lines_that_are_none(caller: Caller, table: str, text: str) -> None:
    failure = await refusal(say(caller, table, ANN, text))
    assert (failure.status.name, failure.reason) == ("INVALID_ARGUMENT", "bad_request")
    assert (await lines(caller, table)).last == 0


async def test_as_long_as_may_be(caller: Caller, table: str) -> None:
    assert (await say(caller, table, ANN, "ü" * 300)).line.text == "ü" * 300


async def test_a_line_is_written_once_for_each_command(caller: Caller, table: str) -> None:
    first = await say(caller, table, ANN, "once", command_id="l")
    again = await say(caller, table, ANN, "once", command_id="l")
    assert (again.line, first.duplicate, again.duplicate) == (first.line, False, True)
    assert (await refusal(say(caller, table, ANN, "twice", command_id="l"))).reason == "key_reused"
    assert (await say(caller, table, BOB, "twice", command_id="l")).line.number == 2


async def test_many_at_once_have_numbers_without_a_gap(serve: Serve) -> None:
    """At two replicas, each line sent to both: each is there once."""
    settings = {"chat_lines_per_second": 1000}
    one, two = await serve(**settings), await serve(**settings)
    table = await one.caller.open(ANN)
    people = [ANN]
    for number in range(7):
        people.append(f"guest:p{number}")
        await one.caller.act(table, people[-1], act.Join(""))
    answers = await asyncio.gather(
        *(
            say(replica.caller, table, person, f"{number} of {person}", command_id=f"n{number}")
            for person in people
            for number in range(3)
            for replica in (one, two)
        )
    )
    found = await lines(two.caller, table)
    assert [line.number for line in found.lines] == list(range(1, 25))
    assert {line.text for line in found.lines} == {f"{number} of {person}" for person in people for number in range(3)}
    assert {answer.line.number for answer in answers} == set(range(1, 25))
    assert sum(answer.duplicate for answer in answers) == 24


async def test_the_last_200_are_kept(caller: Caller, table: str, chatty: Replica) -> None:
    for number in range(203):
        await say(caller, table, ANN, f"line {number + 1}")
    found = await lines(caller, table)
    assert [line.number for line in found.lines] == list(range(4, 204))
    assert found.last == 203
    page = await lines(caller, table, after=100, page_size=3)
    assert [line.number for line in page.lines] == [101, 102, 103]
    assert page.last == 203
    assert not (await lines(caller, table, after=203)).lines
    (kept,) = await chatty.sql("SELECT count(*) AS n FROM chat_lines WHERE table_id = $1", table)
    assert kept["n"] == 200
    assert (await refusal(lines(caller, table, page_size=201))).reason == "bad_request"


async def test_one_line_a_second(caller: Caller, replica: Replica) -> None:
    """Of one person, wherever they write; others are not in their way."""
    tables = [await replica.caller.open(ANN) for _ in range(2)]
    await replica.caller.act(tables[0], BOB, act.Join("Bob"))
    await say(replica.caller, tables[0], ANN, "one", command_id="one")
    for table in tables:
        failure = await refusal(say(replica.caller, table, ANN, "two"))
        assert (failure.status.name, failure.reason) == ("RESOURCE_EXHAUSTED", "rate_limited")
        assert failure.retry_after_s is not None
        assert 0 < failure.retry_after_s <= 1
    await say(replica.caller, tables[0], BOB, "mine")
    assert (await say(replica.caller, tables[0], ANN, "one", command_id="one")).duplicate  # no second line
    await replica.sql("UPDATE chat_writers SET at = at - interval '1 s'")
    await say(replica.caller, tables[1], ANN, "two")


async def test_viewers_write_where_the_host_lets_them(caller: Caller, table: str) -> None:
    failure = await refusal(say(caller, table, VIC, "hello"))
    assert (failure.status.name, failure.reason) == ("PERMISSION_DENIED", "viewers_closed")
    await caller.act(table, ANN, act.Start())
    await caller.act(table, ANN, act.SetOptions(viewers_chat=True))
    line = (await say(caller, table, VIC, "hello")).line
    assert (line.seat, line.name) == (-1, VIC)
    await bar(caller, table, VIC)
    failure = await refusal(say(caller, table, VIC, "hello"))
    assert (failure.reason, failure.sentence) == ("viewers_closed", "The host has sent you away from this table.")
    await say(caller, table, EVE, "hello")
    await caller.act(table, ANN, act.SetOptions(viewers_chat=False))
    assert (await refusal(say(caller, table, EVE, "hello"))).reason == "viewers_closed"
    await say(caller, table, "op", "Mind your words.", admin=True)


async def test_a_private_tables_chat_is_behind_its_door(caller: Caller, table: str) -> None:
    await caller.act(table, ANN, act.SetOptions(viewers_chat=True))
    request = table_pb2.SetPinRequest(table=table, identity=identity(ANN), command_id=unique_id(), pin="4815")
    await caller.call("SetPin", request)
    assert (await refusal(say(caller, table, VIC, "hello"))).reason == "wrong_pin"
    admitted = table_pb2.AdmitRequest(table=table, identity=identity(VIC), purpose=1, pin="4815")
    assert (await caller.call("Admit", admitted)).may_chat
    await say(caller, table, VIC, "hello")


async def test_the_host_and_who_is_out_may_write(caller: Caller) -> None:
    table = await caller.open(ANN, unseated=True)
    for person in (BOB, "guest:cid", "guest:dan"):
        await caller.act(table, person, act.Join(""))
    assert (await say(caller, table, ANN, "Take a seat.")).line.seat == -1
    await caller.act(table, ANN, act.Start())
    await caller.act(table, BOB, act.Leave())
    assert (await say(caller, table, BOB, "Bye.")).line.seat == 0
    await close(caller, table)
    await say(caller, table, BOB, "Good game.")


async def test_who_is_muted(caller: Caller, table: str) -> None:
    assert (await mute(caller, table, BOB)).muted == 1
    failure = await refusal(say(caller, table, BOB, "hello"))
    assert (failure.status.name, failure.reason, failure.retry_after_s) == ("PERMISSION_DENIED", "muted", None)
    await caller.act(table, BOB, act.Contribute("still plays"))
    assert (await mute(caller, table, VIC)).muted == 2
    assert (await mute(caller, table, BOB, lift=True)).muted == 1
    await say(caller, table, BOB, "hello")
    later = datetime.now(UTC) + timedelta(minutes=5)
    assert (await mute(caller, table, BOB, until=later)).muted == 2
    failure = await refusal(say(caller, table, BOB, "hello"))
    assert failure.retry_after_s is not None
    assert 200 < failure.retry_after_s <= 300
    assert (await mute(caller, table, BOB, until=datetime.now(UTC) - timedelta(minutes=5))).muted == 1
    await say(caller, table, BOB, "hello")


async def test_who_mutes_whom(caller: Caller, table: str) -> None:
    assert (await refusal(mute(caller, table, VIC, BOB))).reason == "not_host"
    assert (await refusal(mute(caller, table, VIC, VIC, lift=True))).reason == "not_host"
    assert (await refusal(mute(caller, table, ANN))).reason == "bad_partner"
    assert (await mute(caller, table, ANN, "op", admin=True)).muted == 1
    assert (await refusal(say(caller, table, ANN, "hello"))).reason == "muted"
    assert (await refusal(mute(caller, "nowhere", VIC))).reason == "unknown_table"


async def test_muting_once_for_each_command(caller: Caller, table: str) -> None:
    await mute(caller, table, BOB, command_id="m")
    await mute(caller, table, BOB, lift=True)
    assert (await mute(caller, table, BOB, command_id="m")).muted == 1
    await say(caller, table, BOB, "hello")
    assert (await refusal(mute(caller, table, VIC, command_id="m"))).reason == "key_reused"


async def test_nobody_writes_at_a_table_that_is_not_there(caller: Caller) -> None:
    assert (await refusal(say(caller, "nowhere", ANN, "hello"))).reason == "unknown_table"
    assert (await refusal(say(caller, "No Table", ANN, "hello"))).reason == "bad_request"
