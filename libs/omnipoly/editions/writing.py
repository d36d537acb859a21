"""An edition's file, written out with every choice and what it means: what somebody begins with who writes one.

What a file says is written as it is; its comments are the texts of ``explained``. What comes out is right, and plays as
the file it was made from.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from . import explained
from .choices import Choices
from .loader import File
from .model import Board, BoolOption, Document, Edition, Mode, OptionChoices, Texts

WIDTH = 118
HEAD = """\
An edition of Omnipoly: boards and decks, what a host may choose, and the choices between the variants of the rules.
Above each choice stands what it decides; ids in brackets (TUB-AUCTION) are those of the rule book, docs/rules. How
such a file is written stands in docs/editions.md.

    omnipoly edition check {file}
        finds every mistake in it, and says what to do about it
    omnipoly simulate --edition {file}
        lets bots play it
    omnipolyd up --editions DIR
        lets everybody play it; DIR is the folder that it is in
"""
_BARE = re.compile(r"[A-Za-z0-9_-]+")


def write(file: File, *, edition_id: str, title: str, name: str) -> str:
    """The text of a file like another, with an id and a title of its own. ``name``: what the file is called."""
    return "\n".join(_lines(file, edition_id, title, name)) + "\n"


def single(edition: Edition) -> File:
    """A file of one edition as it is played: one mode, or one board, and none to choose."""
    names = {name for board in edition.boards for field in board.field for name in (field.name, field.group)}
    texts = {
        language: msgspec.structs.replace(
            words, modes={}, names={name: word for name, word in words.names.items() if name in names}
        )
        for language, words in edition.texts.items()
    }
    document = Document(
        id=edition.id.partition("/")[0],
        title=edition.title,
        language=edition.language,
        currency=edition.currency,
        currency_forms=edition.currency_forms,
        rules=edition.rules,
        options=edition.options,
        decks=edition.decks,
        board=edition.boards,
        texts=texts,
    )
    return File(document, {"": Mode(title=edition.title, rules=edition.rules, options=edition.options)})


def is_id(text: str) -> bool:
    """Whether an edition can have that id."""
    kind = next(field.type for field in msgspec.structs.fields(Document) if field.name == "id")
    try:
        msgspec.convert(text, kind)
    except msgspec.ValidationError:
        return False
    return True


def _lines(file: File, edition_id: str, title: str, name: str) -> Iterator[str]:
    document = file.document
    yield from (f"# {line}".rstrip() for line in HEAD.format(file=name).splitlines())
    yield from ("", f"id = {_text(edition_id)}", f"title = {_text(title)}")
    yield from _entry(Document, "language", document.language)
    yield from _entry(Document, "currency", document.currency)
    if document.currency_forms:
        yield from _entry(Document, "currency_forms", document.currency_forms)
    for topic in Choices.__struct_fields__:
        choices = getattr(document.rules, topic)
        yield from _section(f"rules.{topic}", explained.attributes(Choices)[topic].text)
        for choice in choices.__struct_fields__:
            yield from _entry(type(choices), choice, getattr(choices, choice))
    yield from _section("options", "What a host may choose. What is left out does not exist in this edition.")
    for option in OptionChoices.__struct_fields__:
        yield from _entry(OptionChoices, option, getattr(document.options, option))
    for mode in document.mode:
        yield from _mode(mode, document, file.modes[mode])
    yield from _section("decks", "Each card has one effect, and a text that names what the effect holds.")
    for deck, cards in document.decks.items():
        yield from (f"{_key(deck)} = [", *(f"  {_inline(card)}," for card in cards), "]")
    for board in document.board:
        yield from _board(board)
    for language, texts in document.texts.items():
        yield from _texts(language, texts, title)


def _section(name: str, text: str) -> Iterator[str]:
    yield from ("", f"[{name}]")
    yield from _wrapped(text)


def _entry(struct: type[msgspec.Struct], name: str, value: object) -> Iterator[str]:
    """An attribute below what it means; one that is left out stands in the comment, too."""
    meaning = explained.attributes(struct)[name]
    yield ""
    yield from _wrapped(meaning.text)
    for variant, says in meaning.variants.items():
        yield from _wrapped(f"{variant}: {says}", "  ")
    yield f"# {name} = …" if value is None else f"{name} = {_inline(value)}"


def _wrapped(text: str, indent: str = "") -> list[str]:
    return textwrap.wrap(
        text, WIDTH, initial_indent=f"# {indent}", subsequent_indent=f"# {indent * 2}", break_on_hyphens=False
    )


def _mode(name: str, document: Document, whole: Mode) -> Iterator[str]:
    """A mode, by what it has otherwise than the file."""
    yield from _section(f"mode.{name}", "What this mode changes.")
    if (title := document.mode[name].title) is not None:
        yield f"title = {_text(title)}"
    for topic in Choices.__struct_fields__:
        base, changed = getattr(document.rules, topic), getattr(whole.rules, topic)
        named = [key for key in base.__struct_fields__ if getattr(base, key) != getattr(changed, key)]
        if named:
            yield from ("", f"[mode.{name}.rules.{topic}]")
            yield from (f"{key} = {_inline(getattr(changed, key))}" for key in named)
    options = [
        key for key in OptionChoices.__struct_fields__ if getattr(document.options, key) != getattr(whole.options, key)
    ]
    if options:
        yield from ("", f"[mode.{name}.options]")
        yield from (f"{key} = {_inline(getattr(whole.options, key))}" for key in options)


def _board(board: Board) -> Iterator[str]:
    yield from ("", "[[board]]")
    for name in ("id", "players", "part_set_percent", "lone_groups"):
        value = getattr(board, name)
        if value not in (0, ()):
            yield f"{name} = {_inline(value)}"
    yield "field = ["
    yield from (f"  {_inline(field)},  # {at}" for at, field in enumerate(board.field))
    yield "]"


def _texts(language: str, texts: Texts, title: str) -> Iterator[str]:
    yield from _section(f"texts.{language}", "All texts in one more language; names by those of the file.")
    yield f"title = {_text(title)}"
    if texts.currency is not None:
        yield f"currency = {_text(texts.currency)}"
    if texts.currency_forms:
        yield f"currency_forms = {_inline(texts.currency_forms)}"
    for name, entries in (("modes", texts.modes), ("names", texts.names)):
        if entries:
            yield from ("", f"[texts.{language}.{name}]", *_pairs(entries))
    for deck, cards in texts.cards.items():
        yield from ("", f"[texts.{language}.cards.{_key(deck)}]", *_pairs(cards))


def _pairs(entries: Mapping[str, str]) -> Iterator[str]:
    return (f"{_key(key)} = {_text(value)}" for key, value in entries.items())


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else _text(name)


def _text(value: object) -> str:
    """A text, a number, yes or no; JSON writes them as TOML does."""
    return msgspec.json.encode(value).decode()


def _inline(value: Any) -> str:
    """A value on one line; of a row only what is not as usual."""
    if isinstance(value, msgspec.Struct):
        usual = dict(zip(reversed(value.__struct_fields__), reversed(value.__struct_defaults__), strict=False))
        named = {name: getattr(value, name) for name in value.__struct_fields__}
        shown = {name: given for name, given in named.items() if name not in usual or given != usual[name]}
        if isinstance(value, BoolOption):
            shown = {"default": value.default}
        return "{ " + ", ".join(f"{_key(name)} = {_inline(given)}" for name, given in shown.items()) + " }"
    if isinstance(value, tuple):
        return "[" + ", ".join(map(_inline, value)) + "]"
    return _text(value)
