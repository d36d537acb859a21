"""Pictures of auctions: what GetAuction shows and Follow tells, over gaps, slow readers and a NATS that is gone."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import grpc
import pytest

from omnipoly.rules import actions as act
from omnipoly.runtime import app
from omnipoly.runtime.bus import Message
from omnipoly.runtime.embedded import EmbeddedNats
from omnipoly.runtime.failures import Failure
from omnipoly.wire import legal
from omnipoly.wire.gen.auction.v1 import auction_pb2
from omnipoly.wire.gen.game.v1 import auction_pb2 as game_pb2
from omnipoly.wire.gen.table.v1 import table_pb2
from omnipolyd.auction import watching
from omnipolyd.auction.config import AuctionSettings
from omnipolyd.auction.service import AuctionService
from tests.services.auction.conftest import Auctions, MakeDatabase
from tests.services.playing import (
    ANN,
    BOB,
    CID,
    MIGRATIONS,
    Asking,
    Tables,
    acting,
    identity,
    new_id,
    table_service,
)
from tests.services.waiting import eventually

Pictures = AsyncIterator[game_pb2.AuctionPicture]


async def picture(auctions: Auctions, table: str, auction: int = 0, at_least: int = 0) -> game_pb2.AuctionPicture:
    request = auction_pb2.GetAuctionRequest(table=table, auction=auction, at_least=at_least)
    found: game_pb2.AuctionPicture = (await auctions.ask("GetAuction", request)).picture
    return found


@asynccontextmanager
async def following(running: app.App, table: str, auction: int = 0) -> AsyncIterator[Pictures]:
    """A Follow stream's pictures."""
    async with grpc.aio.insecure_channel(running.address) as channel:
        method: Any = channel.unary_stream(
            "/omnipoly.auction.v1.AuctionService/Follow",
            auction_pb2.FollowRequest.SerializeToString,
            auction_pb2.FollowResponse.FromString,
        )
        call = method(auction_pb2.FollowRequest(table=table, auction=auction))

        async def pictures() -> Pictures:
            async for response in call:
                yield response.picture

        yield pictures()
        call.cancel()


async def begun(auctions: Auctions, table: str, streams: int = 1) -> None:
    """So many streams follow the table by now."""

    def follow() -> bool:
        book = auctions.service.books.known(table)
        return book is not None and len(book.followers) == streams

    await eventually(follow)


# --- What a picture says


@pytest.mark.parametrize("edition", ["tubbypoly", "rugpull", "globopoly/classic"])
async def test_a_picture_lists_what_the_table_lists(auctions: Auctions, tables: Tables, edition: str) -> None:
    """The least bid and the only amounts are those of the legal actions of whoever may bid."""
    table = await tables.start(edition)
    if edition == "globopoly/classic":
        seats = len((await tables.view(table)).seats)
        throws = [(6, 5), (4, 3), (2, 1)]
        for _ in range(seats):
            view = await tables.view(table)
            for seat in view.seats:
                if seat.prompt and throws:
                    await tables.act(table, seat.holder, act.Roll(), throws=[throws.pop(0)])
    await tables.auction(table)
    for _ in range(3):
        view = await tables.view(table)
        shown = await picture(auctions, table, at_least=view.version)
        assert (shown.version, shown.auction, shown.field) == (view.version, view.auctions, view.auction.lot)
        assert list(shown.bids) == list(view.auction.bids)
        assert list(shown.passed) == list(view.auction.passed)
        assert (shown.bidder, shown.forced_by) == (view.auction.bidder, -1)
        bidders = [seat for seat in range(3) if view.seats[seat].prompt]
        own_clock = view.seats[bidders[0]].deadline
        assert shown.deadline == (view.auction.deadline if view.auction.HasField("deadline") else own_clock)
        request = table_pb2.LegalRequest(table=table, person=view.seats[bidders[0]].holder)
        listed = [legal.from_proto(entry) for entry in (await tables.ask("Legal", request)).prompt.actions]
        (bid,) = [entry for entry in listed if entry.do == "bid"]
        if shown.amounts:
            assert tuple(shown.amounts) == tuple(bid.amounts)
        assert shown.least == (bid.amounts[0] if bid.amounts else bid.least)
        await tables.act(table, view.seats[bidders[0]].holder, act.Bid(shown.auction, shown.least))


async def test_the_last_picture_of_an_auction(auctions: Auctions, tables: Tables) -> None:
    table = await tables.start()
    await tables.auction(table)
    await picture(auctions, table)
    await tables.act(table, BOB, act.Bid(1, 40))
    await tables.act(table, ANN, act.Pass(1))
    last = await tables.act(table, CID, act.Pass(1))
    shown = await picture(auctions, table, 1, at_least=last.version)
    assert (shown.closed, shown.winner, shown.price, shown.version) == (True, 1, 40, last.version)
    assert [(bid.seat, bid.amount) for bid in shown.bids] == [(1, 40)]
    assert not shown.HasField("deadline")
    assert (shown.least, list(shown.amounts), shown.bidder) == (0, [], -1)
    with pytest.raises(Failure, match="auction_closed"):
        await picture(auctions, table)  # none runs


async def test_an_auction_whose_end_was_not_seen_is_only_known_to_be_over(auctions: Auctions, tables: Tables) -> None:
    table = await tables.start()
    await tables.auction(table)
    await tables.advance(table, 15_000)
    for auction in (0, 1, 2):
        with pytest.raises(Failure, match="auction_closed"):
            await picture(auctions, table, auction)


# --- Following


async def test_following_an_auction_to_its_end(auctions: Auctions, tables: Tables) -> None:
    table = await tables.start()
    await tables.auction(table)
    async with following(auctions.app, table, 1) as pictures:
        first = await anext(pictures)
        assert (first.auction, first.least, list(first.bids)) == (1, 10, [])
        await tables.act(table, BOB, act.Bid(1, 20))
        assert (await anext(pictures)).least == 30
        await tables.act(table, ANN, act.Pass(1))
        assert list((await anext(pictures)).passed) == [0]
        await tables.act(table, CID, act.Pass(1))
        last = await anext(pictures)
        assert (last.closed, last.winner, last.price) == (True, 1, 20)
        with pytest.raises(StopAsyncIteration):
            await anext(pictures)
    await begun(auctions, table, 0)


async def test_following_what_runs_and_then_what_comes(auctions: Auctions, tables: Tables) -> None:
    table = await tables.start()
    async with following(auctions.app, table) as pictures:
        await begun(auctions, table)
        await tables.auction(table)
        assert (await anext(pictures)).auction == 1
        await tables.act(table, CID, act.Bid(1, 50))
        assert (await anext(pictures)).least == 60
        # The only bidder leaves: the auction begins anew under another number.
        await tables.act(table, CID, act.Leave())
        ended = await anext(pictures)
        assert (ended.auction, ended.closed, ended.winner) == (1, True, -1)
        anew = await anext(pictures)
        assert (anew.auction, anew.closed, list(anew.passed), anew.least) == (2, False, [2], 10)
        await tables.advance(table, 15_000)
        unsold = await anext(pictures)
        assert (unsold.auction, unsold.closed, unsold.winner, unsold.price) == (2, True, -1, 0)


async def test_following_what_is_over_or_not_there(auctions: Auctions, tables: Tables) -> None:
    table = await tables.start()
    await tables.auction(table)
    await picture(auctions, table)
    await tables.advance(table, 15_000)
    await picture(auctions, table, 1, at_least=(await tables.head(table)).version)
    async with following(auctions.app, table, 1) as pictures:
        assert (await anext(pictures)).closed
        with pytest.raises(StopAsyncIteration):
            await anext(pictures)
    for wanted, reason in ((table, "auction_closed"), ("no-such-table", "unknown_table")):
        async with following(auctions.app, wanted, 4) as pictures:
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await anext(pictures)
            assert reason.upper().encode() in dict(caught.value.trailing_metadata() or ())["grpc-status-details-bin"]


async def test_the_game_ends_in_the_middle_of_an_auction(auctions: Auctions, tables: Tables) -> None:
    table = await tables.start()
    await tables.auction(table)
    async with following(auctions.app, table) as pictures:
        assert not (await anext(pictures)).closed
        await tables.act(table, BOB, act.Leave())
        assert not (await anext(pictures)).closed
        await tables.act(table, CID, act.Leave())
        last = await anext(pictures)
        assert (last.closed, last.winner) == (True, -1)


async def test_a_slow_follower_gets_the_newest_picture_only() -> None:
    queue = watching._Queue(0)
    for version in range(watching.QUEUE + 1):
        queue.put(game_pb2.AuctionPicture(auction=1, version=version))
    assert (await queue.get()).version == watching.QUEUE
    queue.put(game_pb2.AuctionPicture(auction=1, version=99))
    assert (await queue.get()).version == 99
    assert not queue._pictures


async def test_streams_are_bounded_and_end_with_a_reason(tables: Tables, nats_url: str) -> None:
    table = await tables.start()
    await tables.auction(table)
    settings = AuctionSettings(port=0, nats_url=nats_url, table_addr=tables.address, auction_followers=1)
    service = AuctionService(settings)
    async with app.running(service) as running, following(running, table) as pictures:
        await anext(pictures)
        async with following(running, table) as more:
            with pytest.raises(grpc.aio.AioRpcError) as caught:
                await anext(more)
            assert caught.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        await service.drain()
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await anext(pictures)
        assert caught.value.code() is grpc.StatusCode.UNAVAILABLE


# --- What is missed is found


async def test_messages_that_are_lost_are_read_from_the_table(auctions: Auctions, tables: Tables) -> None:
    table = await tables.start()
    await tables.auction(table)
    async with following(auctions.app, table) as pictures:
        await anext(pictures)
        hear, lost = auctions.service.books.hear, []

        async def deaf(message: Message) -> None:
            if message.subject.endswith(table) and len(lost) < 2:
                lost.append(message)
            else:
                await hear(message)

        (subscription,) = auctions.app.bus._subscriptions
        subscription._handler = deaf
        for amount in (10, 20):
            await tables.act(table, BOB if amount == 10 else CID, act.Bid(1, amount))
        await eventually(lambda: len(lost) == 2)
        # The third tells of the gap; the pictures between come in their order.
        await tables.act(table, ANN, act.Bid(1, 30))
        assert [(await anext(pictures)).least for _ in range(3)] == [20, 30, 40]


async def test_an_auction_that_ended_unseen_while_it_was_followed(auctions: Auctions, tables: Tables) -> None:
    """The table is taken from a picture anew, which says nothing of it: who follows it is told that it is over."""
    table = await tables.start()
    await tables.auction(table)
    async with following(auctions.app, table, 1) as pictures, following(auctions.app, table) as every:
        for followed in (pictures, every):
            await anext(followed)
        book = await auctions.service.books.get(table)
        book.stale = True  # as after an epoch, far behind, or a commit that could not be read
        await tables.act(table, BOB, act.Bid(1, 20))
        auctions.service.books.look()
        for followed in (pictures, every):
            assert (await anext(followed)).least == 30
        book.stale = True
        await tables.act(table, CID, act.Leave())
        await tables.act(table, BOB, act.Leave())
        auctions.service.books.look()
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await anext(pictures)
        assert b"AUCTION_CLOSED" in dict(caught.value.trailing_metadata() or ())["grpc-status-details-bin"]
        assert len(book.followers) == 1


async def test_whoever_asks_just_when_a_table_has_been_brought_up_is_not_given_what_it_was(
    auctions: Auctions, tables: Tables
) -> None:
    """Nor is what is published just then lost."""
    table = await tables.start()
    await tables.auction(table)
    books, loop = auctions.service.books, asyncio.get_running_loop()
    book = await books.get(table)
    missed: list[Message] = []

    async def deaf(message: Message) -> None:
        missed.append(message)

    (subscription,) = auctions.app.bus._subscriptions
    subscription._handler = deaf
    await tables.act(table, BOB, act.Bid(1, 20))
    head = await tables.head(table)
    assert book.version == head.version - 1
    brought = [books._bring(table)]  # ends with its first step: there is nothing to do
    loop.call_soon(lambda: brought.append(books._bring(table, head.epoch, head.version)))
    await brought[0]
    assert (await brought[1]).version == head.version

    def hear() -> None:
        with pytest.raises(StopIteration):
            books.hear(missed[-1]).send(None)

    await tables.act(table, CID, act.Bid(1, 30))
    await eventually(lambda: len(missed) == 2)
    ended = books._bring(table)
    loop.call_soon(hear)
    await ended
    assert book.version == head.version + 1


async def test_older_and_doubled_messages_change_nothing(auctions: Auctions, tables: Tables) -> None:
    table = await tables.start()
    await tables.auction(table)
    before = await picture(auctions, table)
    for amount in (10, 20):
        await tables.act(table, BOB if amount == 10 else CID, act.Bid(1, amount))
    version = (await tables.head(table)).version
    assert (await picture(auctions, table, at_least=version)).least == 30
    page = await tables.ask("Commits", table_pb2.CommitsRequest(table=table, after=before.version - 2))
    book = await auctions.service.books.get(table)
    for body in [*page.commits, *page.commits]:
        await auctions.service.books.hear(Message(f"omnipoly.table.{table}", body, {}))
    assert (book.version, [bid.amount for bid in book.state.bids]) == (version, [10, 20])


async def test_nats_that_is_away_is_made_up_for(own_nats: EmbeddedNats, make_database: MakeDatabase) -> None:
    url = own_nats.start()
    async with table_service(await make_database(MIGRATIONS), url) as tables:
        service = AuctionService(AuctionSettings(port=0, nats_url=url, table_addr=tables.address))
        async with app.running(service) as running:
            await running.bus.wait_connected(20)
            table = await tables.start()
            await tables.auction(table)
            async with following(running, table) as pictures:
                assert (await anext(pictures)).least == 10
                await asyncio.to_thread(own_nats.kill)
                # Heads tell that something was missed, and answers to bids carry what they led to.
                await tables.act(table, BOB, act.Bid(1, 10))
                assert (await anext(pictures)).least == 20
                ask = Asking(running.address, "omnipoly.auction.v1.AuctionService", auction_pb2)
                await ask("Bid", auction_pb2.BidRequest(act=acting(table, CID, act.Bid(1, 20))))
                assert (await anext(pictures)).least == 30
                await asyncio.to_thread(own_nats.start)
                await running.bus.wait_connected(20)
                await tables.act(table, ANN, act.Bid(1, 30))
                assert (await anext(pictures)).least == 40
                await ask.close()


async def test_a_position_set_up_anew_is_taken_over(auctions: Auctions, tables: Tables) -> None:
    table = await tables.start()
    await tables.auction(table)
    await tables.act(table, BOB, act.Bid(1, 70))
    view = await tables.view(table)
    shown = await picture(auctions, table)
    view.auction.bids[0].amount = 50
    set_up = table_pb2.SetUpRequest(table=table, identity=identity("admin"), command_id=new_id(), view=view)
    version = (await tables.ask("SetUp", set_up)).version
    anew = await picture(auctions, table, at_least=version)
    assert (shown.bids[0].amount, anew.bids[0].amount) == (70, 50)


async def test_tables_that_nobody_asks_for_are_forgotten(auctions: Auctions, tables: Tables) -> None:
    books = auctions.service.books
    table, followed = await tables.start(), await tables.start()
    await tables.auction(table)
    await tables.auction(followed)
    await picture(auctions, table)
    async with following(auctions.app, followed) as pictures:
        await anext(pictures)
        for name in (table, followed):
            book = books.known(name)
            assert book is not None
            book.used -= books._keep_s + 1
        books._tables.move_to_end(followed, last=False)
        books._drop_idle()
        assert books.known(table) is None
        assert books.known(followed) is not None
    assert (await picture(auctions, table)).auction == 1  # and read again when somebody does
