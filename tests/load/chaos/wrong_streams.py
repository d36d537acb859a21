"""What is made wrong of streams and of the ends of games on purpose."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from omnipoly.wire.gen.game.v1 import types_pb2

from .checker.ends import SENT_BEFORE_MS, moves
from .planting import Planted, message

Row = dict[str, Any]
NOBODYS = "a gateway to which nothing was done"


def silent_from_then_on(run: Planted) -> None:
    """A stream that stood for a minute more and showed nothing of what it had shown."""
    lines, closed, shows = next(one for one in _streams(run) if len(one[2]) > 1 and one[2][1]["k"] == "commit")
    _silence(lines, closed, shows[1:])


def silent_from_the_beginning(run: Planted) -> None:
    """A stream that stood and never showed anything."""
    lines, closed, shows = next(one for one in _streams(run) if one[2] and one[2][0]["k"] != "level")
    _silence(lines, closed, shows)


def ended_by_itself(run: Planted) -> None:
    """A stream that was not dropped, and whose gateway nothing had been done to."""
    lines, closed, _ = next(one for one in _streams(run) if one[2])
    closed["how"] = "UNAVAILABLE: The log cannot be reached now; try again."
    next(line for line in lines if line["k"] == "stream" and line["s"] == closed["s"])["on"] = NOBODYS


def left_and_not_gone_on(run: Planted) -> None:
    """A paid game in which nobody moved any more: all but one have left, and that was its end."""
    row, _ = run.find("game_ended", lambda row, event: _left(row))
    tries = [line["t"] for _, line in run.lines("try") if line["id"] == row["command_id"]]
    run.calm_from(min(run.calm_ms, min(tries) - SENT_BEFORE_MS))
    for before in run.commits(row["table_id"]):
        if moves(message(before)):
            before["stored_at"] = min(before["stored_at"], run.calm_ms - 1)


def _left(row: Row) -> bool:
    outs = {event.seat_out.how for event in message(row).events if event.WhichOneof("kind") == "seat_out"}
    return types_pb2.OUT_LEFT in outs


def _streams(run: Planted) -> Iterator[tuple[list[Row], Row, list[Row]]]:
    """Streams that were closed: the journal that each stands in, its end, and what it showed."""
    for lines, closed in run.lines("closed"):
        yield (
            lines,
            closed,
            [line for line in lines if line["k"] in {"picture", "commit", "level"} and line["s"] == closed["s"]],
        )


def _silence(lines: list[Row], closed: Row, shows: list[Row]) -> None:
    for line in shows:
        lines.remove(line)
    closed["t"] += 60_000


PLANTED: dict[Callable[[Planted], None], str] = {
    silent_from_then_on: "silent",
    silent_from_the_beginning: "silent",
    ended_by_itself: "broken",
    left_and_not_gone_on: "end",
}
