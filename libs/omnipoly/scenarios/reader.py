"""Scenario files, read: YAML documents become typed scenarios, and every fault has its line.

What needs the edition (fields, cards, options) is checked by ``position``; what can be known from the file alone, here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from omnipoly.rules.state import FACTORY, HOTEL

from . import nodes, read_expect, read_steps
from .errors import ScenarioError
from .model import Given, Position, Scenario, TableOptions
from .nodes import Node

_RULE = re.compile(r"[A-Z]+(-[A-Z0-9]+)+")
_PIN = re.compile(r"[0-9]{4,12}")
_EDITION = re.compile(r"[a-z][a-z0-9_]*(/[a-z][a-z0-9_]*)?")
_TAKEN_NAMES = frozenset(("bank", "casino", "host", "admin", "nobody", "none", "free"))
_MOST = 1_000_000_000


def read(path: str) -> list[Scenario]:
    """The scenarios of one file, in order.

    Raises ``ScenarioError`` for the first fault.
    """
    return [_scenario(document) for document in nodes.documents(path)]


def read_text(text: str, path: str = "scenario") -> list[Scenario]:
    """The scenarios of a text; ``path`` is its name in errors. Raises ``ScenarioError`` for the first fault."""
    return [_scenario(document) for document in nodes.parse(text, path)]


def files(paths: Iterable[str | Path]) -> list[str]:
    """The scenario files that paths name: files as they are, folders with all ``*.yaml`` and ``*.yml`` below them.

    Raises ``ScenarioError`` for a path that is not there and for a folder without any.
    """
    found: list[str] = []
    for path in map(Path, paths):
        if path.is_dir():
            below = sorted(at for at in path.rglob("*") if at.suffix in (".yaml", ".yml") and at.is_file())
            if not below:
                raise ScenarioError(str(path), 0, "no scenario files in this folder")
            found += map(str, below)
        elif path.exists():
            found.append(str(path))
        else:
            raise ScenarioError(str(path), 0, "no such file")
    return list(dict.fromkeys(found))


# --- a document -------------------------------------------------------------------------------------------------------

_KEYS = ("scenario", "rules", "edition", "players", "options", "given", "steps")
_NEEDED = ("scenario", "edition", "players", "steps")


def _scenario(document: Node) -> Scenario:
    keys = document.fields(_KEYS)
    for needed in _NEEDED:
        if needed not in keys:
            raise document.error(f"the scenario has no {needed!r}")
    lines = {key: node.line for key, node in keys.items()}
    players = _players(keys["players"])
    position = Position(
        edition=_edition(keys["edition"]),
        players=players,
        options=_options(keys["options"], lines) if "options" in keys else TableOptions(),
        given=_given(keys["given"], players, lines) if "given" in keys else None,
    )
    return Scenario(
        name=" ".join(keys["scenario"].text().split()),
        path=document.path,
        line=document.line,
        rules=keys["rules"].each(_rule) if "rules" in keys else (),
        position=position,
        steps=read_steps.steps(keys["steps"], players, read_expect.expect),
        lines=lines,
    )


def _rule(node: Node) -> str:
    text = node.text()
    if not _RULE.fullmatch(text):
        raise node.error(f"{text!r} is no rule id, such as TUB-RENT-STREET")
    return text


def _edition(node: Node) -> str:
    text = node.text()
    if not _EDITION.fullmatch(text):
        raise node.error(f"{text!r} is no edition, such as tubbypoly, tubbypoly/ring56 or globopoly/quick")
    return text


def _players(node: Node) -> tuple[str, ...]:
    names: list[str] = []
    for item in node.items():
        name = item.name()
        if name in _TAKEN_NAMES:
            raise item.error(f"no player can be called {name!r}")
        if name in names:
            raise item.error(f"{name!r} sits here twice")
        names.append(name)
    if not names:
        raise node.error("nobody plays")
    return tuple(names)


# --- options and position ---------------------------------------------------------------------------------------------


def _pin(node: Node) -> str:
    text = node.text()
    if not _PIN.fullmatch(text):
        raise node.error("a PIN is 4 to 12 digits")
    return text


def _number(least: int, most: int = _MOST) -> Callable[[Node], int]:
    return lambda node: node.integer(least, most)


_OPTIONS: dict[str, Callable[[Node], Any]] = {
    "start_cash": _number(0),
    "clock": _number(0),
    "round_limit": _number(0),
    "time_limit": _number(0),
    "entry_fee": _number(0),
    "auto_claim": Node.flag,
    "viewers_chat": Node.flag,
    "viewers_take_bots": Node.flag,
    "pin": _pin,
}


def _options(node: Node, lines: dict[str, int]) -> TableOptions:
    keys = node.fields(_OPTIONS)
    lines.update((f"options.{key}", value.line) for key, value in keys.items())
    return TableOptions(**{key: _OPTIONS[key](value) for key, value in keys.items()})


def _given(node: Node, players: tuple[str, ...], lines: dict[str, int]) -> Given:
    def player(of: Node) -> str:
        return of.one_of(players)

    def by_player(read: Callable[[Node], Any]) -> Callable[[Node], Any]:
        return lambda of: of.by(player, read)

    def some_players(of: Node) -> tuple[str, ...]:
        return of.each(player)

    number = _number(-_MOST)  # what is out of the rules' bounds is named by `position`, with its reason
    readers: dict[str, Callable[[Node], Any]] = {
        "turn": player,
        "round": number,
        "cash": by_player(number),
        "at": by_player(number),
        "owns": by_player(_integers),
        "mortgaged": _integers,
        "buildings": buildings,
        "jailed": by_player(number),
        "held_cards": by_player(_names),
        "deck": lambda of: of.by(Node.name, _names),
        "casino": number,
        "laps": by_player(number),
        "away": some_players,
        "disconnected": some_players,
        "bots": some_players,
        "doubles": number,
    }
    if node.is_nothing():
        return Given()
    keys = node.fields(readers)
    lines.update((f"given.{key}", value.line) for key, value in keys.items())
    return Given(**{key: readers[key](value) for key, value in keys.items()})


def _integers(node: Node) -> tuple[int, ...]:
    return node.each(Node.integer)


def _names(node: Node) -> tuple[str, ...]:
    return node.each(Node.name)


def buildings(node: Node) -> dict[int, int]:
    """Buildings by field: 1-4 houses, 5 a hotel, ``factory``."""
    found: dict[int, int] = {}
    for key, value in node.entries():
        found[key.integer()] = FACTORY if value.text() == "factory" else value.integer(1, HOTEL)
    return found
