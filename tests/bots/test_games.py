"""Whole games of bots: they end, conserve money, are never refused, and are the same for the same seed."""

from __future__ import annotations

import msgspec
import pytest

from omnipoly.bots.chance import Chance
from omnipoly.bots.random_bot import RandomBot
from omnipoly.bots.strategy import Bot
from omnipoly.bots.table import HOST, MOST_ACTIONS, Stuck
from omnipoly.rules import engine
from omnipoly.rules.actions import Action, AddBot, EndTurn, Offer, Roll, SetOptions, Side, Start
from omnipoly.rules.events import Event
from omnipoly.rules.state import State
from tests.bots.playing import FOURS, SIZES, game, table


@pytest.mark.parametrize(("edition", "players"), SIZES)
def test_games_of_bots_end_and_every_invariant_holds_after_each_action(edition: str, players: int) -> None:
    for seed in range(3):
        played = table(edition, players, seed, check=True).play()
        assert played.why in {"last_standing", "round_limit", "time_limit"}
        assert min(played.places) == 1
        assert sorted(played.order) == list(range(players))
        assert (played.refused, played.cut) == (0, 0)


@pytest.mark.parametrize(("edition", "players"), SIZES)
def test_a_few_dozen_games_end_with_money_conserved(edition: str, players: int) -> None:
    for seed in range(24):
        one = table(edition, players, f"many {seed}")
        played = one.play()
        s = one.state
        assert sum(s.cash) + s.casino == s.bank
        assert (played.refused, played.cut) == (0, 0)
        assert sum(played.landings) >= played.throws // 2
        if played.why == "last_standing":
            assert list(s.out).count(0) == 1


def test_big_tables_end_by_their_round_limit() -> None:
    assert table("tubbypoly", 8, 1).play().rounds == 12
    assert table("tubbypoly", 12, 1).play().rounds == 10
    assert table("tubbypoly", 16, 1).play().rounds == 8


def test_bots_trade_build_and_bid() -> None:
    seen: set[type[Action]] = set()
    for edition, players in FOURS:
        for seed in range(4):
            table(edition, players, seed, watch=lambda _, __, action, ___: seen.add(type(action))).play()
    names = {kind.__name__ for kind in seen if kind is not type(None)}
    assert names >= {
        *("Roll", "Buy", "Decline", "PayBail", "UseCard", "ChooseSteps", "Teleport", "Travel", "EndTurn"),
        *("Bid", "Pass", "Pay", "Raise", "GiveUp", "ClaimRent", "Build", "Mortgage", "LiftMortgage"),
        *("Offer", "Accept", "Refuse"),
    }


@pytest.mark.parametrize(("edition", "players"), FOURS)
def test_the_same_seed_gives_the_same_events_and_they_alone_give_the_state(edition: str, players: int) -> None:
    def played() -> tuple[State, list[tuple[int, str, Action | None, list[Event]]]]:
        log: list[tuple[int, str, Action | None, list[Event]]] = []
        one = table(edition, players, 5, watch=lambda *told: log.append(told))
        one.play()
        return one.state, log

    (state, log), (_, again) = played(), played()
    assert msgspec.msgpack.encode([events for *_, events in log]) == msgspec.msgpack.encode([e for *_, e in again])
    copy = engine.blank(game(edition).ring_for(players))
    for now_ms, actor, _, events in log:
        engine.enter(copy, now_ms, actor)
        for event in events:
            engine.apply(copy, event)
    assert copy == state


def test_the_same_seed_gives_the_same_game() -> None:
    assert table("tubbypoly", 4, 9).play() == table("tubbypoly", 4, 9).play()
    assert table("tubbypoly", 4, 9).play() != table("tubbypoly", 4, 10).play()


def test_chance_is_even_and_says_the_same_again() -> None:
    chance, again = Chance("x"), Chance("x")
    throws = [chance.throw(number, "walk") for number in range(36_000)]
    assert throws[:100] == [again.throw(number, "walk") for number in range(100)]
    assert len(set(throws)) == 36
    assert all(800 < throws.count(pair) < 1200 for pair in set(throws))
    assert {chance.pick("deck", number, 7) for number in range(500)} == set(range(7))
    assert {chance.speed(number) for number in range(500)} == {"1", "2", "3", "city", "choice"}


class Idler(Bot):
    """Offers one for one, for ever: a free action that changes nothing (known fault 54)."""

    def decide(self, s: State, seat: int, now_ms: int = 0) -> Action | None:
        action = super().decide(s, seat, now_ms)
        return Offer((seat + 1) % 2, Side(1), Side(1)) if isinstance(action, EndTurn) else action


class Rebel(Bot):
    """Asks for what is not allowed."""

    def decide(self, s: State, seat: int, now_ms: int = 0) -> Action | None:
        return Start() if s.prompt[seat] else None


class Sleeper(Bot):
    """Does nothing."""

    def decide(self, s: State, seat: int, now_ms: int = 0) -> Action | None:
        return None


def test_a_turn_with_too_many_free_actions_goes_on_by_the_clock() -> None:
    played = table("rugpull", [Idler(), Bot()], 3, options=SetOptions(round_limit=3)).play()
    assert played.cut > 0
    assert played.actions > played.cut * MOST_ACTIONS
    assert (played.why, played.rounds) == ("round_limit", 3)


@pytest.mark.parametrize("player", [Rebel, Sleeper])
def test_who_does_nothing_allowed_is_played_for_by_the_clock(player: type[Bot]) -> None:
    played = table("laspoly", [player(), Bot()], 3, options=SetOptions(round_limit=30), check=True).play()
    assert played.why in {"round_limit", "last_standing"}
    assert (played.refused > 0) is (player is Rebel)


def test_options_are_those_of_a_host() -> None:
    one = table("tubbypoly", 2, 0, options=SetOptions(start_cash=3000, round_limit=4))
    assert one.state.cash == [3000, 3000]
    assert one.play().rounds <= 4
    with pytest.raises(Stuck, match="bad_option"):
        table("tubbypoly", 2, 0, options=SetOptions(start_cash=17))
    with pytest.raises(KeyError):
        table("laspoly", 9, 0)


def test_random_bots_play_by_the_rules() -> None:
    for edition, players in FOURS:
        one = table(edition, [RandomBot(f"{edition} {seat}") for seat in range(players)], 1, check=True)
        played = one.play()
        assert played.refused == 0


def test_what_a_watcher_is_told_begins_with_the_table() -> None:
    told: list[tuple[str, type]] = []
    table("tubbypoly", 2, 0, watch=lambda _, actor, action, __: told.append((actor, type(action)))).play()
    assert told[:4] == [(HOST, AddBot), (HOST, AddBot), (HOST, Start), ("bot:0", Roll)]
