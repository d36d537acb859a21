"""How often each field is reached in two million throws, against the known probabilities of the classic ring.

The engine plays: two figures, lots that are declined and never auctioned, real decks of 16 cards, jail. What is counted
is where a throw ends once all that follows from it is done, as ``landing_probabilities.json`` counts it by ``roll``.

A share p of n throws has the standard error sqrt(p (1 - p) / n). Five of them are allowed, with 41 fields in four runs
by chance alone once in ten thousand. Stays in jail come in runs of up to three throws and are allowed twice that.
The decks of the ``markov`` figures are drawn from with all cards in them each time; played here are shuffled decks that
go round, without the jail-free card that would leave them. What that is known to change is below ``MIXED``.
"""

from __future__ import annotations

import functools
import json
import math
from pathlib import Path
from typing import Any

import pytest

from omnipoly.bots.chance import Chance
from omnipoly.editions import loader
from omnipoly.rules import engine, lobby
from omnipoly.rules.actions import AddBot, Decline, EndTurn, GiveUp, Pay, PayBail, Roll, Start
from omnipoly.rules.draft import Draft
from omnipoly.rules.ring import Game
from omnipoly.rules.state import DEBT, FREE, LANDED, MOVED, OVER, THROW

FOLDER = Path(__file__).parent
IN_JAIL = 40
ERRORS = 5
MIXED = 0.0003
"""Drawing a deck in turn against drawing from all of it each time: measured between the two kinds of known figures."""
RULES = """
[rules.auction]
kind = "none"

[rules.jail]
after_last_try = "walks"

[rules.play]
last_round = 10000

[options]"""
NOW_MS = 1_000_000


@functools.cache
def known() -> dict[str, Any]:
    found: dict[str, Any] = json.loads((FOLDER / "landing_probabilities.json").read_text("utf-8"))
    return found


@functools.cache
def game(cards_kept: bool) -> Game:
    """The classic ring without auctions; with the cards that are kept, or with ones that pay 1 in their place."""
    text = (FOLDER.parent / "editions/classic.toml").read_text("utf-8").replace("\n[options]", RULES)
    if not cards_kept:
        text = text.replace('jail_free = true, text = "', 'collect = 1, text = "{collect}: ')
    return Game(loader.from_text(text))


class Walk:
    """Figures that walk round: what they throw, and where they come to stand."""

    def __init__(self, cards_kept: bool, stays: bool, seed: str) -> None:
        self.game = game(cards_kept)
        self.stays = stays
        self.chance = Chance(seed)
        self.counts = [0] * 41
        self.turns = 0

    def _begin(self) -> Draft:
        draft = Draft(engine.blank(self.game.first), self.chance)
        engine.enter(draft.state, NOW_MS, "host")
        draft.state.host = "host"
        draft.state.options = lobby.default_options(self.game)
        for action in (AddBot(), AddBot(), Start()):
            assert engine.act(draft, "host", action, now_ms=NOW_MS) is None
        return draft

    def throw(self, times: int) -> None:
        """So many throws, in as many games as that takes."""
        while times > 0:
            times -= self._play(self._begin(), times)

    def _play(self, draft: Draft, times: int) -> int:
        """Throw in one game until it ends; how often that was."""
        s, act, counts, thrown = draft.state, engine.act, self.counts, 0
        roll, end_turn, pay_bail, holder = Roll(), EndTurn(), PayBail(), s.holder
        while s.phases[-1] is not THROW:
            assert (
                act(draft, holder[next(seat for seat, prompt in enumerate(s.prompt) if prompt)], roll, now_ms=NOW_MS)
                is None
            )
        while thrown < times and s.phases[-1] is not OVER:
            seat = s.turn
            if s.jailed[seat] != FREE and not self.stays:
                assert act(draft, holder[seat], pay_bail, now_ms=NOW_MS) is None
            assert act(draft, holder[seat], roll, now_ms=NOW_MS) is None
            while s.phases[-1] is DEBT or s.phases[-1] is LANDED:
                self._answer(draft)
            thrown += 1
            counts[IN_JAIL if s.jailed[seat] != FREE else s.position[seat]] += 1
            if s.phases[-1] is MOVED:
                assert act(draft, holder[seat], end_turn, now_ms=NOW_MS) is None
            self.turns += s.turn != seat
            draft.events.clear()
        return thrown

    @staticmethod
    def _answer(draft: Draft) -> None:
        s = draft.state
        if s.phases[-1] is LANDED:
            assert engine.act(draft, s.holder[s.turn], Decline(), now_ms=NOW_MS) is None
            return
        debt = s.debts[0]
        action = Pay() if s.cash[debt.debtor] >= debt.amount else GiveUp()
        assert engine.act(draft, s.holder[debt.debtor], action, now_ms=NOW_MS) is None


RUNS = [
    ("real_decks", "short_card_never_used", True, False, 600_000),
    ("real_decks", "long_card_never_used", True, True, 600_000),
    ("markov", "short", False, False, 400_000),
    ("markov", "long_official_exit", False, True, 400_000),
]
"""Two million throws in all: which figures, whether cards are kept, whether one stays in jail, throws."""


def test_it_is_two_million_throws() -> None:
    assert sum(throws for *_, throws in RUNS) == 2_000_000


@pytest.mark.timeout(900)
@pytest.mark.parametrize(("kind", "name", "cards_kept", "stays", "throws"), RUNS, ids=str)
def test_landings(kind: str, name: str, cards_kept: bool, stays: bool, throws: int) -> None:
    walk = Walk(cards_kept, stays, f"landings {name}")
    walk.throw(throws)
    assert sum(walk.counts) == throws
    wanted = known()[kind][name]["roll"]
    far = {}
    for field, (count, share) in enumerate(zip(walk.counts, wanted, strict=True)):
        errors = ERRORS * (2 if field == IN_JAIL else 1)
        allowed = errors * math.sqrt(max(share, 0) * (1 - share) / throws) + (0 if cards_kept else MIXED)
        if abs(count / throws - share) > allowed:
            far[field] = (count / throws, share, allowed)
    assert far == {}


@pytest.mark.timeout(900)
def test_the_tolerance_tells_one_way_of_leaving_jail_from_another() -> None:
    """Each of the known figures is further from the others than is allowed: a wrong rule would be seen."""
    shares = [(kind, name, known()[kind][name]["roll"], throws) for kind, name, _, _, throws in RUNS]
    for kind, name, share, throws in shares:
        for other_kind, other_name, other, _ in shares:
            if (kind, name) != (other_kind, other_name):
                sigma = [math.sqrt(max(p, 1e-9) * (1 - p) / throws) for p in share]
                assert max(abs(p - q) - ERRORS * e for p, q, e in zip(share, other, sigma, strict=True)) > 0
