"""Whole games of bots as logs, with the provably fair dice: what record and check are tested on."""

from __future__ import annotations

import functools
import hashlib

from omnipoly.bots.strategy import Bot
from omnipoly.editions import loader
from omnipoly.rules import engine, lobby
from omnipoly.rules.actions import Action, AddBot, SetOptions, Start
from omnipoly.rules.codes import Refused
from omnipoly.rules.draft import Draft
from omnipoly.rules.entropy import FairEntropy, commitment
from omnipoly.rules.events import SeedRevealed, TableOpened
from omnipoly.rules.ring import Game
from omnipoly.rules.state import Phase, State
from omnipoly.wire.commits import Commit

BEGIN_MS = 1_700_000_000_000
HOST = "host"


class Log:
    """A table that keeps its log as the table service would."""

    def __init__(self, game: Game, seed: bytes, *, dev: bool = False) -> None:
        self.game = game
        self.seed = seed
        self.commits: list[Commit] = []
        self.now_ms = BEGIN_MS
        self.state: State = engine.blank(game.first)
        draft = Draft(self.state, FairEntropy(seed, ()))
        engine.enter(self.state, self.now_ms, HOST)
        edition, options = game.edition, lobby.default_options(game)
        draft.emit(TableOpened("t", edition.id, edition.digest, HOST, options, commitment(seed), dev))
        self._keep(draft, HOST)

    def act(self, actor: str, action: Action) -> Refused | None:
        """One action, committed if it is accepted or if something was due."""
        draft = Draft(self.state.copy(), FairEntropy(self.seed, self.state.contributions))
        refused = engine.act(draft, actor, action, now_ms=self.now_ms)
        self._keep(draft, actor if refused is None else "")
        return refused

    def wait(self) -> None:
        """Until something falls due."""
        self.now_ms = max(self.now_ms, engine.next_deadline_ms(self.state))
        draft = Draft(self.state.copy(), FairEntropy(self.seed, self.state.contributions))
        engine.play_due(draft, now_ms=self.now_ms)
        self._keep(draft, "")

    def _keep(self, draft: Draft, actor: str) -> None:
        if not draft.events:
            return
        if draft.state.phase is Phase.OVER and not draft.state.seed:
            draft.emit(SeedRevealed(self.seed.hex()))
        self.state = draft.state
        happened = tuple(draft.events)
        self.commits.append(Commit("t", len(self.commits) + 1, 1, draft.state.now_ms, actor, "", "", happened))


@functools.lru_cache(maxsize=16)
def played(edition: str, seats: int = 4, rounds: int = 12, seed: str = "one") -> Log:
    """A game of bots to its end."""
    log = Log(Game(loader.edition(edition)), hashlib.sha256(seed.encode()).digest())
    for _ in range(seats):
        assert log.act(HOST, AddBot()) is None
    assert log.act(HOST, SetOptions(round_limit=rounds)) is None
    assert log.act(HOST, Start()) is None
    bots = [Bot(seat) for seat in range(seats)]
    while log.state.phase is not Phase.OVER:
        s = log.state
        log.now_ms += 1000
        for seat in range(seats):
            action = bots[seat].decide(s, seat, log.now_ms) if s.out[seat] == 0 else None
            if action is not None and log.act(s.holder[seat], action) is None:
                break
        else:
            log.wait()
    return log
