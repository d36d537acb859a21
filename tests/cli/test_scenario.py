"""`omnipoly scenario`: exit codes, what is printed, and no stack traces."""

from __future__ import annotations

from pathlib import Path

import pytest

from omnipoly.cli import scenario
from tests.cli.calling import call

SHARED = Path(__file__).parents[1] / "scenarios/shared"
GOOD = "scenario: good\nedition: rugpull\nplayers: [ann, bob]\ngiven: {turn: ann}\nsteps:\n  - expect: {turn: ann}\n"
BAD = GOOD.replace("good", "bad [1]").replace("expect: {turn: ann}", "expect: {turn: bob, phase: moved}")


def run(*arguments: object) -> int:
    return call("scenario", *arguments)


def test_all_hold(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("run", SHARED) == 0
    assert capsys.readouterr().out.splitlines()[-1].endswith("hold")


def test_a_failing_scenario_is_a_line_and_its_differences(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "a.yaml"
    file.write_text(f"{GOOD}---\n{BAD}")
    assert run("run", file) == 1
    assert capsys.readouterr().out.splitlines() == [
        f"fails  {file}:8  bad [1]",
        "       step 1 (line 13): turn: expected bob, got ann",
        "       step 1 (line 13): phase: expected moved, got throw",
        "2 scenarios: 1 hold, 1 fail",
    ]
    assert run("run", "--verbose", file) == 1
    assert capsys.readouterr().out.startswith(f"holds  {file}:1  good\n")


def test_a_file_that_cannot_be_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "a.yaml"
    file.write_text(GOOD.replace("turn: ann}", "turn: dan}", 1))
    assert run("run", file, tmp_path / "absent.yaml") == 2
    assert capsys.readouterr().out.splitlines() == [
        f"error  {file}:4: given.turn: 'dan' is not one of ann, bob (meant 'ann'?)",
        f"error  {tmp_path / 'absent.yaml'}: no such file",
        "0 scenarios: 0 hold, 2 cannot be read or played",
    ]


def test_a_scenario_that_cannot_be_played_is_told_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "a.yaml"
    file.write_text(GOOD.replace("expect: {turn: ann}", "{by: ann, do: roll}"))
    assert run("run", "-v", file) == 2
    assert capsys.readouterr().out.splitlines() == [
        f"error  {file}:6: 'good': step 1 needs a throw of the turn owner that nothing scripts",
        "1 scenario: 0 hold, 1 cannot be read or played",
    ]


def test_no_wire_in_this_build(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(scenario, "present", lambda module: False)
    assert run("run", "--gateway", "localhost:1", SHARED) == 2
    assert capsys.readouterr().err == "omnipoly: this build cannot play scenarios over the wire\n"


def test_rules_that_no_scenario_names(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "rules").mkdir()
    (tmp_path / "rules/a.md").write_text("| RUG-A | a |\n| RUG-B | b |\n")
    folder = tmp_path / "scenarios"
    folder.mkdir()
    (folder / "a.yaml").write_text("scenario: a\nrules: [RUG-B]\n")
    options = ("rules", "--pages", tmp_path / "rules", "--scenarios", folder)
    assert run(*options) == 1
    assert capsys.readouterr().out == "RUG-A\n"
    (folder / "b.yaml").write_text("scenario: b\nrules: [RUG-A]\n")
    assert run(*options) == 0
    (folder / "b.yaml").write_text("scenario: b\nrules: [RUG-A, RUG-X]\n")
    assert run(*options) == 1
    assert "RUG-X is no rule" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["rules: [", "rules: 1"])
def test_rules_of_a_broken_file(tmp_path: Path, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.md").write_text("| RUG-A | a |\n")
    (tmp_path / "a.yaml").write_text(text)
    assert run("rules", "--pages", tmp_path, "--scenarios", tmp_path) == 2
    assert str(tmp_path / "a.yaml") in capsys.readouterr().err
    assert run("rules", "--pages", tmp_path / "absent") == 2
