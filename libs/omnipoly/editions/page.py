"""The reference of an edition's file as Markdown, made of what stands below each key; docs/editions.md ends so."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from . import explained
from .cards import EFFECTS
from .checks.boards import KEYS
from .choices import Choices
from .model import Board, Card, Document, Field, Mode, OptionChoices, Place, Texts
from .texts import PLACEHOLDERS


def reference() -> str:
    """Every key of the file: what it means, what it holds unless it is written, and the variants that it chooses of."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    yield from ("## Reference", "", "`omnipoly edition reference` prints this part.", "")
    yield from ("### The file", "")
    yield from _keys(Document)
    yield from ("### [[board]]", "", "A ring of fields. The first is Start.", "")
    yield from _keys(Board)
    yield from ("### Fields", "", "| kind | has | may have |", "|---|---|---|")
    for kind, (always, by_choice) in KEYS.items():
        yield f"| `{kind}` | {_names(('name', *always))} | {_names(by_choice)} |"
    yield ""
    yield from _keys(Field)
    yield from ("### Cards", "", "A card has an `id`, a `text`, and one of these effects.", "")
    yield from ("| effect | what it does | its text names |", "|---|---|---|")
    for effect in EFFECTS:
        names = _names(tuple(f"{{{name}}}" for name in PLACEHOLDERS[effect]))
        yield f"| `{effect}` | {explained.attributes(Card)[effect].text} | {names} |"
    yield from ("", "A place, of `advance`:", "")
    yield from _keys(Place)
    yield from (
        "### [options]",
        "",
        "What a host may choose; an option that is left out does not exist. An option is",
        "",
    )
    yield from (
        "- a list, `{ default = 45, values = [20, 45, 90] }`,",
        "- a range, `{ default = 0, range = [0, 1000] }`,",
    )
    yield from ("- or on and off, `{ default = false }`.", "")
    yield from _keys(OptionChoices)
    yield from ("### [mode.NAME]", "")
    yield from _keys(Mode)
    yield from ("### [texts.LANGUAGE]", "")
    yield from _keys(Texts)
    for topic in Choices.__struct_fields__:
        yield from (f"### [rules.{topic}]", "", explained.attributes(Choices)[topic].text, "")
        yield from _keys(type(getattr(Choices(), topic)))


def _keys(struct: type[msgspec.Struct]) -> Iterator[str]:
    yield from ("| key | if left out | what it means |", "|---|---|---|")
    defaults = {field.name: field.default for field in msgspec.structs.fields(struct)}
    for name, meaning in explained.attributes(struct).items():
        usual = defaults[name]
        written = "" if isinstance(usual, msgspec.Struct) else explained.written(_plain(usual))
        variants = "".join(f"<br>`{variant}`: {says}" for variant, says in meaning.variants.items())
        yield f"| `{name}` | {f'`{written}`' if written else ''} | {meaning.text}{variants} |"
    yield ""


def _plain(usual: object) -> object:
    """What stands in the table for a key that is left out; nothing where that says nothing."""
    return None if usual is msgspec.NODEFAULT or usual in ("", (), None) else usual


def _names(names: tuple[str, ...]) -> str:
    return ", ".join(f"`{name}`" for name in names)
