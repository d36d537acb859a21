"""Trades over the wire: everybody at the table is told, each person has a list, offers close when either side goes, and
drafts wait for their turn (CORE-TRADE, TUB-TRADE, RUG-TRADE, GLO-TRADE, LAS-SWAP). Clocks: ``test_scenarios``.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from functools import partial
from typing import Any

import grpc
import pytest

from omnipoly.rules import actions as act
from omnipoly.rules.actions import Side
from omnipoly.runtime import app
from omnipoly.runtime.failures import Failure
from omnipoly.wire import actions, views
from omnipoly.wire.gen.game.v1 import events_pb2
from omnipoly.wire.gen.gateway.v1 import dev_pb2, trades_pb2
from omnipolyd.trade.config import TradeSettings
from omnipolyd.trade.service import TradeService
from tests.services.gateway.calling import Client, Stack, gateway, unique_id
from tests.services.gateway.refusing import INVALID, PRECONDITION, told
from tests.services.table.staging import state
from tests.services.waiting import eventually

EDITIONS = ["tubbypoly", "rugpull", "globopoly/classic", "laspoly"]
OFFER = act.Offer(1, Side(fields=(1,)), Side(cash=50))


class People:
    """Ann, Bob and Cid play, Vic watches, through a gateway that a trade service stands behind."""

    def __init__(self, running: Stack, unique: str) -> None:
        self.unique = unique
        self.ids = [f"guest:{name}-{unique}" for name in ("ann", "bob", "cid")]
        self.ann, self.bob, self.cid = (running.client(person) for person in self.ids)
        self.vic = running.client(f"oidc:vic-{unique}", guest=False)

    @property
    def players(self) -> list[Client]:
        return [self.ann, self.bob, self.cid]

    async def table(self, edition: str, *, turn: str = "A", **given: Any) -> str:
        """A game in which Ann has field 1, Bob 6, and Cid 11; somebody is about to throw."""
        owns = {"A": (1,), "B": (6,), "C": (11,), **given.pop("owns", {})}
        table = await self.ann.create(edition, dev=True)
        for client in (self.bob, self.cid):
            await client.act(table, act.Join(""))
        view = views.to_view(state(edition=edition, turn=turn, owns=owns, **given), 0, 0)
        for seat, person in zip(view.seats, self.ids, strict=True):
            seat.holder = person
        view.host = self.ids[0]
        await self.ann.call("Dev/SetUp", dev_pb2.SetUpRequest(table=table, command_id=unique_id(), view=view))
        return table

    async def close(self) -> None:
        for client in (*self.players, self.vic):
            await client.channel.close(None)


@pytest.fixture(scope="module")
async def trading(running: Stack, nats_url: str) -> AsyncIterator[Stack]:
    """A gateway that knows of a trade service."""
    settings = TradeSettings(
        port=0, nats_url=nats_url, table_addr=running.table.address, reflection=False, repeats_for_s=0
    )
    async with (
        app.running(TradeService(settings)) as trade,
        gateway(running.table, nats_url, trade_addr=trade.address) as stack,
    ):
        yield stack


@pytest.fixture
async def people(trading: Stack, unique: str) -> AsyncIterator[People]:
    people = People(trading, unique)
    yield people
    await people.close()


async def offers(client: Client, table: str = "", **more: Any) -> list[tuple[int, bool]]:
    """(number, own) of somebody's open offers, page by page."""
    found: list[tuple[int, bool]] = []
    request = trades_pb2.ListOffersRequest(table=table, **more)
    while True:
        page = await client.call("Trades/ListOffers", request)
        found += [(one.offer.offer, one.own) for one in page.offers]
        if not page.next_page_token:
            return found
        request.page_token = page.next_page_token


async def offered(wanted: list[tuple[int, bool]], client: Client, table: str = "", **more: Any) -> bool:
    """Whether these are somebody's open offers: the trade service hears of a commit when everybody does."""
    return await offers(client, table, **more) == wanted


async def closed(stream: Any) -> tuple[int, int]:
    """(number, how) of the next offer that closes."""
    while True:
        for event in (await stream.next("commit")).events:
            if event.WhichOneof("kind") == "offer_closed":
                return event.offer_closed.offer, event.offer_closed.how


# --- who is told


@pytest.mark.parametrize("edition", EDITIONS)
async def test_everybody_is_told_of_an_offer_and_what_becomes_of_it(people: People, edition: str) -> None:
    table = await people.table(edition)
    streams = [client.play() for client in people.players]
    for stream in streams:
        await stream.follow(table)
    watching = people.vic.watch(table)
    for stream in (*streams, watching):
        await stream.next("progress")
    await people.ann.act(table, OFFER)
    for stream in (*streams, watching):
        (event,) = [one for one in (await stream.next("commit")).events if one.WhichOneof("kind") == "offer_made"]
        made = event.offer_made
        assert (made.offer, made.proposer, made.receiver) == (1, 0, 1)
        assert (list(made.give.fields), made.take.cash) == ([1], 50)
    await eventually(partial(offered, [(1, True)], people.ann))
    await eventually(partial(offered, [(1, False)], people.bob, table))
    await eventually(partial(offered, [], people.cid, table))
    await people.bob.act(table, act.Refuse(1))
    for stream in (*streams, watching):
        assert (await closed(stream))[0] == 1
    for client in people.players:
        await eventually(partial(offered, [], client, table))


async def test_a_trade_moves_what_was_agreed(people: People) -> None:
    table = await people.table("tubbypoly")
    await people.ann.act(table, OFFER)
    with pytest.raises(Failure) as caught:
        await people.cid.act(table, act.Accept(1))
    told(caught.value, PRECONDITION, "offer_gone")
    await people.bob.act(table, act.Accept(1))
    view = await people.vic.view(table)
    assert view.fields[1].owner == 1
    assert [seat.cash for seat in view.seats] == [1550, 1450, 1500]
    with pytest.raises(Failure) as caught:
        await people.bob.act(table, act.Accept(1))
    told(caught.value, PRECONDITION, "offer_gone")


@pytest.mark.parametrize("goes", ["ann", "bob"])
@pytest.mark.parametrize("edition", EDITIONS)
async def test_an_offer_closes_when_either_side_goes(people: People, edition: str, goes: str) -> None:
    """CORE-LEAVE: whoever goes, nobody can accept it any more."""
    table = await people.table(edition)
    stream = people.cid.play()
    await stream.follow(table)
    await stream.next("progress")
    await people.ann.act(table, OFFER)
    await getattr(people, goes).act(table, act.Leave())
    assert await closed(stream) == (1, events_pb2.OfferClosed.HOW_VOID)
    for client in people.players:
        await eventually(partial(offered, [], client))
    other = people.bob if goes == "ann" else people.ann
    action: act.Action = act.Accept(1) if goes == "ann" else act.Withdraw(1)
    with pytest.raises(Failure) as caught:
        await other.act(table, action)
    assert caught.value.reason == "offer_gone"


async def test_offers_at_several_tables(people: People) -> None:
    tables = sorted([await people.table("tubbypoly") for _ in range(3)])
    for table in tables:
        await people.ann.act(table, OFFER)
        await people.cid.act(table, act.Offer(0, Side(fields=(11,)), Side(cash=1)))
    for size in (1, 2, 0):
        await eventually(partial(offered, [(1, True), (2, False)] * 3, people.ann, page_size=size))
    await eventually(partial(offered, [(1, False)] * 3, people.bob))
    with pytest.raises(Failure) as caught:
        await offers(people.ann, page_token="no")
    told(caught.value, INVALID, "bad_request")


# --- manners, as they look from outside


async def test_what_a_proposer_has_to_wait_for(people: People) -> None:
    """TUB-TRADE: one open offer, five a round; after a refusal the two wait 30 s."""
    table = await people.table("tubbypoly")

    async def refused(client: Client, action: act.Action) -> str:
        with pytest.raises(Failure) as caught:
            await client.act(table, action)
        return caught.value.reason

    await people.ann.act(table, OFFER)
    assert await refused(people.ann, act.Offer(2, Side(cash=5), Side(fields=(11,)))) == "offer_open"
    await people.bob.act(table, act.Refuse(1))
    assert await refused(people.ann, OFFER) == "offer_cooldown"
    assert await refused(people.bob, act.Offer(0, Side(cash=5), Side(fields=(1,)))) == "offer_cooldown"
    to_cid = act.Offer(2, Side(cash=5), Side(fields=(11,)))
    for number in range(2, 6):
        await people.ann.act(table, to_cid)
        await people.ann.act(table, act.Withdraw(number))
    assert await refused(people.ann, to_cid) == "offer_quota"
    request = dev_pb2.AdvanceRequest(table=table, command_id=unique_id())
    request.by.FromSeconds(30)
    await people.ann.call("Dev/Advance", request)
    await people.bob.act(table, act.Offer(0, Side(cash=5), Side(fields=(1,))))


# --- drafts


async def prepare(client: Client, table: str, offer: act.Offer = OFFER, request_id: str = "") -> Any:
    request = trades_pb2.PrepareDraftRequest(
        request_id=request_id or unique_id(), table=table, offer=actions.to_proto(offer).offer
    )
    return (await client.call("Trades/PrepareDraft", request)).draft


async def drafts(client: Client, table: str = "") -> list[str]:
    page = await client.call("Trades/ListDrafts", trades_pb2.ListDraftsRequest(table=table))
    return [draft.draft for draft in page.drafts]


async def test_a_draft_waits_for_its_turn(people: People) -> None:
    """LAS-SWAP: prepared at any time, sent on one's own turn, accepted on the receiver's."""
    table = await people.table("laspoly", turn="C")
    stream = people.cid.play()
    await stream.follow(table)
    await stream.next("progress")
    draft = await prepare(people.ann, table, request_id="draft")
    assert (await prepare(people.ann, table, request_id="draft")).draft == draft.draft
    assert (draft.table, draft.offer.to) == (table, 1)
    assert await drafts(people.ann) == await drafts(people.ann, table) == [draft.draft]
    assert await drafts(people.bob) == []
    send = trades_pb2.SendDraftRequest(table=table, command_id=unique_id(), draft=draft.draft)
    with pytest.raises(Failure) as caught:
        await people.ann.call("Trades/SendDraft", send)
    told(caught.value, PRECONDITION, "not_your_turn")
    assert await drafts(people.ann) == [draft.draft]  # it is kept
    with pytest.raises(Failure) as caught:
        await people.bob.call("Trades/SendDraft", send)
    assert caught.value.reason == "offer_gone"  # it is Ann's
    await people.cid.act(table, act.Leave())  # the next turn is Ann's
    answer = await people.ann.call("Trades/SendDraft", send)
    assert [commit.version for commit in answer.commits] == [answer.version]
    assert (await stream.up_to(answer.version))[-1].events[-1].WhichOneof("kind") == "offer_made"
    assert (await people.ann.call("Trades/SendDraft", send)).duplicate
    assert await drafts(people.ann) == []
    await eventually(partial(offered, [(1, False)], people.bob))
    with pytest.raises(Failure) as caught:
        await people.bob.act(table, act.Accept(1))
    told(caught.value, PRECONDITION, "not_your_turn")


async def test_a_draft_is_thrown_away(people: People) -> None:
    table = await people.table("laspoly")
    draft = await prepare(people.ann, table)
    request = trades_pb2.DiscardDraftRequest(draft=draft.draft, request_id=unique_id())
    request_of_bob = trades_pb2.DiscardDraftRequest(draft=draft.draft, request_id=unique_id())
    assert not (await people.bob.call("Trades/DiscardDraft", request_of_bob)).existed
    for _ in range(2):
        assert (await people.ann.call("Trades/DiscardDraft", request)).existed
    assert await drafts(people.ann) == []


async def test_without_a_trade_service_there_are_no_lists(running: Stack, ann: Client) -> None:
    with pytest.raises(Failure) as caught:
        await ann.call("Trades/ListOffers", trades_pb2.ListOffersRequest())
    assert caught.value.status is grpc.StatusCode.UNIMPLEMENTED
