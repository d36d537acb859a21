"""A scenario as typed objects: what ``reader`` makes of a YAML document.

Everything here is plain data and can be encoded, so that a position travels to a running stack as it is. Players go by
their names, fields by number from Start (0), amounts are whole money units.
"""

from __future__ import annotations

import msgspec
from msgspec import UNSET, UnsetType

from omnipoly.rules.actions import Action
from omnipoly.rules.codes import Code

# --- the position -----------------------------------------------------------------------------------------------------


class TableOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The host's options as a scenario names them; what is absent is the edition's default."""

    start_cash: int | None = None
    clock: int | None = None
    """Seconds."""
    round_limit: int | None = None
    time_limit: int | None = None
    """Minutes."""
    entry_fee: int | None = None
    """Credits."""
    auto_claim: bool | None = None
    viewers_chat: bool | None = None
    viewers_take_bots: bool | None = None
    pin: str | None = None


class Given(msgspec.Struct, frozen=True, kw_only=True):
    """What a position says. What is absent is as at the start of play."""

    turn: str = ""
    """Who is about to throw; "": the game stands right after Start."""
    round: int = 1
    cash: dict[str, int] = {}
    at: dict[str, int] = {}
    owns: dict[str, tuple[int, ...]] = {}
    mortgaged: tuple[int, ...] = ()
    buildings: dict[int, int] = {}
    """By field: 1-4 houses, 5 a hotel, 6 a factory."""
    jailed: dict[str, int] = {}
    """Failed tries so far."""
    held_cards: dict[str, tuple[str, ...]] = {}
    deck: dict[str, tuple[str, ...]] = {}
    """The top of a deck; the rest lies in the order of the edition."""
    casino: int = 0
    laps: dict[str, int] = {}
    away: tuple[str, ...] = ()
    disconnected: tuple[str, ...] = ()
    bots: tuple[str, ...] = ()
    doubles: int = 0
    """Thrown this turn by ``turn``."""


class Position(msgspec.Struct, frozen=True, kw_only=True):
    """The table that a scenario begins at."""

    edition: str
    """``edition[/board-or-mode]``."""
    players: tuple[str, ...]
    """In seating order."""
    options: TableOptions = TableOptions()
    given: Given | None = None
    """None: the game stands right after Start, as it would without a scenario."""


# --- the steps --------------------------------------------------------------------------------------------------------


class Throw(msgspec.Struct, frozen=True):
    """A scripted throw: two dice and, where it is thrown, the face of the speed die ("": none given)."""

    first: int
    second: int
    speed: str = ""


class Act(msgspec.Struct, frozen=True, kw_only=True):
    """Somebody does something.

    ``action`` has 0 in place of the ids of auctions and offers, which only the game knows; ``offer`` is the scenario's
    own id of the offer that is made or meant.
    """

    line: int
    by: str
    """A player's or a viewer's name, ``host`` or ``admin``."""
    action: Action
    offer: str = ""
    refused: Code | None = None
    """The refusal that is expected."""
    dice: Throw | None = None
    then_dice: tuple[Throw, ...] = ()


class Wait(msgspec.Struct, frozen=True, kw_only=True):
    """Time passes."""

    line: int
    by_ms: int
    then_dice: tuple[Throw, ...] = ()


class Owed(msgspec.Struct, frozen=True):
    """A debt that is expected: to a player's name, ``bank`` or ``casino``."""

    to: str
    amount: int


class AuctionWanted(msgspec.Struct, frozen=True, kw_only=True):
    """The running auction, the named keys only. ``by`` None: nobody has bid."""

    field: int | UnsetType = UNSET
    high: int | UnsetType = UNSET
    by: str | UnsetType | None = UNSET


class VoteWanted(msgspec.Struct, frozen=True, kw_only=True):
    """The open vote, the named keys only: who proposed, who said yes, who is still asked."""

    by: str | UnsetType = UNSET
    yes: tuple[str, ...] | UnsetType = UNSET
    open: tuple[str, ...] | UnsetType = UNSET


class Expect(msgspec.Struct, frozen=True, kw_only=True):
    """What must hold now; what is unset is not compared."""

    line: int
    lines: dict[str, int] = {}
    """Where each expectation stands."""

    # by player, comparing the named ones only
    cash: dict[str, int] | UnsetType = UNSET
    at: dict[str, int] | UnsetType = UNSET
    owns: dict[str, tuple[int, ...]] | UnsetType = UNSET
    jailed: dict[str, int] | UnsetType = UNSET
    """Failed tries; -1: not in jail."""
    held_cards: dict[str, tuple[str, ...]] | UnsetType = UNSET
    owes: dict[str, tuple[Owed, ...]] | UnsetType = UNSET
    """Oldest first."""
    can: dict[str, tuple[str, ...]] | UnsetType = UNSET
    clock: dict[str, int | None] | UnsetType = UNSET
    """Whole seconds left; None: no clock runs."""
    places: dict[str, int] | UnsetType = UNSET

    # compared whole, in any order
    mortgaged: tuple[int, ...] | UnsetType = UNSET
    buildings: dict[int, int] | UnsetType = UNSET
    out: tuple[str, ...] | UnsetType = UNSET
    offers: tuple[str, ...] | UnsetType = UNSET
    away: tuple[str, ...] | UnsetType = UNSET

    # plain
    turn: str | UnsetType | None = UNSET
    phase: str | UnsetType = UNSET
    auction: AuctionWanted | UnsetType | None = UNSET
    casino: int | UnsetType = UNSET
    round: int | UnsetType = UNSET
    paused: bool | UnsetType = UNSET
    vote: VoteWanted | UnsetType | None = UNSET
    winner: tuple[str, ...] | UnsetType = UNSET
    """Several where the first place is shared; empty: nobody yet."""
    bank: int | UnsetType = UNSET
    log: tuple[str, ...] | UnsetType = UNSET


Step = Act | Wait | Expect


class Scenario(msgspec.Struct, frozen=True, kw_only=True):
    """One document of a scenario file."""

    name: str
    path: str
    line: int
    rules: tuple[str, ...]
    """Ids of the rules it shows."""
    position: Position
    steps: tuple[Step, ...]
    lines: dict[str, int]
    """Where keys stand, dotted (``given.owns``): for what is found wrong once the edition is known."""

    def line_of(self, key: str) -> int:
        """The line of a dotted key, or of the nearest one around it that is there."""
        while key:
            if key in self.lines:
                return self.lines[key]
            key = key.rpartition(".")[0]
        return self.line
