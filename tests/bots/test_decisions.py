"""Single decisions of the bot: what it buys, bids, builds, lifts, claims, and where it goes."""

from __future__ import annotations

import pytest

from omnipoly.bots import bidding, moving, valuation
from omnipoly.bots.character import Character
from omnipoly.bots.outlook import Outlook, outlook
from omnipoly.bots.strategy import Bot
from omnipoly.rules import actions as act
from omnipoly.rules.actions import Action
from omnipoly.rules.events import AuctionOpened, RentClaimable
from omnipoly.rules.state import MOVED, NOBODY, Choice, Phase, State
from omnipoly.scenarios.script import Script
from tests.bots.playing import SIZES, game
from tests.rules import positions
from tests.rules.positions import engine

BOTS = ("ann", "bob", "cid")


def _table(*players: str, edition: str = "tubbypoly", **given: object) -> State:
    """A table of bots on which ann is about to throw."""
    names = players or BOTS
    return positions.table(*names, edition=edition, bots=names, turn="ann", **given)


def _ends_turn(**given: object) -> State:
    """The same, with ann's throw played out."""
    edition = str(given.pop("edition", "tubbypoly"))
    s = _table(edition=edition, **given)
    s.phases = (MOVED,)
    return s


def _decide(s: State, seat: int = 0, number: int = 0) -> Action | None:
    return Bot(number).decide(s, seat)


# --- landing ----------------------------------------------------------------------------------------------------------


def _landed(field: int, **given: object) -> State:
    s = _table(at={"ann": field - 3}, **given)
    return positions.do(s, "bot:0", act.Roll(), (1, 2))


def test_it_buys_what_it_can_pay() -> None:
    assert _decide(_landed(6)) == act.Buy()
    assert _decide(_landed(39, cash={"ann": 399})) == act.Decline()
    # the last money is spent only while nobody builds
    assert _decide(_landed(39, cash={"ann": 405})) == act.Buy()
    built: dict[str, object] = {"owns": {"bob": (1, 3)}, "buildings": {1: 1, 3: 1}}
    assert _decide(_landed(39, cash={"ann": 405}, **built)) == act.Decline()
    built["owns"] = {"bob": (1, 3), "ann": (37,)}
    assert _decide(_landed(39, cash={"ann": 405}, **built)) == act.Buy()


def test_where_zero_is_out_it_does_not_spend_the_last() -> None:
    assert _decide(_landed(6, edition="laspoly", cash={"ann": 100})) == act.Decline()


# --- auctions ---------------------------------------------------------------------------------------------------------


def _auction(field: int, edition: str = "tubbypoly", **given: object) -> State:
    s = _table(edition=edition, **given)
    s.position[0] = field
    draft = engine.Draft(s, Script())
    bidder = 1 if edition.startswith("globopoly") else NOBODY
    draft.emit(AuctionOpened(1, field, NOBODY, bidder, 0 if bidder == NOBODY else 1, s.now_ms + 15_000))
    engine.settle(draft)
    return s


@pytest.mark.parametrize("number", range(45))
def test_nobody_bids_above_what_the_lot_is_worth_or_what_is_in_hand(number: int) -> None:
    for field in (1, 5, 12, 19, 39):
        s = _auction(field, owns={"bob": (16, 18), "cid": (37,)}, cash={"cid": 170})
        for seat in range(3):
            bid = _decide(s, seat, number)
            if isinstance(bid, act.Bid):
                assert bid.amount <= valuation.lot_worth(s, seat, field)
                assert bid.amount <= s.cash[seat]
                assert engine.verify(s, s.holder[seat], bid, s.now_ms) is None
            else:
                assert isinstance(bid, act.Pass)


def test_the_one_whose_set_it_completes_gets_it() -> None:
    s = _auction(19, owns={"bob": (16, 18)}, cash={"ann": 900, "bob": 900, "cid": 900})
    bids = 0
    while s.phases[-1] is Phase.AUCTION:
        seat = next(seat for seat in (2, 0, 1) if s.prompt[seat])
        action = _decide(s, seat)
        assert action is not None
        s = positions.do(s, s.holder[seat], action)
        bids += 1
    assert s.owner[19] == 1
    assert bids <= 6


def test_steps_and_the_first_bid_are_those_of_the_edition() -> None:
    s = _auction(19, edition="rugpull")
    assert _decide(s, 1) == act.Bid(1, 10)
    s = positions.do(s, "bot:1", act.Bid(1, 10))
    bid = _decide(s, 2)
    assert isinstance(bid, act.Bid)
    assert bid.amount in (20, 60, 110)
    s = _auction(19, edition="globopoly/classic", cash={"bob": 150})
    assert _decide(s, 1) == act.Pass(1)


def test_who_cannot_follow_passes() -> None:
    s = _auction(5, cash={"ann": 12})
    assert _decide(s, 0) == act.Pass(1)
    assert bidding.limit(s, 0, Character.of(0)) < 10


# --- building ---------------------------------------------------------------------------------------------------------


def test_it_builds_evenly_and_keeps_a_reserve() -> None:
    s = _ends_turn(owns={"ann": (16, 18, 19)}, cash={"ann": 1000})
    built = []
    while isinstance(action := _decide(s), act.Build):
        s = positions.do(s, "bot:0", action)
        built.append(action.field)
        levels = [s.level[at] for at in (16, 18, 19)]
        assert max(levels) - min(levels) <= 1
    assert len(built) == 9
    assert s.cash[0] >= Character.of(0).reserve


def test_a_full_set_is_not_built_on_again() -> None:
    s = _ends_turn(owns={"ann": (1, 3)}, buildings={1: 5, 3: 5}, cash={"ann": 3000})
    assert _decide(s) == act.EndTurn()


def test_a_mortgage_of_the_set_is_lifted_first() -> None:
    s = _ends_turn(owns={"ann": (16, 18, 19)}, mortgaged=(18,), cash={"ann": 800})
    assert _decide(s) == act.LiftMortgage(18)


def test_who_is_rich_lifts_other_mortgages_too() -> None:
    assert _decide(_ends_turn(owns={"ann": (12, 39)}, mortgaged=(12, 39), cash={"ann": 1500})) == act.LiftMortgage(12)
    assert _decide(_ends_turn(owns={"ann": (12,)}, mortgaged=(12,), cash={"ann": 110})) == act.EndTurn()


def test_a_lone_lot_is_pawned_for_the_first_houses() -> None:
    s = _ends_turn(owns={"ann": (16, 18, 19, 39, 12)}, cash={"ann": 60})
    assert _decide(s) == act.Mortgage(12)
    s = _ends_turn(owns={"ann": (16, 18, 19, 39)}, buildings={16: 3, 18: 3, 19: 3}, cash={"ann": 60})
    assert _decide(s) == act.EndTurn()


def test_two_of_a_set_are_built_on_where_that_is_enough() -> None:
    s = _ends_turn(edition="globopoly/quick", owns={"ann": (16, 18)}, cash={"ann": 1000})
    assert isinstance(_decide(s), act.Build)
    s = _ends_turn(edition="globopoly/classic", owns={"ann": (16, 18)}, cash={"ann": 1000})
    assert _decide(s) == act.EndTurn()


def test_a_factory_where_rents_are_low_houses_where_they_are_high() -> None:
    s = _table(edition="laspoly", owns={"ann": (1, 3)}, buildings={3: 1}, cash={"ann": 1000})
    assert _decide(s) == act.Build(1, "factory")
    s = _table(edition="laspoly", owns={"ann": (16, 18, 19)}, cash={"ann": 1000})
    build = _decide(s)
    assert isinstance(build, act.Build)
    assert build.what == "building"
    # between the throws of a double there is no building for it, nor after the throw
    assert _decide(_table(edition="laspoly", owns={"ann": (1, 3)}, cash={"ann": 1000}, doubles=1)) == act.Roll()


# --- jail -------------------------------------------------------------------------------------------------------------


def test_it_leaves_jail_early_and_stays_later() -> None:
    assert _decide(_table(jailed={"ann": 0})) == act.PayBail()
    assert _decide(_table(jailed={"ann": 0}, held_cards={"ann": ("jail_free_chest",)})) == act.UseCard()
    assert _decide(_table(jailed={"ann": 0}, cash={"ann": 55})) == act.Roll()
    lots = outlook(game("tubbypoly").first).rules.lots
    late = {"owns": {"bob": lots[:25]}, "buildings": {1: 2, 3: 2}}
    assert _decide(_table(jailed={"ann": 0}, **late)) == act.Roll()
    assert _decide(_table(jailed={"ann": 0}, held_cards={"ann": ("jail_free_chest",)}, **late)) == act.Roll()


# --- choices ----------------------------------------------------------------------------------------------------------


def _choice(choice: Choice, edition: str, **given: object) -> State:
    s = _table(edition=edition, **given)
    s.choice = choice
    s.phases = (Phase.PLAYING_OUT, Phase.CHOICE)
    return s


def test_it_walks_where_it_costs_least_or_gains_most() -> None:
    s = _choice(Choice.STEPS, "globopoly/quick", at={"ann": 0}, owns={"bob": (6, 8, 9)}, buildings={6: 5, 9: 5})
    s.dice = (3, 3)
    assert _decide(s) == act.ChooseSteps(3)
    s.dice = (6, 5)
    assert _decide(s) == act.ChooseSteps(5)


def test_it_goes_to_the_lot_that_completes_its_set() -> None:
    s = _choice(Choice.TELEPORT, "globopoly/quick", at={"ann": 20}, owns={"ann": (37,)})
    assert _decide(s) == act.Teleport(39)


def test_it_rides_away_from_dear_fields_only() -> None:
    lots = game("laspoly").first.lots
    s = _choice(Choice.TRAVEL, "laspoly", at={"ann": 5}, owns={"bob": lots})
    assert _decide(s) == act.Decline()
    built = dict.fromkeys((11, 13, 14, 16, 18, 19), 5)
    s = _choice(Choice.TRAVEL, "laspoly", at={"ann": 5}, owns={"bob": lots}, buildings=built)
    ride = _decide(s)
    assert isinstance(ride, act.Travel)
    assert moving.ahead(s, 0, ride.field) > moving.ahead(s, 0, 5)
    # who cannot pay the fare stays
    s = _choice(Choice.TRAVEL, "laspoly", at={"ann": 5}, owns={"bob": lots}, buildings=built, cash={"ann": 60})
    assert _decide(s) == act.Decline()


# --- claims -----------------------------------------------------------------------------------------------------------


def test_rents_are_claimed_at_once_and_a_throw_waits_for_those_of_others() -> None:
    s = _table("ann", "bob", edition="globopoly/classic", owns={"bob": (6,)})
    engine.Draft(s, Script()).emit(RentClaimable(1, 0, 6, 6, s.now_ms + 2000))
    assert Bot(0).decide(s, 1) == act.ClaimRent()
    assert Bot(0).decide(s, 0) is None
    assert Bot(0).wakes_ms(s, 0) == s.now_ms + 2000
    assert Bot(0).decide(s, 0, s.now_ms + 2000) == act.Roll()
    assert Bot(0).wakes_ms(s, 1) == 0


def test_it_does_nothing_while_the_table_stands_still_or_nobody_asks() -> None:
    s = _table()
    assert _decide(s, 1) is None
    s.paused_ms = s.now_ms
    assert _decide(s, 0) is None


def test_before_the_order_stands_it_throws() -> None:
    s = positions.table(*BOTS, bots=BOTS)
    assert [_decide(s, seat) for seat in range(3)] == [act.Roll()] * 3


# --- what all decisions rest on ---------------------------------------------------------------------------------------


def test_there_are_45_characters() -> None:
    assert len({Character.of(number) for number in range(45)}) == 45
    assert Character.of(1045) == Character.of(1045 + 45)
    assert all(Character.of(number).ardour <= 100 for number in range(45))


@pytest.mark.parametrize(("edition", "players"), SIZES)
def test_more_of_a_set_is_never_worth_less(edition: str, players: int) -> None:
    look = Outlook(game(edition).ring_for(players))
    assert sum(look.often) == pytest.approx(1)
    for sets in look.extra:
        for row in sets:
            assert row[0] == 0
            assert list(row) == sorted(row)


def test_nothing_is_worth_more_than_its_price_when_no_round_is_left() -> None:
    s = _table(owns={"ann": (37,)}, round=1000)
    assert valuation.lot_worth(s, 0, 39) == 400
    s.round = 1
    assert valuation.lot_worth(s, 0, 39) > 400
