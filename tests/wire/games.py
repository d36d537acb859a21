"""Games played at random on the engine, commit by commit: events and states as they come."""

from __future__ import annotations

import functools
import random
from collections.abc import Iterator
from typing import NamedTuple

from omnipoly.editions import loader
from omnipoly.rules import actions, engine, entropy, listing
from omnipoly.rules.actions import Action, Side
from omnipoly.rules.events import Event, SeatTaken, TableOpened
from omnipoly.rules.legal import LegalAction
from omnipoly.rules.lobby import default_options
from omnipoly.rules.ring import Game
from omnipoly.rules.state import Phase, State

SEED = bytes(range(32))


class Step(NamedTuple):
    """One commit of a game."""

    actor: str
    now_ms: int
    events: tuple[Event, ...]
    state: State
    """After it; the step's own."""


@functools.cache
def game(edition: str) -> Game:
    """An edition, compiled."""
    return Game(loader.edition(edition))


def play(edition: str, people: int, bots: int, seed: int, most: int) -> Iterator[Step]:
    """The commits of a game with random legal actions, at most so many."""
    chance = random.Random(seed)
    state = engine.blank(game(edition).first)
    now = 1_700_000_000_000
    draft = engine.Draft(state, entropy.FairEntropy(SEED, ()))
    of = game(edition)
    opened = TableOpened("t1", edition, of.edition.digest, "p0", default_options(of), entropy.commitment(SEED), False)
    draft.emit(opened)
    for seat in range(people):
        draft.emit(SeatTaken(seat, f"p{seat}", f"Person {seat}", bot=False))
    engine.enter(state, now, "p0")
    yield Step("p0", now, tuple(draft.events), state.copy())
    for action in [*[actions.AddBot()] * bots, actions.Contribute("salt"), actions.Start()]:
        yield _act(state, "p0", action, now)
    for _ in range(most):
        if state.phase is Phase.OVER:
            return
        actor, action = _any(state, chance, now)
        if action is None or chance.random() < 0.03:
            now = max(now, engine.next_deadline_ms(state))
            draft = engine.Draft(state, entropy.FairEntropy(SEED, state.contributions))
            engine.play_due(draft, now_ms=now)
            yield Step("", now, tuple(draft.events), state.copy())
        else:
            now += chance.randrange(3000)
            yield _act(state, actor, action, now)


def _act(state: State, actor: str, action: Action, now: int) -> Step:
    draft = engine.Draft(state, entropy.FairEntropy(SEED, state.contributions))
    refused = engine.act(draft, actor, action, now_ms=now)
    return Step("" if refused else actor, now, tuple(draft.events), state.copy())


def _any(state: State, chance: random.Random, now: int) -> tuple[str, Action | None]:
    """Somebody who may do something, and what."""
    asked = [seat for seat in range(state.seats) if state.prompt[seat]] if chance.random() < 0.9 else []
    for seat in asked or chance.sample(range(state.seats), state.seats):
        listed = listing.legal_actions(state, seat, now)
        wanted = [
            one for one in listed if one.do not in ("leave", "give_up", "propose_end", "remove") or _rarely(chance)
        ]
        if wanted:
            return state.holder[seat], _of(state, seat, chance.choice(wanted), chance)
    return "", None


def _rarely(chance: random.Random) -> bool:
    return chance.random() < 0.01


def _of(state: State, seat: int, listed: LegalAction, chance: random.Random) -> Action:
    kind = actions.KINDS[listed.do]
    if listed.do == "bid":
        return actions.Bid(listed.auction, chance.choice(listed.amounts) if listed.amounts else listed.least)
    if listed.do == "pass":
        return actions.Pass(listed.auction)
    if listed.do == "build":
        choice = chance.choice(listed.fields)
        return actions.Build(choice.field, choice.what or "building")
    if listed.do == "choose_steps":
        return actions.ChooseSteps(chance.choice(listed.amounts))
    if listed.do == "offer":
        return _offer(state, seat, listed, chance)
    if listed.do == "vote":
        return actions.Vote(yes=chance.random() < 0.5)
    if listed.fields:
        return kind(chance.choice(listed.fields).field)  # type: ignore[call-arg]
    if listed.offers:
        return kind(chance.choice(listed.offers))  # type: ignore[call-arg]
    if listed.seats:
        return kind(chance.choice(listed.seats))  # type: ignore[call-arg]
    return kind()


def _offer(state: State, seat: int, listed: LegalAction, chance: random.Random) -> Action:
    other = chance.choice(listed.seats)
    fields = [choice.field for choice in listed.fields]
    mine = [field for field in fields if state.owner[field] == seat]
    theirs = [field for field in fields if state.owner[field] == other]
    cards = state.cards[seat][:1] if listed.cards else ()
    give = Side(chance.randrange(1, 50), tuple(mine[:2]), cards)
    return actions.Offer(other, give, Side(chance.randrange(1, 50), tuple(theirs[:1])))
