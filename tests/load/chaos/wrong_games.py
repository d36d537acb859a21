"""What is made wrong of games on purpose: money, lots, trades, auctions, snapshots."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

from omnipoly.wire.gen.game.v1 import events_pb2, types_pb2, view_pb2

from .planting import Planted, message

LOT = events_pb2.LotMoved
Row = dict[str, Any]

# --- payments


def start_money_twice(run: Planted) -> None:
    def twice(commit: Any) -> None:
        commit.events.append(commit.events[at])

    row, at = run.find("paid", lambda row, event: event.reason == types_pb2.REASON_START_CASH)
    run.change(row, twice)


def money_from_nowhere(run: Planted) -> None:
    """Somebody has paid more than they had."""
    row, at = run.find("paid", lambda row, event: event.payer >= 0)
    run.change(row, lambda commit: setattr(commit.events[at].paid, "amount", 1_000_000))


def one_lot_for_two(run: Planted) -> None:
    """A lot that belongs to somebody is sold by the bank."""
    row, at = run.find("lot_moved", lambda row, event: event.owner >= 0)
    sold = message(row).events[at]
    later = run.commits(row["table_id"])[row["version"]]

    def sell(commit: Any) -> None:
        event = commit.events.add()
        event.CopyFrom(sold)
        event.lot_moved.owner = 1 - min(sold.lot_moved.owner, 1)
        event.lot_moved.how = events_pb2.LotMoved.HOW_BOUGHT

    run.change(later, sell)


def sold_twice(run: Planted) -> None:
    """One auction, two hammers."""
    row, at = run.find("auction_closed", lambda row, event: event.winner >= 0)
    closed = message(row).events[at]
    later = run.commits(row["table_id"])[row["version"]]
    run.change(later, lambda commit: commit.events.add().CopyFrom(closed))


def sold_and_not_paid(run: Planted) -> None:
    row, at = run.find("auction_closed", lambda row, event: event.winner >= 0)
    run.change(row, lambda commit: commit.events.__delitem__(at + 1))


def a_price_paid_twice(run: Planted) -> None:
    row, at = _price(run)
    run.change(row, lambda commit: commit.events.add().CopyFrom(message(row).events[at]))


def a_price_not_paid(run: Planted) -> None:
    row, at = _price(run)
    run.change(row, lambda commit: commit.events.__delitem__(at))


def a_price_of_one_more(run: Planted) -> None:
    row, at = _price(run)
    amount = message(row).events[at].paid.amount + 1
    run.change(row, lambda commit: setattr(commit.events[at].paid, "amount", amount))


def a_price_to_somebody_else(run: Planted) -> None:
    """What was bought from the bank is paid to a player."""
    row, at = _price(run)
    payee = 1 - min(message(row).events[at].paid.payer, 1)
    run.change(row, lambda commit: setattr(commit.events[at].paid, "payee", payee))


def a_mortgage_for_nothing(run: Planted) -> None:
    """A lot is mortgaged, and nobody gets the loan."""
    row, seat, field = _after_a_purchase(run)
    mortgaged = events_pb2.MortgageChanged(seat=seat, field=field, mortgaged=True)
    run.change(row, lambda commit: commit.events.add().mortgage_changed.CopyFrom(mortgaged))


def a_loan_for_nothing(run: Planted) -> None:
    """Somebody gets a loan, and nothing is mortgaged."""
    row, seat, _ = _after_a_purchase(run)
    loan = events_pb2.Paid(payer=-1, payee=seat, amount=50, reason=types_pb2.REASON_MORTGAGE)
    run.change(row, lambda commit: commit.events.add().paid.CopyFrom(loan))


def a_debt_paid_by_nobody(run: Planted) -> None:
    """A debt is closed as paid, and no money has moved."""
    row, seat, _ = _after_a_purchase(run)

    def settle(commit: Any) -> None:
        commit.events.add().debt_opened.CopyFrom(
            events_pb2.DebtOpened(debt=1, debtor=seat, creditor=-1, amount=50, reason=types_pb2.REASON_TAX)
        )
        commit.events.add().debt_closed.CopyFrom(events_pb2.DebtClosed(debt=1, how=events_pb2.DebtClosed.HOW_PAID))

    run.change(row, settle)


def a_start_bonus_for_nothing(run: Planted) -> None:
    """Nobody has passed Start."""
    row, at = run.find("moved", lambda row, event: not event.lap)
    seat = message(row).events[at].moved.seat
    bonus = events_pb2.Paid(payer=-1, payee=seat, amount=200, reason=types_pb2.REASON_START_BONUS)
    run.change(row, lambda commit: commit.events.add().paid.CopyFrom(bonus))


# --- lots


def bought_and_not_handed_over(run: Planted) -> None:
    row, at = run.find("lot_moved", lambda row, event: event.how == LOT.HOW_BOUGHT)
    run.change(row, lambda commit: commit.events.__delitem__(at))


def bought_by_somebody_else(run: Planted) -> None:
    """Another player's command has bought it for them."""
    row, _ = run.find("lot_moved", lambda row, event: event.how == LOT.HOW_BOUGHT)
    row["actor"] = "guest:somebody-else"
    run.change(row, lambda commit: setattr(commit, "actor", row["actor"]))


def handed_over_without_an_offer(run: Planted) -> None:
    """A lot goes from one player to another as if they had agreed on it."""
    row, seat, field = _after_a_purchase(run)
    run.change(row, lambda commit: _hand(commit, field, _other(seat)))


def handed_over_after_a_refusal(run: Planted) -> None:
    row, seat, field = _after_a_purchase(run)

    def trade(commit: Any) -> None:
        _offer(commit, seat, field, cash=10, how=events_pb2.OfferClosed.HOW_REFUSED)
        _pay(commit, _other(seat), seat, 10)
        _hand(commit, field, _other(seat))

    run.change(row, trade)


def another_lot_than_agreed_on(run: Planted) -> None:
    """The offer was for another lot of the same player."""
    row, seat, field = _after_a_purchase(run)

    def trade(commit: Any) -> None:
        _offer(commit, seat, 39 - (field == 39) * 2, cash=10)
        _pay(commit, _other(seat), seat, 10)
        _hand(commit, field, _other(seat))

    run.change(row, trade)


def agreed_on_and_not_handed_over(run: Planted) -> None:
    row, seat, field = _after_a_purchase(run)

    def trade(commit: Any) -> None:
        _offer(commit, seat, field, cash=10)
        _pay(commit, _other(seat), seat, 10)

    run.change(row, trade)


def a_trade_not_paid(run: Planted) -> None:
    row, seat, field = _after_a_purchase(run)

    def trade(commit: Any) -> None:
        _offer(commit, seat, field, cash=10)
        _hand(commit, field, _other(seat))

    run.change(row, trade)


def a_trade_paid_twice(run: Planted) -> None:
    row, seat, field = _after_a_purchase(run)

    def trade(commit: Any) -> None:
        _offer(commit, seat, field, cash=10)
        _hand(commit, field, _other(seat))
        for _ in range(2):
            _pay(commit, _other(seat), seat, 10)

    run.change(row, trade)


# --- auctions


def a_lot_auctioned_that_is_owned(run: Planted) -> None:
    """The lot belongs to a player, and is auctioned for the bank."""
    row, at = run.find("auction_closed", lambda row, event: event.winner >= 0)
    closed = message(row).events[at].auction_closed
    table = [one for one in run.commits(row["table_id"]) if one["version"] < row["version"]]
    opened = next(one for one in reversed(table) if _opens(one))
    owned = LOT(field=closed.field, owner=1 - min(closed.winner, 1), how=LOT.HOW_BOUGHT)
    answered = events_pb2.LotAnswered(seat=owned.owner, field=closed.field, how=events_pb2.LotAnswered.HOW_BOUGHT)

    def buy(commit: Any) -> None:
        events = list(commit.events)
        del commit.events[:]
        commit.events.add().lot_answered.CopyFrom(answered)
        commit.events.add().lot_moved.CopyFrom(owned)
        commit.events.extend(events)

    run.change(opened, buy)


def auctioned_for_somebody_else(run: Planted) -> None:
    """A lot of the bank is auctioned as if it were a player's, and the player gets the money."""
    row, at = run.find("auction_closed", lambda row, event: event.winner >= 0)
    closed = message(row).events[at].auction_closed
    seller = 1 - min(closed.winner, 1)
    table = [one for one in run.commits(row["table_id"]) if one["version"] < row["version"]]
    opened = next(one for one in reversed(table) if _opens(one))

    def force(commit: Any) -> None:
        for event in commit.events:
            if event.HasField("auction_opened"):
                event.auction_opened.forced_by = seller

    run.change(opened, force)
    run.change(row, lambda commit: setattr(commit.events[at + 1].paid, "payee", seller))


def an_auction_paid_to_somebody_else(run: Planted) -> None:
    row, at = run.find("auction_closed", lambda row, event: event.winner >= 0)
    payee = 1 - min(message(row).events[at].auction_closed.winner, 1)
    run.change(row, lambda commit: setattr(commit.events[at + 1].paid, "payee", payee))


def won_and_not_handed_over(run: Planted) -> None:
    row, at = run.find("lot_moved", lambda row, event: event.how == LOT.HOW_AUCTIONED)
    run.change(row, lambda commit: commit.events.__delitem__(at))


def two_auctions_at_once(run: Planted) -> None:
    row, at = run.find("auction_opened")
    second = events_pb2.AuctionOpened()
    second.CopyFrom(message(row).events[at].auction_opened)
    second.auction, second.field = second.auction + 1, 39 - (second.field == 39) * 2
    run.change(row, lambda commit: commit.events.add().auction_opened.CopyFrom(second))


# --- snapshots


def a_snapshot_of_other_money(run: Planted) -> None:
    def more(view: view_pb2.TableView) -> None:
        view.seats[0].cash += 1

    _keep(run, more)


def a_snapshot_of_another_owner(run: Planted) -> None:
    def take(view: view_pb2.TableView) -> None:
        view.fields[39].owner = 1 - max(view.fields[39].owner, 0)

    _keep(run, take)


def a_snapshot_of_no_commit(run: Planted) -> None:
    row = next(row for row in run.rows if row["row"] == "snapshots")
    row["version"] += 1000


def _keep(run: Planted, change: Callable[[view_pb2.TableView], None]) -> None:
    """Changes a snapshot of a game that has begun."""
    for row in run.rows:
        if row["row"] == "snapshots":
            view = view_pb2.TableView.FromString(base64.b64decode(row["body"]))
            if view.in_play:
                change(view)
                row["body"] = base64.b64encode(view.SerializeToString()).decode()
                return
    raise LookupError("no snapshot of a game that has begun")


# --- what these share


def _price(run: Planted) -> tuple[Row, int]:
    return run.find("paid", lambda row, event: event.reason == types_pb2.REASON_LOT)


def _after_a_purchase(run: Planted) -> tuple[Row, int, int]:
    """The commit after one in which a lot was bought, who has bought it, and which."""
    row, at = run.find(
        "lot_moved",
        lambda row, event: event.how == LOT.HOW_BOUGHT and row["version"] < run.head(row["table_id"])["version"] - 6,
    )
    bought = message(row).events[at].lot_moved
    return run.commits(row["table_id"])[row["version"]], bought.owner, bought.field


def _opens(row: Row) -> bool:
    return any(event.HasField("auction_opened") for event in message(row).events)


def _other(seat: int) -> int:
    return 1 - min(seat, 1)


def _offer(commit: Any, seat: int, field: int, *, cash: int, how: Any = events_pb2.OfferClosed.HOW_ACCEPTED) -> None:
    """One's lot for somebody's cash, and what became of it."""
    made = events_pb2.OfferMade(offer=1, proposer=seat, receiver=_other(seat))
    made.give.fields.append(field)
    made.take.cash = cash
    commit.events.add().offer_made.CopyFrom(made)
    commit.events.add().offer_closed.CopyFrom(events_pb2.OfferClosed(offer=1, how=how))


def _pay(commit: Any, payer: int, payee: int, amount: int) -> None:
    paid = events_pb2.Paid(payer=payer, payee=payee, amount=amount, reason=types_pb2.REASON_TRADE)
    commit.events.add().paid.CopyFrom(paid)


def _hand(commit: Any, field: int, owner: int) -> None:
    commit.events.add().lot_moved.CopyFrom(LOT(field=field, owner=owner, how=LOT.HOW_TRADED))


PLANTED: dict[Callable[[Planted], None], str] = {
    start_money_twice: "paid",
    money_from_nowhere: "money",
    a_price_paid_twice: "paid",
    a_price_not_paid: "paid",
    a_price_of_one_more: "paid",
    a_price_to_somebody_else: "paid",
    a_mortgage_for_nothing: "paid",
    a_loan_for_nothing: "paid",
    a_debt_paid_by_nobody: "paid",
    a_start_bonus_for_nothing: "paid",
    one_lot_for_two: "lot",
    bought_and_not_handed_over: "lot",
    bought_by_somebody_else: "actor",
    handed_over_without_an_offer: "lot",
    handed_over_after_a_refusal: "lot",
    another_lot_than_agreed_on: "lot",
    agreed_on_and_not_handed_over: "lot",
    a_trade_not_paid: "paid",
    a_trade_paid_twice: "paid",
    sold_twice: "auction",
    sold_and_not_paid: "paid",
    an_auction_paid_to_somebody_else: "paid",
    won_and_not_handed_over: "auction",
    a_lot_auctioned_that_is_owned: "lot",
    auctioned_for_somebody_else: "lot",
    two_auctions_at_once: "auction",
    a_snapshot_of_other_money: "kept",
    a_snapshot_of_another_owner: "kept",
    a_snapshot_of_no_commit: "kept",
}
