"""Series of games and what they amount to."""

from __future__ import annotations

import pytest

from omnipoly.bots import simulation
from omnipoly.bots.simulation import Series, Spread, Tally
from omnipoly.editions import loader
from tests.bots.playing import game


def test_a_game_of_a_series_is_the_same_wherever_it_is_played() -> None:
    series = Series(players=3, seed="s")
    some = list(simulation.games(loader.edition("rugpull"), series, range(4)))
    assert [one.seed for one in some] == ["s/0", "s/1", "s/2", "s/3"]
    assert simulation.play(game("rugpull"), series, 2) == some[2]
    assert some[0] != some[1]


def test_ten_thousand_seeds_would_finish() -> None:
    """Every game ends within its last round, so all do; a sample of the seeds says how soon."""
    played = list(simulation.games(loader.edition("tubbypoly"), Series(players=4), range(60)))
    tally = Tally.of(played)
    assert tally.refused == tally.cut == 0
    assert tally.rounds.most < 1000
    assert set(tally.ends) <= {"last_standing", "round_limit"}


def test_a_tally_counts() -> None:
    played = list(simulation.games(loader.edition("laspoly"), Series(players=4, check=True), range(6)))
    tally = Tally.of(played)
    assert tally.games == 6
    assert sum(tally.wins) == sum(tally.wins_in_order) == 6
    assert sum(tally.ends.values()) == 6
    assert tally.turns.least <= tally.turns.p5 <= tally.turns.median <= tally.turns.p95 <= tally.turns.most
    assert tally.landings == [sum(one.landings[at] for one in played) for at in range(41)]
    first = played[0]
    winner = first.places.index(1)
    assert first.order.index(winner) in [at for at, wins in enumerate(tally.wins_in_order) if wins]


@pytest.mark.parametrize(
    ("figures", "p5", "median", "p95"), [([7], 7, 7, 7), ([1, 2], 1, 1, 2), (list(range(1, 101)), 5, 50, 95)]
)
def test_percentiles_are_figures_that_occurred(figures: list[int], p5: int, median: int, p95: int) -> None:
    spread = Spread.of(figures[::-1])
    assert (spread.p5, spread.median, spread.p95) == (p5, median, p95)
    assert (spread.least, spread.most) == (figures[0], figures[-1])
    assert spread.mean == sum(figures) / len(figures)
