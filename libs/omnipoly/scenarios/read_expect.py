"""What a scenario expects: each expectation read to the type it is compared as."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from omnipoly.rules import actions, events
from omnipoly.rules.state import FACTORY, FREE, HOTEL, Phase

from .model import AuctionWanted, Expect, Owed, VoteWanted
from .nodes import Node

_PHASES = tuple(phase.label for phase in Phase if phase not in (Phase.LOBBY, Phase.PLAYING_OUT))
_NONE_WORDS = frozenset(("no", "false"))


def expect(node: Node, names: tuple[str, ...]) -> Expect:
    """An ``expect`` step; ``names`` are those that may be named. Raises ``ScenarioError``."""
    readers = _readers(names)
    keys = node.fields(readers)
    values: dict[str, Any] = {key: readers[key](value) for key, value in keys.items()}
    return Expect(line=node.line, lines={key: value.line for key, value in keys.items()}, **values)


def _readers(names: tuple[str, ...]) -> dict[str, Callable[[Node], Any]]:
    def player(of: Node) -> str:
        return of.one_of(names)

    def by_player(read: Callable[[Node], Any]) -> Callable[[Node], Any]:
        return lambda of: of.by(player, read)

    def some_players(of: Node) -> tuple[str, ...]:
        return of.each(player)

    def owed(of: Node) -> Owed:
        keys = of.fields(("to", "amount"))
        if len(keys) < 2:
            raise of.error("a debt is {to, amount}")
        return Owed(keys["to"].one_of((*names, "bank", "casino")), keys["amount"].integer(0))

    def auction(of: Node) -> AuctionWanted | None:
        if _none(of):
            return None
        keys = of.fields(("field", "high", "by"))
        values: dict[str, Any] = {}
        if "field" in keys:
            values["field"] = keys["field"].integer()
        if "high" in keys:
            values["high"] = 0 if keys["high"].is_nothing() else keys["high"].integer()
        if "by" in keys:
            values["by"] = None if keys["by"].is_nothing() else player(keys["by"])
        return AuctionWanted(**values)

    def vote(of: Node) -> VoteWanted | None:
        if _none(of):
            return None
        keys = of.fields(("by", "yes", "open"))
        values: dict[str, Any] = {key: some_players(keys[key]) for key in ("yes", "open") if key in keys}
        if "by" in keys:
            values["by"] = player(keys["by"])
        return VoteWanted(**values)

    def winner(of: Node) -> tuple[str, ...]:
        if of.is_nothing():
            return ()
        return some_players(of) if of.is_list() else (player(of),)

    return {
        "cash": by_player(Node.integer),
        "at": by_player(Node.integer),
        "owns": by_player(_integers),
        "jailed": by_player(_tries),
        "held_cards": by_player(_words),
        "owes": by_player(lambda of: of.each(owed)),
        "can": by_player(lambda of: of.each(lambda item: item.one_of(actions.KINDS))),
        "clock": by_player(lambda of: None if of.is_nothing() else of.integer(0)),
        "places": by_player(lambda of: of.integer(1)),
        "mortgaged": _integers,
        "buildings": _buildings,
        "out": some_players,
        "offers": lambda of: of.each(Node.text),
        "away": some_players,
        "turn": lambda of: None if of.is_nothing() else player(of),
        "phase": lambda of: of.one_of(_PHASES),
        "auction": auction,
        "casino": Node.integer,
        "round": Node.integer,
        "paused": Node.flag,
        "vote": vote,
        "winner": winner,
        "bank": Node.integer,
        "log": lambda of: of.each(lambda item: item.one_of(events.KINDS)),
    }


def _none(node: Node) -> bool:
    """Whether it says that there is none: null, no, or a mapping with nothing in it (as ``buildings: {}``)."""
    if node.is_map():
        return not node.entries()
    return node.is_nothing() or node.text().lower() in _NONE_WORDS


def _integers(node: Node) -> tuple[int, ...]:
    return node.each(Node.integer)


def _words(node: Node) -> tuple[str, ...]:
    return node.each(Node.name)


def _tries(node: Node) -> int:
    """Failed tries in jail; ``free``: not in jail."""
    return FREE if node.text() == "free" else node.integer(0)


def _buildings(node: Node) -> dict[int, int]:
    """Buildings by field; a field that is named with 0 stands bare."""
    found: dict[int, int] = {}
    for key, value in node.entries():
        level = FACTORY if value.text() == "factory" else value.integer(0, HOTEL)
        if level:
            found[key.integer()] = level
    return found
