"""Whole games are played as they were when somebody last looked at them, event by event."""

from __future__ import annotations

import difflib
import itertools

import pytest

from tests.golden import games
from tests.golden.games import Playthrough

SHIPPED = list(games.shipped())


def test_every_edition_mode_and_ring_has_its_playthrough() -> None:
    kept = {path.name for path in games.FOLDER.glob("*.txt")}
    assert kept == {game.path.name for game in SHIPPED}, "make golden"


@pytest.mark.parametrize("game", SHIPPED, ids=lambda game: game.path.stem)
def test_a_game_is_played_as_it_was(game: Playthrough) -> None:
    kept, played = game.path.read_text("utf-8").splitlines(), games.text(game).splitlines()
    differing = difflib.unified_diff(kept, played, "kept", "played", lineterm="", n=3)
    first = "\n".join(itertools.islice(differing, 40)) if kept != played else ""
    assert not first, f"{first}\nIf this is meant: make golden, and read what has changed."


@pytest.mark.parametrize("game", SHIPPED, ids=lambda game: game.path.stem)
def test_a_game_is_whole(game: Playthrough) -> None:
    lines = games.text(game).splitlines()
    assert [line for line in lines if line.startswith("  game_ended ")] == [lines[-2]]
    assert "turn_started" in "\n".join(lines)
