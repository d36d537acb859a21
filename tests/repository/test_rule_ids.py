"""Every rule is shown by a scenario or over the wire, and every known fault by a scenario or a test."""

from __future__ import annotations

import re
from pathlib import Path

from omnipoly.scenarios import coverage

ROOT = Path(__file__).parents[2]
RULES = ROOT / "docs/rules"
FAULTS = ROOT / "docs/known-faults.md"
SCENARIOS = ROOT / "tests/scenarios"

SERVICES = ROOT / "tests/services"

SERVICES_FAULTS = {
    44: "a restart of the server",
    47: "a client that is behind, and its stream",
    51: "what is in messages",
    53: "what a client claims about itself",
}
"""Rows of the known faults that only the wire, the clock or the store decides."""

LATE_TIMERS = {
    5: "a bid that comes after the hammer",
    6: "a timer of what is over",
}
"""Rows about time that have to do with what is under way; the others are the rules' alone."""

ON_THE_WIRE = {"concurrency", "presence", "protocol", "scale"}
"""Kinds of known faults that a test over real sockets shows, whatever the rules alone show."""


def test_every_rule_is_named_by_a_scenario_or_by_tests_of_the_services() -> None:
    assert coverage.unnamed(RULES, [SCENARIOS, SERVICES]) == []


def test_what_the_rules_decide_is_named_by_a_scenario() -> None:
    assert coverage.unnamed(RULES, [SCENARIOS]) == ["TUB-PRIVATE", "TUB-VIEWERS"]


def test_no_scenario_names_a_rule_that_is_not_there() -> None:
    assert coverage.unknown(RULES, [SCENARIOS, SERVICES]) == {}


def test_no_test_of_the_rules_names_a_rule_that_is_not_there() -> None:
    named = {
        rule
        for file in (ROOT / "tests/rules").rglob("*.py")
        for rule in re.findall(r"\b(?:CORE|TUB|RUG|GLO|LAS)(?:-[A-Z0-9]+)+", file.read_text("utf-8"))
    }
    assert named <= coverage.rule_ids(RULES).keys()


def test_every_known_fault_is_named_by_a_scenario_or_a_test_of_the_rules() -> None:
    rows = {int(number) for number in re.findall(r"^\| (\d+) \|", FAULTS.read_text("utf-8"), re.MULTILINE)}
    texts = [file.read_text("utf-8") for file in (SCENARIOS / "faults").glob("*.yaml")]
    texts += [file.read_text("utf-8") for file in (ROOT / "tests/rules").rglob("*.py")]
    named = {int(number) for text in texts for number in re.findall(r"[Ff]ault (\d+)", text)}
    assert rows - named == SERVICES_FAULTS.keys()


def test_every_known_fault_of_wire_clock_or_store_is_named_by_a_test_of_the_services() -> None:
    """What the rules keep is not enough where two things happen at once, or on the way."""
    rows = re.findall(r"^\| (\d+) \| (\w+) \|", FAULTS.read_text("utf-8"), re.MULTILINE)
    wanted = {int(number) for number, kind in rows if kind in ON_THE_WIRE}
    wanted |= SERVICES_FAULTS.keys() | LATE_TIMERS.keys()
    texts = [file.read_text("utf-8") for file in (ROOT / "tests/services").rglob("test_*.py")]
    named = {int(number) for text in texts for number in re.findall(r"\bRow (\d+)\b", text)}
    assert wanted <= named
