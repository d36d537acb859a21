"""The way of a bid, over real links to a real table."""

from __future__ import annotations

import asyncio
from typing import Any

import grpc
import pytest

from omnipoly.rules import actions as act
from omnipoly.runtime import app, link_server
from omnipoly.runtime.failures import Failure
from omnipoly.wire.gen.auction.v1 import auction_pb2
from omnipolyd.auction.config import AuctionSettings
from omnipolyd.auction.intake import BIDS, Pace
from omnipolyd.auction.service import AuctionService
from tests.services.auction.conftest import Auctions
from tests.services.playing import ANN, BOB, CID, Asking, Tables, acting, new_id
from tests.services.waiting import eventually


def bid(table: str, person: str, amount: int, *, auction: int = 1, command_id: str = "") -> auction_pb2.BidRequest:
    return auction_pb2.BidRequest(act=acting(table, person, act.Bid(auction, amount), command_id=command_id))


def pass_(table: str, person: str, *, auction: int = 1, command_id: str = "") -> auction_pb2.PassRequest:
    return auction_pb2.PassRequest(act=acting(table, person, act.Pass(auction), command_id=command_id))


async def refusal(answer: Any) -> str:
    with pytest.raises(Failure) as caught:
        await answer
    return caught.value.reason


def outcomes(outcome: str) -> float:
    return BIDS.labels(outcome)._value.get()


async def followed(auctions: Auctions, table: str, version: int = 0) -> None:
    """The auction service follows the table, and has got so far."""
    await auctions.ask("GetAuction", auction_pb2.GetAuctionRequest(table=table, at_least=version))


async def test_a_bid_and_a_pass_are_carried_to_the_table(auctions: Auctions, tables: Tables) -> None:
    table = await tables.start()
    await tables.auction(table)
    answer = (await auctions.ask("Bid", bid(table, BOB, 10))).act
    view = await tables.view(table)
    assert answer.version == view.version
    assert [(entry.seat, entry.amount) for entry in view.auction.bids] == [(1, 10)]
    assert (await auctions.ask("Pass", pass_(table, CID))).act.version == view.version + 1
    assert list((await tables.view(table)).auction.passed) == [2]


async def test_the_same_bid_again_gets_the_first_answer_whatever_happened_since(
    auctions: Auctions, tables: Tables
) -> None:
    table = await tables.start()
    await tables.auction(table)
    await followed(auctions, table)
    first = bid(table, BOB, 10)
    answer = (await auctions.ask("Bid", first)).act
    higher = (await auctions.ask("Bid", bid(table, CID, 50))).act
    assert (await auctions.ask("Bid", first)).act.version == answer.version
    passing = pass_(table, ANN)
    left = (await auctions.ask("Pass", passing)).act
    assert (await auctions.ask("Pass", passing)).act.version == left.version
    await auctions.ask("Pass", pass_(table, BOB))  # nobody but Cid is left: it is over
    assert (await auctions.ask("Bid", first)).act.version == answer.version
    assert higher.version == answer.version + 1


async def test_a_repeat_is_known_too_when_the_picture_came_later(auctions: Auctions, tables: Tables) -> None:
    table = await tables.start()
    await tables.auction(table)
    early = acting(table, BOB, act.Bid(1, 10))
    passed = acting(table, ANN, act.Pass(1))
    first = await tables.ask("Act", early)
    second = await tables.ask("Act", passed)
    await tables.act(table, CID, act.Bid(1, 30))
    await followed(auctions, table)
    assert (await auctions.ask("Bid", auction_pb2.BidRequest(act=early))).act.version == first.version
    assert (await auctions.ask("Pass", auction_pb2.PassRequest(act=passed))).act.version == second.version
    before = outcomes("carried")
    assert await refusal(auctions.ask("Bid", bid(table, BOB, 5))) == "bid_too_low"
    assert await refusal(auctions.ask("Bid", bid(table, ANN, 90))) == "already_passed"
    assert outcomes("carried") == before
    await auctions.ask("Pass", pass_(table, BOB))  # nobody but Cid is left: it is over
    assert not (await tables.view(table)).HasField("auction")
    assert (await auctions.ask("Bid", auction_pb2.BidRequest(act=early))).act.version == first.version
    assert (await auctions.ask("Pass", auction_pb2.PassRequest(act=passed))).act.version == second.version


async def test_what_stays_refused_never_reaches_the_table(auctions: Auctions, tables: Tables) -> None:
    table = await tables.start()
    await tables.auction(table)
    await auctions.ask("Bid", bid(table, BOB, 100))
    await followed(auctions, table)
    await auctions.ask("Pass", pass_(table, ANN))
    carried = outcomes("carried")
    version = (await tables.head(table)).version
    assert await refusal(auctions.ask("Bid", bid(table, CID, 100))) == "bid_too_low"
    assert await refusal(auctions.ask("Bid", bid(table, CID, 9))) == "bid_too_low"
    assert await refusal(auctions.ask("Bid", bid(table, ANN, 500))) == "already_passed"
    assert await refusal(auctions.ask("Bid", bid(table, CID, -3))) == "invalid_amount"
    assert outcomes("carried") == carried
    await auctions.ask("Pass", pass_(table, CID))
    assert (await tables.view(table)).HasField("auction") is False
    carried = outcomes("carried")
    assert await refusal(auctions.ask("Bid", bid(table, CID, 500))) == "auction_closed"
    assert await refusal(auctions.ask("Pass", pass_(table, ANN))) == "auction_closed"
    assert outcomes("carried") == carried
    assert (await tables.head(table)).version == version + 1


async def test_a_late_bid_never_hits_the_next_lot(auctions: Auctions, tables: Tables) -> None:
    """Row 5 of the known faults."""
    table = await tables.start()
    await tables.auction(table)
    await auctions.ask("Bid", bid(table, BOB, 110))
    await followed(auctions, table)
    await tables.advance(table, 8_000)
    view = await tables.view(table)
    assert (view.fields[3].owner, view.auctions) == (1, 1)
    await tables.act(table, ANN, act.EndTurn())
    await tables.auction(table, (4, 2))
    carried = outcomes("carried")
    assert await refusal(auctions.ask("Bid", bid(table, CID, 150))) == "auction_closed"
    assert await refusal(auctions.ask("Pass", pass_(table, CID))) == "auction_closed"
    assert outcomes("carried") == carried
    view = await tables.view(table)
    assert (view.auctions, list(view.auction.bids), list(view.auction.passed)) == (2, [], [])
    await auctions.ask("Bid", bid(table, CID, 150, auction=2))


async def test_what_may_change_is_for_the_table_to_say(auctions: Auctions, tables: Tables) -> None:
    table = await tables.start()
    await tables.auction(table)
    await auctions.ask("Bid", bid(table, BOB, 10))
    await followed(auctions, table)
    carried = outcomes("carried")
    assert await refusal(auctions.ask("Bid", bid(table, BOB, 40))) == "already_high_bidder"
    assert await refusal(auctions.ask("Bid", bid(table, CID, 15))) == "bid_step"
    assert await refusal(auctions.ask("Bid", bid(table, CID, 100_000))) == "insufficient_cash"
    assert await refusal(auctions.ask("Bid", bid(table, "guest:dan", 40))) == "not_seated"
    assert await refusal(auctions.ask("Bid", bid(table, CID, 40, auction=7))) == "auction_closed"
    assert outcomes("carried") == carried + 5


async def test_a_bid_below_one_that_fell_is_not_refused(auctions: Auctions, tables: Tables) -> None:
    table = await tables.start()
    await tables.auction(table)
    await auctions.ask("Bid", bid(table, BOB, 100))
    await auctions.ask("Bid", bid(table, CID, 300))
    await followed(auctions, table)
    # Straight to the table: the auction service may not have heard of it when the bid comes.
    await tables.act(table, CID, act.Leave())
    answer = (await auctions.ask("Bid", bid(table, ANN, 110))).act
    assert answer.version == (await tables.head(table)).version


@pytest.mark.parametrize(
    "change",
    [
        lambda request: request.act.ClearField("action"),
        lambda request: request.act.action.buy.SetInParent(),
        lambda request: request.act.ClearField("table"),
        lambda request: setattr(request.act, "table", "t" * 37),
        lambda request: request.act.ClearField("command_id"),
        lambda request: request.act.identity.ClearField("person"),
    ],
)
async def test_malformed_bids(auctions: Auctions, change: Any) -> None:
    request = bid("no-such-table", BOB, 10)
    change(request)
    assert await refusal(auctions.ask("Bid", request)) == "bad_request"


async def test_an_unknown_table(auctions: Auctions) -> None:
    assert await refusal(auctions.ask("Bid", bid("no-such-table", BOB, 10))) == "unknown_table"
    with pytest.raises(Failure) as caught:
        await auctions.ask("GetAuction", auction_pb2.GetAuctionRequest(table="no-such-table"))
    assert caught.value.status is grpc.StatusCode.NOT_FOUND
    assert auctions.service.books.known("no-such-table") is None


async def test_bids_that_come_together_reach_the_table_in_their_order(auctions: Auctions, tables: Tables) -> None:
    table = await tables.start()
    await tables.auction(table)
    await followed(auctions, table)
    # Each is right only after the one before: any other order would refuse some.
    people = (BOB, CID)
    answers = await asyncio.gather(*(auctions.ask("Bid", bid(table, people[n % 2], 10 * (n + 1))) for n in range(40)))
    versions = [answer.act.version for answer in answers]
    assert versions == sorted(versions)
    assert len(set(versions)) == 40
    bids = [(entry.seat, entry.amount) for entry in (await tables.view(table)).auction.bids]
    assert bids == [(1 + n % 2, 10 * (n + 1)) for n in range(40)]


async def test_a_storm_of_bids_ends_with_the_highest(auctions: Auctions, tables: Tables) -> None:
    table = await tables.start()
    await tables.auction(table)
    await followed(auctions, table)
    answers = await asyncio.gather(
        *(
            auctions.ask("Bid", bid(table, person, 10 * (1 + n * 7 % 100)))
            for n in range(100)
            for person in (ANN, BOB, CID)
        ),
        return_exceptions=True,
    )
    assert {answer.reason for answer in answers if isinstance(answer, Failure)} <= {
        "bid_too_low",
        "bid_step",
        "already_high_bidder",
    }
    picture = (await auctions.ask("GetAuction", auction_pb2.GetAuctionRequest(table=table))).picture
    view = await tables.view(table)
    assert picture.version == view.version
    assert picture.bids[-1].amount == 1000
    assert list(picture.bids) == list(view.auction.bids)
    assert not auctions.service.intake._lanes


async def test_who_bids_too_fast_is_told_when_to_go_on(tables: Tables, nats_url: str) -> None:
    settings = AuctionSettings(
        port=0, nats_url=nats_url, table_addr=tables.address, bids_per_second=0.001, bids_burst=2
    )
    async with app.running(AuctionService(settings)) as running:
        ask = Asking(running.address, "omnipoly.auction.v1.AuctionService", auction_pb2)
        table = await tables.start()
        await tables.auction(table)
        await ask("Bid", bid(table, BOB, 10))
        await ask("Bid", bid(table, CID, 20))
        await ask("Bid", bid(table, BOB, 30))
        with pytest.raises(Failure) as caught:
            await ask("Bid", bid(table, BOB, 50))
        assert (caught.value.status, caught.value.reason) == (grpc.StatusCode.RESOURCE_EXHAUSTED, "rate_limited")
        assert caught.value.retry_after_s is not None
        assert 900 < caught.value.retry_after_s <= 1000
        await ask("Bid", bid(table, CID, 40))
        await ask.close()


def test_pace_counts_each_person_at_each_table_and_forgets_the_rested() -> None:
    pace = Pace(10, 3, most=2)
    assert [pace.wait_s("t", "p", 0.0) for _ in range(4)] == pytest.approx([0, 0, 0, 0.1])
    assert pace.wait_s("t", "q", 0.0) == pace.wait_s("u", "p", 0.0) == 0
    assert pace.wait_s("t", "q", 0.0) == 0  # two are remembered, the first is forgotten
    assert pace.wait_s("t", "p", 0.0) == 0
    busy = Pace(10, 3)
    assert [busy.wait_s("t", "p", at) for at in (0.0, 0.0, 0.0, 0.05, 0.1, 0.2)] == pytest.approx([0, 0, 0, 0.05, 0, 0])


async def test_two_replicas_and_one_that_is_gone_decide_nothing_else(tables: Tables, nats_url: str) -> None:
    settings = AuctionSettings(port=0, nats_url=nats_url, table_addr=tables.address)
    table = await tables.start()
    await tables.auction(table)
    async with app.running(AuctionService(settings)) as first:
        one = Asking(first.address, "omnipoly.auction.v1.AuctionService", auction_pb2)
        async with app.running(AuctionService(settings)) as second:
            other = Asking(second.address, "omnipoly.auction.v1.AuctionService", auction_pb2)
            request = bid(table, BOB, 10)
            answers = await asyncio.gather(one("Bid", request), other("Bid", request))
            assert answers[0].act.version == answers[1].act.version
            await one("Bid", bid(table, CID, 20))
            assert await refusal(other("Bid", bid(table, BOB, 20))) in {"bid_too_low", "already_high_bidder"}
            await other.close()
        assert (await one("Bid", request)).act.version == answers[0].act.version
        await one.close()
    assert [entry.amount for entry in (await tables.view(table)).auction.bids] == [10, 20]


async def test_a_plain_rpc_works_too(auctions: Auctions, tables: Tables) -> None:
    table = await tables.start()
    await tables.auction(table)
    async with grpc.aio.insecure_channel(auctions.app.address) as channel:
        call: Any = channel.unary_unary(
            "/omnipoly.auction.v1.AuctionService/Bid",
            auction_pb2.BidRequest.SerializeToString,
            auction_pb2.BidResponse.FromString,
        )
        assert (await call(bid(table, BOB, 10), timeout=20)).act.version
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await call(bid(table, "guest:dan", 20), timeout=20)
        assert caught.value.code() is grpc.StatusCode.PERMISSION_DENIED


async def test_many_wait_but_not_without_bound(tables: Tables, nats_url: str) -> None:
    settings = AuctionSettings(
        port=0, nats_url=nats_url, table_addr=tables.address, bids_waiting=4, bids_at_table=1, bids_burst=1000
    )
    table = await tables.start()
    await tables.auction(table)
    async with app.running(AuctionService(settings)) as running:
        ask = Asking(running.address, "omnipoly.auction.v1.AuctionService", auction_pb2)
        answers = await asyncio.gather(
            *(ask("Bid", bid(table, BOB, 10, command_id=new_id())) for _ in range(link_server.FRAME_ITEMS)),
            return_exceptions=True,
        )
        full = [answer for answer in answers if isinstance(answer, Failure) and answer.reason == "unavailable"]
        assert full
        assert {answer.status for answer in full} == {grpc.StatusCode.RESOURCE_EXHAUSTED}
        await eventually(lambda: not running.service.intake._lanes)  # type: ignore[attr-defined]
        await ask.close()
