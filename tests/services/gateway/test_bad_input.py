"""Whatever comes from outside that is no proper request: refused with status, reason and sentence, nothing changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from omnipoly.rules import actions as act
from omnipoly.rules.actions import Side
from omnipoly.runtime.failures import Failure, from_status
from omnipoly.wire import calls
from omnipoly.wire.gen.game.v1 import actions_pb2
from omnipoly.wire.gen.gateway.v1 import chat_pb2, lobby_pb2, play_pb2, watch_pb2
from tests.services.gateway.calling import PACKAGE, Client, Stack, unique_id
from tests.services.gateway.refusing import DENIED, EXHAUSTED, INVALID, NOT_FOUND, Game, told

# --- Ids, sizes, kinds


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"command_id": ""}, "bad_request"),
        ({"command_id": "x" * 65}, "bad_request"),
        ({"command_id": "with blank"}, "bad_request"),
        ({"command_id": "umlaut-ä"}, "bad_request"),
        ({"table": ""}, "bad_request"),
        ({"table": "x" * 37}, "bad_request"),
        ({"table": "UPPER"}, "bad_request"),
        ({"table": "*"}, "bad_request"),
        ({"table": "a.>"}, "bad_request"),
        ({"table": "a b"}, "bad_request"),
        ({"table": "nobodys-table"}, "unknown_table"),
    ],
)
async def test_ids(begun: Game, change: dict[str, str], reason: str) -> None:
    status = NOT_FOUND if reason == "unknown_table" else INVALID
    given = {"table": begun.table, "command_id": unique_id()} | change
    action = actions_pb2.Action(roll=actions_pb2.Roll())
    await begun.stream.send(act=play_pb2.Act(action=action, **given))
    refused = await begun.stream.next("refused")
    assert (refused.command_id, refused.table) == (given["command_id"][:64], given["table"][:36])
    told(from_status(refused.status), status, reason)
    with pytest.raises(Failure) as caught:
        await begun.ann.call("Play/Roll", play_pb2.RollRequest(**given))
    told(caught.value, status, reason)
    await begun.unchanged()


@pytest.mark.parametrize("table", ["nobodys-table", "", "*", "x" * 37])
async def test_every_way_to_a_table_that_is_not_there(running: Stack, ann: Client, viewer: Client, table: str) -> None:
    status, reason = (NOT_FOUND, "unknown_table") if table == "nobodys-table" else (INVALID, "bad_request")
    stream = ann.play()
    for request in (
        {"follow": play_pb2.Follow(table=table)},
        {"ask_legal": play_pb2.AskLegal(table=table)},
    ):
        await stream.send(**request)
        told(from_status((await stream.next("refused")).status), status, reason)
    for method, message in (
        ("Lobby/GetTable", lobby_pb2.GetTableRequest(table=table)),
        ("Play/Legal", play_pb2.LegalRequest(table=table)),
        ("Watch/History", watch_pb2.HistoryRequest(table=table)),
        ("Watch/Record", watch_pb2.RecordRequest(table=table)),
    ):
        with pytest.raises(Failure) as caught:
            await viewer.call(method, message)
        told(caught.value, status, reason)
    failure = await viewer.watch(table).ended()
    assert failure is not None
    told(failure, status, reason)
    assert running.hub.rooms.find(table) is None


PLATFORM: dict[str, Callable[[actions_pb2.Action], Any]] = {
    kind: (lambda action, kind=kind: getattr(action, kind).SetInParent())
    for kind in ("connect", "disconnect", "close_table", "move_clocks", "advance")
}


@pytest.mark.parametrize("kind", PLATFORM)
async def test_what_only_the_platform_does(begun: Game, kind: str) -> None:
    action = actions_pb2.Action()
    PLATFORM[kind](action)
    await begun.stream.send(act=play_pb2.Act(table=begun.table, command_id="c", action=action))
    told(from_status((await begun.stream.next("refused")).status), INVALID, "bad_request")
    await begun.unchanged()


async def test_no_action_and_requests_of_no_kind(begun: Game) -> None:
    await begun.stream.send(act=play_pb2.Act(table=begun.table, command_id="c"))
    told(from_status((await begun.stream.next("refused")).status), INVALID, "bad_request")
    await begun.stream.send()
    told(from_status((await begun.stream.next("refused")).status), INVALID, "bad_request")
    # A kind that only a later contract has.
    await begun.stream.raw.write(b"\xa2\x06\x00")
    told(from_status((await begun.stream.next("refused")).status), INVALID, "bad_request")
    action = actions_pb2.Action.FromString(b"\xa2\x06\x00")
    await begun.stream.send(act=play_pb2.Act(table=begun.table, command_id="c", action=action))
    told(from_status((await begun.stream.next("refused")).status), INVALID, "bad_request")
    await begun.unchanged()


async def test_fields_that_are_not_in_the_contract(begun: Game) -> None:
    # As if a client could say who acts, or what the dice show.
    action = actions_pb2.Action.FromString(b"\x32\x03\x98\x06\x06")
    await begun.stream.send(act=play_pb2.Act(table=begun.table, command_id="c", action=action))
    told(from_status((await begun.stream.next("refused")).status), INVALID, "bad_request")
    await begun.unchanged()


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"text": ""}, "bad_request"),
        ({"text": "x" * 301}, "bad_request"),
        ({"text": "a\nb"}, "bad_request"),
        ({"text": "x" * 5000}, "too_large"),
        ({"command_id": ""}, "bad_request"),
        ({"table": "*"}, "bad_request"),
        ({"table": "nobodys-table"}, "unknown_table"),
    ],
)
async def test_lines_that_are_none(begun: Game, change: dict[str, str], reason: str) -> None:
    status = {"unknown_table": NOT_FOUND, "too_large": EXHAUSTED}.get(reason, INVALID)
    given = {"table": begun.table, "command_id": "c", "text": "hello"} | change
    await begun.stream.send(say=play_pb2.Say(**given))
    refused = await begun.stream.next("refused")
    assert refused.command_id == given["command_id"]
    told(from_status(refused.status), status, reason)
    with pytest.raises(Failure) as caught:
        await begun.ann.call("Chat/Say", chat_pb2.SayRequest(**given))
    told(caught.value, status, reason)
    await begun.unchanged()


@pytest.mark.parametrize("timeout_ms", [0, -5, 60_001, 10**12])
async def test_timeouts_out_of_bounds(begun: Game, timeout_ms: int) -> None:
    request = play_pb2.Act(table=begun.table, command_id="c", action=actions_pb2.Action(roll=actions_pb2.Roll()))
    request.timeout.FromMilliseconds(timeout_ms)
    await begun.stream.send(act=request)
    told(from_status((await begun.stream.next("refused")).status), INVALID, "bad_request")
    await begun.unchanged()


async def test_a_trace_that_is_none_is_left_out(begun: Game) -> None:
    assert (await begun.stream.act(begun.table, act.Roll(), traceparent="x" * 2000)).version == 4


@pytest.mark.parametrize("pin", ["12a4", "123456789", "-1"])
async def test_pins_that_are_none(running: Stack, ann: Client, pin: str) -> None:
    table = await ann.create()
    stream = ann.play()
    await stream.send(follow=play_pb2.Follow(table=table, pin=pin))
    told(from_status((await stream.next("refused")).status), INVALID, "bad_request")
    with pytest.raises(Failure) as caught:
        await ann.call("Lobby/GetTable", lobby_pb2.GetTableRequest(table=table, pin=pin))
    told(caught.value, INVALID, "bad_request")
    with pytest.raises(Failure) as caught:
        await ann.create(pin=pin)
    told(caught.value, INVALID, "bad_request")


# --- Names and texts


@pytest.mark.parametrize("name", ["x" * 41, "tab\there", "right\u202eleft", "   "])
async def test_names_at_the_table(running: Stack, ann: Client, bob: Client, name: str) -> None:
    table = await ann.create()
    for action in (act.Join(name), act.AddBot(name)):
        told(await ann.play().refused(table, action), INVALID, "bad_request")
        with pytest.raises(Failure) as caught:
            await bob.act(table, action)
        told(caught.value, INVALID, "bad_request")
    assert (await ann.view(table)).version == 1


async def test_texts_that_are_too_long(running: Stack, ann: Client) -> None:
    table = await ann.create()
    told(await ann.play().refused(table, act.Contribute("x" * 65)), INVALID, "bad_request")
    told(await ann.play().refused(table, act.Contribute("")), INVALID, "bad_request")
    assert (await ann.view(table)).version == 1


# --- Bytes


BYTES = {"a tag that is none": b"\x00", "cut off": b"\x0a\x7f", "no UTF-8": b"\x1a\x04\x0a\x02\xff\xfe"}


@pytest.mark.parametrize("what", BYTES)
async def test_bytes_that_are_no_message(begun: Game, what: str) -> None:
    await begun.stream.raw.write(BYTES[what])
    failure = await begun.stream.ended()
    assert failure is not None
    told(failure, INVALID, "bad_request")
    assert failure.sentence == "These bytes are no PlayRequest."
    await begun.unchanged()


@pytest.mark.parametrize("call", calls.CALLS.values(), ids=lambda call: call.method)
async def test_bytes_that_are_no_request(begun: Game, call: calls.Call) -> None:
    for data in (b"\x00", b"\x0a\x7f", b"\x0a\x02\xff\xfe"):
        with pytest.raises(Failure) as caught:
            await begun.ann.raw(call.path.removeprefix(f"/{PACKAGE}."), data)
        told(caught.value, INVALID, "bad_request")
    with pytest.raises(Failure) as caught:
        await begun.ann.raw(call.path.removeprefix(f"/{PACKAGE}."), b"")
    told(caught.value, INVALID, "bad_request")


async def test_messages_that_are_too_large(begun: Game) -> None:
    # A message beyond 64 KiB is refused in our words, whether it is a stream's or a plain call's.
    large = play_pb2.Act(table=begun.table, command_id="c", traceparent="x" * 70_000)
    await begun.stream.send(act=large)
    failure = await begun.stream.ended()
    assert failure is not None
    told(failure, EXHAUSTED, "too_large")
    with pytest.raises(Failure) as caught:
        await begun.ann.call("Play/Roll", play_pb2.RollRequest(table=begun.table, command_id="x" * 70_000))
    told(caught.value, EXHAUSTED, "too_large")
    # What is far too large does not even reach the door.
    with pytest.raises(Failure) as caught:
        await begun.ann.call("Play/Roll", play_pb2.RollRequest(table=begun.table, command_id="x" * 700_000))
    assert caught.value.status is EXHAUSTED
    await begun.unchanged()


async def test_commands_that_are_too_large(begun: Game) -> None:
    failure = await begun.stream.refused(begun.table, act.Offer(1, Side(cards=("x" * 5000,)), Side(cash=1)))
    told(failure, EXHAUSTED, "too_large")
    with pytest.raises(Failure) as caught:
        await begun.ann.act(begun.table, act.Offer(1, Side(cards=("x" * 5000,)), Side(cash=1)))
    told(caught.value, EXHAUSTED, "too_large")
    told(
        await begun.stream.refused(begun.table, act.Offer(1, Side(fields=tuple(range(29))), Side(cash=1))),
        INVALID,
        "bad_request",
    )
    await begun.unchanged()


# --- Lists


@pytest.mark.parametrize(
    ("method", "message"),
    [
        ("Lobby/ListTables", lobby_pb2.ListTablesRequest(page_size=-1)),
        ("Lobby/ListTables", lobby_pb2.ListTablesRequest(page_size=101)),
        ("Lobby/ListTables", lobby_pb2.ListTablesRequest(page_token="x" * 257)),
        ("Lobby/ListTables", lobby_pb2.ListTablesRequest(page_token="nonsense")),
        ("Lobby/ListTables", lobby_pb2.ListTablesRequest(edition="x" * 66)),
        ("Lobby/ListEditions", lobby_pb2.ListEditionsRequest(page_size=257)),
        ("Lobby/GetEdition", lobby_pb2.GetEditionRequest(digest="abc")),
        ("Watch/History", watch_pb2.HistoryRequest(page_size=201)),
        ("Watch/History", watch_pb2.HistoryRequest(after=-1)),
        ("Watch/Record", watch_pb2.RecordRequest(page_size=501)),
        ("Watch/Record", watch_pb2.RecordRequest(page_token="7")),
    ],
)
async def test_pages_out_of_bounds(running: Stack, ann: Client, method: str, message: Any) -> None:
    if hasattr(message, "table"):
        message.table = await ann.create()
    with pytest.raises(Failure) as caught:
        await ann.call(method, message)
    told(caught.value, INVALID, "bad_request")


# --- The platform's own bots


async def test_only_the_platforms_bots_act_as_bots(running: Stack, ann: Client, bob: Client) -> None:
    table = await ann.create()
    await ann.act(table, act.AddBot("Bo"))
    await ann.act(table, act.Start())
    bot = next(seat.holder for seat in (await ann.view(table)).seats if seat.bot)
    told(await ann.play().refused(table, act.Roll(), as_bot=bot), DENIED, "not_seated")
    async with running.client("service:bots", guest=False, roles=["bots"]) as bots:
        stream = bots.play()
        told(await stream.refused(table, act.Roll(), as_bot="guest:ann"), INVALID, "bad_request")
        told(await stream.refused(table, act.Roll(), as_bot="bot:99"), DENIED, "not_seated")
        told(await stream.refused(table, act.Roll()), DENIED, "not_seated")
        answer = await stream.act(table, act.Roll(), as_bot=bot)
        assert answer.version == 4
    assert (await ann.call("Watch/History", watch_pb2.HistoryRequest(table=table, after=3))).commits[0].actor == bot
