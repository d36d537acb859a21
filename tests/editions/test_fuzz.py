"""Whatever a file says, it is refused with its mistakes, or is an edition that compiles and whose cards can be read."""

from __future__ import annotations

import copy
import tomllib
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from omnipoly.editions import loader
from omnipoly.editions.model import Edition
from omnipoly.editions.problems import EditionError
from omnipoly.editions.texts import Words
from omnipoly.rules.ring import Game

DATA = Path(loader.__file__).parent / "data"
TEXTS = [(DATA / f"{name}.toml").read_text() for name in ("globopoly", "laspoly", "rugpull")]
TEXTS.append((Path(__file__).parent / "classic.toml").read_text())

# Mostly what belongs to an edition, so that changes get past the first check.
WORDS = sorted({word for text in TEXTS for word in text.replace('"', " ").split() if word.isidentifier()})
NUMBERS = st.sampled_from([-1, 0, 1, 2, 3, 4, 5, 40, 64, 100, 1000, 10**6, 2**63, 10**30])
LEAVES = st.one_of(
    NUMBERS,
    st.sampled_from(WORDS),
    st.booleans(),
    st.floats(),
    st.text(max_size=5),
    st.sampled_from(["{pay}", "{pay.real}", "{", "}", "{{}}", "dearest", "transport", "9"]),
)
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(WORDS), inner, max_size=3),
    max_leaves=6,
)


def _holds(text: str) -> None:
    try:
        edition = loader.from_text(text)
    except EditionError as error:
        problems = error.problems
    else:
        _plays(edition)
        return
    assert problems
    assert all(problem.what and problem.remedy and "\n" not in str(problem) for problem in problems)


def _plays(edition: Edition) -> None:
    for ring in Game(edition).rings.values():
        for deck, cards in edition.decks.items():
            for card in cards:
                assert all(Words(edition, language).card(ring.board, deck, card) for language in edition.languages)


@settings(max_examples=150)
@given(
    st.sampled_from(TEXTS),
    st.lists(st.tuples(st.integers(0, 20_000), st.integers(0, 30), st.text(max_size=8)), min_size=1, max_size=3),
)
def test_characters_changed(text: str, edits: list[tuple[int, int, str]]) -> None:
    for start, length, new in edits:
        start %= len(text)
        text = text[:start] + new + text[start + length :]
    _holds(text)


@settings(max_examples=200)
@given(st.data())
def test_values_changed(data: st.DataObject) -> None:
    table = copy.deepcopy(tomllib.loads(data.draw(st.sampled_from(TEXTS))))
    for _ in range(data.draw(st.integers(1, 3))):
        _change(table, data)
    _holds(_toml(table))


@settings(max_examples=100)
@given(st.dictionaries(st.sampled_from([*loader.schema()["$defs"]["Document"]["properties"], "x"]), VALUES))
def test_anything_at_all(table: dict[str, Any]) -> None:
    _holds(_toml(table))


def _change(node: Any, data: st.DataObject) -> None:
    """Change one place somewhere below a node: another value, another name, taken out, or there twice."""
    while True:
        keys = list(node) if isinstance(node, dict) else list(range(len(node)))
        if not keys:
            return
        key = data.draw(st.sampled_from(keys))
        if isinstance(node[key], dict | list) and node[key] and data.draw(st.integers(0, 5)):
            node = node[key]
            continue
        how = data.draw(st.sampled_from(["value", "number", "out", "name", "twice"]))
        if how == "value":
            node[key] = data.draw(VALUES)
        elif how == "number":
            node[key] = data.draw(NUMBERS)
        elif how == "out":
            del node[key]
        elif isinstance(node, list):
            node.insert(data.draw(st.integers(0, len(node))), copy.deepcopy(node[key]))
        else:
            node[data.draw(st.sampled_from(WORDS))] = copy.deepcopy(node[key])
            if how == "name":
                node.pop(key)
        return


def _toml(table: dict[str, Any]) -> str:
    return "".join(f"{_string(key)} = {_inline(value)}\n" for key, value in table.items())


def _inline(value: Any) -> str:
    match value:
        case bool():
            return str(value).lower()
        case str():
            return _string(value)
        case list():
            return "[" + ", ".join(map(_inline, value)) + "]"
        case dict():
            return "{" + ", ".join(f"{_string(key)} = {_inline(inner)}" for key, inner in value.items()) + "}"
        case _:
            return str(value)


def _string(text: str) -> str:
    """A basic string: whatever might need an escape has one; a lone surrogate has none and stands for itself."""
    plain = "".join(
        c if c.isalnum() or c in " {}.:'_" or "\ud800" <= c <= "\udfff" else f"\\U{ord(c):08x}" for c in text
    )
    return f'"{plain}"'
