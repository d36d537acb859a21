"""Prepared offers: kept, listed, sent once, thrown away; bounded, and gone after a day."""

from __future__ import annotations

from typing import Any

import pytest

from omnipoly.rules import actions as act
from omnipoly.rules.actions import Side
from omnipoly.runtime.failures import Failure
from omnipoly.wire import actions
from omnipoly.wire.gen.game.v1 import actions_pb2
from omnipoly.wire.gen.table.v1 import table_pb2
from omnipoly.wire.gen.trade.v1 import trade_pb2
from omnipolyd.trade.drafts import A_TABLE, Drafts
from tests.services.playing import ANN, BOB, Tables, identity, new_id
from tests.services.trade.conftest import Trades
from tests.services.trade.test_offers import game


def message(cash: int = 100, to: int = 0, fields: tuple[int, ...] = (3,)) -> actions_pb2.Offer:
    return actions.to_proto(act.Offer(to, Side(cash, (), ()), Side(0, fields, ()))).offer


class Hand:
    """A clock set by hand."""

    def __init__(self) -> None:
        self.now_s = 1_000_000.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def hand() -> Hand:
    return Hand()


@pytest.fixture
def drafts(hand: Hand) -> Drafts:
    return Drafts(most=20, for_s=86_400, now_s=hand)


def test_the_same_request_prepares_nothing_twice(drafts: Drafts) -> None:
    draft = drafts.prepare("p", "r", "t", message())
    assert drafts.prepare("p", "r", "t", message()) == draft
    assert drafts.of("p") == [draft]
    other = drafts.prepare("q", "r", "t", message())
    assert other.draft != draft.draft
    drafts.sent("p", draft.draft, "c")
    assert drafts.prepare("p", "r", "t", message()) == draft  # also once it is sent
    assert drafts.of("p") == []


def test_drafts_are_gone_after_a_day(drafts: Drafts, hand: Hand) -> None:
    old = drafts.prepare("p", "r1", "t", message())
    hand.now_s += 50_000
    new = drafts.prepare("p", "r2", "t", message())
    hand.now_s += 36_400
    assert drafts.of("p") == [new]
    with pytest.raises(Failure, match="offer_gone"):
        drafts.to_send("p", old.draft, "t", "c")


def test_drafts_are_bounded(drafts: Drafts) -> None:
    for number in range(A_TABLE):
        drafts.prepare("p", f"r{number}", "t", message())
    with pytest.raises(Failure, match="rate_limited"):
        drafts.prepare("p", "more", "t", message())
    drafts.prepare("p", "elsewhere", "u", message())
    for number in range(10):
        drafts.prepare(f"q{number}", "r", "t", message())
    assert len(drafts._drafts) == 20
    assert len(drafts.of("p", "t")) + len(drafts.of("p", "u")) == 10
    assert [draft.table for draft in drafts.of("p")].count("u") == 1


def test_a_draft_is_sent_again_only_under_its_own_command(drafts: Drafts, hand: Hand) -> None:
    draft = drafts.prepare("p", "r", "t", message(77))
    with pytest.raises(Failure, match="offer_gone"):
        drafts.to_send("q", draft.draft, "t", "c")
    with pytest.raises(Failure, match="offer_gone"):
        drafts.to_send("p", draft.draft, "u", "c")
    assert drafts.to_send("p", draft.draft, "t", "c").give.cash == 77
    drafts.sent("p", draft.draft, "c")
    assert drafts.to_send("p", draft.draft, "t", "c").give.cash == 77
    with pytest.raises(Failure, match="offer_gone"):
        drafts.to_send("p", draft.draft, "t", "another")
    hand.now_s += 601
    with pytest.raises(Failure, match="offer_gone"):
        drafts.to_send("p", draft.draft, "t", "c")


def test_discarding(drafts: Drafts) -> None:
    draft = drafts.prepare("p", "r", "t", message())
    assert not drafts.discard("q", draft.draft, "d")
    assert drafts.discard("p", draft.draft, "d")
    assert drafts.discard("p", draft.draft, "d")  # the same request, the same answer
    assert not drafts.discard("p", draft.draft, "again")
    assert drafts.of("p") == []


async def test_a_draft_from_its_making_to_the_table(trades: Trades, tables: Tables) -> None:
    table = await game(tables)
    prepare = trade_pb2.PrepareDraftRequest(identity=identity(BOB), request_id="r", table=table, offer=message())
    draft = (await trades.ask("PrepareDraft", prepare)).draft
    assert (draft.table, draft.offer) == (table, message())
    more = trade_pb2.PrepareDraftRequest(identity=identity(BOB), request_id="s", table=table, offer=message(5))
    second = (await trades.ask("PrepareDraft", more)).draft
    listing = trade_pb2.ListDraftsRequest(person=BOB, page_size=1)
    page = await trades.ask("ListDrafts", listing)
    assert [entry.draft for entry in page.drafts] == [draft.draft]
    listing.page_token = page.next_page_token
    last = await trades.ask("ListDrafts", listing)
    assert [entry.draft for entry in last.drafts] == [second.draft]
    assert last.next_page_token == ""

    send = trade_pb2.SendDraftRequest(
        draft=draft.draft, act=table_pb2.ActRequest(table=table, identity=identity(BOB), command_id=new_id())
    )
    made = (await trades.ask("SendDraft", send)).act
    assert (await tables.view(table)).offers[0].give.cash == 100
    assert (await trades.ask("SendDraft", send)).act.version == made.version
    left = (await trades.ask("ListDrafts", trade_pb2.ListDraftsRequest(person=BOB, table=table))).drafts
    assert [entry.draft for entry in left] == [second.draft]

    # What the table refuses stays a draft.
    send.draft, send.act.command_id = second.draft, new_id()
    with pytest.raises(Failure, match="offer_open"):
        await trades.ask("SendDraft", send)
    assert (await trades.ask("ListDrafts", trade_pb2.ListDraftsRequest(person=BOB))).drafts
    discard = trade_pb2.DiscardDraftRequest(person=BOB, draft=second.draft, request_id="d")
    assert (await trades.ask("DiscardDraft", discard)).existed


@pytest.mark.parametrize(
    "request_",
    [
        trade_pb2.PrepareDraftRequest(identity=identity(ANN), request_id="r", offer=message()),
        trade_pb2.PrepareDraftRequest(identity=identity(ANN), table="t", offer=message()),
        trade_pb2.PrepareDraftRequest(request_id="r", table="t", offer=message()),
        trade_pb2.PrepareDraftRequest(
            identity=identity(ANN), request_id="r", table="t", offer=message(fields=tuple(range(29)))
        ),
    ],
)
async def test_malformed_drafts(trades: Trades, request_: Any) -> None:
    with pytest.raises(Failure, match="bad_request"):
        await trades.ask("PrepareDraft", request_)
