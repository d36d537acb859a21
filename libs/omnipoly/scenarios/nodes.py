"""YAML nodes with their place in the file: the typed readers that everything in ``reader`` is made of.

Scalars are read by what is wanted of them, not by what YAML 1.1 takes them for, so that a player may be called ``on``.
Each reader raises ``ScenarioError`` with file, line and reason.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Collection
from decimal import Decimal
from pathlib import Path
from typing import TypeVar

import yaml

from .errors import ScenarioError

# The parser written in C is several times as fast; PyYAML has it wherever it has wheels.
_LOADER: type[yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_INTEGER = re.compile(r"[+-]?[0-9]{1,15}")
_SECONDS = re.compile(r"[0-9]{1,9}(\.[0-9]{1,3})?")
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,31}")
_FLAGS = {"yes": True, "true": True, "on": True, "no": False, "false": False, "off": False}
_NOTHING = frozenset(("", "~", "null", "none"))

T = TypeVar("T")


class Node:
    """A node of a document. ``what`` says in errors what is being read."""

    __slots__ = ("_node", "path", "what")

    def __init__(self, node: yaml.Node, path: str, what: str) -> None:
        self._node = node
        self.path = path
        self.what = what

    @property
    def line(self) -> int:
        """The line it begins in, from 1."""
        return int(self._node.start_mark.line) + 1

    def error(self, reason: str) -> ScenarioError:
        """The error to raise about this node."""
        return ScenarioError(self.path, self.line, f"{self.what}: {reason}" if self.what else reason)

    def is_list(self) -> bool:
        """Whether it is a list."""
        return isinstance(self._node, yaml.SequenceNode)

    def is_map(self) -> bool:
        """Whether it is a mapping."""
        return isinstance(self._node, yaml.MappingNode)

    def is_nothing(self) -> bool:
        """Whether it is null: ``null``, ``~``, ``none``, or left empty."""
        return self._bare and self._node.value.lower() in _NOTHING

    @property
    def _bare(self) -> bool:
        """Whether it is a scalar without quotes."""
        return isinstance(self._node, yaml.ScalarNode) and self._node.style not in ("'", '"')

    def text(self) -> str:
        """Any scalar that is not empty, as it is written."""
        if not isinstance(self._node, yaml.ScalarNode) or not str(self._node.value).strip():
            raise self.error("a text is needed here")
        return str(self._node.value)

    def name(self) -> str:
        """A name: a letter, then letters, digits, ``_`` or ``-``, 32 at most."""
        text = self.text()
        if not _NAME.fullmatch(text):
            raise self.error(f"{text!r} is no name: a letter, then letters, digits, _ or -")
        return text

    def one_of(self, allowed: Collection[str]) -> str:
        """One of some words."""
        text = self.text()
        if text not in allowed:
            raise self.error(f"{text!r} is not one of {', '.join(allowed)}" + _near(text, allowed))
        return text

    def integer(self, least: int | None = None, most: int | None = None) -> int:
        """A whole number, within bounds."""
        if not self._bare or not _INTEGER.fullmatch(self._node.value):
            raise self.error("a whole number is needed here")
        value = int(self._node.value)
        if (least is not None and value < least) or (most is not None and value > most):
            bounds = f"at least {least}" if most is None else f"{least} to {most}"
            raise self.error(f"{value} is out of bounds: {bounds}")
        return value

    def milliseconds(self) -> int:
        """Seconds, down to a thousandth, as milliseconds."""
        text = self.text()
        if not self._bare or not _SECONDS.fullmatch(text):
            raise self.error("seconds are needed here, such as 8 or 1.5")
        return int(Decimal(text) * 1000)

    def flag(self) -> bool:
        """Yes or no, in any of YAML's words for it."""
        text = self.text().lower()
        if not self._bare or text not in _FLAGS:
            raise self.error("yes or no is needed here")
        return _FLAGS[text]

    def items(self) -> list[Node]:
        """The items of a list."""
        if not isinstance(self._node, yaml.SequenceNode):
            raise self.error("a list is needed here")
        return [Node(item, self.path, self.what) for item in self._node.value]

    def each(self, read: Callable[[Node], T]) -> tuple[T, ...]:
        """A list, each item read the same way."""
        return tuple(read(item) for item in self.items())

    def entries(self) -> list[tuple[Node, Node]]:
        """The keys and values of a mapping; a key that stands twice is an error."""
        if not isinstance(self._node, yaml.MappingNode):
            raise self.error("a mapping is needed here")
        seen: set[str] = set()
        found = []
        for key_node, value_node in self._node.value:
            key = Node(key_node, self.path, self.what)
            text = key.text()
            if text in seen:
                raise key.error(f"{text!r} stands here twice")
            seen.add(text)
            found.append((key, Node(value_node, self.path, f"{self.what}.{text}" if self.what else text)))
        return found

    def fields(self, allowed: Collection[str]) -> dict[str, Node]:
        """A mapping whose keys are known beforehand, by key."""
        found = {}
        for key, value in self.entries():
            text = key.text()
            if text not in allowed:
                raise key.error(f"unknown key {text!r}{_near(text, allowed)}")
            found[text] = value
        return found

    def by(self, read_key: Callable[[Node], T], read: Callable[[Node], object]) -> dict[T, object]:
        """A mapping, each key and each value read the same way."""
        return {read_key(key): read(value) for key, value in self.entries()}


def documents(path: str) -> list[Node]:
    """The documents of a file that are not empty.

    Raises ``ScenarioError`` when it cannot be read, or is not YAML.
    """
    try:
        text = Path(path).read_text("utf-8")
    except OSError as error:
        raise ScenarioError(path, 0, error.strerror or "cannot be read") from error
    except UnicodeDecodeError as error:
        raise ScenarioError(path, 0, "not a text in UTF-8") from error
    return parse(text, path)


def parse(text: str, path: str) -> list[Node]:
    """The documents of a text that are not empty. Raises ``ScenarioError`` when it is not YAML."""
    try:
        roots = [Node(root, path, "") for root in yaml.compose_all(text, _LOADER)]
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise ScenarioError(path, mark.line + 1 if mark else 0, f"not YAML: {error.problem}") from error
    except (yaml.YAMLError, RecursionError) as error:
        raise ScenarioError(path, 0, f"not YAML: {error}") from error
    return [root for root in roots if not root.is_nothing()]


def _near(text: str, allowed: Collection[str]) -> str:
    near = difflib.get_close_matches(text, list(allowed), 1)
    return f" (meant {near[0]!r}?)" if near else ""
