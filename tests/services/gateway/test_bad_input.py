"""Whatever comes from outside: each is refused with a status, a reason and a sentence, and nothing changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import grpc
import pytest

from omnipoly.rules import actions as act
from omnipoly.rules.actions import Action, Side
from omnipoly.runtime.failures import Failure, from_status
from omnipoly.wire import calls
from omnipoly.wire.gen.game.v1 import actions_pb2, script_pb2
from omnipoly.wire.gen.gateway.v1 import lobby_pb2, play_pb2, watch_pb2
from tests.services.gateway.calling import PACKAGE, Client, Playing, Stack, game, unique_id

INVALID, PRECONDITION = grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.FAILED_PRECONDITION
DENIED, NOT_FOUND = grpc.StatusCode.PERMISSION_DENIED, grpc.StatusCode.NOT_FOUND
EXHAUSTED, ABORTED = grpc.StatusCode.RESOURCE_EXHAUSTED, grpc.StatusCode.ABORTED


class Game:
    """Ann's turn at a table of Rug Pull, before her throw."""

    def __init__(self, table: str, ann: Client, bob: Client, stream: Playing) -> None:
        self.table = table
        self.ann = ann
        self.bob = bob
        self.stream = stream

    async def unchanged(self) -> None:
        view = await self.ann.view(self.table)
        assert view.version == 3
        assert view.seats[0].prompt == 1


@pytest.fixture
async def begun(running: Stack, ann: Client, bob: Client) -> Game:
    table = await game(ann, bob, edition="rugpull")
    stream = ann.play()
    await stream.follow(table)
    await stream.next("prompt")
    return Game(table, ann, bob, stream)


def told(failure: Failure, status: grpc.StatusCode, reason: str) -> None:
    assert (failure.status, failure.reason) == (status, reason)
    assert failure.sentence[:1].isupper() or failure.sentence.partition(":")[0].isidentifier()
    assert failure.sentence.endswith(".")


# --- Actions that the rules do not allow

HUGE = 2**62
REFUSED: dict[str, tuple[Action, grpc.StatusCode, str]] = {
    "out of phase": (act.EndTurn(), PRECONDITION, "wrong_phase"),
    "an answer to nothing": (act.Buy(), PRECONDITION, "wrong_phase"),
    "a bid without an auction": (act.Bid(1, 10), PRECONDITION, "wrong_phase"),
    "nothing to pay": (act.Pay(), PRECONDITION, "wrong_phase"),
    "not in jail": (act.PayBail(), PRECONDITION, "not_in_jail"),
    "no card": (act.UseCard(), PRECONDITION, "not_in_jail"),
    "a field that is not there": (act.Build(99), PRECONDITION, "unknown_field"),
    "a field before Start": (act.Mortgage(-1), PRECONDITION, "unknown_field"),
    "a field that is no lot": (act.Mortgage(0), PRECONDITION, "not_a_lot"),
    "a lot of somebody else's": (act.Mortgage(1), PRECONDITION, "not_owner"),
    "no building": (act.SellBuilding(39), PRECONDITION, "not_owner"),
    "an offer of less than nothing": (act.Offer(1, Side(cash=-5), Side(cash=5)), PRECONDITION, "invalid_amount"),
    "an offer of more than there is": (act.Offer(1, Side(cash=HUGE), Side(fields=(1,))), PRECONDITION, ""),
    "an offer of nothing": (act.Offer(1, Side(), Side()), PRECONDITION, "empty_side"),
    "an offer to oneself": (act.Offer(0, Side(cash=1), Side(cash=2)), PRECONDITION, "bad_partner"),
    "an offer to nobody": (act.Offer(7, Side(cash=1), Side(cash=2)), PRECONDITION, "bad_partner"),
    "an offer to a seat below nothing": (act.Offer(-1, Side(cash=1), Side(cash=2)), PRECONDITION, "bad_partner"),
    "an offer that names a lot twice": (act.Offer(1, Side(fields=(39, 39)), Side(cash=5)), INVALID, "bad_request"),
    "an offer of a lot of nobody's": (act.Offer(1, Side(fields=(39,)), Side(cash=5)), PRECONDITION, "not_owner"),
    "an offer that is not there": (act.Accept(4), PRECONDITION, "offer_gone"),
    "an offer with a number that cannot be": (act.Withdraw(-4), PRECONDITION, "offer_gone"),
    "no vote": (act.Vote(True), PRECONDITION, "no_vote"),
    "a second start": (act.Start(), PRECONDITION, "table_started"),
    "a second seat": (act.Join(""), PRECONDITION, "table_started"),
    "an option after the start": (act.SetOptions(round_limit=5), PRECONDITION, "table_started"),
    "a bot after the start": (act.AddBot("Bo"), PRECONDITION, "table_started"),
    "a seat that is not there": (act.Remove(9), PRECONDITION, ""),
    "a player who is there": (act.Remove(1), PRECONDITION, "not_away"),
    "a seat that is no bot's": (act.TakeSeat(1, "Ann"), PRECONDITION, ""),
}


@pytest.mark.parametrize("what", REFUSED)
async def test_what_the_rules_do_not_allow(begun: Game, what: str) -> None:
    action, status, reason = REFUSED[what]
    on_stream = await begun.stream.refused(begun.table, action)
    with pytest.raises(Failure) as caught:
        await begun.ann.act(begun.table, action)
    plain = caught.value
    told(on_stream, status, reason or on_stream.reason)
    assert (plain.status, plain.reason, plain.sentence) == (on_stream.status, on_stream.reason, on_stream.sentence)
    await begun.unchanged()


async def test_out_of_turn(begun: Game) -> None:
    told(await begun.bob.play().refused(begun.table, act.Roll()), PRECONDITION, "not_your_turn")
    with pytest.raises(Failure) as caught:
        await begun.bob.act(begun.table, act.Roll())
    told(caught.value, PRECONDITION, "not_your_turn")
    await begun.unchanged()


async def test_a_foreign_table(begun: Game, viewer: Client) -> None:
    for action in (act.Roll(), act.Leave(), act.Vote(True), act.Offer(1, Side(cash=1), Side(cash=2))):
        told(await viewer.play().refused(begun.table, action), DENIED, "not_seated")
    told(await viewer.play().refused(begun.table, act.Remove(1)), DENIED, "not_host")
    with pytest.raises(Failure) as caught:
        await viewer.act(begun.table, act.Roll())
    told(caught.value, DENIED, "not_seated")
    await begun.unchanged()


@pytest.mark.parametrize(
    ("auction", "amount", "status", "reason"),
    [
        (1, 0, PRECONDITION, "invalid_amount"),
        (1, -10, PRECONDITION, "invalid_amount"),
        (1, HUGE, PRECONDITION, "invalid_amount"),
        (1, 10_000, PRECONDITION, "insufficient_cash"),
        (2, 100, PRECONDITION, "auction_closed"),
        (0, 100, PRECONDITION, "auction_closed"),
        (-1, 100, PRECONDITION, "auction_closed"),
    ],
)
async def test_bids_that_cannot_be(
    running: Stack, ann: Client, bob: Client, auction: int, amount: int, status: grpc.StatusCode, reason: str
) -> None:
    table = await game(ann, bob, edition="rugpull", dev=True)
    stream = ann.play()
    script = script_pb2.Script(throws=[script_pb2.ScriptedThrow(dice=[1, 2])])
    assert (await stream.act(table, act.Roll(), script=script)).version == 4
    assert (await stream.act(table, act.Decline())).version == 5
    told(await stream.refused(table, act.Bid(auction, amount)), status, reason)
    with pytest.raises(Failure) as caught:
        await ann.act(table, act.Bid(auction, amount))
    told(caught.value, status, reason)
    view = await ann.view(table)
    assert view.version == 5
    assert not view.auction.bids


async def test_not_the_host(running: Stack, ann: Client, bob: Client) -> None:
    table = await ann.create()
    await bob.act(table, act.Join(""))
    for action in (act.Start(), act.AddBot(""), act.SetOptions(round_limit=9), act.Remove(0)):
        told(await bob.play().refused(table, action), DENIED, "not_host")
    assert (await ann.view(table)).version == 2


# --- What a command was decided on


@pytest.mark.parametrize(
    ("tied", "status", "reason"),
    [
        ({"prompt_id": 2}, ABORTED, "stale_prompt"),
        ({"prompt_id": 2**31 - 1}, ABORTED, "stale_prompt"),
        ({"prompt_id": -1}, INVALID, "bad_request"),
        ({"if_version": 2}, ABORTED, "stale_version"),
        ({"if_version": 4}, ABORTED, "stale_version"),
        ({"if_version": 2**62}, ABORTED, "stale_version"),
        ({"if_version": -3}, INVALID, "bad_request"),
    ],
)
async def test_decided_on_something_else(
    begun: Game, tied: dict[str, int], status: grpc.StatusCode, reason: str
) -> None:
    told(await begun.stream.refused(begun.table, act.Roll(), **tied), status, reason)
    with pytest.raises(Failure) as caught:
        await begun.ann.act(begun.table, act.Roll(), **tied)
    told(caught.value, status, reason)
    await begun.unchanged()
    assert (await begun.stream.act(begun.table, act.Roll(), prompt_id=1, if_version=3)).version == 4


async def test_a_command_id_of_another_command(begun: Game) -> None:
    await begun.stream.act(begun.table, act.Roll(), command_id="mine")
    told(await begun.stream.refused(begun.table, act.EndTurn(), command_id="mine"), INVALID, "key_reused")
    with pytest.raises(Failure) as caught:
        await begun.ann.act(begun.table, act.Roll(), command_id="mine", prompt_id=1)
    told(caught.value, INVALID, "key_reused")
    # Somebody else's command may be called the same.
    told(await begun.bob.play().refused(begun.table, act.Buy(), command_id="mine"), PRECONDITION, "not_your_turn")


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


async def test_a_chat_that_is_not_there_yet(begun: Game) -> None:
    await begun.stream.send(say=play_pb2.Say(table=begun.table, command_id="c", text="hello"))
    refused = await begun.stream.next("refused")
    assert refused.command_id == "c"
    told(from_status(refused.status), grpc.StatusCode.UNIMPLEMENTED, "bad_request")


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
