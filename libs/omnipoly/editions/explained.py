"""What each attribute of an edition means, read from where its type stands: from the text below it.

One text serves whoever reads the code, the JSON Schema, ``omnipoly edition show``, a new edition's file, the page on
editions and the clients. Where an attribute has named variants, its text has a line for each, ``thrown``: and so on.
"""

from __future__ import annotations

import ast
import functools
import inspect
import re
from collections.abc import Iterator
from types import ModuleType
from typing import Literal, NamedTuple, get_args, get_origin, get_type_hints

import msgspec

from . import choices, model

_VARIANT = re.compile(r"^``(\w+)``: (.*?)(?=^``\w+``: |\Z)", re.MULTILINE | re.DOTALL)
_RULE = re.compile(r"\b(?:CORE|TUB|RUG|GLO|LAS)(?:-[A-Z0-9]+)+\b")


class Explained(NamedTuple):
    """What an attribute means."""

    text: str
    """Its text, on one line; what stands between backticks is to be written as it is."""
    variants: dict[str, str]
    """By named variant, what it means; empty where it has none."""


@functools.cache
def attributes(struct: type[msgspec.Struct]) -> dict[str, Explained]:
    """By attribute of a struct of ``choices`` or ``model``, what it means; without a text of its own: empty."""
    texts = _texts(choices if struct.__module__ == choices.__name__ else model).get(struct.__name__, {})
    return {name: _explained(texts.get(name, "")) for name in struct.__struct_fields__}


def variants(struct: type[msgspec.Struct], attribute: str) -> tuple[str, ...]:
    """The named variants that an attribute can have; none where it is a number, a list, a text, yes or no."""
    hint = get_type_hints(struct)[attribute]
    return get_args(hint) if get_origin(hint) is Literal else ()


def rules_in(text: str) -> tuple[str, ...]:
    """The ids of rules that a text names, in its order."""
    return tuple(dict.fromkeys(_RULE.findall(text)))


def choice(topic: str, name: str, value: object) -> str:
    """What a choice means as an edition has it: the text of its variant, or else of the choice.

    Raises ``KeyError`` for a choice that does not exist.
    """
    kind: type[msgspec.Struct] = type(getattr(choices.Choices(), topic))
    explained = attributes(kind)[name]
    return explained.variants.get(str(value), explained.text)


def chosen(rules: choices.Choices) -> Iterator[tuple[str, str, object]]:
    """All choices of an edition: topic, name, value, in the order in which they stand in ``choices``."""
    for topic in rules.__struct_fields__:
        made = getattr(rules, topic)
        for name in made.__struct_fields__:
            yield topic, name, getattr(made, name)


def written(value: object) -> str:
    """A choice in plain words: a variant by its name, a number, a list in brackets; "" for what is left out."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    return msgspec.json.encode(value).decode().replace(",", ", ")


def _explained(text: str) -> Explained:
    found = {name: _flat(meaning) for name, meaning in _VARIANT.findall(text)}
    return Explained(_flat(_VARIANT.sub("", text)), found)


def _flat(text: str) -> str:
    return " ".join(text.replace("``", "`").split())


@functools.cache
def _texts(module: ModuleType) -> dict[str, dict[str, str]]:
    """By class and attribute, the text that stands below the attribute."""
    found: dict[str, dict[str, str]] = {}
    for node in ast.parse(inspect.getsource(module)).body:
        if not isinstance(node, ast.ClassDef):
            continue
        texts = found.setdefault(node.name, {})
        for statement, below in zip(node.body, node.body[1:], strict=False):
            if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
                text = below.value if isinstance(below, ast.Expr) else None
                if isinstance(text, ast.Constant) and isinstance(text.value, str):
                    texts[statement.target.id] = inspect.cleandoc(text.value)
    return found
