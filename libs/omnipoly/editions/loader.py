"""Editions from files: the shipped ones by name, anybody's by path, a kept one by its text.

An edition's name is its id, or ``id/mode``, or ``id/board``: ``tubbypoly``, ``globopoly/quick``, ``tubbypoly/ring56``.
A file is right or it is not: every mode of it is checked whichever is asked for, and all mistakes are reported at once.
"""

from __future__ import annotations

import functools
import hashlib
import tomllib
from importlib import resources
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple, TypeVar

import msgspec

from . import choices, explained, model
from .checks import check
from .choices import Choices
from .model import Document, Edition, Mode
from .problems import EditionError, Problem, Problems, UnknownEdition
from .shape import close, read, shown

S = TypeVar("S", bound=msgspec.Struct)

LARGEST_FILE = 256 * 1024
"""Bytes. The largest shipped edition has a tenth of it."""
MOST_DOTS = 128
"""On one line. ``tomllib`` takes time by the square of a dotted key's parts: a minute for 20 000 of them."""


def load(source: str | Path, mode: str = "") -> Edition:
    """The edition that a file describes, in one of its modes or restricted to one of its boards ("": the first mode).

    Raises ``EditionError`` with everything that is wrong with the file, also when it cannot be read.
    """
    return from_text(read_text(source), mode, source=str(source))


def read_text(source: str | Path) -> str:
    """The text of a file, as far as it can be an edition's. Raises ``EditionError`` when it cannot be read."""
    path = Path(source)
    try:
        with path.open("rb") as file:
            data = file.read(LARGEST_FILE + 1)
        return data.decode()
    except OSError as error:
        problem = Problem("", f"cannot be read ({error.strerror or error})", "name a file that exists and may be read")
        raise EditionError(str(source), (problem,)) from error
    except ValueError as error:
        raise EditionError(str(source), (Problem("", str(error), "save the file as UTF-8"),)) from error


def from_text(text: str, mode: str = "", *, source: str = "edition") -> Edition:
    """The edition that a file's text describes; the same text and mode give the same edition with the same digest.

    ``source`` stands before each message. Raises ``EditionError`` (``UnknownEdition`` for a mode it does not have).
    """
    return _choose(whole(text, source), text, mode, source)


def edition(name: str) -> Edition:
    """The shipped edition of that name. Raises ``UnknownEdition``."""
    file, _, mode = name.partition("/")
    known = _shipped_files()
    if file not in known:
        raise UnknownEdition(name, (Problem("", "there is no such edition", close(file, known)),))
    return _shipped(file, mode)


@functools.cache
def shipped() -> tuple[str, ...]:
    """The names of all editions that come with the package, each mode by itself (``laspoly``, ``globopoly/quick``)."""
    names = []
    for file, text in _shipped_files().items():
        names += [f"{file}/{mode}" if mode else file for mode in whole(text, f"{file}.toml").modes]
    return tuple(names)


def modes(source: str | Path) -> tuple[str, ...]:
    """The modes of a file, the one that its id alone means first; a file without modes has one, "".

    Raises ``EditionError``.
    """
    return tuple(whole(read_text(source), str(source)).modes)


def folder(path: Path) -> dict[str, Path]:
    """The files of a folder, `*.toml`, by the ids of their editions.

    Raises ``EditionError`` for one that is wrong, and for one that has the id of another.
    """
    files: dict[str, Path] = {}
    for file in sorted(path.glob("*.toml")):
        found = whole(read_text(file), str(file)).document.id
        if found in files:
            what = f"its id {found} is that of {files[found].name}, too"
            raise EditionError(str(file), (Problem("", what, "give each edition an id of its own"),))
        files[found] = file
    return files


def schema() -> dict[str, Any]:
    """JSON Schema of an edition's file, for editors that check while one writes; what each key means is in it."""
    whole = msgspec.json.schema(Document)
    structs = {kind.__name__: kind for kind in (*_structs(choices), *_structs(model))}
    for name, definition in whole["$defs"].items():
        for key, meaning in explained.attributes(structs[name]).items():
            text = " ".join((meaning.text, *(f"{variant}: {says}" for variant, says in meaning.variants.items())))
            definition["properties"][key]["description"] = text
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "An edition of Omnipoly", **whole}


def _structs(module: ModuleType) -> list[type[msgspec.Struct]]:
    found = [kind for kind in vars(module).values() if isinstance(kind, type) and issubclass(kind, msgspec.Struct)]
    return [kind for kind in found if kind.__module__ == module.__name__]


@functools.cache
def _shipped_files() -> dict[str, str]:
    """Text by edition id, in order of ids."""
    folder = resources.files(__package__) / "data"
    files = sorted((file for file in folder.iterdir() if file.name.endswith(".toml")), key=lambda file: file.name)
    return {file.name.removesuffix(".toml"): file.read_bytes().decode() for file in files}


@functools.lru_cache(maxsize=64)
def _shipped(file: str, mode: str) -> Edition:
    return from_text(_shipped_files()[file], mode, source=f"{file}.toml")


class File(NamedTuple):
    """A file that is right."""

    document: Document
    modes: dict[str, Mode]
    """By name, each whole: what it does not change is the document's. A file without modes has one, ""."""


@functools.lru_cache(maxsize=16)
def whole(text: str, source: str = "edition") -> File:
    """All that a file's text says, with every mode. Raises ``EditionError``."""
    table = _table(text, source)
    problems = Problems()
    document = read(Document, table, problems)
    if document is None:
        raise EditionError(source, tuple(problems.found))
    modes = {name: _whole(document, name, table) for name in document.mode} or {"": _whole(document, "", table)}
    check(document, modes, problems)
    problems.raise_if_any(source)
    return File(document, modes)


def _table(text: str, source: str) -> dict[str, Any]:
    """What the text says as TOML."""
    if len(text) > LARGEST_FILE:
        remedy = f"keep it within {LARGEST_FILE // 1024} KiB"
        raise EditionError(source, (Problem("", "the file is too large", remedy),))
    if any(line.count(".") > MOST_DOTS for line in text.split("\n")):
        remedy = "write it on several lines"
        raise EditionError(source, (Problem("", f"a line holds more than {MOST_DOTS} full stops", remedy),))
    try:
        text.encode()
        return tomllib.loads(text)
    except RecursionError as error:
        remedy = "no value of an edition needs more than four brackets in one another"
        raise EditionError(source, (Problem("", "brackets are nested too deep", remedy),)) from error
    except ValueError as error:
        remedy = "mend it there; the format is TOML 1.0"
        raise EditionError(source, (Problem("", f"no TOML: {error}", remedy),)) from error


def _whole(document: Document, name: str, table: dict[str, Any]) -> Mode:
    """A mode with all that it does not change: rules are laid over each other choice by choice, options one by one.

    Values come from the document; the table only tells which of them the mode names.
    """
    mode = document.mode.get(name, Mode())
    named = _inside(table, "mode", name)
    topics = {
        topic: _over(getattr(document.rules, topic), getattr(mode.rules, topic), _inside(named, "rules", topic))
        for topic in Choices.__struct_fields__
    }
    options = _over(document.options, mode.options, _inside(named, "options"))
    return Mode(title=mode.title or document.title, rules=Choices(**topics), options=options)


def _over(base: S, change: S, named: dict[str, Any]) -> S:
    """The base with those attributes of the change that a table names."""
    return msgspec.structs.replace(
        base, **{key: getattr(change, key) for key in base.__struct_fields__ if key in named}
    )


def _inside(table: dict[str, Any], *keys: str) -> dict[str, Any]:
    """The table within a table; empty where it has none."""
    for key in keys:
        inner = table.get(key)
        table = inner if isinstance(inner, dict) else {}
    return table


def _choose(file: File, text: str, mode: str, source: str) -> Edition:
    """The edition with one mode or one board of a file."""
    document, modes = file
    boards = tuple(sorted(document.board, key=lambda board: board.players))
    by_id = {board.id: board for board in boards}
    first = next(iter(modes))
    mode = mode or first
    if mode in by_id:
        # Who names a board plays on it with as few as the edition seats, up to what the board holds.
        players = (boards[0].players[0], by_id[mode].players[1])
        boards = (msgspec.structs.replace(by_id[mode], players=players),)
    elif mode not in modes:
        names = [name for name in (*modes, *by_id) if name]
        raise UnknownEdition(source, (Problem("", f"there is no mode or board {shown(mode)}", close(mode, names)),))
    chosen = modes.get(mode, modes[first])
    return Edition(
        id=f"{document.id}/{mode}" if mode else document.id,
        title=chosen.title or document.title,
        currency=document.currency,
        rules=chosen.rules,
        options=chosen.options,
        boards=boards,
        decks=document.decks,
        digest=hashlib.sha256(f"{text}\0{mode}".encode()).hexdigest(),
        text=text,
        mode=mode,
        language=document.language,
        currency_forms=document.currency_forms,
        texts=document.texts,
    )
