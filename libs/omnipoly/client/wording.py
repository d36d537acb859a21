"""The sentences of one language, kept as data: templates with placeholders, words beside numbers, names by their case.

A file has four tables. ``line`` and ``phrase`` are templates by key (a table within a table makes the key
``paid.bought``); ``count`` are words that stand beside a number, in each form that the language has; ``party`` are the
forms in which a player, the bank and the casino are named, of which templates choose by ``{payee.to}``.

What keys there are, and what each of them can name, is the program's to say. A file is checked whole when it is read:
nothing missing, nothing more, every placeholder used that must be, and no digit anywhere: numbers come from the events.
"""

from __future__ import annotations

import string
import tomllib
from collections.abc import Mapping
from typing import Any, NamedTuple

from omnipoly.editions.languages import GRAMMARS, Language

USUAL = "who"
"""The form of a party's name where a template names none."""
NUMBER = "n"


class WordingError(ValueError):
    """A file of sentences is not right; the text says what is wrong with it, line by line."""


class Keys(NamedTuple):
    """What a file has to hold."""

    lines: Mapping[str, tuple[str, ...]]
    """By key, the placeholders; one that ends in ``?`` may be left out."""
    phrases: Mapping[str, tuple[str, ...]]
    counts: tuple[str, ...]
    parties: frozenset[str] = frozenset()
    """The placeholders that are parties, and can be named in a form."""


class Party:
    """A player, the bank or the casino, named in the form that a template asks for."""

    __slots__ = ("_forms", "_kind", "_name")

    def __init__(self, forms: Mapping[str, Mapping[str, str]], kind: str, name: str = "") -> None:
        self._forms = forms
        self._kind = kind
        self._name = name

    @property
    def named(self) -> bool:
        """Whether it goes by a name of its own, which is written as it is."""
        return self._kind == "player"

    def __getattr__(self, form: str) -> str:
        return self._forms[form][self._kind].format(name=self._name)

    def __str__(self) -> str:
        return self.__getattr__(USUAL)

    def __format__(self, spec: str) -> str:
        return str(self)


class Wording:
    """The sentences of a language."""

    def __init__(self, language: Language, text: str, keys: Keys) -> None:
        """Raises ``WordingError`` for a file that lacks something, has too much, or cannot be filled in."""
        self.language = language
        self.grammar = GRAMMARS[language]
        table = tomllib.loads(text)
        self.lines = _flat(table.pop("line", {}))
        self.phrases = _flat(table.pop("phrase", {}))
        self.counts: dict[str, list[str]] = table.pop("count", {})
        self.parties: dict[str, dict[str, str]] = table.pop("party", {})
        problems = [f"unknown table {name}" for name in table]
        problems += self._wrong(keys)
        if problems:
            raise WordingError(f"sentences in {language}:\n" + "\n".join(problems))

    def line(self, key: str, **values: object) -> str:
        """A sentence. It begins with a capital letter, unless it begins with somebody's name."""
        template = self.lines[key]
        text = template.format_map(values)
        first = values.get(template[1:].partition("}")[0].partition(".")[0]) if template.startswith("{") else None
        return text if isinstance(first, Party) and first.named else text[:1].upper() + text[1:]

    def phrase(self, key: str, **values: object) -> str:
        """A part of a sentence."""
        return self.phrases[key].format_map(values)

    def count(self, key: str, number: int) -> str:
        """So many of something."""
        return self.counts[key][self.grammar.form(number)].format(n=number)

    def decimal(self, number: float) -> str:
        """A number with what it has behind the point."""
        return f"{number:g}".replace(".", self.grammar.decimal_mark)

    def party(self, kind: str, name: str = "") -> Party:
        """``player``, ``bank`` or ``casino`` in all forms."""
        return Party(self.parties, kind, name)

    def listed(self, parts: list[str], last: str) -> str:
        """Parts in a row; before the last of them stands ``last``."""
        return ", ".join(parts[:-1]) + last + parts[-1] if len(parts) > 1 else "".join(parts)

    # --- what may be wrong

    def _wrong(self, keys: Keys) -> list[str]:
        found = []
        for table, there, wanted in (("line", self.lines, keys.lines), ("phrase", self.phrases, keys.phrases)):
            found += _differing(table, there, wanted)
            for key in there.keys() & wanted.keys():
                found += [f"{table}.{key}: {what}" for what in self._template(there[key], wanted[key], keys.parties)]
        found += _differing("count", self.counts, keys.counts)
        for key, forms in self.counts.items():
            if len(forms) != len(self.grammar.forms):
                found.append(f"count.{key}: {len(forms)} forms; write {', '.join(self.grammar.forms)}")
            for form in forms:
                found += [f"count.{key}: {what}" for what in self._template(form, (f"{NUMBER}?",), frozenset())]
        if keys.parties and USUAL not in self.parties:
            found.append(f"party: there is no form {USUAL}")
        for form, names in self.parties.items():
            found += _differing(f"party.{form}", names, ("player", "bank", "casino"))
            for kind, name in names.items():
                wanted_here = ("name",) if kind == "player" else ()
                found += [f"party.{form}.{kind}: {what}" for what in self._template(name, wanted_here, frozenset())]
        return found

    def _template(self, text: str, wanted: tuple[str, ...], parties: frozenset[str]) -> list[str]:
        found = ["it holds a digit"] if any(character.isdigit() for character in text) else []
        try:
            parts = [part[1:] for part in string.Formatter().parse(text) if part[1] is not None]
        except ValueError as error:
            return [*found, f"it cannot be filled in: {error}"]
        used = set()
        for name, spec, conversion in parts:
            bare, dot, form = (name or "").partition(".")
            used.add(bare)
            if spec or conversion:
                found.append(f"{{{name}}} has a format")
            if dot and not (bare in parties and form in self.parties):
                found.append(f"{{{name}}}: there is no such form")
        known = {name.rstrip("?") for name in wanted}
        found += [f"it names {{{name}}}, which it is not given" for name in sorted(used - known)]
        found += [f"it does not name {{{name}}}" for name in wanted if name[-1] != "?" and name not in used]
        return found


def _flat(table: dict[str, Any], before: str = "") -> dict[str, str]:
    flat: dict[str, str] = {}
    for key, value in table.items():
        flat |= _flat(value, f"{before}{key}.") if isinstance(value, dict) else {f"{before}{key}": str(value)}
    return flat


def _differing(table: str, there: Mapping[str, object], wanted: Mapping[str, object] | tuple[str, ...]) -> list[str]:
    missing = [f"{table}: {key} is missing" for key in wanted if key not in there]
    return missing + [f"{table}: there is no {key}" for key in there if key not in wanted]
