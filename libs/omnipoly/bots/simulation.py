"""Many games of bots, one like the other except for chance, and what they amount to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import msgspec

from omnipoly.rules.ring import Game

from .strategy import Bot
from .table import Played, Table

if TYPE_CHECKING:
    from omnipoly.editions.model import Edition


class Series(msgspec.Struct, frozen=True):
    """Games that differ in nothing but their number: the same series and number give the same game, anywhere."""

    players: int
    seed: int | str = 0
    check: bool = False
    """Look at every invariant after each action, not only at the end of each game."""


def play(game: Game, series: Series, number: int) -> Played:
    """Play one game of a series. Raises what ``Table`` raises."""
    # characters go round, so that no seat always has the same
    bots = [Bot(number + seat) for seat in range(series.players)]
    return Table(game, bots, f"{series.seed}/{number}", check=series.check).play()


def games(edition: Edition, series: Series, numbers: Sequence[int]) -> Iterator[Played]:
    """Play those games of a series, one after another."""
    game = Game(edition)
    for number in numbers:
        yield play(game, series, number)


class Spread(msgspec.Struct, frozen=True):
    """How a figure is spread over games."""

    mean: float
    least: int
    p5: int
    median: int
    p95: int
    most: int

    @classmethod
    def of(cls, figures: Sequence[int]) -> Spread:
        """The spread of at least one figure; percentiles are figures that occurred (nearest rank)."""
        ranked = sorted(figures)
        n = len(ranked)

        def percentile(percent: int) -> int:
            return ranked[max(0, -(-n * percent // 100) - 1)]

        return cls(
            mean=sum(ranked) / n,
            least=ranked[0],
            p5=percentile(5),
            median=percentile(50),
            p95=percentile(95),
            most=ranked[-1],
        )


class Tally(msgspec.Struct, frozen=True):
    """What many games amount to."""

    games: int
    rounds: Spread
    turns: Spread
    actions: Spread
    auctions: Spread
    offers: Spread
    trades: Spread
    ends: dict[str, int]
    """How many games ended why."""
    wins: list[int]
    """By seat: how often first; who shares the first place counts for all of them."""
    wins_in_order: list[int]
    """The same by place in the order of the first turns: 0 had the first turn of the game."""
    landings: list[int]
    """By field, over all games; the last one: in jail."""
    refused: int
    """Actions that the rules refused: 0 unless a bot is wrong."""
    cut: int
    """Turns that took too many actions."""

    @classmethod
    def of(cls, played: Sequence[Played]) -> Tally:
        """Count at least one game, all with the same number of seats on the same ring."""
        seats = played[0].seats
        wins, in_order = [0] * seats, [0] * seats
        landings = [0] * len(played[0].landings)
        for one in played:
            for seat, place in enumerate(one.places):
                if place == 1:
                    wins[seat] += 1
                    in_order[one.order.index(seat)] += 1
            for at, times in enumerate(one.landings):
                landings[at] += times
        return cls(
            games=len(played),
            rounds=Spread.of([one.rounds for one in played]),
            turns=Spread.of([one.turns for one in played]),
            actions=Spread.of([one.actions for one in played]),
            auctions=Spread.of([one.auctions for one in played]),
            offers=Spread.of([one.offers for one in played]),
            trades=Spread.of([one.trades for one in played]),
            ends=dict(Counter(one.why for one in played).most_common()),
            wins=wins,
            wins_in_order=in_order,
            landings=landings,
            refused=sum(one.refused for one in played),
            cut=sum(one.cut for one in played),
        )
