"""Choices that do not go together, and percentages by which the bank could be milked."""

from __future__ import annotations

from ..choices import Choices
from ..problems import Problems


def check_rules(rules: Choices, problems: Problems) -> None:
    """Check the choices of one mode by themselves."""
    _turn(rules, problems)
    _auction(rules, problems)
    _rent(rules, problems)
    _bank(rules, problems)
    _trade(rules, problems)
    _play(rules, problems)


def _turn(rules: Choices, problems: Problems) -> None:
    place, turn = "rules.turn", rules.turn
    if turn.start_bonus[0] == 0:
        problems.add(place, "start_bonus begins with 0", "write what the first lap pays first")
    if turn.start_bonus_exact == 0:
        problems.add(place, "start_bonus_exact is 0", "write an amount, or leave it out to pay the same as for passing")
    if turn.order_at_once_at_big_tables and turn.order != "thrown":
        problems.add(place, "order_at_once_at_big_tables without throws", 'write order = "thrown", or leave it out')


def _auction(rules: Choices, problems: Problems) -> None:
    place, auction = "rules.auction", rules.auction
    if auction.steps and list(auction.steps) != sorted(set(auction.steps)):
        problems.add(place, "steps do not rise", "write each allowed raise once, the smallest first")
    elif auction.steps and auction.steps[0] != auction.least_step:
        problems.add(place, "least_step is not the first of steps", f"write least_step = {auction.steps[0]}")
    if auction.kind == "none" and rules.debt.kind == "bank_liquidates":
        remedy = "choose an auction, or another debt.kind"
        problems.add(place, "without auctions the bank cannot auction lots off (debt.kind)", remedy)


def _rent(rules: Choices, problems: Problems) -> None:
    place, rent = "rules.rent", rules.rent
    if (rent.due == "at_once") != (rules.debt.kind == "bank_liquidates"):
        remedy = 'write due = "at_once" and debt.kind = "bank_liquidates" together, or neither'
        problems.add(place, "rent is taken at once only where the bank raises what is short, and there always", remedy)
    if rent.street == "of_price":
        if len(rent.of_price_factors) != 6:
            remedy = "write 6: bare, 1 to 4 houses, hotel"
            problems.add(place, f"of_price_factors has {len(rent.of_price_factors)} entries", remedy)
        if rent.of_price_percent == 0 and rent.of_price_least == 0:
            problems.add(
                place, "of_price_percent and of_price_least are 0", "write one of them, or no street has a rent"
            )
    for key, rents in (
        ("of_price_factors", rent.of_price_factors),
        ("transport", rent.transport),
        ("utility", rent.utility),
    ):
        if list(rents) != sorted(rents):
            problems.add(place, f"{key} falls", "write them in rising order")
    if 0 in rent.transport:
        problems.add(place, "transport holds 0", "write what each number in one hand takes")


def _bank(rules: Choices, problems: Problems) -> None:
    mortgage = rules.mortgage
    for place, key, percent in (
        ("rules.building", "sell_percent", rules.building.sell_percent),
        ("rules.mortgage", "loan_percent", mortgage.loan_percent),
        ("rules.mortgage", "sell_lot_percent", mortgage.sell_lot_percent),
        ("rules.play", "casino_double_percent", rules.play.casino_double_percent),
        ("rules.play", "casino_six_percent", rules.play.casino_six_percent),
    ):
        if percent > 100:
            problems.add(place, f"{key} is {percent}", "write 100 at most: more than there was cannot come back")
    if mortgage.loan_percent == 0:
        problems.add("rules.mortgage", "loan_percent is 0", "write what part of its price a mortgage lends")
    least = 100 if mortgage.lift_of == "loan" else mortgage.loan_percent
    if mortgage.lift_percent < least:
        remedy = f"write {least} at least, or lending makes money"
        problems.add("rules.mortgage", f"lift_percent is {mortgage.lift_percent}, less than was lent", remedy)
    if rules.jail.bail == 0:
        problems.add("rules.jail", "bail is 0", "write what it costs")


def _trade(rules: Choices, problems: Problems) -> None:
    place, trade = "rules.trade", rules.trade
    if trade.lapses == "by_clock" and trade.lives_s == 0:
        problems.add(place, "offers never lapse", "write lives_s, or let them lapse with a turn")
    if trade.accept == "own_turn" and trade.lapses == "with_turn" and rules.play.business != "any_time":
        remedy = 'write lapses = "with_receivers_turn", or accept = "any_time"'
        problems.add(place, "an offer lapses before its receiver may accept it", remedy)


def _play(rules: Choices, problems: Problems) -> None:
    place, play = "rules.play", rules.play
    limits = play.big_table_round_limits
    seats = [least for least, _ in limits]
    if seats != sorted(set(seats)):
        problems.add(place, "big_table_round_limits do not rise", "write [seats from, rounds], the fewest seats first")
    elif seats and seats[0] < play.big_table_from:
        remedy = f"write {play.big_table_from} seats or more, or a lower big_table_from"
        problems.add(place, f"big_table_round_limits begin with {seats[0]} seats, which is no big table", remedy)
    if any(rounds > play.last_round for _, rounds in limits):
        problems.add(place, "a round limit lies beyond last_round", f"write {play.last_round} rounds at most")
