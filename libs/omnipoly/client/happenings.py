"""What a follower of tables hears, one type a kind. A kind that this client does not know is passed over."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from omnipoly.client.record import Line
    from omnipoly.client.replica import TableReplica
    from omnipoly.rules.legal import LegalAction
    from omnipoly.rules.state import Prompt
    from omnipoly.wire.commits import Commit


class Happened(NamedTuple):
    """A commit, already applied to the replica."""

    replica: TableReplica
    commit: Commit
    lines: tuple[Line, ...]
    """Its record, where the connection was asked to keep one."""


class Pictured(NamedTuple):
    """A whole picture of the table, in place of all before it."""

    replica: TableReplica


class CaughtUp(NamedTuple):
    """All that was missed has been heard; from here on things come as they happen."""

    replica: TableReplica


class Prompted(NamedTuple):
    """One's seat has a decision to make."""

    replica: TableReplica
    prompt: Prompt
    actions: tuple[LegalAction, ...]


class Said(NamedTuple):
    """A line of the chat."""

    table: str
    number: int
    at_ms: int
    """Milliseconds since 1970 UTC, on the platform's clock."""
    person: str
    name: str
    seat: int
    """-1: a viewer."""
    text: str


class Gone(NamedTuple):
    """A table is followed no longer."""

    table: str
    why: str
    """``barred``, ``private``, ``gone``, or the code of a refusal."""
    sentence: str


class Missed(NamedTuple):
    """The reader was too slow and what waited for it was dropped; the replicas are right all the same."""

    number: int


Happening = Happened | Pictured | CaughtUp | Prompted | Said | Gone | Missed
