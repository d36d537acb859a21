"""What is asked wrongly, or by the wrong one: refused with status, code and a sentence, and nothing has changed."""

from __future__ import annotations

import base64
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from google.protobuf.message import Message

from omnipoly.rules import actions as act
from omnipoly.rules.codes import SENTENCES, Code
from omnipoly.rules.ring import Game
from omnipoly.rules.state import Phase
from omnipoly.runtime.failures import Failure
from omnipoly.wire import actions, views
from omnipoly.wire.gen.game.v1 import actions_pb2
from omnipoly.wire.gen.table.v1 import identity_pb2
from omnipoly.wire.gen.table.v1 import table_pb2 as pb
from tests.services.table.calling import SERVICE, Caller, identity, unique_id
from tests.services.table.operators import close
from tests.services.table.playing import Picture, play
from tests.services.table.replicas import Replica

ANN, BOB = "guest:ann", "guest:bob"
LEAST, MOST = -(2**63), 2**63 - 1


@pytest.fixture
async def table(caller: Caller, game: Game) -> str:
    """A game of two persons and two bots in which somebody is about to throw."""
    table = await caller.open(ANN)
    await caller.act(table, BOB, act.Join("Bob"))
    for action in (act.AddBot(), act.AddBot(), act.Start()):
        await caller.act(table, ANN, action)
    await play([caller], await Picture.take(caller, table, game), until=lambda s: s.phase is Phase.THROW)
    return table


@asynccontextmanager
async def unchanged(caller: Caller, table: str) -> AsyncIterator[None]:
    """Version and picture are afterwards what they were before."""
    before = (await caller.view(table)).SerializeToString(deterministic=True)
    yield
    assert (await caller.view(table)).SerializeToString(deterministic=True) == before


async def refusal(asked: Awaitable[Any]) -> Failure:
    with pytest.raises(Failure) as caught:
        await asked
    assert len(caught.value.sentence) > 8
    assert caught.value.sentence[0].isupper()
    assert caught.value.sentence.endswith(".")
    return caught.value


async def is_malformed(asked: Awaitable[Any]) -> None:
    failure = await refusal(asked)
    assert (failure.status.name, failure.reason) == ("INVALID_ARGUMENT", "bad_request")


def request(table: str, person: str, message: actions_pb2.Action, **more: Any) -> pb.ActRequest:
    more = {"identity": identity(person), "command_id": unique_id(), **more}
    return pb.ActRequest(table=table, action=message, **more)


# --- bytes and ids ----------------------------------------------------------------------------------------------------


async def test_bytes_that_are_no_request(replica: Replica, caller: Caller) -> None:
    served = set(replica.app._links[0]._methods)
    own = {"Act", "Open", "Read", "Admit", "Wake", "Report", "Commits", "Heads", "List", "Export", "SetUp", "SetPin"}
    assert {SERVICE + name for name in own} | {"/omnipoly.table.v1.ChatService/Say"} <= served
    for method in sorted(served):
        with pytest.raises(Failure) as caught:
            await caller.link.call(method, b"\xff\xff\xff\x01", 5)
        assert (caught.value.status.name, caught.value.reason) == ("INVALID_ARGUMENT", "bad_request"), method


BAD_TABLES = ["", "ABC", "a b", "ü", "x" * 37, "../etc", "a\x00b"]


@pytest.mark.parametrize("name", BAD_TABLES)
async def test_table_ids(caller: Caller, name: str) -> None:
    for method, asked in {
        "Act": request(name, ANN, actions.to_proto(act.Roll())),
        "Read": pb.ReadRequest(table=name),
        "Legal": pb.LegalRequest(table=name, person=ANN),
        "Admit": pb.AdmitRequest(table=name, identity=identity(ANN), purpose=1),
        "Commits": pb.CommitsRequest(table=name),
        "Export": pb.ExportRequest(table=name),
        "Heads": pb.HeadsRequest(tables=[name]),
        "Wake": pb.WakeRequest(table=name),
        "Report": pb.ReportRequest(table=name, revision=1, persons=[pb.PersonPresence(person=ANN, status=1)]),
        "SetUp": pb.SetUpRequest(table=name, identity=identity(ANN), command_id="x"),
        "Advance": pb.AdvanceRequest(table=name, identity=identity(ANN), command_id="x", by={"seconds": 1}),
    }.items():
        await is_malformed(caller.call(method, asked))


async def test_a_table_that_is_not_there(caller: Caller) -> None:
    for method, asked in {
        "Act": request("nowhere", ANN, actions.to_proto(act.Roll())),
        "Read": pb.ReadRequest(table="nowhere"),
        "Legal": pb.LegalRequest(table="nowhere", person=ANN),
        "Admit": pb.AdmitRequest(table="nowhere", identity=identity(ANN), purpose=1),
        "Commits": pb.CommitsRequest(table="nowhere"),
        "Export": pb.ExportRequest(table="nowhere"),
        "Wake": pb.WakeRequest(table="nowhere"),
        "Report": pb.ReportRequest(table="nowhere", revision=1, persons=[pb.PersonPresence(person=ANN, status=1)]),
        "SetUp": pb.SetUpRequest(table="nowhere", identity=identity(ANN), command_id="x"),
    }.items():
        failure = await refusal(caller.call(method, asked))
        assert (failure.status.name, failure.reason) == ("NOT_FOUND", "unknown_table"), method
    assert not (await caller.call("Heads", pb.HeadsRequest(tables=["nowhere"]))).heads


@pytest.mark.parametrize("command_id", ["", "a b", "x" * 65, "ü", "new\nline", "nul\x00"])
async def test_command_ids(caller: Caller, table: str, command_id: str) -> None:
    async with unchanged(caller, table):
        await is_malformed(
            caller.call("Act", request(table, ANN, actions.to_proto(act.Leave()), command_id=command_id))
        )


@pytest.mark.parametrize(
    "who",
    [
        {"person": ""},
        {"person": "x" * 65},
        {"person": "guest:a b"},
        {"person": "guest:ü"},
        {"person": "guest:\x00"},
        {"person": "admin:ann"},
        {"person": "admin:ann", "admin": True},
        {"person": "bot:2"},  # not said to be one
        {"person": "bot:2", "admin": True},
        {"person": ANN, "bot": True},
    ],
)
async def test_identities(caller: Caller, table: str, who: dict[str, Any]) -> None:
    async with unchanged(caller, table):
        for action in (act.Leave(), act.CloseTable(), act.Roll()):
            asked = request(table, "", actions.to_proto(action), identity=identity_pb2.Identity(name="x", **who))
            await is_malformed(caller.call("Act", asked))


async def test_an_admins_id_has_room_for_its_mark(caller: Caller, table: str) -> None:
    async with unchanged(caller, table):
        await is_malformed(close(caller, table, by="x" * 59))
    await close(caller, table, by="x" * 58)


@pytest.mark.parametrize("name", ["x" * 41, "new\nline", "\x1b[31mred", "nul\x00", "   ", "\u202eright to left"])
async def test_names(caller: Caller, name: str) -> None:
    table = await caller.open(ANN)
    async with unchanged(caller, table):
        for person, action in (
            (BOB, act.Join(name)),
            (ANN, act.AddBot(name)),
            (BOB, act.TakeSeat(0, name)),
        ):
            message = actions_pb2.Action()
            getattr(message, act.kind_of(action)).name = name
            await is_malformed(caller.call("Act", request(table, person, message)))
        asked = request(table, BOB, actions.to_proto(act.Join("")), identity=identity(BOB, name=name))
        await is_malformed(caller.call("Act", asked))
    with pytest.raises(Failure) as caught:
        await caller.call(
            "Open", pb.OpenRequest(identity=identity(ANN, name=name), command_id=unique_id(), edition="tubbypoly")
        )
    assert caught.value.reason == "bad_request"


# --- who and when -----------------------------------------------------------------------------------------------------


async def test_without_a_seat(caller: Caller, table: str) -> None:
    async with unchanged(caller, table):
        for person in ("guest:eve", "bot:9", "oidc:https://issuer/1"):
            for action in (act.Roll(), act.Buy(), act.EndTurn(), act.Bid(1, 10), act.Accept(1), act.Leave()):
                failure = await caller.refused(table, person, action)
                assert (failure.status.name, failure.reason) == ("PERMISSION_DENIED", "not_seated")


async def test_whose_seat_it_is_comes_from_the_identity_alone(caller: Caller, table: str, game: Game) -> None:
    """An action names nobody: fields that would are refused, and what else is not known here."""
    state = views.from_view(await caller.view(table), game)
    other = next(seat for seat in range(4) if seat != state.turn)
    async with unchanged(caller, table):
        failure = await caller.refused(table, state.holder[other], act.Roll())
        assert (failure.status.name, failure.reason) == ("FAILED_PRECONDITION", "not_your_turn")
        message = actions_pb2.Action.FromString(actions.to_proto(act.Roll()).SerializeToString())
        message.roll.MergeFromString(b"\x08\x06\x10\x06")  # dice of the client's own
        await is_malformed(caller.call("Act", request(table, state.holder[state.turn], message)))


async def test_out_of_turn_and_out_of_phase(caller: Caller, table: str, game: Game) -> None:
    state = views.from_view(await caller.view(table), game)
    owner = state.holder[state.turn]
    others = [holder for holder in state.holder if holder != owner]
    async with unchanged(caller, table):
        for action in (act.EndTurn(), act.Buy(), act.Decline(), act.Teleport(3), act.Pay(), act.GiveUp()):
            assert (await caller.refused(table, owner, action)).reason in {"wrong_phase", "no_debt"}
            for other in others:
                assert (await caller.refused(table, other, action)).reason in {
                    "not_your_turn",
                    "wrong_phase",
                    "no_debt",
                }
        for action in (act.Join("Again"), act.Start(), act.AddBot(), act.SetOptions(clock_s=30), act.Contribute("x")):
            assert (await caller.refused(table, ANN, action)).reason == "table_started"
        assert (await caller.refused(table, owner, act.Bid(1, 10))).reason in {"auction_closed", "wrong_phase"}
        assert (await caller.refused(table, BOB, act.Remove(0))).reason == "not_host"
        assert (await caller.refused(table, ANN, act.Remove(1))).reason == "not_away"
        assert (await caller.refused(table, BOB, act.CloseTable())).reason == "not_admin"
        assert (await caller.refused(table, BOB, act.Vote(yes=True))).reason == "no_vote"


@pytest.mark.parametrize("amount", [LEAST, -1, 0, MOST])
async def test_amounts(caller: Caller, table: str, game: Game, amount: int) -> None:
    state = views.from_view(await caller.view(table), game)
    me = state.holder.index(ANN)
    other = (me + 1) % 4
    side, something = act.Side(cash=amount), act.Side(cash=1)
    async with unchanged(caller, table):
        for action, codes in (
            (act.Offer(other, side, something), {"invalid_amount", "empty_side", "insufficient_cash"}),
            (act.Offer(other, something, side), {"invalid_amount", "empty_side", "insufficient_cash"}),
            (act.Bid(1, amount), {"wrong_phase", "auction_closed", "not_your_turn"}),
        ):
            failure = await caller.refused(table, ANN, action)
            assert failure.status.name == "FAILED_PRECONDITION"
            assert failure.reason in codes, action
    lobby = await caller.open(ANN)
    async with unchanged(caller, lobby):
        for options in (
            act.SetOptions(start_cash=amount),
            act.SetOptions(entry_fee=amount or -5),
            act.SetOptions(private=True),
            act.SetOptions(private=False),
        ):
            assert (await caller.refused(lobby, ANN, options)).reason == "bad_option"


@pytest.mark.parametrize("number", [-(2**31), -1, 40, 2**31 - 1])
async def test_fields_seats_and_numbers_that_are_not_there(caller: Caller, table: str, game: Game, number: int) -> None:
    some = act.Side(cash=1)
    async with unchanged(caller, table):
        for action, codes in (
            (act.Mortgage(number), {"unknown_field"}),
            (act.LiftMortgage(number), {"unknown_field"}),
            (act.Build(number), {"unknown_field"}),
            (act.SellBuilding(number), {"unknown_field"}),
            (act.Offer(number, some, some), {"bad_partner"}),
            (act.Offer(1, act.Side(fields=(number,)), some), {"unknown_field", "bad_partner"}),
            (act.Accept(number), {"offer_gone"}),
            (act.Refuse(number), {"offer_gone"}),
            (act.Withdraw(number), {"offer_gone"}),
            (act.TakeSeat(number), {"bad_partner"}),
            (act.ReplaceWithBot(number), {"bad_partner"}),
            (act.Remove(number), {"bad_partner"}),
        ):
            failure = await caller.refused(table, ANN, action)
            assert failure.reason in codes, action
            assert failure.sentence == SENTENCES[Code(failure.reason)]


async def test_stale_prompts_and_versions(caller: Caller, table: str, game: Game) -> None:
    view = await caller.view(table)
    state = views.from_view(view, game)
    owner, prompt = state.holder[state.turn], state.prompt[state.turn]
    async with unchanged(caller, table):
        for wrong in (prompt - 1, prompt + 1, -5, 2**31 - 1):
            failure = await caller.refused(table, owner, act.Roll(), prompt_id=wrong)
            assert (failure.status.name, failure.reason) == ("ABORTED", "stale_prompt")
        for wrong in (view.version - 1, view.version + 1, LEAST, MOST):
            failure = await caller.refused(table, owner, act.Roll(), if_version=wrong)
            assert (failure.status.name, failure.reason) == ("ABORTED", "stale_version")
    await caller.act(table, owner, act.Roll(), prompt_id=prompt, if_version=view.version)
    failure = await caller.refused(table, owner, act.EndTurn(), prompt_id=prompt)
    assert failure.reason == "stale_prompt"


async def test_actions_that_nobody_may_send(caller: Caller, table: str) -> None:
    async with unchanged(caller, table):
        for action in (act.Connect(), act.Disconnect(broken=True), act.MoveClocks(60_000), act.Advance(60_000)):
            for person in (ANN, "bot:0"):
                await is_malformed(caller.act(table, person, action))
            asked = request(table, "", actions.to_proto(action), identity=identity("oidc:op", admin=True))
            await is_malformed(caller.call("Act", asked))
        await is_malformed(caller.call("Act", request(table, ANN, actions_pb2.Action())))
        await is_malformed(caller.call("Act", request(table, ANN, actions_pb2.Action.FromString(b"\xfa\x0c\x00"))))


async def test_lists_and_texts_that_are_too_long(caller: Caller, table: str) -> None:
    async with unchanged(caller, table):
        for change in (
            lambda side: side.fields.extend(range(29)),
            lambda side: side.fields.extend(10_000 * [1]),
            lambda side: side.cards.extend(9 * ["x"]),
            lambda side: side.cards.append("x" * 65),
        ):
            message = actions_pb2.Action()
            message.offer.to = 1
            message.offer.take.cash = 1
            change(message.offer.give)
            await is_malformed(caller.call("Act", request(table, ANN, message)))
        message = actions_pb2.Action()
        message.contribute.text = "x" * 65
        await is_malformed(caller.call("Act", request(table, ANN, message)))


@pytest.mark.parametrize(
    "timeout", [{"seconds": -1}, {"nanos": 999_999}, {"nanos": -1}, {"seconds": 61}, {"seconds": 2**62}]
)
async def test_timeouts(caller: Caller, table: str, timeout: dict[str, int]) -> None:
    async with unchanged(caller, table):
        await is_malformed(caller.call("Act", request(table, ANN, actions.to_proto(act.Leave()), timeout=timeout)))
    asked = pb.OpenRequest(identity=identity(ANN), command_id=unique_id(), edition="tubbypoly", timeout=timeout)
    await is_malformed(caller.call("Open", asked))


# --- everything else --------------------------------------------------------------------------------------------------

TOKENS = [
    "x",
    "%%%",
    "ü",
    "A" * 300,
    base64.urlsafe_b64encode(b"17").decode(),
    base64.urlsafe_b64encode(b"x abc").decode(),
    base64.urlsafe_b64encode(b"1 a\x00b").decode(),
    base64.urlsafe_b64encode(b"1 ABC").decode(),
    base64.urlsafe_b64encode(b"\xff\xff 1").decode(),
    base64.urlsafe_b64encode(b"99999999999999999999999 abc").decode(),
]


@pytest.mark.parametrize("token", TOKENS)
async def test_page_tokens(caller: Caller, table: str, token: str) -> None:
    await is_malformed(caller.call("List", pb.ListRequest(page_token=token)))
    await is_malformed(caller.call("ListHeads", pb.ListHeadsRequest(page_token=token)))
    await is_malformed(caller.call("ListHeads", pb.ListHeadsRequest(page_token=token, changed_since={"seconds": 1})))
    await is_malformed(caller.call("Export", pb.ExportRequest(table=table, page_token=token)))


MALFORMED: list[tuple[str, Callable[[str], Message]]] = [
    ("Commits", lambda table: pb.CommitsRequest(table=table, page_size=-1)),
    ("Commits", lambda table: pb.CommitsRequest(table=table, page_size=201)),
    ("Export", lambda table: pb.ExportRequest(table=table, page_size=201)),
    ("Export", lambda table: pb.ExportRequest(table=table, page_token="-5")),
    ("List", lambda table: pb.ListRequest(page_size=101)),
    ("List", lambda table: pb.ListRequest(page_size=-1)),
    ("List", lambda table: pb.ListRequest(status=99)),  # type: ignore[arg-type]
    ("List", lambda table: pb.ListRequest(status=-(2**31))),  # type: ignore[arg-type]
    ("List", lambda table: pb.ListRequest(person="a\x00b")),
    ("List", lambda table: pb.ListRequest(host="x" * 65)),
    ("List", lambda table: pb.ListRequest(edition="\x00")),
    ("List", lambda table: pb.ListRequest(edition="x" * 66)),
    ("Heads", lambda table: pb.HeadsRequest()),
    ("Heads", lambda table: pb.HeadsRequest(tables=1001 * [table])),
    ("ListHeads", lambda table: pb.ListHeadsRequest(page_size=1001)),
    ("ListHeads", lambda table: pb.ListHeadsRequest(changed_since={"seconds": 2**60})),
    ("ListHeads", lambda table: pb.ListHeadsRequest(changed_since={"seconds": -1})),
    ("ListHeads", lambda table: pb.ListHeadsRequest(due_before={"seconds": 2**60})),
    ("ListHeads", lambda table: pb.ListHeadsRequest(due_before={"seconds": 1, "nanos": -1})),
    ("Wake", lambda table: pb.WakeRequest(table=table, due={"seconds": 2**62})),
    ("Wake", lambda table: pb.WakeRequest(table=table, due={"seconds": -5})),
    ("Report", lambda table: pb.ReportRequest(table=table, revision=1)),
    ("Report", lambda table: _report(table, 0, ANN)),
    ("Report", lambda table: _report(table, -3, ANN)),
    ("Report", lambda table: _report(table, 1, ANN, ANN)),
    ("Report", lambda table: _report(table, 1, *(f"guest:{n}" for n in range(101)))),
    ("Report", lambda table: _report(table, 1, "")),
    ("Report", lambda table: _report(table, 1, "x" * 65)),
    ("Report", lambda table: _report(table, 1, ANN, status=0)),
    ("Report", lambda table: _report(table, 1, ANN, status=9)),
    ("Admit", lambda table: pb.AdmitRequest(table=table, identity=identity(ANN))),
    ("Admit", lambda table: pb.AdmitRequest(table=table, identity=identity(ANN), purpose=9)),  # type: ignore[arg-type]
    ("Admit", lambda table: pb.AdmitRequest(table=table, purpose=1)),
]


def _report(table: str, revision: int, *persons: str, status: Any = 1) -> pb.ReportRequest:
    rows = [pb.PersonPresence(person=person, status=status) for person in persons]
    return pb.ReportRequest(table=table, revision=revision, persons=rows)


async def test_everything_else_that_is_malformed(caller: Caller, table: str) -> None:
    async with unchanged(caller, table):
        for method, make in MALFORMED:
            failure = await refusal(caller.call(method, make(table)))
            assert failure.reason == "bad_request", (method, make(table))


async def test_legal_actions_of_somebody_without_a_seat(caller: Caller, table: str) -> None:
    for person in ("guest:eve", "", "a\x00b", "x" * 1000):
        failure = await refusal(caller.call("Legal", pb.LegalRequest(table=table, person=person)))
        assert (failure.status.name, failure.reason) == ("PERMISSION_DENIED", "not_seated")


async def test_a_body_that_is_too_large(caller: Caller, table: str) -> None:
    """Refused by whoever would send it; what is just short of it is read and refused."""
    message = actions_pb2.Action()
    message.contribute.text = "x" * 1_000_000
    await is_malformed(caller.call("Act", request(table, ANN, message)))
    message.contribute.text = "x" * 1_100_000
    with pytest.raises(Failure) as caught:
        await caller.call("Act", request(table, ANN, message))
    assert caught.value.reason == "too_large"
