"""Trades of bots: sets come together, nothing is offered twice, nothing leads back (TUB-BOTS, known fault 54)."""

from __future__ import annotations

import itertools
from collections import defaultdict
from typing import NamedTuple

import pytest

from omnipoly.bots import trading
from omnipoly.bots.character import Character
from omnipoly.bots.outlook import outlook
from omnipoly.bots.strategy import Bot
from omnipoly.rules.actions import Accept, Action, EndTurn, Offer, Refuse, SetOptions, Side
from omnipoly.rules.events import Event, LotMoved, OfferMade
from omnipoly.rules.state import MOVED, State
from tests.bots.playing import FOURS, SIZES, table
from tests.rules import positions

CALM = Character.of(0)


class Deal(NamedTuple):
    """An offer as an exchange between a lower and a higher seat: the lots of both, and what the lower pays more."""

    round: int
    proposer: int
    seats: tuple[int, int]
    lots: tuple[tuple[int, ...], tuple[int, ...]]
    cash: int

    @property
    def exchange(self) -> tuple[object, ...]:
        return self.seats, self.lots, self.cash

    @property
    def undone(self) -> tuple[object, ...]:
        return self.seats, (self.lots[1], self.lots[0]), -self.cash


def _deal(s: State, made: OfferMade) -> Deal:
    lower = made.proposer < made.receiver
    first, second = (made.give, made.take) if lower else (made.take, made.give)
    seats = (min(made.proposer, made.receiver), max(made.proposer, made.receiver))
    lots = (tuple(sorted(first.fields)), tuple(sorted(second.fields)))
    return Deal(s.round, made.proposer, seats, lots, first.cash - second.cash)


class Stubborn(Bot):
    """Refuses every offer and makes none."""

    def decide(self, s: State, seat: int, now_ms: int = 0) -> Action | None:
        action = super().decide(s, seat, now_ms)
        if isinstance(action, Accept):
            return Refuse(action.offer)
        return EndTurn() if isinstance(action, Offer) else action


def _deals(edition: str, players: int | list[Bot], seed: int, round_limit: int = 0) -> list[Deal]:
    deals: list[Deal] = []

    def watch(now_ms: int, actor: str, action: Action | None, events: list[Event]) -> None:
        deals.extend(_deal(one.state, event) for event in events if isinstance(event, OfferMade))

    one = table(edition, players, seed, watch=watch, options=SetOptions(round_limit=round_limit))
    one.play()
    return deals


def _assert_never_again(deals: list[Deal]) -> None:
    """No offer is equal or inverse to one of the last rounds, whoever made that; none mirrors an open one."""
    for at, deal in enumerate(deals):
        for earlier in deals[:at]:
            if deal.round - earlier.round < trading.UNLIKE:
                assert deal.exchange != earlier.exchange, (earlier, deal)
                assert deal.exchange != earlier.undone, (earlier, deal)


@pytest.mark.parametrize(("edition", "players"), SIZES)
def test_no_offer_is_equal_or_inverse_to_one_of_the_last_rounds(edition: str, players: int) -> None:
    offers = 0
    for seed in range(8):
        deals = _deals(edition, players, seed)
        _assert_never_again(deals)
        offers += len(deals)
    assert offers


@pytest.mark.parametrize("edition", ["tubbypoly", "rugpull", "globopoly/classic", "laspoly"])
def test_nor_among_those_who_refuse_everything(edition: str) -> None:
    offers = 0
    for seed in range(3):
        deals = _deals(edition, [Bot(0), Stubborn(1), Bot(2), Stubborn(3)], seed, round_limit=150)
        _assert_never_again(deals)
        offers += len(deals)
    assert offers > 10


@pytest.mark.parametrize(("edition", "players"), FOURS)
def test_a_bot_offers_once_in_every_third_round(edition: str, players: int) -> None:
    for seed in range(6):
        rounds = defaultdict(list)
        for deal in _deals(edition, players, seed):
            rounds[deal.proposer].append(deal.round)
        for of_one in rounds.values():
            assert len(set(of_one)) == len(of_one)
            assert {(later - first) % trading.EVERY for first, later in itertools.pairwise(of_one)} <= {0}


@pytest.mark.parametrize(("edition", "players"), FOURS)
def test_every_trade_brings_lots_together(edition: str, players: int) -> None:
    trades = 0

    def squares(s: State) -> int:
        return sum(count**2 for count in s.held)

    class Measured(Bot):
        def decide(self, s: State, seat: int, now_ms: int = 0) -> Action | None:
            nonlocal before
            before = squares(s)
            return super().decide(s, seat, now_ms)

    def watch(now_ms: int, actor: str, action: Action | None, events: list[Event]) -> None:
        nonlocal trades
        if isinstance(action, Accept):
            trades += 1
            assert any(isinstance(event, LotMoved) for event in events)
            assert squares(one.state) > before

    before = 0
    for seed in range(6):
        one = table(edition, [Measured(seat) for seat in range(players)], seed, watch=watch)
        one.play()
    assert trades


# --- proposing --------------------------------------------------------------------------------------------------------


def _at_end_of_turn(**given: object) -> State:
    s = positions.table("ann", "bob", "cid", turn="ann", bots=("ann", "bob", "cid"), **given)
    s.phases = (MOVED,)
    return s


def _trade_round(s: State, seat: int, least: int = 3) -> int:
    return next(number for number in range(least, least + 3) if (number + seat) % trading.EVERY == 0)


def test_it_asks_for_the_lot_that_completes_a_set_and_pays_more_as_time_goes() -> None:
    s = _at_end_of_turn(owns={"ann": (16, 18), "bob": (19, 12), "cid": (39,)}, cash={"ann": 1400})
    sums = []
    for number in range(3, 40):
        s.round = number
        offer = trading.propose(s, 0, CALM, outlook(s.rules))
        assert (offer is not None) is (number % trading.EVERY == 0)
        if offer is not None:
            assert (offer.to, offer.take.fields, offer.give.fields) == (1, (19,), ())
            assert offer.give.cash > s.rules.price[19]
            sums.append(offer.give.cash)
    for at, earlier in enumerate(sums):
        assert earlier not in sums[at + 1 : at + trading.MARKS]
    assert sums[4] > sums[0]


def test_what_is_offered_leaves_the_mark_of_its_round() -> None:
    s = _at_end_of_turn(owns={"ann": (6, 8), "bob": (9,)})
    for number in range(1, 60):
        assert trading._marked(-137, number) % trading.STEP == 1 + number // 3 % trading.MARKS
        assert -137 <= trading._marked(-137, number) < -137 + trading.STEP
    s.round = _trade_round(s, 0)
    offer = trading.propose(s, 0, CALM, outlook(s.rules))
    assert offer is not None
    assert 1 <= (offer.give.cash - offer.take.cash) % trading.STEP <= trading.MARKS


def test_two_who_hold_each_others_lots_swap_them() -> None:
    s = _at_end_of_turn(owns={"ann": (6, 8, 19), "bob": (9, 16, 18)}, cash={"ann": 30, "bob": 900})
    s.round = _trade_round(s, 0)
    offer = trading.propose(s, 0, CALM, outlook(s.rules))
    assert offer is not None
    assert (offer.give.fields, offer.take.fields) == ((19,), (9,))


def test_who_lacks_cash_adds_lots_that_are_alone() -> None:
    s = _at_end_of_turn(owns={"ann": (6, 8, 11, 31), "bob": (9,)}, cash={"ann": 60, "bob": 300})
    s.round = _trade_round(s, 0)
    offer = trading.propose(s, 0, CALM, outlook(s.rules))
    assert offer is not None
    assert offer.take.fields == (9,)
    assert set(offer.give.fields) <= {11, 31}
    assert offer.give.fields


def test_nobody_is_asked_for_a_lot_of_their_own_set_nor_for_one_with_buildings() -> None:
    s = _at_end_of_turn(owns={"ann": (6,), "bob": (8, 9, 1, 3)}, buildings={1: 1, 3: 1})
    for number in range(1, 30):
        s.round = number
        offer = trading.propose(s, 0, CALM, outlook(s.rules))
        assert offer is None or not {1, 3} & set(offer.take.fields)
    s = _at_end_of_turn(owns={"ann": (16, 18, 19), "bob": (6,)})
    for number in range(1, 30):
        s.round = number
        assert trading.propose(s, 0, CALM, outlook(s.rules)) is None


def test_one_offer_in_a_trade_round() -> None:
    s = _at_end_of_turn(owns={"ann": (6, 8), "bob": (9,)})
    s.round = _trade_round(s, 0)
    s.offers_made[0] = 1
    assert trading.propose(s, 0, CALM, outlook(s.rules)) is None


# --- answering --------------------------------------------------------------------------------------------------------


def _offered(give: Side, take: Side, edition: str = "tubbypoly", **given: object) -> Action | None:
    """What bob, a bot, answers to an offer of ann's."""
    s = positions.table("ann", "bob", "cid", edition=edition, turn="ann", bots=("bob",), **given)
    s = positions.do(s, "ann", Offer(1, give, take))
    return Bot(0).decide(s, 1)


def test_it_accepts_what_is_worth_more_and_refuses_what_is_not() -> None:
    owns = {"ann": (6, 8), "bob": (9,)}
    answer = _offered(Side(900), Side(fields=(9,)), owns=owns)
    assert answer == Accept(1)
    answer = _offered(Side(130), Side(fields=(9,)), owns=owns)
    assert answer == Refuse(1)
    answer = _offered(Side(fields=(6, 8)), Side(250), owns=owns)
    assert answer == Accept(1)


def test_it_never_gives_a_lot_of_a_set_it_holds() -> None:
    answer = _offered(Side(1400), Side(fields=(9,)), owns={"bob": (6, 8, 9)})
    assert answer == Refuse(1)


def test_it_keeps_something_in_hand() -> None:
    answer = _offered(Side(fields=(8,)), Side(290), owns={"ann": (8,), "bob": (6, 9)}, cash={"bob": 300})
    assert answer == Refuse(1)


@pytest.mark.parametrize("to", [1, 2])
def test_an_offer_of_lots_that_have_changed_hands_since_is_refused(to: int) -> None:
    """It lies open (CORE-TRADE), also when they have become the bot's own."""
    s = positions.table("ann", "bob", "cid", turn="ann", bots=("bob",), owns={"ann": (6, 8), "bob": (9,)})
    s = positions.do(s, "ann", Offer(1, Side(fields=(6, 8)), Side(250))).copy()
    for at in (6, 8):
        LotMoved(at, to, "estate").apply(s)
    assert Bot(0).decide(s, 1) == Refuse(1)


def test_a_card_is_worth_the_bail() -> None:
    owns, held = {"bob": (9,)}, {"ann": ("jail_free_chest",)}
    answer = _offered(Side(cards=("jail_free_chest",)), Side(20), owns=owns, held_cards=held)
    assert answer == Accept(1)
    answer = _offered(Side(cards=("jail_free_chest",)), Side(60), owns=owns, held_cards=held)
    assert answer == Refuse(1)


def test_an_offer_that_can_be_accepted_on_ones_own_turn_only_waits_for_it() -> None:
    answer = _offered(Side(900), Side(fields=(9,)), edition="laspoly", owns={"ann": (6, 8), "bob": (9,)})
    assert answer is None
    answer = _offered(Side(10), Side(fields=(9,)), edition="laspoly", owns={"ann": (6, 8), "bob": (9,)})
    assert answer == Refuse(1)


def test_the_turn_is_held_open_for_an_answer_where_the_offer_would_lapse_with_it() -> None:
    s = positions.table("ann", "bob", edition="rugpull", turn="bob", bots=("bob",), owns={"bob": (6, 8), "ann": (9,)})
    s.phases, s.prompt[1], s.asked[1] = (MOVED,), 7, MOVED
    s.deadline_ms[1] = s.now_ms + 60_000
    s.round = _trade_round(s, 1)
    bot = Bot(0)
    offer = bot.decide(s, 1)
    assert isinstance(offer, Offer)
    s = positions.do(s, "bot:0", offer)
    assert bot.decide(s, 1, s.now_ms + 1000) is None
    assert bot.wakes_ms(s, 1) == s.now_ms + 30_000
    assert bot.decide(s, 1, bot.wakes_ms(s, 1)) == EndTurn()
    s.away[0] = 1
    assert bot.decide(s, 1, s.now_ms + 1000) == EndTurn()
