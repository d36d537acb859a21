"""What commits tell of tables that are worth following."""

from __future__ import annotations

from collections.abc import Iterable

from omnipoly.rules.events import (
    Event,
    GameStarted,
    Resumed,
    SeatHandedOver,
    SeatTaken,
    TurnStarted,
)
from omnipoly.rules.state import Options
from omnipoly.wire import commits
from omnipolyd.bots import finding

STARTED = GameStarted("ring40", Options(), 1, 0)


def commit(table: str, *happened: Event) -> bytes:
    return commits.encode(table, 1, 1, 1, happened)


def heard(*published: bytes) -> list[str]:
    hints = finding.Hints()
    return [table for table in map(hints.heard, published) if table]


def seats(bots: Iterable[bool]) -> list[Event]:
    return [SeatTaken(number, f"h{number}", "N", bot) for number, bot in enumerate(bots)]


def test_a_table_is_worth_it_when_it_starts_with_bots() -> None:
    assert heard(commit("a", *seats([False, True])), commit("a", STARTED)) == ["a"]
    assert heard(commit("a", *seats([True]), STARTED)) == ["a"]


def test_a_table_of_persons_is_not() -> None:
    assert heard(commit("a", *seats([False, False])), commit("a", STARTED), commit("a", TurnStarted(0, 1))) == []


def test_a_seat_handed_to_a_bot_makes_it_so_and_one_taken_back_does_not() -> None:
    assert heard(commit("a", SeatHandedOver(0, "bot:0", "N", True, "p"))) == ["a"]
    assert heard(commit("a", SeatHandedOver(0, "p", "N", False, ""))) == []


def test_a_table_that_goes_on_is_looked_at() -> None:
    assert heard(commit("a", Resumed(1))) == ["a"]


def test_what_is_no_commit_is_passed_over() -> None:
    assert heard(b"\xff\xff\xff") == []


def test_only_so_many_are_remembered() -> None:
    hints = finding.Hints()
    hints.heard(commit("first", *seats([True])))
    for number in range(finding.REMEMBERED):
        hints.heard(commit(f"t{number}", *seats([True])))
    assert hints.heard(commit("first", STARTED)) == ""
    assert hints.heard(commit("t1", STARTED)) == "t1"
