"""Games of four bots on the engine alone, by the processor time of this process: one run of B-ENGINE.

``python -m tests.load.bench.stretches STRETCHES`` plays the same games in each run, and writes one line of JSON on
standard output: of each stretch, ``{"cpu_s", "games", "turns", "actions"}``.
"""

from __future__ import annotations

import gc
import json
import sys
import time

from omnipoly.bots import simulation
from omnipoly.editions import loader
from omnipoly.rules.ring import Game

GAMES = 40
"""In one stretch."""


def stretches(count: int) -> list[dict[str, float]]:
    """Plays them, one after the other, all rules on; the first game is not counted."""
    game, series = Game(loader.edition("tubbypoly")), simulation.Series(players=4)
    simulation.play(game, series, 0)
    done: list[dict[str, float]] = []
    for number in range(count):
        gc.collect()
        gc.disable()
        began = time.process_time()
        played = [simulation.play(game, series, number * GAMES + i) for i in range(GAMES)]
        cpu_s = time.process_time() - began
        gc.enable()
        turns, actions = sum(one.turns for one in played), sum(one.actions for one in played)
        done.append({"cpu_s": cpu_s, "games": GAMES, "turns": turns, "actions": actions})
    return done


if __name__ == "__main__":
    sys.stdout.write(json.dumps(stretches(int(sys.argv[1]))) + "\n")
