"""Events of the table: opening, seats, options, clocks, presence, the end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from ..state import FREE, NOBODY, Away, Claim, Cooldown, OpenOffer, OpenVote, Options, Out, Phase, Prompt, Wait
from .base import Event

if TYPE_CHECKING:
    from ..state import State


class TableOpened(Event, frozen=True, gc=False, tag="table_opened"):
    """The first event of a log: which edition, by digest, and what was promised of the dice."""

    table: str
    edition: str
    digest: str
    host: str
    options: Options
    commitment: str
    """SHA-256 of the secret seed, in hex; "" where dice are scripted."""
    dev: bool

    def apply(self, s: State) -> None:
        s.table = self.table
        s.host = self.host
        s.options = self.options
        s.commitment = self.commitment
        s.dev = self.dev


class SeatTaken(Event, frozen=True, gc=False, tag="seat_taken"):
    """A person or a bot sits down before the start, at the end of the row."""

    seat: int
    holder: str
    name: str
    bot: bool

    def apply(self, s: State) -> None:
        s.holder.append(self.holder)
        s.name.append(self.name)
        s.bot.append(self.bot)
        s.stands_in_for.append("")
        s.connected.append(not self.bot)
        s.away.append(Away.NO)
        s.out.append(Out.IN)


class SeatFreed(Event, frozen=True, gc=False, tag="seat_freed"):
    """Somebody gets up before the start; those behind move up."""

    seat: int

    def apply(self, s: State) -> None:
        for row in (s.holder, s.name, s.bot, s.stands_in_for, s.connected, s.away, s.out):
            del row[self.seat]


class OptionsSet(Event, frozen=True, gc=False, tag="options_set"):
    """The host's options, all of them as they now stand."""

    options: Options

    def apply(self, s: State) -> None:
        s.options = self.options


class Contributed(Event, frozen=True, gc=False, tag="contributed"):
    """A seated person added a text to what the dice are made of."""

    person: str
    text: str

    def apply(self, s: State) -> None:
        s.contributions.append(self.text)


class HostChanged(Event, frozen=True, gc=False, tag="host_changed"):
    """The office of host passes on (CORE-HOST)."""

    person: str

    def apply(self, s: State) -> None:
        s.host = self.person


class GameStarted(Event, frozen=True, gc=False, tag="game_started"):
    """The game begins on the ring for the number of players; seats and options of the game are fixed from here on."""

    board: str
    options: Options
    started_ms: int
    limit_ms: int

    def apply(self, s: State) -> None:
        s.rules = rules = s.rules.game.ring(self.board)
        s.options = self.options
        s.started_ms = self.started_ms
        s.last_move_ms = self.started_ms
        s.limit_ms = self.limit_ms
        n, sets = len(s.holder), rules.sets_n
        s.out_rank = [0] * n
        s.cash = [0] * n
        s.position = [0] * n
        s.jailed = [FREE] * n
        s.laps = [0] * n
        s.cards = [()] * n
        s.prompt = [0] * n
        s.asked = [0] * n
        s.deadline_ms = [0] * n
        s.offers_made = [0] * n
        s.throws = [()] * n
        s.factories = [0] * n
        s.lots = [0] * n
        s.owner = [NOBODY] * rules.fields_n
        s.level = [0] * rules.fields_n
        s.mortgaged = [False] * rules.fields_n
        s.held = [0] * (n * sets)
        s.built = [0] * (n * sets)
        s.pledged = [0] * (n * sets)
        s.unseen = [tuple(card.id for card in deck) for deck in rules.decks]
        s.returned = [()] * len(rules.decks)
        s.draws = [0] * len(rules.decks)
        s.phases = (Phase.ORDER,)


class Asked(Event, frozen=True, gc=False, tag="asked"):
    """Decisions that opened, each with prompt and deadline, and seats whose decision closed without a new one."""

    opened: tuple[Prompt, ...]
    closed: tuple[int, ...] = ()

    def apply(self, s: State) -> None:
        for seat in self.closed:
            s.prompt[seat] = 0
            s.deadline_ms[seat] = 0
        for prompt in self.opened:
            s.prompts = s.prompt[prompt.seat] = prompt.prompt
            s.asked[prompt.seat] = prompt.phase
            s.deadline_ms[prompt.seat] = prompt.deadline_ms


class Shortened(Event, frozen=True, gc=False, tag="shortened"):
    """An open decision lost time because its seat became away (TUB-AFK)."""

    seat: int
    deadline_ms: int

    def apply(self, s: State) -> None:
        s.deadline_ms[self.seat] = self.deadline_ms


class Connected(Event, frozen=True, gc=False, tag="connected"):
    """The person on this seat is connected."""

    seat: int

    def apply(self, s: State) -> None:
        s.connected[self.seat] = True


class Disconnected(Event, frozen=True, gc=False, tag="disconnected"):
    """The person on this seat is no longer connected."""

    seat: int

    def apply(self, s: State) -> None:
        s.connected[self.seat] = False


class WentAway(Event, frozen=True, gc=False, tag="went_away"):
    """From now on this seat's decisions have the short clock (TUB-AFK)."""

    seat: int
    why: Away

    def apply(self, s: State) -> None:
        s.away[self.seat] = self.why


class CameBack(Event, frozen=True, gc=False, tag="came_back"):
    """An action of somebody away was accepted: their next decisions have the table's clock again (TUB-AFK)."""

    seat: int

    def apply(self, s: State) -> None:
        s.away[self.seat] = Away.NO


class Paused(Event, frozen=True, gc=False, tag="paused"):
    """None of the table's persons is connected: it stands still (TUB-PAUSE)."""

    at_ms: int

    def apply(self, s: State) -> None:
        s.paused_ms = self.at_ms


class Resumed(Event, frozen=True, gc=False, tag="resumed"):
    """It goes on, every clock with the time that was left."""

    by_ms: int

    def apply(self, s: State) -> None:
        s.paused_ms = 0
        move_clocks(s, self.by_ms)


class ClocksMoved(Event, frozen=True, gc=False, tag="clocks_moved"):
    """Time that did not count (an outage): every deadline is later by it (CORE-CLOCK)."""

    by_ms: int

    def apply(self, s: State) -> None:
        if s.frozen_ms:
            # the frost counts from later on too, so that thawing does not give this time twice
            s.frozen_ms += self.by_ms
        time_did_not_count(s, self.by_ms)


class Frozen(Event, frozen=True, gc=False, tag="frozen"):
    """An admin has frozen the table: nothing is played, and every clock stands still."""

    at_ms: int

    def apply(self, s: State) -> None:
        s.frozen_ms = self.at_ms


class Thawed(Event, frozen=True, gc=False, tag="thawed"):
    """It goes on: the time it was frozen does not count."""

    by_ms: int

    def apply(self, s: State) -> None:
        s.frozen_ms = 0
        time_did_not_count(s, self.by_ms)


class Advanced(Event, frozen=True, gc=False, tag="advanced"):
    """Under ``--dev``: the table's clock was moved forward."""

    by_ms: int

    def apply(self, s: State) -> None:
        s.offset_ms += self.by_ms
        s.now_ms += self.by_ms


class SeatHandedOver(Event, frozen=True, gc=False, tag="seat_handed_over"):
    """Somebody else plays on with all that belongs to the seat (CORE-SEAT)."""

    seat: int
    holder: str
    name: str
    bot: bool
    stands_in_for: str

    def apply(self, s: State) -> None:
        s.holder[self.seat] = self.holder
        s.name[self.seat] = self.name
        s.bot[self.seat] = self.bot
        s.stands_in_for[self.seat] = self.stands_in_for
        s.connected[self.seat] = not self.bot
        s.away[self.seat] = Away.NO


class SeatOut(Event, frozen=True, gc=False, tag="seat_out"):
    """A seat is out of the game; those out by the same command share a rank (CORE-WIN)."""

    seat: int
    how: Out
    rank: int

    def apply(self, s: State) -> None:
        s.out[self.seat] = self.how
        s.out_rank[self.seat] = self.rank
        s.prompt[self.seat] = 0
        s.deadline_ms[self.seat] = 0
        s.throws[self.seat] = ()


class LimitReached(Event, frozen=True, gc=False, tag="limit_reached"):
    """The time limit is up: the turn in play is finished without further throws (GLO-Q-TIME)."""

    def apply(self, s: State) -> None:
        s.time_up = True
        s.again = False
        s.limit_ms = 0


class GameEnded(Event, frozen=True, gc=False, tag="game_ended"):
    """The game is over; places by seat, 1 is best. Debts, bids and offers still open are void (CORE-WIN)."""

    why: Literal["last_standing", "round_limit", "time_limit", "vote", "alone", "closed", "idle", "abandoned"]
    places: tuple[int, ...]

    def apply(self, s: State) -> None:
        s.ended = self.why
        s.places = list(self.places)
        s.phases = (Phase.OVER,)
        s.debts = ()
        s.claims = ()
        s.offers = ()
        s.waits = ()
        s.vote = None
        s.lot = -1
        s.bids = ()
        s.passed = 0
        s.bidder = s.forced_by = NOBODY
        s.auction_deadline_ms = 0
        s.liquidated = NOBODY
        s.paused_ms = s.frozen_ms = 0
        s.limit_ms = 0
        s.prompt = [0] * len(s.prompt)
        s.deadline_ms = [0] * len(s.deadline_ms)


class SeedRevealed(Event, frozen=True, gc=False, tag="seed_revealed"):
    """The secret seed, once the game is over: every throw can be checked against the commitment."""

    seed: str

    def apply(self, s: State) -> None:
        s.seed = self.seed


def time_did_not_count(s: State, by_ms: int) -> None:
    """Make the hour without a move, a pause and every deadline later by a time that does not count."""
    s.last_move_ms += by_ms
    if s.paused_ms:
        # the pause counts from later on too, so that going on does not give this time twice
        s.paused_ms += by_ms
    move_clocks(s, by_ms)


def move_clocks(s: State, by_ms: int) -> None:
    """Make every deadline, cool-down and limit later by a time that does not count."""
    s.deadline_ms = [at + by_ms if at else 0 for at in s.deadline_ms]
    if s.auction_deadline_ms:
        s.auction_deadline_ms += by_ms
    if s.limit_ms:
        s.limit_ms += by_ms
    if s.vote is not None:
        s.vote = OpenVote(s.vote.vote, s.vote.by, s.vote.yes, s.vote.deadline_ms + by_ms)
    s.cooldowns = tuple(Cooldown(c.person, c.until_ms + by_ms) for c in s.cooldowns)
    s.waits = tuple(Wait(w.proposer, w.receiver, w.until_ms + by_ms) for w in s.waits)
    s.claims = tuple(Claim(c.claimant, c.payer, c.field, c.amount, c.hold_until_ms + by_ms) for c in s.claims)
    s.offers = tuple(
        OpenOffer(o.offer, o.proposer, o.receiver, o.give, o.take, o.mortgaged, o.deadline_ms and o.deadline_ms + by_ms)
        for o in s.offers
    )
