"""Editions, sizes and games of bots for the tests of this folder."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from omnipoly.bots.strategy import Bot, Player
from omnipoly.bots.table import Table
from omnipoly.editions import loader
from omnipoly.rules.ring import Game

SIZES = [
    ("tubbypoly", 2),
    ("tubbypoly", 4),
    ("tubbypoly", 8),
    ("tubbypoly", 11),
    ("tubbypoly", 16),
    ("rugpull", 2),
    ("rugpull", 4),
    ("rugpull", 8),
    ("globopoly/classic", 2),
    ("globopoly/classic", 5),
    ("globopoly/quick", 2),
    ("globopoly/quick", 5),
    ("laspoly", 2),
    ("laspoly", 4),
    ("laspoly", 6),
]
"""Every edition and mode, with few, some and as many players as it takes, every ring among them."""
FOURS = [("tubbypoly", 4), ("rugpull", 4), ("globopoly/classic", 4), ("globopoly/quick", 4), ("laspoly", 4)]


@functools.cache
def game(edition: str) -> Game:
    return Game(loader.edition(edition))


def table(edition: str, players: int | Sequence[Player], seed: int | str, **options: Any) -> Table:
    """A table of that many bots of different character, or of those players."""
    if isinstance(players, int):
        players = [Bot(7 * seat) for seat in range(players)]
    return Table(game(edition), players, seed, **options)
