"""B-ENGINE: whole games of four bots on the engine alone, in this process, by its processor time."""

from __future__ import annotations

import gc
import statistics
import time

from omnipoly.bots import simulation
from omnipoly.editions import loader
from omnipoly.rules.ring import Game

from .processes import Platform
from .rows import Asked, Row

GAMES = 40
"""In one stretch."""
TURNS, GAMES_PER_S = 30_000, 164
"""GNOME and monopyly together; gamescomputersplay/monopoly: one processor, four players (docs/benchmarks.md)."""


async def engine(running: Platform, asked: Asked) -> list[Row]:
    """B-ENGINE; stretches of games, medians."""
    asked.tell("B-ENGINE")
    game = Game(loader.edition("tubbypoly"))
    simulation.play(game, simulation.Series(players=4), 0)
    games, turns, actions, lengths = [], [], [], []
    number = 0
    for _ in range(asked.pairs):
        gc.collect()
        gc.disable()
        began = time.process_time()
        played = [simulation.play(game, simulation.Series(players=4), number + i) for i in range(GAMES)]
        cpu = time.process_time() - began
        gc.enable()
        number += GAMES
        games.append(GAMES / cpu)
        turns.append(sum(one.turns for one in played) / cpu)
        actions.append(sum(one.actions for one in played) / cpu)
        lengths.append(sum(one.turns for one in played) / GAMES)
    per_turn, per_game = statistics.median(turns), statistics.median(games)
    mean = statistics.mean(lengths)
    return [
        Row(
            "B-ENGINE",
            "turns per CPU second",
            f"{per_turn:.0f} ({statistics.median(actions):.0f} actions)",
            f"{TURNS}: GNOME and monopyly",
            per_turn / TURNS,
            "> 1",
            per_turn > TURNS,
            {"mean_turns": mean},
        ),
        Row(
            "B-ENGINE",
            "games per CPU second",
            f"{per_game:.0f}, {mean:.0f} turns each",
            f"{GAMES_PER_S}: gamescomputersplay",
            per_game / GAMES_PER_S,
            "> 1",
            per_game > GAMES_PER_S,
            {},
        ),
    ]
