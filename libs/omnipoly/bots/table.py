"""A whole game of bots on the engine alone: the state itself is the draft, nothing is copied, nothing is stored."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from omnipoly.rules import engine, lobby
from omnipoly.rules.actions import AddBot, Roll, SetOptions, Start
from omnipoly.rules.draft import Draft
from omnipoly.rules.events import AuctionOpened, Jailed, Moved, OfferClosed, OfferMade, TableOpened, TurnStarted
from omnipoly.rules.ring import Game
from omnipoly.rules.state import Phase, State

from .chance import Chance
from .strategy import Bot

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from omnipoly.editions.model import Edition
    from omnipoly.rules.actions import Action
    from omnipoly.rules.entropy import Entropy
    from omnipoly.rules.events import Event

    from .strategy import Player

HOST = "host"
BEGIN_MS = 1_700_000_000_000
"""When a game begins on its own clock. Nothing depends on it."""
PACE_MS = 5_000
"""A throw, and all that follows from it, takes so long on the table's clock."""
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
    first: int
    """The seat that had the first turn."""
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
    """By field: how often a figure came to stand there by a throw, a card, a jump, a ride; the last one: in jail."""


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
        watch: Callable[[str, Action, list[Event]], None] | None = None,
    ) -> None:
        """``check``: look at every invariant after each action. ``watch`` is told of each action and its events.

        Raises ``KeyError`` for a number of players that the edition has no ring for.
        """
        self.game = edition if isinstance(edition, Game) else Game(edition)
        self.seed = str(seed)
        self.players = players
        self.now_ms = BEGIN_MS
        self._check = check
        self._watch = watch
        self.draft = Draft(engine.blank(self.game.ring_for(len(players))), entropy or Chance(self.seed))
        self.state: State = self.draft.state
        self.actions = self.refused = self.cut = 0
        self._turns = self._trades = self._offers = 0
        self._in_turn = 0
        self._landings = [0] * (self.state.rules.fields_n + 1)
        self._seat(options)

    def _seat(self, options: SetOptions | None) -> None:
        edition = self.game.edition
        engine.enter(self.state, self.now_ms, HOST)
        self.draft.emit(
            TableOpened(self.seed, edition.id, edition.digest, HOST, lobby.default_options(self.game), "", dev=False)
        )
        for _ in self.players:
            self._must(HOST, AddBot())
        if options is not None:
            self._must(HOST, options)
        self._must(HOST, Start())

    def _must(self, actor: str, action: Action) -> None:
        refused = engine.act(self.draft, actor, action, now_ms=self.now_ms)
        if refused is not None:
            raise Stuck(f"{action} of {actor}: {refused.code}")
        self._count(actor, action)

    # --- playing ------------------------------------------------------------------------------------------------------

    def play(self) -> Played:
        """Play to the end. Raises ``Stuck`` when nobody can go on, ``engine.Broken`` when an invariant does not hold."""
        s = self.state
        while s.phases[-1] is not Phase.OVER:
            self.step()
        engine.check(s)
        return Played(
            seed=self.seed,
            seats=s.seats,
            why=s.ended,
            places=tuple(s.places),
            first=s.order[0],
            rounds=s.round,
            turns=self._turns,
            actions=self.actions,
            throws=s.thrown,
            auctions=s.auctions,
            offers=self._offers,
            trades=self._trades,
            refused=self.refused,
            cut=self.cut,
            landings=tuple(self._landings),
        )

    def step(self) -> None:
        """One action: of whoever has a rent to claim or an offer to answer, else of whose decision is open."""
        s = self.state
        if self._in_turn > MOST_ACTIONS:
            self.cut += 1
            self._clock()
            return
        asked = self._aside()
        if asked is None:
            asked = self._prompted()
        if asked is None:
            self._clock()
            return
        seat, action = asked
        if type(action) is Roll:
            self.now_ms += PACE_MS
        actor = s.holder[seat]
        if engine.act(self.draft, actor, action, now_ms=self.now_ms) is None:
            self.actions += 1
            self._in_turn += 1
            self._count(actor, action)
        else:
            self.refused += 1
            self._count(actor, action)
            self._clock()

    def _aside(self) -> tuple[int, Action] | None:
        """What somebody does whose decision it is not: claim a rent, answer an offer."""
        s = self.state
        for claim in s.claims:
            action = self.players[claim.claimant].decide(s, claim.claimant, self.now_ms)
            if action is not None:
                return claim.claimant, action
        for offer in s.offers:
            action = self.players[offer.receiver].decide(s, offer.receiver, self.now_ms)
            if action is not None:
                return offer.receiver, action
        return None

    def _prompted(self) -> tuple[int, Action] | None:
        s = self.state
        turn = s.turn
        if turn >= 0 and s.prompt[turn]:
            action = self.players[turn].decide(s, turn, self.now_ms)
            if action is not None:
                return turn, action
        for seat, prompt in enumerate(s.prompt):
            if prompt and seat != turn:
                action = self.players[seat].decide(s, seat, self.now_ms)
                if action is not None:
                    return seat, action
        return None

    def _clock(self) -> None:
        """Nobody does anything: time passes until something falls due."""
        at = engine.next_deadline_ms(self.state)
        if not at:
            raise Stuck(f"seed {self.seed}: nothing will ever fall due in {self.state.phases}")
        self.now_ms = max(self.now_ms, at)
        engine.play_due(self.draft, now_ms=self.now_ms)
        self._count("", None)

    def _count(self, actor: str, action: Action | None) -> None:
        events = self.draft.events
        for event in events:
            kind = type(event)
            if kind is Moved:
                self._landings[event.field] += 1  # type: ignore[attr-defined]
            elif kind is TurnStarted:
                self._turns += 1
                self._in_turn = 0
            elif kind is Jailed:
                self._landings[-1] += 1
            elif kind is OfferMade:
                self._offers += 1
            elif kind is OfferClosed and event.how == "accepted":  # type: ignore[attr-defined]
                self._trades += 1
        if self._watch is not None:
            self._watch(actor, action, list(events))  # type: ignore[arg-type]
        events.clear()
        if self._check:
            engine.check(self.state)
