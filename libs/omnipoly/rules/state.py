"""The state of a table: flat lists of ints by seat or field, and a stack of phases.

A draft is ``state.copy()``: the struct itself and a slice of each list. ``apply`` (``event.apply(state)``) is the only
thing that changes a state; everything else reads it. Nothing secret is in it: the seed, PINs and tokens are rows of
their own, and the part of a deck that nobody has seen has no order yet (``entropy``).

Seats count from 0 in seating order, fields from Start (0). Amounts are whole money units, times are milliseconds since
1970 UTC of the table's clock; 0 stands for "none".
"""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING

import msgspec

from .actions import Side

if TYPE_CHECKING:
    from .ring import Rules

BANK = -1
"""The bank, as payer or payee."""
CASINO = -2
"""The casino's fortune, as payer or payee (LAS-CASINO)."""
NOBODY = -1
"""No seat: a lot the bank owns, an auction without a bid."""
FREE = -1
"""``jailed`` of a seat that is not in jail."""
FACTORY = 6
"""``level`` of a street with a factory (LAS-FACTORY); 1-4 are houses, 5 is a hotel."""
HOTEL = 5


class Phase(enum.IntEnum):
    """What a table waits for: the rows of the table of CORE-PHASE, and three that no player sees as a decision."""

    LOBBY = 0
    """Before the start."""
    ORDER = 1
    THROW = 2
    PLAYING_OUT = 3
    """A throw is being played out; never on top between two commands."""
    LANDED = 4
    CHOICE = 5
    AUCTION = 6
    DEBT = 7
    LIQUIDATION = 8
    MOVED = 9
    OVER = 10

    @property
    def label(self) -> str:
        """The name in scenarios and texts."""
        return self.name.lower()


# Under names of their own: to look a member up in its class takes four times as long on Python 3.11.
LOBBY, ORDER, THROW, PLAYING_OUT, LANDED, CHOICE, AUCTION, DEBT, LIQUIDATION, MOVED, OVER = Phase


def without(phases: tuple[Phase, ...], gone: Phase) -> tuple[Phase, ...]:
    """The stack without a phase, wherever in it that stands."""
    if phases[-1] is gone:
        return phases[:-1]
    return tuple([phase for phase in phases if phase is not gone])


class Choice(enum.IntEnum):
    """What a ``CHOICE`` phase asks for."""

    NONE = 0
    STEPS = 1
    TELEPORT = 2
    TRAVEL = 3


class Away(enum.IntEnum):
    """Why a seat's decisions have the short clock (TUB-AFK)."""

    NO = 0
    MISSED = 1
    CLOSED = 2
    BROKEN = 3


class Out(enum.IntEnum):
    """Whether a seat is in the game, and how it went out."""

    IN = 0
    BANKRUPT = 1
    LEFT = 2
    REMOVED = 3
    GAVE_UP = 4


class Options(msgspec.Struct, frozen=True, gc=False):
    """What the host chose (TUB-SETUP), with every default filled in."""

    start_cash: int = 1500
    clock_s: int = 45
    round_limit: int = 0
    """0: none."""
    time_limit_min: int = 0
    """0: none."""
    entry_fee: int = 0
    """Credits; 0: a free table."""
    auto_claim: bool = False
    viewers_chat: bool = False
    viewers_take_bots: bool = False
    private: bool = False


class Debt(msgspec.Struct, frozen=True, gc=False):
    """What one seat owes (CORE-DEBT). ``creditor`` is a seat, ``BANK`` or ``CASINO``."""

    debt: int
    debtor: int
    creditor: int
    amount: int
    reason: str


class Claim(msgspec.Struct, frozen=True, gc=False):
    """A rent its owner may claim before the next throw (GLO-CLAIM)."""

    claimant: int
    payer: int
    field: int
    amount: int
    hold_until_ms: int
    """Until then a throw is refused as too early."""


class OpenOffer(msgspec.Struct, frozen=True, gc=False):
    """An offer that can be accepted (CORE-TRADE). It never changes; ``mortgaged`` fixes which of its lots are."""

    offer: int
    proposer: int
    receiver: int
    give: Side
    take: Side
    mortgaged: tuple[int, ...]
    deadline_ms: int
    """0: it lapses with a turn, not by a clock."""


class Wait(msgspec.Struct, frozen=True, gc=False):
    """A pair of seats between which no offer is made until a time (after a refusal)."""

    proposer: int
    receiver: int
    until_ms: int


class Cooldown(msgspec.Struct, frozen=True, gc=False):
    """A person who may not propose to end until a time; ``person`` "" is everybody (TUB-END-COOLDOWN)."""

    person: str
    until_ms: int


class OpenVote(msgspec.Struct, frozen=True, gc=False):
    """The vote to end for everybody (TUB-END-VOTE): who proposed, who said yes, until when."""

    vote: int
    by: str
    yes: tuple[str, ...]
    deadline_ms: int


class LastBid(msgspec.Struct, frozen=True, gc=False):
    """A bid of the running auction, kept for the case that the bidders above it leave."""

    seat: int
    amount: int


class Prompt(msgspec.Struct, frozen=True, gc=False):
    """An open decision of a seat: its id, in which phase, and when the clock plays it (0: another clock does)."""

    seat: int
    prompt: int
    phase: Phase
    deadline_ms: int


class State(msgspec.Struct, gc=False, kw_only=True):
    """Everything about one table that its log says."""

    rules: Rules
    """The compiled edition; shared, never changed."""

    # the table
    table: str
    host: str
    """The host's person id; "" when nobody is left to be it."""
    commitment: str
    """SHA-256 of the secret seed in hex; "" for a table set up from a position."""
    dev: bool
    """Set up or scripted under ``--dev``."""
    options: Options
    contributions: list[str]
    """What seated persons added to the dice before Start, by order of arrival."""
    started_ms: int
    now_ms: int
    """The time of the last commit on the table's clock."""
    offset_ms: int
    """The table's clock minus the platform's: not 0 only where ``Advance`` was used."""
    last_move_ms: int
    """When the last action of a person or a bot was accepted (TUB-PAUSE)."""
    paused_ms: int
    """Since when the table stands still; 0: it does not."""
    frozen_ms: int
    """Since when an admin keeps it frozen; 0: nobody does."""
    limit_ms: int
    """When the time limit is up; 0: none (GLO-Q-TIME)."""
    time_up: bool
    """The time limit is up and the turn in play is being finished."""

    # by seat
    holder: list[str]
    """The person id, or the bot's id, that holds the seat."""
    name: list[str]
    bot: list[bool]
    stands_in_for: list[str]
    """The person for whom a bot plays on (TUB-SUBSTITUTE); "" for none."""
    out: list[int]
    """``Out``."""
    out_rank: list[int]
    """0 while in; else how late it went out: later is better, out by the same command is equal (CORE-WIN)."""
    connected: list[bool]
    away: list[int]
    """``Away``."""
    cash: list[int]
    position: list[int]
    jailed: list[int]
    """``FREE``, or failed tries so far."""
    laps: list[int]
    cards: list[tuple[str, ...]]
    """Jail-free cards in the order they were got."""
    prompt: list[int]
    """The id of the seat's open decision; 0 for none."""
    asked: list[int]
    """The ``Phase`` in which that decision was opened."""
    deadline_ms: list[int]
    """When the clock plays the open decision; 0: none, or another clock does."""
    offers_made: list[int]
    """In this round or turn, by the edition's quota."""
    throws: list[tuple[int, ...]]
    """Sums thrown for the order of play."""
    factories: list[int]
    lots: list[int]
    """Lots a seat owns."""

    # by field
    owner: list[int]
    level: list[int]
    """Buildings: 0-4 houses, ``HOTEL``, ``FACTORY``."""
    mortgaged: list[bool]

    # by seat and set, row by row (``seat * rules.sets_n + set``)
    held: list[int]
    """Lots of the set in the seat's hand; transports and utilities are sets too."""
    built: list[int]
    """Of those, how many have a building."""
    pledged: list[int]
    """Of those, how many are mortgaged."""

    # by deck
    unseen: list[tuple[str, ...]]
    """Cards nobody has seen since the shuffle, in the order of the edition: the top of the deck, in no order yet."""
    returned: list[tuple[str, ...]]
    """The known bottom of the deck, top first."""
    draws: list[int]

    # the game
    order: list[int]
    """Seats in order of play; empty until it stands."""
    phases: tuple[Phase, ...]
    """The stack; the last one is what the table waits for."""
    round: int
    turn: int
    """The seat whose turn it is; ``NOBODY`` before the first."""
    doubles: int
    """Doubles thrown this turn."""
    again: bool
    """The throw being played out gives a further one."""
    jump: bool
    """A city jump follows the move being played out (GLO-Q-CITY)."""
    ride: bool
    """A ride may be offered once the field is resolved (LAS-TRAIN)."""
    turn_over: bool
    """Nothing further of this turn: it ends once nobody owes."""
    jail_throws: int
    """Failed throws for a double this turn (LAS-PRISON)."""
    dice: tuple[int, int]
    speed: str
    """Face of the speed die: "", "1", "2", "3", "city", "choice"."""
    steps: int
    """What a utility's rent multiplies: the throw that brought the lander."""
    thrown: int
    """Throws of dice so far in this game: the number under which the next one is drawn is one more."""
    choice: Choice
    casino: int
    """The casino's fortune."""
    bank: int
    """Net paid out by the bank so far."""

    # running numbers
    prompts: int
    debts_n: int
    auctions: int
    offers_n: int
    votes: int

    # what is open
    debts: tuple[Debt, ...]
    """Oldest first."""
    claims: tuple[Claim, ...]
    offers: tuple[OpenOffer, ...]
    waits: tuple[Wait, ...]
    vote: OpenVote | None
    cooldowns: tuple[Cooldown, ...]

    # the running auction; its id is ``auctions``
    lot: int
    """The field being auctioned; -1 for none."""
    forced_by: int
    """The seat whose lot the bank auctions off (RUG-DEBT); ``NOBODY`` otherwise."""
    bids: tuple[LastBid, ...]
    """Rising; the last one stands."""
    passed: int
    """Bit mask of seats out of this auction."""
    bidder: int
    """Whose bid it is where bidding goes in turn; ``NOBODY`` otherwise."""
    auction_deadline_ms: int

    # the bank's liquidation (RUG-DEBT)
    liquidated: int
    """The seat whose payment the bank raises; ``NOBODY`` for none."""

    # the end
    places: list[int]
    """By seat, 1 is best; empty until the end."""
    ended: str
    """Why the game ended; "" while it goes on."""
    seed: str
    """The secret seed in hex, known only after the end."""

    def copy(self) -> State:
        """A draft: changes to it do not touch this state."""
        draft: State = _shallow(self)
        draft.holder = self.holder[:]
        draft.name = self.name[:]
        draft.bot = self.bot[:]
        draft.stands_in_for = self.stands_in_for[:]
        draft.out = self.out[:]
        draft.out_rank = self.out_rank[:]
        draft.connected = self.connected[:]
        draft.away = self.away[:]
        draft.cash = self.cash[:]
        draft.position = self.position[:]
        draft.jailed = self.jailed[:]
        draft.laps = self.laps[:]
        draft.cards = self.cards[:]
        draft.prompt = self.prompt[:]
        draft.asked = self.asked[:]
        draft.deadline_ms = self.deadline_ms[:]
        draft.offers_made = self.offers_made[:]
        draft.throws = self.throws[:]
        draft.factories = self.factories[:]
        draft.lots = self.lots[:]
        draft.owner = self.owner[:]
        draft.level = self.level[:]
        draft.mortgaged = self.mortgaged[:]
        draft.held = self.held[:]
        draft.built = self.built[:]
        draft.pledged = self.pledged[:]
        draft.unseen = self.unseen[:]
        draft.returned = self.returned[:]
        draft.draws = self.draws[:]
        draft.contributions = self.contributions[:]
        draft.order = self.order[:]
        draft.places = self.places[:]
        return draft

    @property
    def phase(self) -> Phase:
        """What the table waits for."""
        return self.phases[-1]

    @property
    def rests(self) -> bool:
        """Nothing is played: none of its persons is there, or an admin keeps it frozen."""
        return bool(self.paused_ms or self.frozen_ms)

    @property
    def seats(self) -> int:
        """How many seats are taken (before the start) or were taken (after)."""
        return len(self.holder)


def _shallow(state: State) -> State:
    return state.__copy__()  # type: ignore[attr-defined,no-any-return]
