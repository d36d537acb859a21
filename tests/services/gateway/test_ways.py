"""Bids and offers go their own way where there is one, and straight to the table where it is closed."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator

import pytest

from omnipoly.rules import actions as act
from omnipoly.rules.actions import Side
from omnipoly.runtime import app, link_server
from omnipoly.wire.gen.game.v1 import script_pb2
from omnipolyd.auction.config import AuctionSettings
from omnipolyd.auction.service import AuctionService
from omnipolyd.gateway import upstream
from omnipolyd.trade.config import TradeSettings
from omnipolyd.trade.service import TradeService
from tests.services.gateway.calling import Client, Stack, game, gateway
from tests.services.playing import free_port


def calls(method: str) -> float:
    """How many items of frames of a method were answered in this process, whatever became of them."""
    (metric,) = link_server.ITEMS.collect()
    return sum(
        sample.value
        for sample in metric.samples
        if sample.name.endswith("_total") and sample.labels["method"] == method
    )


@pytest.fixture
async def ways(running: Stack, nats_url: str) -> AsyncIterator[Stack]:
    shared = {"port": 0, "nats_url": nats_url, "table_addr": running.table.address, "reflection": False}
    async with (
        app.running(AuctionService(AuctionSettings(**shared))) as auction,
        app.running(TradeService(TradeSettings(**shared))) as trade,
        gateway(running.table, nats_url, auction_addr=auction.address, trade_addr=trade.address) as ways,
    ):
        await auction.bus.wait_connected(20)
        yield ways


async def in_auction(ann: Client, bob: Client) -> str:
    table = await game(ann, bob, edition="rugpull", dev=True)
    stream = ann.play()
    script = script_pb2.Script(throws=[script_pb2.ScriptedThrow(dice=[1, 2])])
    await stream.act(table, act.Roll(), script=script)
    assert (await stream.act(table, act.Decline())).version == 5
    return table


async def test_a_bid_and_a_pass_go_through_the_auction_service(
    ways: Stack, ann: Client, bob: Client, unique: str
) -> None:
    table = await in_auction(ann, bob)
    bids, passes = calls(upstream.WAYS["bid"].method), calls(upstream.WAYS["pass"].method)
    async with ways.client(f"guest:ann-{unique}") as mine, ways.client(f"guest:bob-{unique}") as other:
        stream = mine.play()
        await stream.follow(table)
        await stream.next("progress")
        await stream.send_act(table, act.Bid(1, 10), command_id="bid")
        kinds = await stream.kinds_until("accepted")
        assert kinds.index("commit") < kinds.index("accepted")
        assert calls(upstream.WAYS["bid"].method) == bids + 1
        # The answer is the table's, a plain call's included; and the same again is the same.
        answer = await mine.act(table, act.Bid(1, 10), command_id="bid")
        assert (answer.version, answer.duplicate, len(answer.commits)) == (6, True, 1)
        assert (await other.play().refused(table, act.Bid(1, 10))).reason == "bid_too_low"
        await other.act(table, act.Pass(1))
        assert calls(upstream.WAYS["pass"].method) == passes + 1
    view = await ann.view(table)
    assert [field.owner for field in view.fields].count(0) == 1
    assert view.seats[0].cash == 1490


async def test_offers_go_through_the_trade_service(ways: Stack, ann: Client, bob: Client, unique: str) -> None:
    table = await game(ann, bob, edition="rugpull", dev=True)
    stream = ann.play()
    script = script_pb2.Script(throws=[script_pb2.ScriptedThrow(dice=[1, 2])])
    await stream.act(table, act.Roll(), script=script)
    await stream.act(table, act.Buy())
    names = {kind: upstream.WAYS[kind].method for kind in ("offer", "accept", "refuse", "withdraw")}
    before = {kind: calls(method) for kind, method in names.items()}
    async with ways.client(f"guest:ann-{unique}") as mine, ways.client(f"guest:bob-{unique}") as other:
        offer = act.Offer(1, Side(fields=(3,)), Side(cash=100))
        playing, theirs = mine.play(), other.play()
        await playing.act(table, offer)
        assert (await theirs.act(table, act.Refuse(1))).version
        await playing.act(table, offer)
        assert (await playing.act(table, act.Withdraw(2))).version
        await mine.act(table, offer)
        assert (await other.act(table, act.Accept(3))).version
        assert (await theirs.refused(table, act.Accept(3))).reason == "offer_gone"
    assert [calls(method) - before[kind] for kind, method in names.items()] == [3, 2, 1, 1]
    view = await ann.view(table)
    assert [field.owner for field in view.fields].count(1) == 1


async def test_a_way_that_is_closed_is_gone_round(
    running: Stack, nats_url: str, ann: Client, bob: Client, unique: str
) -> None:
    table = await in_auction(ann, bob)
    nobody = f"127.0.0.1:{free_port()}"
    async with (
        gateway(running.table, nats_url, auction_addr=nobody, trade_addr=nobody) as ways,
        ways.client(f"guest:ann-{unique}") as mine,
    ):
        stream = mine.play()
        assert (await stream.act(table, act.Bid(1, 10))).version == 6
        # It is not tried again for a while.
        peers = ways.hub.upstream._others["auction"]
        assert ways.hub.upstream._closed_until["auction"] > 0
        assert (await stream.refused(table, act.Bid(1, 60))).reason == "already_high_bidder"
        assert peers.members == [nobody]


async def test_an_auction_service_that_dies_takes_no_bid_with_it(
    running: Stack, nats_url: str, ann: Client, bob: Client, unique: str
) -> None:
    table = await in_auction(ann, bob)
    async with contextlib.AsyncExitStack() as exits:
        settings = AuctionSettings(port=0, nats_url=nats_url, table_addr=running.table.address, reflection=False)
        auction = await exits.enter_async_context(app.running(AuctionService(settings)))
        async with (
            gateway(running.table, nats_url, auction_addr=auction.address) as ways,
            ways.client(f"guest:ann-{unique}") as mine,
            ways.client(f"guest:bob-{unique}") as other,
        ):
            assert (await mine.play().act(table, act.Bid(1, 10))).version == 6
            await exits.aclose()
            assert (await other.play().act(table, act.Bid(1, 60))).version == 7
