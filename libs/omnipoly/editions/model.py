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
from .languages import Language

# `$` alone would let a line feed follow.
Identifier = Annotated[
    str, Meta(pattern=r"^[A-Za-z][A-Za-z0-9_]{0,31}$(?!\n)", description="a letter, then letters, digits or _")
]
Title = Annotated[str, Meta(min_length=1, max_length=80)]
CardWords = Annotated[str, Meta(min_length=1, max_length=200)]
Currency = Annotated[str, Meta(min_length=1, max_length=16)]

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
    """What happens there, and which of the other attributes it has."""
    name: Title
    """The name shown; no two lots of a board have the same."""
    group: Annotated[str, Meta(max_length=32)] = ""
    """The set of a street: a name that players see."""
    price: Amount = 0
    """Of a street, a transport or a utility."""
    house_cost: Amount = 0
    """Of a street: what each house costs, and the hotel as the fifth step."""
    rents: tuple[Amount, ...] = ()
    """Of a street: bare, with 1 to 4 houses, with a hotel; left out where rents are computed (rules.rent.street)."""
    amount: Amount = 0
    """Of a tax, a windfall or a casino fee."""
    percent: Annotated[int, Meta(ge=0, le=100)] = 0
    """Of a tax that takes a part of the cash in hand, rounded down."""
    deck: Annotated[str, Meta(max_length=32)] = ""
    """The deck that a deck field draws from."""
    factory_cost: Amount = 0
    """Of a street where factories are built (rules.building.factory): what one costs."""
    factory_income: Amount = 0
    """What the factory earns at the start of each of its owner's turns."""


class Place(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where an ``advance`` card goes: a street of a group in ring order (1 first, -1 last), or the n-th transport."""

    group: Annotated[str, Meta(max_length=32)] = ""
    """A group, or ``dearest``: the group of the dearest street."""
    lot: Annotated[int, Meta(ge=-64, le=64)] = 1
    """Which street of the group: 1 the first, -1 the last."""
    transport: Annotated[int, Meta(ge=0, le=64)] = 0
    """In place of a group: which transport, from 1."""


class Card(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One card: an id that is stable and public, one effect, and the text shown.

    Amounts and places are filled into the text from the effect: which placeholders an effect has stands in ``texts``.
    """

    id: Identifier
    """Its name within its deck, stable and public."""
    text: CardWords
    """What it says, with ``{collect}``, ``{place}`` and the like in place of every number and place."""
    collect: Amount | None = None
    """The bank pays its drawer."""
    pay: Amount | None = None
    """Its drawer owes the bank."""
    collect_each: Amount | None = None
    """Every other player owes its drawer."""
    pay_each: Amount | None = None
    """Its drawer owes every other player."""
    pay_casino: Amount | None = None
    """Its drawer owes the casino."""
    advance: Literal["start"] | Place | None = None
    """Its drawer walks on to Start, or to a place."""
    back: Annotated[int, Meta(ge=1, le=12)] | None = None
    """Its drawer walks back by so many fields."""
    go_to_jail: bool = False
    """Its drawer goes to jail."""
    jail_free: bool = False
    """Its drawer keeps it, and leaves jail with it."""
    repairs: tuple[Amount, Amount] | None = None
    """Its drawer owes the bank for each house, and for each hotel."""
    nearest: Literal["transport", "utility"] | None = None
    """Its drawer walks on to the nearest of that kind, for a higher rent (CORE-RENT-CARD)."""


class Board(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A ring of fields and how many may play on it."""

    id: Identifier
    """By which it can be asked for: ``edition/board``."""
    players: tuple[Annotated[int, Meta(ge=2, le=64)], Annotated[int, Meta(ge=2, le=64)]]
    """Least and most seats."""
    part_set_percent: Annotated[int, Meta(ge=0, le=1000)] = 0
    """What each further lot of an incomplete set adds to the bare rent, in percent (TUB-RENT-PART)."""
    lone_groups: tuple[Annotated[str, Meta(min_length=1, max_length=32)], ...] = ()
    """Groups that are meant to have one street only; any other group of one is taken for a misspelt name."""
    field: Annotated[tuple[Field, ...], Meta(min_length=16, max_length=128)]
    """Start first. At least 16, so that no throw, three dice included, walks round the ring twice."""


class IntOption(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A host option with a number: a list of allowed values, or a range."""

    default: Amount
    """What holds unless the host chooses; 0 stands for "none" where the range allows it."""
    values: tuple[Amount, ...] = ()
    """All that may be chosen."""
    range: tuple[Amount, Amount] | None = None
    """In place of values: the least and the largest that may be chosen."""


class BoolOption(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A host option that is on or off."""

    default: bool = False
    """What holds unless the host chooses."""


class OptionChoices(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The options a host may set; an option that is absent does not exist in the edition."""

    start_cash: IntOption | None = None
    """What everybody begins with (TUB-SETUP)."""
    clock: IntOption | None = None
    """The decision clock, in seconds (TUB-SETUP)."""
    round_limit: IntOption | None = IntOption(default=0, range=(0, 1000))
    """Rounds; 0: none. An option of every edition (CORE-LIMIT), so a file can only narrow it."""
    time_limit: IntOption | None = None
    """Minutes, after which the largest net worth wins (GLO-Q-TIME); 0: none."""
    entry_fee: IntOption | None = None
    """Credits that each player pays into the prize pool (RUG-WIN); 0: a free table."""
    auto_claim: BoolOption | None = None
    """Rents are claimed for everybody (GLO-CLAIM)."""
    viewers_chat: BoolOption | None = None
    """Viewers may write in the chat (TUB-VIEWERS)."""
    viewers_take_bots: BoolOption | None = None
    """Viewers may take a bot's seat (TUB-TAKEOVER)."""


class Mode(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What one mode of an edition changes: single choices by topic, whole options by name, the title."""

    title: Title | None = None
    """Its own title; left out: the edition's."""
    rules: Choices = Choices()
    """The choices it makes otherwise."""
    options: OptionChoices = OptionChoices()
    """The options it has otherwise."""


class Texts(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All texts of an edition in one more language. Either a language has all of them, or it is not there."""

    title: Title
    """The edition's title."""
    currency: Currency | None = None
    """What the money is called; left out: as in the file's own language."""
    currency_forms: tuple[Currency, ...] = ()
    """The money's word by the number before it, in the order of the language's forms (Russian: 1, 2, 5)."""
    modes: dict[Identifier, Title] = {}
    """Titles of the modes that have one of their own, by mode."""
    names: dict[Title, Title] = {}
    """Names of fields and groups, by their name in the file's own language."""
    cards: dict[Identifier, dict[Identifier, CardWords]] = {}
    """What the cards say, by deck and card, with the same placeholders."""


class Document(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A whole file. The first of its modes is the one that the edition's id alone means."""

    id: Identifier
    """By which it is asked for and played."""
    title: Title
    """The name shown."""
    language: Language = "en"
    """What the names and texts outside of ``texts`` are written in."""
    currency: Currency
    """A sign that stands before an amount, or a word that stands after it."""
    currency_forms: tuple[Currency, ...] = ()
    """Of a word: its forms by the number before it, in the order of the language's forms (English: 1, 2)."""
    rules: Choices = Choices()
    """The choices between the variants of the rules; what is left out is as the schema says."""
    options: OptionChoices = OptionChoices()
    """What a host may choose."""
    decks: dict[Identifier, Annotated[tuple[Card, ...], Meta(max_length=200)]] = {}
    """Cards by deck."""
    board: Annotated[tuple[Board, ...], Meta(min_length=1, max_length=16)]
    """The rings, by rising numbers of players."""
    mode: dict[Identifier, Mode] = {}
    """By name, what each mode changes; without modes there is one game."""
    texts: dict[Language, Texts] = {}
    """By language, the texts in it."""


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
    language: Language = "en"
    """What names and texts are written in here."""
    currency_forms: tuple[str, ...] = ()
    texts: dict[Language, Texts] = {}
    """The same in other languages: ``texts.Words`` chooses."""

    @property
    def languages(self) -> tuple[Language, ...]:
        """All languages that it has texts in, its own first."""
        return (self.language, *self.texts)
