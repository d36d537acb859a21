"""Well-formed actions that cannot be: the rules refuse them with status, reason and sentence, and nothing changes."""

from __future__ import annotations

import grpc
import pytest

from omnipoly.rules import actions as act
from omnipoly.rules.actions import Action, Side
from omnipoly.runtime.failures import Failure
from omnipoly.wire.gen.game.v1 import script_pb2
from tests.services.gateway.calling import Client, Stack, game
from tests.services.gateway.refusing import ABORTED, DENIED, INVALID, PRECONDITION, Game, told

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
        (1, 10_000, PRECONDITION, "bid_step"),
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
