"""B-ENGINE: whole games of four bots on the engine alone, in processes of their own, by their processor time."""

from __future__ import annotations

import asyncio
import json
import statistics
import sys
from typing import NamedTuple

from . import profiling
from .processes import Platform
from .rows import Asked, Row

STRETCHES = 3
"""In one run."""
TURNS, GAMES_PER_S = 30_000, 164
"""GNOME and monopyly together; gamescomputersplay/monopoly: one processor, four players (docs/benchmarks.md)."""


class _Run(NamedTuple):
    """Medians of a run's stretches, by CPU second."""

    games: float
    turns: float
    actions: float
    length: float
    """Turns of a game."""


async def engine(running: Platform, asked: Asked) -> list[Row]:
    """B-ENGINE: as many runs of the same games as there are pairs elsewhere, medians."""
    asked.tell("B-ENGINE")
    runs = [await _run() for _ in range(asked.pairs)]
    per_turn, per_game = statistics.median(run.turns for run in runs), statistics.median(run.games for run in runs)
    actions, length = statistics.median(run.actions for run in runs), runs[0].length
    return [
        Row(
            "B-ENGINE",
            "turns per CPU second",
            f"{per_turn:.0f} ({actions:.0f} actions)",
            f"{TURNS}: GNOME and monopyly",
            per_turn / TURNS,
            "> 1",
            per_turn > TURNS,
            {"mean_turns": length, "runs": [run.turns for run in runs]},
        ),
        Row(
            "B-ENGINE",
            "games per CPU second",
            f"{per_game:.0f}, {length:.0f} turns each",
            f"{GAMES_PER_S}: gamescomputersplay",
            per_game / GAMES_PER_S,
            "> 1",
            per_game > GAMES_PER_S,
            {"mean_turns": length, "runs": [run.games for run in runs]},
        ),
        await profiling.row("B-ENGINE", "where a game's time goes", profiling.of_engine()),
    ]


async def _run() -> _Run:
    child = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", profiling.ENGINE, str(STRETCHES)), stdout=asyncio.subprocess.PIPE
    )
    said, _ = await child.communicate()
    if child.returncode:
        raise RuntimeError(f"{profiling.ENGINE} ended with {child.returncode}")
    done = json.loads(said)
    games, turns, actions = (
        statistics.median(one[what] / one["cpu_s"] for one in done) for what in ("games", "turns", "actions")
    )
    return _Run(games, turns, actions, sum(one["turns"] for one in done) / sum(one["games"] for one in done))
