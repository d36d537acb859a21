"""A table as a follower keeps it: the engine's own state, made from a picture and moved on by commits."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from omnipoly.client import record
from omnipoly.rules import engine
from omnipoly.wire import views
from omnipoly.wire.gen.gateway.v1 import stream_pb2

if TYPE_CHECKING:
    from omnipoly.rules.legal import LegalAction
    from omnipoly.rules.ring import Game
    from omnipoly.rules.state import Prompt, State
    from omnipoly.wire.commits import Commit
    from omnipoly.wire.gen.game.v1 import view_pb2


class OutOfStep(Exception):
    """A commit does not fit what the replica has: a fresh picture is needed."""


class TableReplica:
    """One followed table. ``state`` is live: it changes with each commit; copy it to keep it."""

    def __init__(self, game: Game, view: view_pb2.TableView) -> None:
        """Raises ``Malformed`` for a picture that is not one of that edition."""
        self.table = view.table
        self.game = game
        self.state: State = views.from_view(view, game)
        self.version = view.version
        self.epoch = view.epoch
        self.chat = 0
        """The number of the last line of the chat heard."""
        self.behind_ms = 0
        """How much this machine's clock is behind the server's, as last heard."""
        self._prompt: tuple[Prompt, tuple[LegalAction, ...]] | None = None

    @property
    def resume(self) -> stream_pb2.Resume:
        """Where this replica stands: what to name in order to go on without loss or repeat."""
        return stream_pb2.Resume(epoch=self.epoch, version=self.version, chat=self.chat)

    def replace(self, view: view_pb2.TableView) -> None:
        """Take a fresh picture in place of everything. Raises ``Malformed``, and is then as before."""
        self.state = views.from_view(view, self.game)
        self.version, self.epoch = view.version, view.epoch

    def apply(self, commit: Commit, *, tell: record.Tell = False) -> tuple[record.Line, ...] | None:
        """Move on by one commit; ``None`` for one that is known already, else its lines (none unless ``tell``).

        Raises ``OutOfStep`` when commits are missing, were written in another epoch, or do not fit.
        """
        if commit.epoch != self.epoch:
            raise OutOfStep(f"epoch {commit.epoch} after {self.epoch}")
        if commit.version <= self.version:
            return None
        if commit.version != self.version + 1:
            raise OutOfStep(f"version {commit.version} after {self.version}")
        state = self.state
        lines: tuple[record.Line, ...] = ()
        try:
            engine.enter(state, commit.at_ms, commit.actor)
            if tell:
                lines = tuple(record.tell(state, commit.events, tell if isinstance(tell, str) else ""))
            else:
                for event in commit.events:
                    event.apply(state)
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            raise OutOfStep(f"version {commit.version}: {error!r}") from error
        self.version = commit.version
        return lines

    # --- decisions

    def prompted(self, prompt: Prompt, actions: tuple[LegalAction, ...]) -> None:
        """Keep one's open decision as the server listed it."""
        self._prompt = (prompt, actions)

    @property
    def prompt(self) -> tuple[Prompt, tuple[LegalAction, ...]] | None:
        """One's open decision with what it may answer, as last heard; ``None`` when none is open."""
        kept = self._prompt
        if kept is None:
            return None
        seat, number = kept[0].seat, kept[0].prompt
        prompts = self.state.prompt
        return kept if number and seat < len(prompts) and prompts[seat] == number else None

    def seat_of(self, person: str) -> int:
        """The seat that a person or bot holds; -1: none."""
        holders = self.state.holder
        return holders.index(person) if person in holders else -1

    # --- time

    def now_ms(self) -> int:
        """The table's clock now, as far as this machine can tell; it never runs behind the last commit."""
        state = self.state
        return max(state.now_ms, int(time.time() * 1000) + self.behind_ms + state.offset_ms)

    def left_s(self, seat: int) -> float | None:
        """Seconds until the clock plays a seat's open decision, or the auction it is asked in; ``None``: no clock."""
        state = self.state
        if seat < 0 or seat >= len(state.prompt) or not state.prompt[seat]:
            return None
        at = state.deadline_ms[seat] or state.auction_deadline_ms
        return (at - (state.paused_ms or state.frozen_ms or self.now_ms())) / 1000 if at else None
