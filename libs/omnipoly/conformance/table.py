"""One game in memory, played by the engine: a log, commands that are done once, bots that move at once.

Time stands still but for a step with each commit, so that no clock ever plays for anybody while a trial takes its time.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, NamedTuple

from omnipoly.bots.chance import Chance
from omnipoly.client.decisions import choose
from omnipoly.rules import actions as act
from omnipoly.rules import engine, listing, lobby
from omnipoly.rules.codes import Code
from omnipoly.rules.events import SeatTaken, TableOpened
from omnipoly.rules.state import Phase, Prompt
from omnipoly.runtime import refusals
from omnipoly.wire import commits, legal, views
from omnipoly.wire.gen.game.v1 import legal_pb2, view_pb2

if TYPE_CHECKING:
    from omnipoly.rules.actions import Action
    from omnipoly.rules.events import Event
    from omnipoly.rules.legal import LegalAction
    from omnipoly.rules.ring import Game
    from omnipoly.rules.state import State

STEP_MS = 10
KEPT = 16
"""States kept to go back to."""
LIKED = ("roll", "buy", "pay", "raise", "choose_steps", "teleport", "decline", "pass", "end_turn", "give_up")
"""Kinds of action of the bots, the one they like best first."""


class Done(NamedTuple):
    """A command that was accepted."""

    version: int
    duplicate: bool


class Table:
    """The table of one client under test."""

    def __init__(self, table: str, game: Game, host: str, host_name: str, seed: str) -> None:
        """host: a person's id, who takes the first seat; or without a name, who takes none."""
        self.id = table
        self.game = game
        self.epoch = 1
        self.log: list[bytes] = []
        self.state: State = engine.blank(game.first)
        self._now_ms = round(time.time() * 1000)
        self._chance = Chance(seed)
        self._commands: dict[tuple[str, str], tuple[bytes, int]] = {}
        self._states: dict[int, State] = {}
        edition = game.edition
        events: list[Event] = [
            TableOpened(table, edition.id, edition.digest, host, lobby.default_options(game), "", dev=False)
        ]
        if host_name:
            events.append(SeatTaken(0, host, host_name, bot=False))
        for event in events:
            engine.apply(self.state, event)
        self._append(self.state, events, host, "")

    @property
    def version(self) -> int:
        """The table's version."""
        return len(self.log)

    @property
    def begun(self) -> bool:
        """The game has started."""
        return self.state.phases[-1] is not Phase.LOBBY

    @property
    def over(self) -> bool:
        """The game has ended."""
        return self.state.phases[-1] is Phase.OVER

    # --- commands

    def known(self, actor: str, command_id: str, content: bytes) -> Done | None:
        """The first answer to a command that was accepted before. Raises ``Failure`` for other content."""
        found = self._commands.get((actor, command_id))
        if found is None:
            return None
        if found[0] != content:
            raise refusals.failure(Code.KEY_REUSED)
        return Done(found[1], duplicate=True)

    def why_not(self, actor: str, action: Action, prompt: int = 0) -> Code | None:
        """Why an action would be refused."""
        return engine.verify(self.state, actor, action, self._now_ms, prompt)

    def act(self, actor: str, action: Action, *, command_id: str = "", content: bytes = b"", prompt: int = 0) -> Done:
        """Do it, once. Raises ``Failure``."""
        if command_id and (done := self.known(actor, command_id, content)) is not None:
            return done
        self._now_ms += STEP_MS
        draft = engine.Draft(self.state.copy(), self._chance)
        refused = engine.act(draft, actor, action, now_ms=self._now_ms, prompt=prompt)
        if refused is not None:
            raise refusals.refused(refused)
        if draft.events:
            self._append(draft.state, draft.events, actor, command_id)
        if command_id:
            self._commands[actor, command_id] = (content, self.version)
        return Done(self.version, duplicate=False)

    def pass_time(self) -> bytes:
        """A commit that changes nothing but its version and every clock."""
        self.act(engine.PLATFORM, act.MoveClocks(STEP_MS))
        return self.log[-1]

    def rewind(self, version: int) -> None:
        """What was committed after a version has never been: the log goes on from there in another epoch."""
        del self.log[version:]
        self.state = self._states[version].copy()
        self.epoch += 1
        self._commands = {key: value for key, value in self._commands.items() if value[1] <= version}

    def play_bots(self) -> None:
        """Every bot does what it is asked, until a person is."""
        s = self.state
        while (seat := next((at for at, bot in enumerate(s.bot) if bot and s.prompt and s.prompt[at]), -1)) >= 0:
            listed = {one.do: one for one in listing.prompt_actions(s, seat, self._now_ms)}
            first = next((listed[kind] for kind in LIKED if kind in listed), None) or next(iter(listed.values()))
            self.act(s.holder[seat], choose(first))
            s = self.state

    def _append(self, state: State, events: list[Event], actor: str, command_id: str) -> None:
        engine.enter(state, self._now_ms, actor)
        data = commits.encode(
            self.id, self.version + 1, self.epoch, self._now_ms, events, actor=actor, command_id=command_id
        )
        self.log.append(data)
        self.state = state
        self._states[self.version] = state.copy()
        self._states.pop(self.version - KEPT, None)

    # --- pictures

    def view(self) -> view_pb2.TableView:
        """The whole picture."""
        return views.to_view(self.state, self.version, self.epoch)

    def prompt(self, person: str) -> legal_pb2.Prompt | None:
        """A person's open decision; ``None``: there is none."""
        s = self.state
        seat = s.holder.index(person) if person in s.holder else -1
        if seat < 0 or not s.prompt or not s.prompt[seat] or self.over:
            return None
        return self._listed(seat, listing.prompt_actions(s, seat, self._now_ms))

    def legal(self, person: str) -> legal_pb2.Prompt:
        """All that a person may do. Raises ``Failure``."""
        s = self.state
        if person not in s.holder:
            raise refusals.failure(Code.NOT_SEATED)
        seat = s.holder.index(person)
        return self._listed(seat, listing.legal_actions(s, seat, self._now_ms))

    def _listed(self, seat: int, listed: list[LegalAction]) -> legal_pb2.Prompt:
        prompt: Prompt = legal.prompt_of(self.state, seat)
        return legal.to_prompt(self.id, prompt, listed)
