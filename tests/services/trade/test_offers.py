"""The way of an offer and the lists of open ones, over real links to a real table."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from omnipoly.rules import actions as act
from omnipoly.rules.actions import Side
from omnipoly.runtime import app
from omnipoly.runtime.failures import Failure
from omnipoly.wire.gen.trade.v1 import trade_pb2
from omnipolyd.trade.config import TradeSettings
from omnipolyd.trade.service import COMMANDS, TradeService
from tests.services.playing import ANN, BOB, CID, Asking, Tables, acting, new_id
from tests.services.trade.conftest import Trades


def offer(to: int, cash: int = 100, fields: tuple[int, ...] = (3,)) -> act.Offer:
    """A lot for cash."""
    return act.Offer(to, Side(cash, (), ()), Side(0, fields, ()))


def carried(kind: str = "offer") -> float:
    return COMMANDS.labels(kind, "carried")._value.get()


async def refusal(answer: Any) -> str:
    with pytest.raises(Failure) as caught:
        await answer
    return caught.value.reason


async def game(tables: Tables) -> str:
    """A game in which Ann owns field 3 and Bob is to throw; Bob and Cid have cash alone."""
    table = await tables.start()
    await tables.act(table, ANN, act.Roll(), throws=[(1, 2)])
    await tables.act(table, ANN, act.Buy())
    await tables.act(table, ANN, act.EndTurn())
    return table


async def listed(trades: Trades, person: str, table: str = "", **more: Any) -> trade_pb2.ListOffersResponse:
    request = trade_pb2.ListOffersRequest(person=person, table=table, **more)
    found: trade_pb2.ListOffersResponse = await trades.ask("ListOffers", request)
    return found


async def propose(
    trades: Trades, table: str, person: str, action: act.Offer, command_id: str = ""
) -> trade_pb2.ProposeResponse:
    request = trade_pb2.ProposeRequest(act=acting(table, person, action, command_id=command_id))
    answer: trade_pb2.ProposeResponse = await trades.ask("Propose", request)
    return answer


async def test_an_offer_and_its_acceptance_are_carried(trades: Trades, tables: Tables) -> None:
    table = await game(tables)
    made = await propose(trades, table, BOB, offer(0))
    assert made.act.version == (await tables.head(table)).version
    (lying,) = (await listed(trades, ANN, table)).offers
    assert (lying.own, lying.table, lying.version) == (False, table, made.act.version)
    assert (lying.offer.proposer, lying.offer.receiver, lying.offer.give.cash) == (1, 0, 100)
    assert lying.offer == (await tables.view(table)).offers[0]
    request = trade_pb2.AcceptRequest(act=acting(table, ANN, act.Accept(lying.offer.offer)))
    done = (await trades.ask("Accept", request)).act
    assert (await tables.view(table)).fields[3].owner == 1
    assert (await trades.ask("Accept", request)).act.version == done.version  # the first answer again
    assert not (await listed(trades, ANN, table)).offers


@pytest.mark.parametrize(("method", "action", "who"), [("Refuse", act.Refuse, ANN), ("Withdraw", act.Withdraw, BOB)])
async def test_what_is_gone_is_gone_for_ever(
    trades: Trades, tables: Tables, method: str, action: type[act.Action], who: str
) -> None:
    table = await game(tables)
    await propose(trades, table, BOB, offer(0))
    await listed(trades, BOB, table)
    kind = getattr(trade_pb2, f"{method}Request")
    request = kind(act=acting(table, who, action(1)))
    first = await trades.ask(method, request)
    before = carried("accept")
    accept = trade_pb2.AcceptRequest(act=acting(table, ANN, act.Accept(1)))
    assert await refusal(trades.ask("Accept", accept)) == "offer_gone"
    assert carried("accept") == before
    assert await refusal(trades.ask(method, kind(act=acting(table, who, action(1))))) == "offer_gone"
    assert (await trades.ask(method, request)).act.version == first.act.version
    # Whoever has no seat is told that first, by the table; what was never made too.
    stranger = trade_pb2.AcceptRequest(act=acting(table, "guest:dan", act.Accept(1)))
    assert await refusal(trades.ask("Accept", stranger)) == "not_seated"
    assert await refusal(trades.ask("Accept", trade_pb2.AcceptRequest(act=acting(table, ANN, act.Accept(9))))) == (
        "offer_gone"
    )
    assert carried("accept") == before + 2


async def test_one_lot_in_two_offers_changes_hands_once(trades: Trades, tables: Tables, nats_url: str) -> None:
    """Both are accepted at the same moment, through two replicas."""
    table = await game(tables)
    await propose(trades, table, BOB, offer(0, 400))
    await propose(trades, table, CID, offer(0, 450))
    settings = TradeSettings(port=0, nats_url=nats_url, table_addr=tables.address)
    async with app.running(TradeService(settings)) as running:
        other = Asking(running.address, "omnipoly.trade.v1.TradeService", trade_pb2)
        requests = [trade_pb2.AcceptRequest(act=acting(table, ANN, act.Accept(number))) for number in (1, 2)]
        answers = await asyncio.gather(
            trades.ask("Accept", requests[0]), other("Accept", requests[1]), return_exceptions=True
        )
        await other.close()
    (refused,) = [answer for answer in answers if isinstance(answer, Failure)]
    assert refused.reason == "asset_changed"
    view = await tables.view(table)
    winner = view.fields[3].owner
    assert winner in {1, 2}
    assert view.seats[winner].cash == 1500 - (400 if winner == 1 else 450)
    assert view.seats[3 - winner].cash == 1500


async def test_quotas_are_refused_without_the_table(trades: Trades, tables: Tables) -> None:
    table = await game(tables)
    made = await propose(trades, table, BOB, offer(0), "first")
    await listed(trades, BOB, table)
    before = carried()
    assert await refusal(propose(trades, table, BOB, offer(0, 200))) == "offer_open"
    assert carried() == before
    await trades.ask("Refuse", trade_pb2.RefuseRequest(act=acting(table, ANN, act.Refuse(1))))
    assert await refusal(propose(trades, table, BOB, offer(0, 200))) == "offer_cooldown"
    assert carried() == before
    # Cid may offer, and Bob to Cid, but not more than five times a round.
    await propose(trades, table, CID, offer(0, 50))
    cash = act.Offer(2, Side(10, (), ()), Side(5, (), ()))
    for _ in range(4):
        await propose(trades, table, BOB, cash)
        number = (await tables.view(table)).offers[-1].offer
        await trades.ask("Withdraw", trade_pb2.WithdrawRequest(act=acting(table, BOB, act.Withdraw(number))))
    before = carried()
    assert await refusal(propose(trades, table, BOB, cash)) == "offer_quota"
    assert carried() == before
    assert made.act.version < (await tables.head(table)).version


async def test_a_repeat_is_carried_however_many_were_made_since(trades: Trades, tables: Tables) -> None:
    table = await game(tables)
    await listed(trades, BOB, table)
    made = await propose(trades, table, BOB, offer(0), "the-first")
    assert (await propose(trades, table, BOB, offer(0), "the-first")).act.version == made.act.version
    await trades.ask("Refuse", trade_pb2.RefuseRequest(act=acting(table, ANN, act.Refuse(1))))
    assert (await propose(trades, table, BOB, offer(0), "the-first")).act.version == made.act.version


async def test_a_quota_that_ended_unheard_is_not_refused(trades: Trades, tables: Tables) -> None:
    table = await game(tables)
    await propose(trades, table, BOB, offer(0))
    await listed(trades, BOB, table)
    trades.app.bus._subscriptions.clear()  # from here on it hears nothing
    book = trades.service.books.known(table)
    assert book is not None
    assert book.state.offers
    await tables.act(table, BOB, act.Withdraw(1))
    await propose(trades, table, BOB, offer(0, 120))


async def test_what_ends_within_a_moment_is_for_the_table_to_judge(trades: Trades, tables: Tables) -> None:
    table = await game(tables)
    await tables.close(table, ANN)  # an offer lies at somebody away for 2 s
    await propose(trades, table, BOB, offer(0))
    await listed(trades, BOB, table)
    before = carried()
    assert await refusal(propose(trades, table, BOB, offer(0, 200))) == "offer_open"
    assert carried() == before
    await tables.advance(table, 1500)
    await trades.service.books.get(table, (await tables.head(table)).version)
    assert await refusal(propose(trades, table, BOB, offer(0, 200))) == "offer_open"
    assert carried() == before + 1


async def test_quotas_are_for_the_table_while_a_repeat_cannot_be_told(tables: Tables, nats_url: str) -> None:
    service = TradeService(TradeSettings(port=0, nats_url=nats_url, table_addr=tables.address))
    async with app.running(service) as running:
        ask = Asking(running.address, "omnipoly.trade.v1.TradeService", trade_pb2)
        table = await game(tables)
        first = acting(table, BOB, offer(0))
        made = await tables.ask("Act", first)
        await ask("ListOffers", trade_pb2.ListOffersRequest(person=BOB, table=table))
        assert (await ask("Propose", trade_pb2.ProposeRequest(act=first))).act.version == made.version
        before = carried()
        assert await refusal(ask("Propose", trade_pb2.ProposeRequest(act=acting(table, BOB, offer(0, 7))))) == (
            "offer_open"
        )
        assert carried() == before + 1
        await ask.close()


@pytest.mark.parametrize(
    "action",
    [act.Bid(1, 10), act.Offer(0, Side(1, (), ()), Side(0, tuple(range(29)), ())), act.Accept(1)],
)
async def test_malformed_offers(trades: Trades, action: act.Action) -> None:
    request = trade_pb2.ProposeRequest(act=acting("no-such-table", BOB, action))
    assert await refusal(trades.ask("Propose", request)) == "bad_request"


# --- Lists


async def test_the_offers_of_a_person_at_all_tables(trades: Trades, tables: Tables) -> None:
    eve = f"guest:eve-{new_id()}"
    expected = []
    for _ in range(3):
        table = await tables.open(persons=(eve, BOB, CID))
        await tables.act(table, eve, act.Start())
        for person, dice in ((eve, (6, 5)), (BOB, (4, 3)), (CID, (2, 1))):
            await tables.act(table, person, act.Roll(), throws=[dice])
        await tables.act(table, eve, act.Roll(), throws=[(1, 2)])
        await tables.act(table, eve, act.Buy())
        await tables.act(table, BOB, offer(0, 10))
        await tables.act(table, eve, act.Offer(2, Side(0, (3,), ()), Side(5, (), ())))
        expected += [(table, 1, False), (table, 2, True)]
    found = await listed(trades, eve)
    assert [(entry.table, entry.offer.offer, entry.own) for entry in found.offers] == sorted(expected)
    pages: list[Any] = []
    token = ""
    while not pages or token:
        page = await listed(trades, eve, page_size=4, page_token=token)
        token = page.next_page_token
        pages.append(list(page.offers))
    assert [len(page) for page in pages] == [4, 2]
    assert [entry for page in pages for entry in page] == list(found.offers)
    # From here on published commits keep the list.
    await tables.act(expected[0][0], eve, act.Refuse(1))
    answer = await tables.act(expected[0][0], eve, act.Withdraw(2))
    await trades.service.books.get(expected[0][0], answer.version)
    assert len((await listed(trades, eve)).offers) == 4


async def test_lists_that_are_not_there(trades: Trades, tables: Tables) -> None:
    assert not (await listed(trades, "guest:nobody")).offers
    assert await refusal(listed(trades, ANN, "no-such-table")) == "unknown_table"
    table = await game(tables)
    assert not (await listed(trades, "guest:nobody", table)).offers
    assert await refusal(listed(trades, ANN, table, page_token="~")) == "bad_request"
    assert await refusal(listed(trades, ANN, table, page_size=201)) == "bad_request"
    assert await refusal(listed(trades, "", table)) == "bad_request"


async def test_offers_are_gone_with_the_game(trades: Trades, tables: Tables) -> None:
    table = await game(tables)
    await propose(trades, table, BOB, offer(0))
    await listed(trades, BOB, table)
    await tables.act(table, BOB, act.Leave())
    last = await tables.act(table, CID, act.Leave())
    book = await trades.service.books.get(table, last.version)
    assert book.offers_of(ANN) == []
    assert 1 in book.closed
