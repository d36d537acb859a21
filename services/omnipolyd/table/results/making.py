"""What a commit that ends a game leaves behind besides itself. Pure.

A table that ended before its game started leaves nothing: there was no game. Of a game whose dice were scripted there
is a result, but nobody's standing counts it.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple

from omnipoly.rules.ending import net_worth
from omnipoly.rules.state import Out
from omnipoly.wire.gen.game.v1 import table_pb2, types_pb2

from .. import summaries

if TYPE_CHECKING:
    from omnipoly.rules.state import State

EVER = ""
"""The month of standings that count every game."""
ALL = ""
"""The edition of standings that count the games of all."""

_FINISHED = (Out.IN, Out.BANKRUPT, Out.GAVE_UP)
"""Seats that count as a game of their holder's: held to the end, or lost in play."""


class Score(NamedTuple):
    """What one game adds to a person's standings."""

    person: str
    name: str
    wins: int
    """1 for the first, if they left anybody behind; else 0."""
    points: int
    """Players left behind."""


class Ended(NamedTuple):
    """A game's result on its way into the log."""

    edition: str
    finished_at: datetime
    body: bytes
    """A serialized ``GameResult``."""
    persons: list[str]
    """Who had a seat at the end, or might have taken theirs back."""
    scores: list[Score]
    """Of persons; empty where dice were scripted."""

    @property
    def months(self) -> tuple[str, str]:
        """The months whose standings count the game."""
        return EVER, f"{self.finished_at:%Y-%m}"


def ended(s: State, version: int) -> Ended | None:
    """The result of a table whose game is over by the commit with that version; ``None``: there was no game."""
    if not s.ended or not s.started_ms:
        return None
    finished_ms = s.now_ms - s.offset_ms
    return Ended(
        edition=s.rules.edition.id,
        finished_at=datetime.fromtimestamp(finished_ms / 1000, UTC),
        body=_result(s, version, finished_ms),
        persons=summaries.persons(s),
        scores=[] if s.dev else scores(s),
    )


def scores(s: State) -> list[Score]:
    """What the game adds to the standings of each person who played it to its end or lost it."""
    found = []
    for seat, place in enumerate(s.places):
        if not s.bot[seat] and s.out[seat] in _FINISHED:
            behind = sum(other > place for other in s.places)
            found.append(Score(s.holder[seat], s.name[seat], int(place == 1 and behind > 0), behind))
    return found


def _result(s: State, version: int, finished_ms: int) -> bytes:
    message = table_pb2.GameResult(
        table=s.table,
        edition=s.rules.edition.id,
        ended=types_pb2.Ending.Value(f"ENDING_{s.ended.upper()}"),
        rounds=s.round,
        version=version,
        commitment=s.commitment,
        seed=s.seed,
    )
    message.started.FromMilliseconds(s.started_ms - s.offset_ms)
    message.finished.FromMilliseconds(finished_ms)
    for seat, place in enumerate(s.places):
        message.seats.add(
            holder=s.holder[seat],
            name=s.name[seat],
            bot=s.bot[seat],
            place=place,
            out=types_pb2.Out.Value(f"OUT_{Out(s.out[seat]).name}"),
            net_worth=net_worth(s, seat) if s.out[seat] == Out.IN else 0,
        )
    return message.SerializeToString()
