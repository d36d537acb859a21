"""Checking a finished game from its log alone: every throw, every card, every lot dealt, and the arithmetic between.

The log's first event commits to a secret seed by its SHA-256, its last one reveals it. Whoever has the log and the
edition's text computes each throw and each draw anew, as ``rules.entropy`` says, and needs to trust nobody. Pure: a log
in, a verdict out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from omnipoly.rules import ending, engine
from omnipoly.rules.draft import seats_in
from omnipoly.rules.entropy import FairEntropy, commitment
from omnipoly.rules.events import (
    CardDrawn,
    DiceThrown,
    Event,
    GameEnded,
    LotMoved,
    OrderDecided,
    SeedRevealed,
    TableOpened,
    kind_of,
)
from omnipoly.rules.state import NOBODY

if TYPE_CHECKING:
    from omnipoly.rules.ring import Game
    from omnipoly.rules.state import State
    from omnipoly.wire.commits import Commit

MOST_PROBLEMS = 20
"""So many are listed; the check ends there."""


class Problem(NamedTuple):
    """Something in the log that is not as the seed and the rules have it."""

    version: int
    """Of the commit."""
    sentence: str


class Verdict(NamedTuple):
    """What a check found. ``throws`` and ``draws`` are those that were recomputed and agree."""

    throws: int
    draws: int
    """Cards drawn, lots dealt, and who begins."""
    commits: int
    problems: tuple[Problem, ...]
    state: State
    """The state at the end of the log."""

    @property
    def holds(self) -> bool:
        """Whether every throw and draw is the seed's, and the log is whole."""
        return not self.problems


def check(game: Game, log: Sequence[Commit]) -> Verdict:
    """Replay a log and check each throw and draw against the revealed seed, and the seed against its commitment.

    ``game`` is the edition that the log's first event names by digest. Raises nothing for what is wrong with the log:
    that stands in the verdict.
    """
    checking = _Check(game, log)
    try:
        checking.all(log)
    except _Stop as stop:
        checking.problems.append(stop.problem)
    return Verdict(checking.throws, checking.draws, len(log), tuple(checking.problems), checking.state)


class _Stop(Exception):
    """From here on the log cannot be followed."""

    def __init__(self, version: int, sentence: str) -> None:
        super().__init__(sentence)
        self.problem = Problem(version, sentence)


class _Check:
    """One check under way."""

    def __init__(self, game: Game, log: Iterable[Commit]) -> None:
        self.game = game
        self.state = engine.blank(game.first)
        self.problems: list[Problem] = []
        self.throws = self.draws = 0
        self.version = 0
        self.seed = _revealed(log)
        self.entropy: FairEntropy | None = None

    def all(self, log: Sequence[Commit]) -> None:
        self._opening(log)
        for commit in log:
            if commit.version != self.version + 1:
                raise _Stop(commit.version, f"commit {self.version + 1} is missing")
            self.version = commit.version
            engine.enter(self.state, commit.at_ms, commit.actor)
            for event in commit.events:
                self._event(event)
            self._invariants()
        if self.state.seed and not self.state.ended:
            self._wrong("the seed was revealed before the game had ended")

    def _opening(self, log: Sequence[Commit]) -> None:
        """The promise, and whether the seed keeps it."""
        first = log[0].events[0] if log and log[0].events else None
        if not isinstance(first, TableOpened):
            raise _Stop(1, "the log does not begin with the opening of a table")
        edition = self.game.edition
        if first.digest != edition.digest:
            raise _Stop(1, f"the game was played with the edition of digest {first.digest}, not {edition.digest}")
        if first.dev or not first.commitment:
            raise _Stop(1, "the dice of this table could be scripted: it was opened under --dev")
        if not self.seed:
            raise _Stop(log[-1].version, "the seed is not revealed: the game has not ended")
        try:
            kept = commitment(bytes.fromhex(self.seed)) == first.commitment
        except ValueError:
            kept = False
        if not kept:
            raise _Stop(log[-1].version, "the revealed seed is not the one that was committed to")

    def _event(self, event: Event) -> None:
        """Check one event against the state before it, then apply it."""
        s = self.state
        if isinstance(event, DiceThrown):
            self._throw(s, event)
        elif isinstance(event, CardDrawn):
            self._card(s, event)
        elif isinstance(event, OrderDecided):
            self._order(s, event)
        elif isinstance(event, LotMoved) and event.how == "dealt":
            self._dealt(s, event)
        elif isinstance(event, GameEnded) and event.places and event.places != ending.places(s):
            self._wrong(f"the places {list(event.places)} are not those of the position, {list(ending.places(s))}")
        try:
            event.apply(s)
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            raise _Stop(self.version, f"{kind_of(event)} does not fit the position: {error!r}") from error

    def _fair(self, s: State) -> FairEntropy:
        """The maker of this game; contributions are closed by Start, before the first throw."""
        if self.entropy is None:
            self.entropy = FairEntropy(bytes.fromhex(self.seed), s.contributions)
        return self.entropy

    def _throw(self, s: State, event: DiceThrown) -> None:
        number = s.thrown + 1
        if event.number != number:
            self._wrong(f"throw {event.number} follows throw {s.thrown}")
            return
        fair = self._fair(s)
        dice = fair.throw(number, event.purpose)
        walks_three = event.purpose == "walk" and s.rules.choices.turn.speed_die
        speed = fair.speed(number) if walks_three else ""
        if event.dice != dice or event.speed != speed:
            self._wrong(f"throw {number} is {_shown(event.dice, event.speed)}; the seed gives {_shown(dice, speed)}")
            return
        self.throws += 1

    def _card(self, s: State, event: CardDrawn) -> None:
        deck = s.rules.deck_numbers.get(event.deck)
        if deck is None:
            raise _Stop(self.version, f"there is no deck {event.deck!r}")
        number = s.draws[deck] + 1
        if event.number != number:
            self._wrong(f"draw {event.number} from {event.deck} follows draw {s.draws[deck]}")
            return
        unseen = s.unseen[deck]
        if unseen:
            card = unseen[self._fair(s).pick("deck " + event.deck, number, len(unseen))]
        elif s.returned[deck]:
            card = s.returned[deck][0]
        else:
            raise _Stop(self.version, f"a card is drawn from {event.deck}, which is empty")
        self._drawn(f"draw {number} from {event.deck}", event.card, card)

    def _order(self, s: State, event: OrderDecided) -> None:
        seats = seats_in(s)
        how = s.rules.choices.turn.order
        if how == "thrown":
            seats.sort(key=lambda seat: s.throws[seat], reverse=True)
        elif how == "drawn":
            first = self._fair(s).pick("first", 1, len(seats))
            seats = seats[first:] + seats[:first]
            self._drawn("who begins", event.order[0], seats[0])
        if event.order != tuple(seats):
            self._wrong(f"the order of play is {list(event.order)}; by the throws it is {seats}")

    def _dealt(self, s: State, event: LotMoved) -> None:
        free = [field for field in s.rules.lots if s.owner[field] == NOBODY]
        number = len(s.rules.lots) - len(free) + 1
        if not free:
            raise _Stop(self.version, "a lot is dealt, and none is left")
        lot = free[self._fair(s).pick("deal", number, len(free))]
        self._drawn(f"deal {number}", event.field, lot)

    def _drawn(self, what: str, got: object, wanted: object) -> None:
        if got != wanted:
            self._wrong(f"{what} is {got}; the seed gives {wanted}")
        else:
            self.draws += 1

    def _invariants(self) -> None:
        try:
            engine.check(self.state)
        except engine.Broken as broken:
            raise _Stop(self.version, f"the rules' invariants do not hold: {broken}") from broken

    def _wrong(self, sentence: str) -> None:
        problem = Problem(self.version, sentence)
        if len(self.problems) + 1 >= MOST_PROBLEMS:
            raise _Stop(*problem)
        self.problems.append(problem)


def _revealed(log: Iterable[Commit]) -> str:
    """The seed, in hex; "" when it is not revealed."""
    return next((event.seed for commit in log for event in commit.events if isinstance(event, SeedRevealed)), "")


def _shown(dice: tuple[int, int], speed: str) -> str:
    return f"{dice[0]} and {dice[1]}" + (f" with {speed}" if speed else "")
