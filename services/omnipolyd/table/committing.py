"""What a decided draft becomes: the commit's bytes, made once, and the row that carries them into the log."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING

from omnipoly.rules import engine
from omnipoly.rules.events import SeatFreed
from omnipoly.rules.state import LOBBY
from omnipoly.wire import commits

from . import summaries
from .doors.store import move
from .ledger import moving
from .results import making
from .store import Entry
from .table import platform_due_ms

if TYPE_CHECKING:
    from omnipoly.rules.draft import Draft
    from omnipoly.rules.state import State

    from .commands import Command
    from .table import Table


def check(s: State) -> None:
    """What is checked with every commit (CORE-MONEY); everything else is checked at each load. Raises ``Broken``."""
    if s.cash and (sum(s.cash) + s.casino != s.bank or min(s.cash) < 0 or s.casino < 0):
        raise engine.Broken(f"money: {s.cash} + {s.casino} is not {s.bank}")


def entry_of(
    table: Table, command: Command, draft: Draft, *, accepted: bool, at_ms: int, epoch: int
) -> tuple[Entry, int]:
    """(the row, the table's next deadline on the platform's clock in milliseconds, 0 for none).

    ``at_ms``: what the rules took for "now". A refused command leaves what fell due, which is nobody's command.
    """
    before, s = table.state, draft.state
    assert before is not None
    assert table.opened_at is not None
    actor, command_id = (command.actor, command.command_id) if accepted else ("", "")
    version = table.version + 1
    due_ms = platform_due_ms(s)
    entry = Entry(
        table_id=table.table_id,
        version=version,
        epoch=epoch,
        actor=actor,
        command_id=command_id,
        digest=command.digest,
        at=moment(at_ms),
        traceparent=command.traceparent,
        body=commits.encode(
            table.table_id,
            version,
            epoch,
            at_ms,
            draft.events,
            actor=actor,
            command_id=command_id,
            traceparent=command.traceparent,
        ),
        status=summaries.status(s),
        due_at=moment(due_ms) if due_ms else None,
        presence_revision=command.presence_revision,
        beside=command.beside if accepted else None,
    )
    if before.phases[-1] is LOBBY and any(type(event) is SeatFreed for event in draft.events):
        entry.beside = partial(move, table_id=entry.table_id)  # who got up may be no viewer
    if s.ended and not before.ended:
        entry.ended = making.ended(s, version)
    entry.beside = moving.moved_by(draft.events, s) or entry.beside  # what moves credits moves no door
    if summaries.changed(before, draft.events):
        entry.summary = summaries.summary(s, table.opened_at)
        entry.host = s.host
        entry.persons = " ".join(summaries.persons(s))
        entry.free_seats = summaries.has_free_seat(s)
        entry.listed = summaries.is_listed(s)
    return entry, due_ms


def moment(at_ms: int) -> datetime:
    """A time in milliseconds since 1970 UTC as the database takes it."""
    return datetime.fromtimestamp(at_ms / 1000, UTC)
