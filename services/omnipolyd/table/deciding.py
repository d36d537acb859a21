"""Deciding a command: on a draft of its table, with what has fallen due before it, and nothing stored yet."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, NamedTuple

from omnipoly.rules.draft import Draft
from omnipoly.rules.events import ClocksMoved, SeedRevealed
from omnipoly.rules.state import Phase

from .committing import check, entry_of

if TYPE_CHECKING:
    from omnipoly.rules.codes import Refused

    from .commands import Command
    from .outages import Outages
    from .store import Entry
    from .table import Table


class Decided(NamedTuple):
    """What a command came to."""

    draft: Draft
    said: Refused | None
    """The refusal by the rules; what fell due stays in the draft all the same."""
    entry: Entry | None
    """What is to be stored; ``None`` when nothing happened."""
    due_ms: int
    """When something falls due next on the platform's clock; 0 for never."""


def decide(table: Table, command: Command, outages: Outages, epoch: int) -> Decided:
    """Decide a command on the state that its table has in memory.

    Raises ``ScriptRanOut`` and ``Malformed`` for what is asked wrongly, ``Failure``, and ``engine.Broken`` when an
    invariant fails: then nothing has happened.
    """
    state = table.state
    assert state is not None
    drafted = state.copy()
    draft = Draft(drafted, command.scripted(drafted) or table.entropy(drafted.contributions))
    # never before the end of an outage, which would be made up for once more
    at_ms = table.now_ms(max(round(time.time() * 1000), outages.ended_ms))
    said = None
    if not 0 < command.presence_revision <= table.presence_revision:  # else overtaken by a later report
        missed = 0
        if command.catches_up and not table.scripted and state.phases[-1] is not Phase.OVER:
            missed = outages.missed_ms(state.now_ms - state.offset_ms)
        if missed:
            # time that did not count is made up for before anything falls due (CORE-CLOCK); the draft's time stays that
            # of the last commit, by which the engine sees whether to look for it
            draft.emit(ClocksMoved(missed))
        command.look_at(max(round(time.time() * 1000), outages.ended_ms), outages.missed_ms)
        said = command.decide(draft, at_ms, table.version)
        if missed:
            drafted.now_ms = max(drafted.now_ms, at_ms)  # the commit's time, also where the engine was not asked
    if drafted.phases[-1] is Phase.OVER and not drafted.seed and drafted.commitment:
        draft.emit(SeedRevealed(table.seed.hex()))
    check(drafted)
    if not draft.events:
        return Decided(draft, said, None, 0)
    entry, due_ms = entry_of(table, command, draft, accepted=said is None, at_ms=at_ms, epoch=epoch)
    return Decided(draft, said, entry, due_ms)
