"""Tables of a TOML file into the types of ``model`` and ``choices``, with every mistake found and not just the first.

``msgspec.convert`` stops at the first mistake. Here structs are read key by key and lists item by item, and what holds
no struct goes to ``msgspec.convert``: types and bounds stand in one place, the annotations.
"""

from __future__ import annotations

import difflib
import functools
import reprlib
import types
from collections.abc import Iterable
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin

import msgspec
from msgspec import inspect

from .model import Board, Card, Field
from .problems import Problems

S = TypeVar("S", bound=msgspec.Struct)

_BROKEN: Any = object()
"""In the place of a value that could not be read."""
_EMPTY: dict[type[msgspec.Struct], msgspec.Struct] = {
    Field: Field(kind="parking", name="?"),
    Card: Card(id="unread", text="{pay}", pay=1),
}
"""In the place of a row that could not be read, so that those behind it keep their numbers."""


class _Short(reprlib.Repr):
    """``repr`` within bounds of depth and length."""

    def __init__(self) -> None:
        super().__init__()
        self.maxlevel, self.maxstring, self.maxother = 2, 50, 50

    def repr_int(self, value: int, _level: int) -> str:
        """An integer; Python refuses to write one of more than some thousand digits."""
        return str(value) if value.bit_length() < 128 else "a huge number"


_short = _Short()


def read(kind: type[S], table: dict[str, Any], problems: Problems) -> S | None:
    """The struct that a table describes, with every mistake added to ``problems``.

    What a mistake leaves is read on, so that the rest can be checked too: an unknown key is passed over, an optional
    value that cannot be is its default, a row of a list that cannot be is an empty one. ``None`` where even that fails.
    """
    value = _struct(kind, table, "", problems)
    return None if value is _BROKEN else value


def shown(value: object) -> str:
    """A value as a message quotes it: short, on one line."""
    return {True: "true", False: "false"}[value] if isinstance(value, bool) else _short.repr(value)


def close(name: str, known: Iterable[str]) -> str:
    """The remedy for a name that does not exist: the one it resembles, or all there are."""
    names = list(known)
    near = difflib.get_close_matches(name[:64], names, 1)
    if near:
        return f"did you mean {near[0]!r}?"
    return "there are: " + ", ".join(names) if names else "there are none"


def describe(kind: Any) -> str:
    """What a type allows, in words."""
    return _described(inspect.type_info(kind))


def _struct(kind: type[msgspec.Struct], table: object, at: str, problems: Problems) -> Any:
    if not isinstance(table, dict):
        problems.add(at, f"{shown(table)} is no table", f"write {describe(kind)}")
        return _BROKEN
    fields = _fields(kind)
    for key in table:
        if key not in fields:
            problems.add(at, f"unknown key {shown(key)}", close(key, fields))
    values = {}
    for key, field in fields.items():
        if key in table:
            value = _value(field.type, table[key], at, key, problems)
            if value is not _BROKEN:
                values[key] = value
        elif field.required:
            problems.add(at, f"{key} is missing", f"write it: {describe(field.type)}")
    if any(field.required and key not in values for key, field in fields.items()):
        return _BROKEN
    return kind(**values)


def _value(kind: Any, value: object, at: str, key: str, problems: Problems) -> Any:
    bare = get_args(kind)[0] if get_origin(kind) is Annotated else kind
    origin, args = get_origin(bare), get_args(bare)
    if _is_struct(bare):
        return _struct(bare, value, _inner(at, key), problems)
    if origin in (Union, types.UnionType) and isinstance(value, dict):
        for option in args:
            if _is_struct(option):
                return _struct(option, value, _inner(at, key), problems)
    if origin is tuple and _is_struct(args[0]) and isinstance(value, list):
        return _rows(kind, args[0], value, at, key, problems)
    if origin is dict and isinstance(value, dict):
        entries = {}
        for name, entry in value.items():
            _leaf(args[0], name, _inner(at, key), "the name", problems)
            there = _value(args[1], entry, _inner(at, key), name, problems)
            if there is not _BROKEN:
                entries[name] = there
        return entries
    return _leaf(kind, value, at, key, problems)


def _rows(kind: Any, row_kind: type[msgspec.Struct], table: list[object], at: str, key: str, problems: Problems) -> Any:
    where = at if row_kind in (Board, Field) else _inner(at, key)
    rows = []
    for number, entry in enumerate(table):
        row = _struct(row_kind, entry, _label(row_kind, number, entry, where), problems)
        rows.append(_EMPTY.get(row_kind, _BROKEN) if row is _BROKEN else row)
    if any(row is _BROKEN for row in rows):
        return _BROKEN
    # The rows are right; their number is left to be checked.
    return _leaf(kind, rows, at, key, problems)


def _leaf(kind: Any, value: object, at: str, key: str, problems: Problems) -> Any:
    try:
        return msgspec.convert(value, kind)
    except msgspec.ValidationError:
        what = f"cannot have {len(value)} entries" if isinstance(value, list) else f"cannot be {shown(value)}"
        problems.add(at, f"{key} {what}", f"write {describe(kind)}")
        return _BROKEN


@functools.cache
def _fields(kind: type[msgspec.Struct]) -> dict[str, msgspec.structs.FieldInfo]:
    return {field.name: field for field in msgspec.structs.fields(kind)}


def _is_struct(kind: object) -> bool:
    return isinstance(kind, type) and issubclass(kind, msgspec.Struct)


def _inner(at: str, key: str) -> str:
    if not at:
        return key
    return f"{at}, {key}" if " " in at else f"{at}.{key}"


def _label(kind: type[msgspec.Struct], number: int, row: object, where: str) -> str:
    """Where an item of a list stands: a field by its number and name, a card or board by its id."""
    table = row if isinstance(row, dict) else {}
    noun = kind.__name__.lower()
    if kind is Field:
        label = field_label(number, table.get("name"))
    elif isinstance(name := table.get("id"), str) and name.isidentifier():
        label = f"{noun} {name}"
    else:
        label = f"{noun} number {number + 1}"
    return f"{where}, {label}" if where else label


def field_label(number: int, name: object) -> str:
    """A field as messages name it: ``field 12 "Boiler house"``."""
    return f"field {number} {quoted(name)}" if isinstance(name, str) else f"field {number}"


def quoted(value: object) -> str:
    """A text in double quotes, on one line; another value as JSON."""
    return msgspec.json.encode(value[:80] if isinstance(value, str) else value).decode()


def _described(info: Any) -> str:
    match info:
        case inspect.Metadata():
            extra = info.extra_json_schema or {}
            return str(extra.get("description") or _described(info.type))
        case inspect.IntType(ge=None, le=None):
            return "a whole number"
        case inspect.IntType(ge=least, le=None):
            return f"a whole number, at least {least}"
        case inspect.IntType(ge=least, le=most):
            return f"a whole number from {least} to {most}"
        case inspect.BoolType():
            return "true or false"
        case inspect.StrType(min_length=None, max_length=None):
            return "a text"
        case inspect.StrType(min_length=least, max_length=most):
            return f"a text of {least or 0} to {most} characters"
        case inspect.LiteralType():
            return " or ".join(quoted(value) for value in info.values)
        case inspect.UnionType():
            return " or ".join(_described(option) for option in info.types if not isinstance(option, inspect.NoneType))
        case inspect.TupleType():
            return "a list of " + " and ".join(_described(item) for item in info.item_types)
        case inspect.VarTupleType(min_length=None, max_length=None):
            return f"a list, each {_described(info.item_type)}"
        case inspect.VarTupleType(min_length=least, max_length=most):
            count = f"{least or 0} to {most}" if most else f"at least {least}"
            return f"a list of {count}, each {_described(info.item_type)}"
        case inspect.StructType():
            needed = [field.name for field in info.fields if field.required]
            return "a table" + (f" with {', '.join(needed)}" if needed else "")
        case _:
            return "a table"
