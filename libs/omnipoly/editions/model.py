"""The shape of an edition: fields, boards, cards, decks, host options, modes.

These types are what ``omnipoly.editions.loader`` makes of a TOML file, and what ``omnipoly.rules`` compiles into a
board. They hold no behaviour. The whole file of an edition is one TOML document, so that anyone can write, check and
play one.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from .choices import Amount, Choices

# `$` alone would let a line feed follow.
Identifier = Annotated[
    str, Meta(pattern=r"^[A-Za-z][A-Za-z0-9_]{0,31}$(?!\n)", description="a letter, then letters, digits or _")
]
Title = Annotated[str, Meta(min_length=1, max_length=80)]

FieldKind = Literal[
    "start",
    "street",
    "transport",
    "utility",
    "deck",
    "tax",
    "windfall",
    "jail",
    "parking",
    "go_to_jail",
    "casino",
    "casino_fee",
]


class Field(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One field of the ring. Which attributes a kind needs and which it must not have is checked at load."""

    kind: FieldKind
    name: Title
    group: Annotated[str, Meta(max_length=32)] = ""
    """The set of a street."""
    price: Amount = 0
    house_cost: Amount = 0
    rents: tuple[Amount, ...] = ()
    """Bare, 1-4 houses, hotel; empty where rents are computed."""
    amount: Amount = 0
    """Of a tax, a windfall or a casino fee."""
    percent: Annotated[int, Meta(ge=0, le=100)] = 0
    """Of a tax that takes a part of the cash in hand, rounded down."""
    deck: Annotated[str, Meta(max_length=32)] = ""
    factory_cost: Amount = 0
    factory_income: Amount = 0


class Place(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where an ``advance`` card goes: a street of a group in ring order (1 first, -1 last), or the n-th transport."""

    group: Annotated[str, Meta(max_length=32)] = ""
    """A group, or ``dearest``: the group of the dearest street."""
    lot: Annotated[int, Meta(ge=-64, le=64)] = 1
    transport: Annotated[int, Meta(ge=0, le=64)] = 0


class Card(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One card: an id that is stable and public, one effect, and the text shown.

    Amounts and places are filled into the text from the effect: which placeholders an effect has stands in ``texts``.
    """

    id: Identifier
    text: Annotated[str, Meta(min_length=1, max_length=200)]
    collect: Amount | None = None
    pay: Amount | None = None
    collect_each: Amount | None = None
    pay_each: Amount | None = None
    pay_casino: Amount | None = None
    advance: Literal["start"] | Place | None = None
    back: Annotated[int, Meta(ge=1, le=12)] | None = None
    go_to_jail: bool = False
    jail_free: bool = False
    repairs: tuple[Amount, Amount] | None = None
    """Per house, per hotel."""
    nearest: Literal["transport", "utility"] | None = None


class Board(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A ring of fields and how many may play on it."""

    id: Identifier
    players: tuple[Annotated[int, Meta(ge=2, le=64)], Annotated[int, Meta(ge=2, le=64)]]
    """Least and most seats."""
    part_set_percent: Annotated[int, Meta(ge=0, le=1000)] = 0
    """What each further lot of an incomplete set adds to the bare rent (TUB-RENT-PART)."""
    lone_groups: tuple[Annotated[str, Meta(min_length=1, max_length=32)], ...] = ()
    """Groups that are meant to have one street only; any other group of one is taken for a misspelt name."""
    field: Annotated[tuple[Field, ...], Meta(min_length=16, max_length=128)]
    """Start first. At least 16, so that no throw, three dice included, walks round the ring twice."""


class IntOption(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A host option with a number: a list of allowed values, or a range."""

    default: Amount
    """0 stands for "none" where the range allows it."""
    values: tuple[Amount, ...] = ()
    range: tuple[Amount, Amount] | None = None


class BoolOption(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A host option that is on or off."""

    default: bool = False


class OptionChoices(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The options a host may set; an option that is absent does not exist in the edition."""

    start_cash: IntOption | None = None
    clock: IntOption | None = None
    """Seconds."""
    round_limit: IntOption | None = IntOption(default=0, range=(0, 1000))
    """Rounds; 0: none. An option of every edition (CORE-LIMIT), so a file can only narrow it."""
    time_limit: IntOption | None = None
    """Minutes; 0: none."""
    entry_fee: IntOption | None = None
    """Credits; 0: none."""
    auto_claim: BoolOption | None = None
    viewers_chat: BoolOption | None = None
    viewers_take_bots: BoolOption | None = None


class Mode(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What one mode of an edition changes: single choices by topic, whole options by name, the title."""

    title: Title | None = None
    rules: Choices = Choices()
    options: OptionChoices = OptionChoices()


class Document(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A whole file. The first of its modes is the one that the edition's id alone means."""

    id: Identifier
    title: Title
    currency: Annotated[str, Meta(min_length=1, max_length=16)]
    """A sign that stands before an amount, or a word that stands after it."""
    rules: Choices = Choices()
    options: OptionChoices = OptionChoices()
    decks: dict[Identifier, Annotated[tuple[Card, ...], Meta(max_length=200)]] = {}
    board: Annotated[tuple[Board, ...], Meta(min_length=1, max_length=16)]
    mode: dict[Identifier, Mode] = {}


class Edition(msgspec.Struct, frozen=True, kw_only=True):
    """One game as it is played: a file with one of its modes, or one of its boards, chosen."""

    id: str
    """``tubbypoly``, or with a mode ``globopoly/quick``, or with a board ``tubbypoly/ring56``."""
    title: str
    currency: str
    rules: Choices
    options: OptionChoices
    boards: tuple[Board, ...]
    """In rising order of players."""
    decks: dict[str, tuple[Card, ...]]
    digest: str
    """SHA-256 of the file's text, a zero byte and ``mode``, in hex."""
    text: str
    """The file's text, as it is kept by digest."""
    mode: str = ""
    """The mode or board of the id; ``from_text(text, mode)`` is this edition again."""
