"""A bot beats one that acts at random, in every edition."""

from __future__ import annotations

import pytest

from omnipoly.bots.random_bot import RandomBot
from omnipoly.bots.strategy import Bot
from tests.bots.playing import FOURS, table

GAMES = 24


@pytest.mark.parametrize(("edition", "players"), [*FOURS, ("tubbypoly", 2), ("laspoly", 2)])
def test_a_bot_wins_nearly_every_game_against_random_ones(edition: str, players: int) -> None:
    """Measured over 200 games of each: all of them. Here 3 of 24 may be lost."""
    won = 0
    for number in range(GAMES):
        own = number % players
        seats = [Bot(number) if seat == own else RandomBot(f"{number}.{seat}") for seat in range(players)]
        won += table(edition, seats, f"strength {number}").play().places[own] == 1
    assert won >= GAMES - 3


@pytest.mark.parametrize("players", [8, 12, 16])
def test_at_big_tables_bots_come_before_random_ones(players: int) -> None:
    """Few rounds leave much to chance. Measured: of all pairs of a bot and a random one, the bot leads 4 of 5."""
    ahead = pairs = 0.0
    for number in range(12):
        bots = [seat for seat in range(players) if (seat + number) % 2]
        seats = [Bot(number + seat) if seat in bots else RandomBot(f"{number}.{seat}") for seat in range(players)]
        places = table("tubbypoly", seats, f"strength {number}").play().places
        for own in bots:
            for other in set(range(players)) - set(bots):
                pairs += 1
                ahead += (places[own] < places[other]) + 0.5 * (places[own] == places[other])
    assert ahead / pairs > 0.7
