"""Random play of every edition, by everybody and the clock (CORE-LEGAL, CORE-MONEY, CORE-REPLAY).

At each position: every action that is listed is accepted, everything else that can be made up is refused and changes
nothing, every invariant holds, and the events alone give the same state. At the end the same commands with the same
seed give the same events, to the byte.
"""

from __future__ import annotations

import random
from typing import Any, NamedTuple

import hypothesis
import msgspec
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from omnipoly.bots.random_bot import any_of
from omnipoly.bots.strategy import Bot
from omnipoly.editions import loader
from omnipoly.rules import actions as act
from omnipoly.rules import engine, listing, lobby, trade
from omnipoly.rules.actions import Action
from omnipoly.rules.entropy import FairEntropy
from omnipoly.rules.events import Event, TableOpened
from omnipoly.rules.ring import Game
from omnipoly.rules.state import LOBBY, OVER, Out, State
from tests.rules import generated

NOW_MS = 1_700_000_000_000
SIZES = {
    "tubbypoly": (2, 3, 8, 9, 13),
    "rugpull": (2, 4),
    "globopoly/classic": (2, 4),
    "globopoly/quick": (2, 4),
    "laspoly": (2, 4),
}
GAMES = {name: Game(loader.edition(name)) for name in SIZES}


class Command(NamedTuple):
    """One thing that reached the table: who, what (``None``: the clock's wake-up), when; and what came of it."""

    actor: str
    action: Action | None
    now_ms: int
    accepted: bool
    events: list[Event]


class Play(RuleBasedStateMachine):
    """A table at which random things happen."""

    edition = ""

    @initialize(
        size=st.integers(0, 4), bots=st.integers(0, 2), seed=st.binary(min_size=4, max_size=4), quick=st.booleans()
    )
    def open(self, size: int, bots: int, seed: bytes, quick: bool) -> None:
        sizes = SIZES[self.edition]
        players = sizes[size % len(sizes)]
        self.seed = seed
        self.chance = random.Random(seed)
        self.now_ms = NOW_MS
        self.log: list[Command] = []
        self.state = self._blank()
        for number in range(players):
            bot = number and number <= bots
            self.do("p0" if bot else f"p{number}", act.AddBot() if bot else act.Join(f"P{number}"))
        if quick:
            self.do("p0", act.SetOptions(round_limit=3))
        self.do("p0", act.Contribute("luck"))
        self.do("p0", act.Start())

    def _blank(self) -> State:
        game = GAMES[self.edition]
        s = engine.blank(game.first)
        engine.enter(s, NOW_MS, "p0")
        edition = game.edition
        TableOpened("t", edition.id, edition.digest, "p0", lobby.default_options(game), "", dev=False).apply(s)
        return s

    # --- how anything happens

    def _try(self, s: State, actor: str, action: Action | None, now_ms: int) -> tuple[engine.Draft, bool]:
        draft = engine.Draft(s.copy(), FairEntropy(self.seed, s.contributions))
        if action is None:
            engine.play_due(draft, now_ms=now_ms)
            return draft, True
        return draft, engine.act(draft, actor, action, now_ms=now_ms) is None

    def do(self, actor: str, action: Action | None) -> bool:
        before = self.state
        draft, accepted = self._try(before, actor, action, self.now_ms)
        after = draft.state
        self.log.append(Command(actor, action, self.now_ms, accepted, draft.events))
        # what the events say is what happened: CORE-REPLAY
        again = before.copy()
        engine.enter(again, after.now_ms, self._moved(actor, action, accepted))
        for event in draft.events:
            engine.apply(again, event)
        if again.last_move_ms != after.last_move_ms:
            hypothesis.note(f"{actor} {action} accepted {accepted}")
        assert again == after
        self.state = after
        return accepted

    @staticmethod
    def _moved(actor: str, action: Action | None, accepted: bool) -> str:
        """Whose move the commit counts as: presence is the platform's word, a refusal is nobody's."""
        platform = isinstance(action, act.Connect | act.Disconnect | act.MoveClocks | act.Advance)
        return actor if accepted and not platform else ""

    @property
    def going(self) -> bool:
        return self.state.phases[-1] not in (LOBBY, OVER)

    # --- what may happen

    @rule(seat=st.integers(0, 15), choice=st.integers(0, 10**6), answers=st.booleans(), wait_ms=st.integers(0, 900))
    def somebody_acts(self, seat: int, choice: int, answers: bool, wait_ms: int) -> None:
        """A random legal action of a random seat, mostly of one that is asked."""
        self.now_ms += wait_ms
        self.do("", None)
        s = self.state
        if s.phases[-1] is OVER:
            return
        seats = [at for at, prompt in enumerate(s.prompt) if prompt] if answers else list(range(s.seats))
        if not seats:
            return
        seat = seats[seat % len(seats)]
        legal = listing.prompt_actions(s, seat, s.now_ms) if answers else listing.legal_actions(s, seat, s.now_ms)
        legal = [one for one in legal if one.do not in ("leave", "propose_end", "give_up", "remove")] or legal
        legal.sort(key=lambda one: one.do)
        if not legal:
            return
        action = any_of(random.Random(choice), s, seat, legal[choice % len(legal)])
        accepted = self.do(s.holder[seat], action)
        assert accepted or isinstance(action, act.Offer)

    @rule(turns=st.integers(1, 4))
    def bots_play_on(self, turns: int) -> None:
        """Bots for everybody, so that play gets to where lots are owned and built on."""
        for _ in range(turns * 12):
            s = self.state
            if s.paused_ms or not self.going:
                return
            self.now_ms += 2000
            self.do("", None)
            s = self.state
            for seat in range(s.seats):
                action = Bot(seat).decide(s, seat, s.now_ms) if s.out[seat] == Out.IN else None
                if action is not None:
                    assert self.do(s.holder[seat], action)
                    break

    @rule(seat=st.integers(0, 15), what=st.sampled_from(("leave", "propose_end", "give_up", "remove")))
    @precondition(lambda self: self.state.round > 1)
    def somebody_goes(self, seat: int, what: str) -> None:
        s = self.state
        seat %= s.seats
        legal = [one for one in listing.legal_actions(s, seat, s.now_ms) if one.do == what]
        if legal:
            assert self.do(s.holder[seat], any_of(self.chance, s, seat, legal[0]))

    @rule(seat=st.integers(0, 15), there=st.booleans(), broken=st.booleans())
    def presence(self, seat: int, there: bool, broken: bool) -> None:
        s = self.state
        seat %= s.seats
        assert self.do(s.holder[seat], act.Connect() if there else act.Disconnect(broken))

    @rule(seat=st.integers(0, 15))
    def take_a_seat(self, seat: int) -> None:
        s = self.state
        seat %= s.seats
        self.do(s.stands_in_for[seat] or f"viewer{seat}", act.TakeSeat(seat, "V"))

    @rule(by_ms=st.integers(1, 70_000))
    def time_passes(self, by_ms: int) -> None:
        self.now_ms += by_ms
        self.do("", None)

    @rule()
    def something_falls_due(self) -> None:
        at = engine.next_deadline_ms(self.state)
        if at and not self.state.paused_ms:
            self.now_ms = max(self.now_ms, at)
            self.do("", None)

    @rule(by_ms=st.integers(1, 100_000))
    def an_outage_ends(self, by_ms: int) -> None:
        self.now_ms += by_ms
        self.do("", act.MoveClocks(by_ms))

    # --- what must hold

    @invariant()
    def nothing_is_hurt(self) -> None:
        engine.check(self.state)
        assert self.state.now_ms <= self.now_ms

    @rule(seat=st.integers(0, 15))
    def what_is_listed_is_accepted_and_nothing_else(self, seat: int) -> None:
        s = self.state
        seat %= s.seats
        actor, now_ms = s.holder[seat], s.now_ms
        legal = listing.legal_actions(s, seat, now_ms)
        by_kind = {one.do: one for one in legal}
        assert len(by_kind) == len(legal)
        assert not by_kind.keys() & generated.UNLISTED
        allowed = generated.listed(s, legal)
        for action in allowed:
            draft, accepted = self._try(s, actor, action, now_ms)
            assert accepted, action
            engine.check(draft.state)
        for action in generated.everything(s):
            if action in allowed:
                continue
            bids = by_kind.get("bid")
            if isinstance(action, act.Bid) and bids is not None and generated.allowed_bid(action, bids):
                assert self._try(s, actor, action, now_ms)[1], action
            else:
                self._assert_refused(s, actor, action)
        self._look_at_offers(s, seat, by_kind.get("offer"))

    def _look_at_offers(self, s: State, seat: int, listed: Any) -> None:
        """Of offers only the partners and the lots are listed; what is not among them is refused."""
        for offer in generated.offers(self.chance, s, 30):
            draft, accepted = self._try(s, s.holder[seat], offer, s.now_ms)
            if accepted:
                assert listed is not None, offer
                assert offer.to in listed.seats, offer
                fields = {choice.field for choice in listed.fields}
                assert {*offer.give.fields, *offer.take.fields} <= fields, offer
                assert all(trade.may_move(s, at) for at in fields)
                engine.check(draft.state)
            else:
                self._assert_refused(s, s.holder[seat], offer)

    def _assert_refused(self, s: State, actor: str, action: Action) -> None:
        draft, accepted = self._try(s, actor, action, s.now_ms)
        assert not accepted, action
        assert draft.events == [], action
        assert draft.state == s, action

    @rule()
    def strangers_and_the_dead_do_nothing(self) -> None:
        s = self.state
        for action in generated.everything(s):
            self._assert_refused(s, "stranger", action)
        for seat, out in enumerate(s.out):
            if out != Out.IN and s.holder[seat] != s.host:
                for action in generated.everything(s):
                    self._assert_refused(s, s.holder[seat], action)

    def teardown(self) -> None:
        """The same commands with the same seed give the same events, to the byte."""
        if not hasattr(self, "log"):
            return
        again = self._blank()
        for command in self.log:
            draft, accepted = self._try(again, command.actor, command.action, command.now_ms)
            assert accepted == command.accepted
            assert msgspec.msgpack.encode(draft.events) == msgspec.msgpack.encode(command.events)
            again = draft.state
        assert again == self.state


@pytest.mark.parametrize("edition", SIZES)
def test_random_play(edition: str) -> None:
    machine = type("Play", (Play,), {"edition": edition})
    settings = hypothesis.settings(max_examples=12, stateful_step_count=40)
    hypothesis.stateful.run_state_machine_as_test(machine, settings=settings)
