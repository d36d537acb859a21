"""`omnipoly.scenarios.coverage`: which rules no scenario names, on small folders and on the rule book."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from omnipoly.scenarios import coverage

RULES = Path(__file__).parents[2] / "docs/rules"


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    folder = tmp_path / "rules"
    folder.mkdir()
    (folder / "README.md").write_text(
        "CORE-TALK is spoken of.\n\n| id | rule |\n|---|---|\n| CORE-MOVE | See CORE-CARD. |\n| CORE-CARD | Draws. |\n"
    )
    (folder / "tubbypoly.md").write_text("| id | rule |\n|---|---|\n| TUB-RENT-PART | Part. |\n")
    return folder


@pytest.fixture
def scenarios(tmp_path: Path) -> Path:
    (tmp_path / "scenarios/more").mkdir(parents=True)
    return tmp_path / "scenarios"


def test_an_id_is_the_first_cell_of_a_row(rules: Path) -> None:
    assert coverage.rule_ids(rules) == {
        "CORE-MOVE": "README.md",
        "CORE-CARD": "README.md",
        "TUB-RENT-PART": "tubbypoly.md",
    }


def test_an_id_with_two_rows_is_an_error(rules: Path) -> None:
    (rules / "rugpull.md").write_text("| CORE-CARD | Again. |\n")
    with pytest.raises(ValueError, match=r"CORE-CARD stands in README\.md and again in rugpull\.md"):
        coverage.rule_ids(rules)


def test_a_folder_without_rules_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no rules in"):
        coverage.rule_ids(tmp_path)


def test_what_no_scenario_names_is_told_in_the_order_of_the_pages(rules: Path, scenarios: Path) -> None:
    assert coverage.unnamed(rules, [scenarios]) == ["CORE-MOVE", "CORE-CARD", "TUB-RENT-PART"]
    (scenarios / "a.yaml").write_text("scenario: a\nrules: [CORE-MOVE]\n---\nscenario: b\nrules: [TUB-RENT-PART]\n")
    assert coverage.unnamed(rules, [scenarios]) == ["CORE-CARD"]
    (scenarios / "more/c.yml").write_text("scenario: c\nrules: [CORE-CARD]\n")
    assert coverage.unnamed(rules, [scenarios]) == []


def test_an_id_that_stands_only_in_a_comment_or_a_title_is_not_named(rules: Path, scenarios: Path) -> None:
    (scenarios / "a.yaml").write_text("# CORE-MOVE\nscenario: CORE-CARD\nrules: [TUB-RENT-PART]\n")
    assert coverage.unnamed(rules, [scenarios]) == ["CORE-MOVE", "CORE-CARD"]


def test_tests_of_the_services_name_rules_in_their_first_docstring(rules: Path, tmp_path: Path) -> None:
    folder = tmp_path / "services"
    folder.mkdir()
    (folder / "test_doors.py").write_text('"""CORE-MOVE, at the door."""\n\nTEXT = "CORE-CARD"  # TUB-RENT-PART\n')
    (folder / "doors.py").write_text('"""CORE-CARD."""\n')
    assert coverage.unnamed(rules, [folder]) == ["CORE-CARD", "TUB-RENT-PART"]
    (folder / "test_broken.py").write_text("def\n")
    with pytest.raises(ValueError, match=r"test_broken\.py"):
        coverage.unnamed(rules, [folder])


def test_an_id_that_no_page_has_is_unknown(rules: Path, scenarios: Path) -> None:
    file = scenarios / "a.yaml"
    file.write_text("scenario: a\nrules: [CORE-MOVE, CORE-MOOV]\n")
    assert coverage.unknown(rules, [scenarios]) == {"CORE-MOOV": file}


@pytest.mark.parametrize("text", ["rules: CORE-MOVE\n", "rules: [1]\n", "rules: [CORE-MOVE\n"])
def test_a_file_that_cannot_be_read_is_named(rules: Path, scenarios: Path, text: str) -> None:
    (scenarios / "broken.yaml").write_text(text)
    with pytest.raises(ValueError, match=r"broken\.yaml"):
        coverage.unnamed(rules, [scenarios])


def test_the_rule_book_has_a_row_for_every_rule_that_its_pages_speak_of() -> None:
    spoken_of = {
        rule
        for page in RULES.glob("*.md")
        for rule in re.findall(r"\b(?:CORE|TUB|RUG|GLO|LAS)(?:-[A-Z0-9]+)+", page.read_text("utf-8"))
    }
    assert spoken_of == coverage.rule_ids(RULES).keys()
