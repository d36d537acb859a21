"""Which rules of the rule book no scenario names, and no module of tests.

A rule has an id (`CORE-MOVE`, `TUB-AUCTION`) and a row of its own in a page under docs/rules/; a scenario says under
`rules:` which of them it shows. What only the services decide (a PIN, who may watch) no scenario can show: the module
of tests that does names it in its docstring. Only text is read here: a scenario that the engine would refuse still
counts, running it is another's work.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import yaml

# The first cell of a row: `| CORE-MOVE | …`.
_ROW = re.compile(r"^\| *([A-Z]+(?:-[A-Z0-9]+)+) *\|", re.MULTILINE)
# Named in a docstring.
_NAMED = re.compile(r"\b(?:CORE|TUB|RUG|GLO|LAS)(?:-[A-Z0-9]+)+\b")
# The parser written in C reads a folder of scenarios ten times as fast; PyYAML has it wherever it has wheels.
_LOADER: type = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def rule_ids(folder: Path) -> dict[str, str]:
    """Every rule id of the pages (`*.md`) of a folder, with the file name of its page; in the order of the pages.

    Raises ValueError for an id that has two rows, and for a folder that has none.
    """
    pages: dict[str, str] = {}
    for page in sorted(folder.glob("*.md")):
        for rule in _ROW.findall(page.read_text("utf-8")):
            if rule in pages:
                raise ValueError(f"rule {rule} stands in {pages[rule]} and again in {page.name}")
            pages[rule] = page.name
    if not pages:
        raise ValueError(f"no rules in {folder}")
    return pages


def named(scenario_folders: Iterable[Path]) -> dict[str, Path]:
    """Every rule id that a scenario or a module of tests below one of the folders names, with the first that does.

    Raises ValueError, with the file, for one that is not YAML or Python, or whose `rules` are not a list of ids.
    """
    files: dict[str, Path] = {}
    for folder in scenario_folders:
        for file in sorted([*folder.rglob("*.yaml"), *folder.rglob("*.yml"), *folder.rglob("test_*.py")]):
            for rule in _rules_of_tests(file) if file.suffix == ".py" else _rules_of(file):
                files.setdefault(rule, file)
    return files


def unnamed(rules_folder: Path, scenario_folders: Iterable[Path]) -> list[str]:
    """The ids of the rules that no scenario names, in the order of the pages. Raises as `rule_ids` and `named` do."""
    there = named(scenario_folders)
    return [rule for rule in rule_ids(rules_folder) if rule not in there]


def unknown(rules_folder: Path, scenario_folders: Iterable[Path]) -> dict[str, Path]:
    """What scenarios name though no page has it, with the first file that does. Raises as `rule_ids` and `named` do."""
    pages = rule_ids(rules_folder)
    return {rule: file for rule, file in named(scenario_folders).items() if rule not in pages}


def _rules_of(file: Path) -> Iterator[str]:
    try:
        documents = list(yaml.load_all(file.read_text("utf-8"), Loader=_LOADER))
    except yaml.YAMLError as error:
        raise ValueError(f"{file}: {error}") from error
    for document in documents:
        rules = document.get("rules", []) if isinstance(document, dict) else []
        if not isinstance(rules, list) or not all(isinstance(rule, str) for rule in rules):
            raise ValueError(f"{file}: rules are a list of ids, not {rules!r}")
        yield from rules


def _rules_of_tests(file: Path) -> list[str]:
    try:
        return _NAMED.findall(ast.get_docstring(ast.parse(file.read_text("utf-8"))) or "")
    except SyntaxError as error:
        raise ValueError(f"{file}: {error}") from error
