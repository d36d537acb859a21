"""A whole game of bots on the engine alone: the state itself is the draft, nothing is copied, nothing is stored."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec

from omnipoly.rules import engine, lobby
from omnipoly.rules.actions import Accept, Action, AddBot, SetOptions, Start
from omnipoly.rules.draft import Draft
from omnipoly.rules.events import Event, TableOpened
from omnipoly.rules.ring import Game
from omnipoly.rules.state import FREE, OVER, State

from .chance import Chance

if TYPE_CHECKING:
    from collections.abc import Sequence

    from omnipoly.editions.model import Edition
    from omnipoly.rules.entropy import Entropy

    from .strategy import Player

Watch = Callable[[int, str, Action | None, list[Event]], None]
"""Is told of each command: time, actor, action (``None``: the clock's), and what happened."""

HOST = "host"
BEGIN_MS = 1_000_000
"""When a game begins on its own clock. Nothing depends on it; small numbers are cheaper to compare."""
PACE_MS = 5_000
"""A turn, and all that belongs to it, takes so long on the table's clock."""
MOST_ACTIONS = 400
"""Within one turn; who goes on after them is played for by the clock (known fault 54)."""


class Stuck(Exception):
    """Nobody can go on, or a player acts against the rules again and again."""


class Played(msgspec.Struct, frozen=True, gc=False):
    """How a game went."""

    seed: str
    seats: int
    why: str
    """Why it ended (``GameEnded.why``)."""
    places: tuple[int, ...]
    """By seat, 1 is best."""
    order: tuple[int, ...]
    """Seats in order of play."""
    rounds: int
    turns: int
    actions: int
    """Actions of players that were accepted."""
    throws: int
    auctions: int
    offers: int
    trades: int
    refused: int
    """Actions of players that the rules refused."""
    cut: int
    """Turns that had too many actions and were played on by the clock."""
    landings: tuple[int, ...]
    """By field: how often a figure came to stand there, and stayed, by what its owner did; the last one: in jail."""


class Table:
    """One game of ``players``, from Start to its end."""

    def __init__(
        self,
        edition: Edition | Game,
        players: Sequence[Player],
        seed: int | str,
        *,
        entropy: Entropy | None = None,
        options: SetOptions | None = None,
        check: bool = False,
        watch: Watch | None = None,
    ) -> None:
        """``check``: look at every invariant after each action. ``watch`` is told of each action and its events.

        Raises ``KeyError`` for a number of players that the edition has no ring for, ``Stuck`` for options it refuses.
        """
        self.game = edition if isinstance(edition, Game) else Game(edition)
        self.seed = str(seed)
        self.players = players
        self.now_ms = BEGIN_MS
        self.draft = Draft(engine.blank(self.game.ring_for(len(players))), entropy or Chance(self.seed))
        self.state: State = self.draft.state
        self.actions = self.turns = self.trades = self.refused = self.cut = 0
        self.landings = [0] * (self.state.rules.fields_n + 1)
        self._check = check
        self._watch = watch
        self._seat(options)

    def _seat(self, options: SetOptions | None) -> None:
        edition = self.game.edition
        engine.enter(self.state, self.now_ms, HOST)
        self.draft.emit(
            TableOpened(self.seed, edition.id, edition.digest, HOST, lobby.default_options(self.game), "", dev=False)
        )
        actions: list[Action] = [AddBot() for _ in self.players]
        if options is not None:
            actions.append(options)
        for action in (*actions, Start()):
            refused = engine.act(self.draft, HOST, action, now_ms=self.now_ms)
            if refused is not None:
                raise Stuck(f"{action}: {refused.code}")
            self._tell(HOST, action)

    def play(self) -> Played:
        """Play to the end. Raises ``Stuck`` when nobody can go on, ``engine.Broken`` when an invariant is hurt."""
        s = self.state
        while s.phases[-1] is not OVER:
            if not self._play_turn():
                self.cut += 1
                self._clock()
        engine.check(s)
        return self._played()

    def _play_turn(self) -> bool:
        """Play until the turn is another's or the game is over; false when it takes too many actions."""
        s, draft, act = self.state, self.draft, engine.act
        turn = s.turn
        self._pass_time()
        now_ms = self.now_ms
        decide, actor = self.players[turn].decide, s.holder[turn]
        watched = self._check or self._watch is not None
        for _ in range(MOST_ACTIONS):
            if s.turn != turn or s.phases[-1] is OVER:
                self.turns += s.turn != turn
                if not watched:
                    draft.events.clear()
                return True
            action = None
            if s.prompt[turn] and turn >= 0 and not s.offers and not s.claims:
                action = decide(s, turn, now_ms)
            if action is None:
                self._others()
                now_ms = self.now_ms
                continue
            stood = s.position[turn]
            if act(draft, actor, action, now_ms=now_ms) is not None:
                self._refused()
                continue
            self.actions += 1
            if s.position[turn] != stood:
                self._landed(turn)
            if watched:
                self._tell(actor, action)
        return False

    def _pass_time(self) -> None:
        """A turn, and all that belongs to it, takes its time; what falls due by then is played first."""
        self.now_ms += PACE_MS
        engine.play_due(self.draft, now_ms=self.now_ms)
        if self.draft.events:
            self._tell("", None)

    def _others(self) -> None:
        """One action where more than the turn owner's prompt is open, or the clock's where nobody does anything.

        First whoever has a rent to claim or an offer to answer, then those whose decision is open.
        """
        s = self.state
        seats = [claim.claimant for claim in s.claims] + [offer.receiver for offer in s.offers]
        if s.turn >= 0 and s.prompt[s.turn]:
            seats.append(s.turn)
        seats += [seat for seat, prompt in enumerate(s.prompt) if prompt]
        for seat in dict.fromkeys(seats):
            action = self.players[seat].decide(s, seat, self.now_ms)
            if action is not None:
                self._do(seat, action)
                return
        self._clock()

    def _do(self, seat: int, action: Action) -> None:
        s = self.state
        stood = s.position[seat]
        if engine.act(self.draft, s.holder[seat], action, now_ms=self.now_ms) is not None:
            self._refused()
            return
        self.actions += 1
        if type(action) is Accept:
            self.trades += 1
        if s.position[seat] != stood:
            self._landed(seat)
        self._tell(s.holder[seat], action)

    def _landed(self, seat: int) -> None:
        s = self.state
        self.landings[s.position[seat] if s.jailed[seat] == FREE else -1] += 1

    def _refused(self) -> None:
        self.refused += 1
        self._clock()

    def _clock(self) -> None:
        """Nobody does anything: time passes until something falls due."""
        at = engine.next_deadline_ms(self.state)
        if not at:
            raise Stuck(f"seed {self.seed}: nothing will ever fall due in {self.state.phases}")
        self.now_ms = max(self.now_ms, at)
        engine.play_due(self.draft, now_ms=self.now_ms)
        self._tell("", None)

    def _tell(self, actor: str, action: Action | None) -> None:
        if self._watch is not None:
            self._watch(self.now_ms, actor, action, self.draft.events[:])
        self.draft.events.clear()
        if self._check:
            engine.check(self.state)

    def _played(self) -> Played:
        s = self.state
        return Played(
            seed=self.seed,
            seats=s.seats,
            why=s.ended,
            places=tuple(s.places),
            order=tuple(s.order),
            rounds=s.round,
            turns=self.turns,
            actions=self.actions,
            throws=s.thrown,
            auctions=s.auctions,
            offers=s.offers_n,
            trades=self.trades,
            refused=self.refused,
            cut=self.cut,
            landings=tuple(self.landings),
        )
