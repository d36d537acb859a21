"""Derives the conversion between a struct of the engine and a message from the types on both sides.

For every pair of struct and message two functions are written and compiled, once, at import: ``write(struct, message)``
fills an empty message, ``read(message)`` makes the struct. Written out attribute by attribute they run three times as
fast as a loop over descriptors, and a commit is converted for every command of every table.

What does not fit (an attribute without a field, a field without an attribute, an enum value that one side lacks) raises
``Unmapped`` here, never at a conversion.
"""

from __future__ import annotations

import enum
import functools
import operator
import textwrap
import types
import typing
from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple, Union

import msgspec
from google.protobuf.descriptor import Descriptor, EnumDescriptor, FieldDescriptor

from omnipoly.wire import convert, rows

INTEGERS = frozenset((FieldDescriptor.CPPTYPE_INT32, FieldDescriptor.CPPTYPE_INT64))
SCALARS: dict[type, frozenset[int]] = {
    bool: frozenset((FieldDescriptor.CPPTYPE_BOOL,)),
    int: INTEGERS,
    str: frozenset((FieldDescriptor.CPPTYPE_STRING,)),
}
HELPERS = {name: value for name, value in vars(convert).items() if isinstance(value, types.FunctionType)}

Write = Callable[[Any, Any], None]
"""Fills an empty message from a struct. ``ValueError`` for a value that the field cannot hold."""
Read = Callable[[Any], Any]
"""Makes a struct of a message. ``Malformed``, or ``KeyError`` for an enum value that is unknown or not said."""


class Unmapped(TypeError):
    """The two sides do not fit."""


class Pair(NamedTuple):
    """The two directions of one struct and its message."""

    write: Write
    read: Read


class Part(NamedTuple):
    """How one attribute travels, as source text in which ``{v}`` is its value and ``{p}`` the message."""

    put: str
    """Statements."""
    get: str
    """An expression."""
    marks: bool
    """``put`` always sets something, so that the message counts as present."""
    fields: tuple[str, ...]
    """The fields it takes up."""


class Deriver:
    """Derives pairs and keeps them. One for all that share bounds and special rows."""

    def __init__(
        self,
        *,
        longest: Mapping[tuple[str, str], int] | None = None,
        known: Mapping[type, Pair] | None = None,
        special: Mapping[tuple[str, str], tuple[str, tuple[str, ...]]] | None = None,
    ) -> None:
        """``longest``: bounds by struct and attribute. ``known``: pairs that are not derived. ``special``: by struct
        and attribute, statements that write it and the fields they take up; such a struct is never read."""
        self.names: dict[str, Any] = dict(HELPERS)
        self._longest = longest or {}
        self._known = known or {}
        self._special = special or {}
        self._pairs: dict[tuple[type, str, bool], Pair] = {}

    def pair(self, struct: type[msgspec.Struct], message: Descriptor, *, partly: bool = False) -> Pair:
        """The pair of a struct and a message; ``partly``: the message may have fields of its own.

        Raises ``Unmapped``.
        """
        key = (struct, message.full_name, partly)
        if key not in self._pairs:
            self._pairs[key] = self._derive(struct, message, partly=partly)
        return self._pairs[key]

    def _derive(self, struct: type[msgspec.Struct], message: Descriptor, *, partly: bool) -> Pair:
        puts, gets, marked, taken = [], [], False, set()
        readable = True
        for attribute, part in self.parts(struct, message).items():
            puts.append(part.put.format(v=f"v.{attribute}", p="p"))
            gets.append(part.get.format(p="p"))
            marked = marked or part.marks
            readable = readable and bool(part.get)
            taken |= set(part.fields)
        unused = set(message.fields_by_name) - taken
        if unused and not partly:
            raise Unmapped(f"{message.full_name} has {sorted(unused)}, which {struct.__name__} has not")
        if not marked:
            puts.insert(0, "p.SetInParent()")
        write = self.function("v, p", puts, f"{struct.__name__} to {message.full_name}")
        if not readable:
            return Pair(write, _unreadable)
        made = self.constant(struct)
        read = self.function("p", [f"return {made}({', '.join(gets)})"], f"{message.full_name} to {struct.__name__}")
        return Pair(write, read)

    def parts(
        self, struct: type[msgspec.Struct], message: Descriptor, attributes: tuple[str, ...] | None = None
    ) -> dict[str, Part]:
        """How the attributes (all of them, unless named) of a struct travel in a message, in their order."""
        hints = hints_of(struct)
        defaults = dict(zip(reversed(struct.__struct_fields__), reversed(struct.__struct_defaults__), strict=False))
        parts = {}
        for attribute in attributes or struct.__struct_fields__:
            where = (struct.__name__, attribute)
            if where in rows.ABSENT:
                continue
            if where in self._special:
                put, fields = self._special[where]
                parts[attribute] = Part(put, "", False, fields)
                continue
            field, unit = field_of(where, message)
            default = defaults.get(attribute, msgspec.NODEFAULT)
            parts[attribute] = self.part(where, hints[attribute], field, unit, default)
        return parts

    def part(
        self,
        where: tuple[str, str],
        hint: Any,
        field: FieldDescriptor,
        unit_ms: int = 0,
        default: Any = msgspec.NODEFAULT,
    ) -> Part:
        """How a value of that type travels in that field; ``where`` is its struct and attribute."""
        hint, optional = _without_none(hint)
        name = field.name
        if field.is_repeated:
            put, get = self._repeated(where, hint, field)
            return Part(put, get, False, (name,))
        if field.message_type is not None:
            put, get, marks = self._message(where, hint, field, unit_ms)
            if optional:
                put = f"if {{v}} is not None:\n    {{p}}.{name}.SetInParent()\n{textwrap.indent(put, '    ')}"
                get = f"({get} if {{p}}.HasField({name!r}) else None)"
            return Part(put, get, marks and not optional, (name,))
        if field.enum_type is not None:
            to, back = enum_values(hint, field.enum_type, optional=optional, default=default)
            to_name, back_name = self.constant(to), self.constant(back)
            return Part(f"{{p}}.{name} = {to_name}[{{v}}]", f"{back_name}[{{p}}.{name}]", True, (name,))
        if field.cpp_type not in SCALARS.get(hint, ()):
            raise Unmapped(f"{'.'.join(where)} is {hint}, which {field.full_name} cannot hold")
        if optional != field.has_presence:
            raise Unmapped(f"{'.'.join(where)} and {field.full_name}: one may be absent, the other not")
        if optional:
            put = f"if {{v}} is not None:\n    {{p}}.{name} = {{v}}"
            return Part(put, f"({{p}}.{name} if {{p}}.HasField({name!r}) else None)", False, (name,))
        return Part(f"{{p}}.{name} = {{v}}", self._bounded(where, f"{{p}}.{name}"), True, (name,))

    def _repeated(self, where: tuple[str, str], hint: Any, field: FieldDescriptor) -> tuple[str, str]:
        name = field.name
        if hint is int:
            return f"if {{v}}:\n    {{p}}.{name}.extend(seats_of({{v}}))", f"mask_of({{p}}.{name})"
        made, items = typing.get_origin(hint), typing.get_args(hint)
        if made not in (tuple, list):
            raise Unmapped(f"{'.'.join(where)} is {hint}, which {field.full_name} cannot hold")
        if made is tuple and items[-1] is not Ellipsis:
            if items != (int, int) or field.cpp_type not in INTEGERS:
                raise Unmapped(f"{'.'.join(where)} is {hint}, which {field.full_name} cannot hold")
            return f"{{p}}.{name}.extend({{v}})", f"pair_of({{p}}.{name}, {name!r})"
        item = items[0]
        source = self._bounded(where, f"{{p}}.{name}")
        if field.message_type is not None:
            pair = self._nested(where, item, field)
            write, read = self.constant(pair.write), self.constant(pair.read)
            return f"for i in {{v}}:\n    {write}(i, {{p}}.{name}.add())", f"{made.__name__}(map({read}, {source}))"
        if field.enum_type is not None:
            to, back = enum_values(item, field.enum_type)
            to_name, back_name = self.constant(to), self.constant(back)
            put = f"if {{v}}:\n    {{p}}.{name}.extend([{to_name}[i] for i in {{v}}])"
            return put, f"{made.__name__}([{back_name}[i] for i in {source}])"
        if field.cpp_type not in SCALARS.get(item, ()):
            raise Unmapped(f"{'.'.join(where)} is {hint}, which {field.full_name} cannot hold")
        return f"if {{v}}:\n    {{p}}.{name}.extend({{v}})", f"{made.__name__}({source})"

    def _message(
        self, where: tuple[str, str], hint: Any, field: FieldDescriptor, unit_ms: int
    ) -> tuple[str, str, bool]:
        name, kind = field.name, message_of(field).full_name
        if kind == "google.protobuf.Timestamp" and hint is int and unit_ms == 1:
            put = f"""\
t = {{v}}
if t:
    d = {{p}}.{name}
    d.seconds = t // 1000
    t %= 1000
    if t:
        d.nanos = t * 1000000"""
            return put, f"((d := {{p}}.{name}).seconds * 1000 + d.nanos // 1000000)", False
        if kind == "google.protobuf.Duration" and hint is int and unit_ms:
            scaled = "{v}" if unit_ms == 1 else f"{{v}} * {unit_ms}"
            get = f"ms_of({{p}}.{name})" if unit_ms == 1 else f"whole({{p}}.{name}, {unit_ms}, {name!r})"
            return f"if {{v}}:\n    put_duration({{p}}.{name}, {scaled})", get, False
        pair = self._nested(where, hint, field)
        return f"{self.constant(pair.write)}({{v}}, {{p}}.{name})", f"{self.constant(pair.read)}({{p}}.{name})", True

    def _nested(self, where: tuple[str, str], hint: Any, field: FieldDescriptor) -> Pair:
        if hint in self._known:
            return self._known[hint]
        if not (isinstance(hint, type) and issubclass(hint, msgspec.Struct)):
            raise Unmapped(f"{'.'.join(where)} is {hint}, which {field.full_name} cannot hold")
        return self.pair(hint, message_of(field))

    def _bounded(self, where: tuple[str, str], source: str) -> str:
        longest = self._longest.get(where)
        return source if longest is None else f"bounded({source}, {longest}, {where[1]!r})"

    def constant(self, value: object) -> str:
        """The name by which generated source finds a value."""
        name = f"c{len(self.names)}"
        self.names[name] = value
        return name

    def function(self, parameters: str, statements: list[str], title: str) -> Any:
        """Compiles a function of those statements; ``title`` stands in tracebacks."""
        source = f"def made({parameters}):\n" + textwrap.indent("\n".join(statements) or "pass", "    ")
        names: dict[str, Any] = {}
        # The text is made of names and types of this program alone; nothing from outside is in it.
        exec(compile(source, f"<{title}>", "exec"), self.names, names)  # noqa: S102
        return names["made"]


def message_of(field: FieldDescriptor) -> Descriptor:
    """The message that a field holds. ``Unmapped`` when it holds none."""
    if field.message_type is None:
        raise Unmapped(f"{field.full_name} is no message")
    return field.message_type


def hints_of(struct: type[msgspec.Struct]) -> dict[str, Any]:
    """The types of a struct's attributes; what its module imports for type checkers alone is ``object``."""
    return typing.get_type_hints(struct, localns={"Rules": object})


def enum_values(
    hint: Any, values: EnumDescriptor, *, optional: bool = False, default: Any = msgspec.NODEFAULT
) -> tuple[dict[Any, int], dict[int, Any]]:
    """The numbers of a type's values in a contract's enum, and back.

    The enum's zero is what the engine has for "none" (``""``, or ``None`` where that is allowed); when read, else the
    attribute's default where there is one.
    """
    zero = values.values_by_number[0].name
    numbers = {value.name.removeprefix(zero.removesuffix("UNSPECIFIED")): value.number for value in values.values}
    del numbers["UNSPECIFIED"]
    none: Any = msgspec.NODEFAULT
    if hint is str:
        members: dict[str, Any] = {name: name.lower() for name in numbers}
        none = ""
    elif typing.get_origin(hint) is Literal:
        members = {value.upper(): value for value in typing.get_args(hint) if value}
        none = "" if "" in typing.get_args(hint) else none
    else:
        kind = rows.ENUMS.get(values.name, hint) if hint is int else hint
        if not (isinstance(kind, type) and issubclass(kind, enum.Enum)):
            raise Unmapped(f"{hint} is not an enum like {values.full_name}")
        members = dict(kind.__members__)
    if members.keys() != numbers.keys():
        raise Unmapped(f"{hint} and {values.full_name}: only one of them has {sorted(members.keys() ^ numbers.keys())}")
    to = {value: numbers[name] for name, value in members.items()}
    back: dict[int, Any] = {numbers[name]: value for name, value in members.items()}
    if optional:
        none = None
    if none is not msgspec.NODEFAULT:
        to[none], back[0] = 0, none
    elif default is not msgspec.NODEFAULT:
        back[0] = default
    return to, back


def field_of(where: tuple[str, str], message: Descriptor) -> tuple[FieldDescriptor, int]:
    """The field of an attribute, and the unit in milliseconds that the attribute's name carries (0: none)."""
    attribute = where[1]
    suffix, unit = next(((suffix, unit) for suffix, unit in rows.UNITS if attribute.endswith(suffix)), ("", 0))
    for name in (rows.FIELDS.get(where, attribute), attribute.removesuffix(suffix)):
        if name in message.fields_by_name:
            return message.fields_by_name[name], unit
    raise Unmapped(f"{message.full_name} has no field for {'.'.join(where)}")


def _without_none(hint: Any) -> tuple[Any, bool]:
    if typing.get_origin(hint) in (Union, types.UnionType):
        inner = [kind for kind in typing.get_args(hint) if kind is not types.NoneType]
        if len(inner) < len(typing.get_args(hint)):
            return functools.reduce(operator.or_, inner), True
    return hint, False


def _unreadable(message: Any) -> Any:
    raise TypeError(f"{message.DESCRIPTOR.full_name} is only ever written")
