"""`omnipoly simulate`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from omnipoly.bots import simulation, table
from omnipoly.rules.invariants import Broken
from tests.cli.calling import call


def test_it_says_how_games_went(capsys: pytest.CaptureFixture[str]) -> None:
    assert call("simulate", "--games", 5, "--edition", "globopoly/quick", "--players", 3, "--jobs", 1) == 0
    said = capsys.readouterr().out
    assert "Globopoly Quick, 3 bots, 5 games" in said
    for word in ("rounds", "turns", "actions", "trades", "last standing", "won by seat", "games,", "landings"):
        assert word in said
    assert "refused" not in said


def test_processes_change_nothing_but_the_time(tmp_path: Path) -> None:
    figures = []
    for jobs in (1, 2):
        file = tmp_path / f"{jobs}.json"
        assert call("simulate", "--games", 30, "--jobs", jobs, "--seed", "x", "--json", file) == 0
        figures.append(json.loads(file.read_bytes()))
    one, two = figures
    assert one["tally"] == two["tally"]
    assert one["tally"]["games"] == 30
    assert one["series"] == {"players": 4, "seed": "x", "check": False}
    assert set(one["speed"]) == {"games", "turns", "actions"}


def test_every_invariant_can_be_looked_at() -> None:
    assert call("simulate", "--games", 1, "--jobs", 1, "--check") == 0


def test_games_have_numbers(tmp_path: Path) -> None:
    file = tmp_path / "o.json"
    tallies = []
    for first, games in ((0, 3), (2, 1)):
        assert call("simulate", "--games", games, "--first", first, "--jobs", 1, "--json", file) == 0
        tallies.append(json.loads(file.read_bytes())["tally"])
    assert tallies[1]["turns"]["most"] in [tallies[0]["turns"][key] for key in ("least", "median", "most")]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--edition", "nonsuch"), "nonsuch: there is no such edition"),
        (("--edition", "no/such.toml"), "no/such.toml"),
        (("--edition", "laspoly", "--players", 7), "Las Poly is for 2 to 6 players"),
        (("--json", "no/such/folder/o.json", "--games", 1), "no/such/folder/o.json"),
    ],
)
def test_what_the_caller_can_mend_is_said(
    arguments: tuple[object, ...], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert call("simulate", *arguments) == 2
    assert says in capsys.readouterr().err


@pytest.mark.parametrize("wrong", [Broken("money: 1 is not 2"), table.Stuck("nothing falls due")])
def test_a_game_that_goes_wrong_can_be_seen_again(
    wrong: Exception, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    play = simulation.play

    def broken(game: object, series: simulation.Series, number: int) -> object:
        if number == 8:
            raise wrong
        return play(game, series, number)  # type: ignore[arg-type]

    monkeypatch.setattr(simulation, "play", broken)
    assert call("simulate", "--games", 10, "--jobs", 1, "--seed", "s") == 1
    said = capsys.readouterr().err
    assert str(wrong) in said
    assert "omnipoly simulate --edition tubbypoly --players 4 --seed s --first 8 --games 1 --check" in said


def test_an_edition_of_ones_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    own = Path(__file__).parents[1] / "editions/classic.toml"
    assert call("simulate", "--games", 2, "--edition", own, "--jobs", 1) == 0
    assert "The classic ring" in capsys.readouterr().out
