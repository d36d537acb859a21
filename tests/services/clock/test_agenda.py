"""The heap of deadlines, pure."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnipolyd.clock.agenda import LATE_MS, QUIET_KEPT, Agenda

T = 1_700_000_000_000


@pytest.fixture
def agenda() -> Agenda:
    return Agenda(lambda table: 0)


def due(agenda: Agenda, now_ms: int) -> list[str]:
    return [entry.table for entry in agenda.due(now_ms)]


def test_the_earliest_comes_first_and_once(agenda: Agenda) -> None:
    agenda.set("b", 1, 1, T + 2)
    agenda.set("a", 1, 1, T + 1)
    agenda.set("c", 1, 1, T + 3)
    assert agenda.next_ms() == T + 1
    assert due(agenda, T) == []
    assert due(agenda, T + 2) == ["a", "b"]
    assert due(agenda, T + 2) == []
    assert agenda.next_ms() == T + 3


def test_set_back_another_try_waits_no_longer_than_it_would_have(agenda: Agenda) -> None:
    """Nor does it come before the deadline, by which tables go."""
    for table, due_ms in (("a", T - 10_000), ("b", T - 2000)):
        agenda.set(table, 1, 1, due_ms)
    agenda.set("c", 1, 1, T + 2000)
    for entry in [*agenda.due(T - 9500), *agenda.due(T - 1500)]:
        agenda.postpone(entry, T + 3000)
    agenda.set_back(T - 5000, 5000)
    assert due(agenda, T - 2001) == []
    assert due(agenda, T - 2000) == ["a", "b"]
    assert agenda.next_ms() == T + 2000
    agenda.set("d", 1, 1, T - 1000)
    for entry in agenda.due(T - 900):
        agenda.postpone(entry, T + 500)
    agenda.set_back(T - 9000, 9000)
    assert agenda.next_ms() == T - 1000


def test_a_newer_version_moves_an_entry_and_an_older_one_does_not(agenda: Agenda) -> None:
    assert agenda.set("a", 1, 5, T + 50)
    assert agenda.set("a", 1, 6, T + 10)
    assert not agenda.set("a", 1, 4, T + 1)
    assert not agenda.set("a", 1, 6, T + 1)
    assert agenda.next_ms() == T + 10
    assert agenda.set("a", 1, 7, T + 90)
    assert due(agenda, T + 60) == []
    assert agenda.next_ms() == T + 90


def test_a_new_epoch_counts_whatever_its_version(agenda: Agenda) -> None:
    agenda.set("a", 1, 50, T + 10)
    assert agenda.set("a", 2, 40, T + 20)
    assert not agenda.set("a", 1, 51, T + 1)
    assert agenda.next_ms() == T + 20


def test_no_deadline_ends_an_entry_and_is_remembered(agenda: Agenda) -> None:
    agenda.set("a", 1, 5, T)
    assert agenda.set("a", 1, 6, 0)
    assert (len(agenda), agenda.next_ms(), agenda.quiet("a")) == (0, None, 6)
    assert not agenda.set("a", 1, 5, T)  # came late
    assert agenda.set("a", 1, 7, T)
    assert (len(agenda), agenda.quiet("a")) == (1, 0)
    for number in range(QUIET_KEPT + 5):
        agenda.set(f"t{number}", 1, 1, 0)
    assert len(agenda._quiet) == QUIET_KEPT
    assert agenda.quiet("t0") == 0


def test_what_is_moved_while_it_is_woken(agenda: Agenda) -> None:
    agenda.set("a", 1, 1, T)
    (entry,) = agenda.due(T)
    agenda.set("a", 1, 2, T + 5)
    agenda.postpone(entry, T + 1000)  # the wake-up failed: nothing, something newer is known
    assert due(agenda, T + 5) == ["a"]
    agenda.postpone(entry, T + 40)
    assert entry.tries == 1
    assert due(agenda, T + 39) == []
    assert due(agenda, T + 40) == ["a"]
    agenda.drop("a")
    agenda.postpone(entry, T + 41)
    assert agenda.next_ms() is None


def test_the_same_deadline_said_again_does_not_bring_a_failed_one_forward(agenda: Agenda) -> None:
    agenda.set("a", 1, 1, T)
    (entry,) = agenda.due(T)
    agenda.postpone(entry, T + 500)
    assert not agenda.set("a", 1, 1, T)
    assert agenda.next_ms() == T + 500
    assert agenda.set("a", 1, 2, T)  # but something newer does
    assert agenda.next_ms() == T


def test_what_is_long_overdue_waits_in_another_line_oldest_first(agenda: Agenda) -> None:
    for number, at_ms in enumerate((T - 9_000, T - 60_000, T - LATE_MS, T - LATE_MS + 1, T)):
        agenda.set(f"t{number}", 1, 1, at_ms)
    assert due(agenda, T) == ["t3", "t4"]
    assert agenda.overdue_waiting == 3
    agenda.set("t0", 1, 2, T + 50)  # moved on meanwhile
    taken = []
    while (entry := agenda.overdue()) is not None:
        taken.append(entry.table)
    assert taken == ["t1", "t2"]
    assert agenda.overdue_waiting == 0
    assert due(agenda, T + 50) == ["t0"]


def test_a_replica_takes_its_turn_later_than_those_before_it() -> None:
    places = {"a": 0, "b": 1000}
    agenda = Agenda(lambda table: places[table])
    agenda.set("a", 1, 1, T)
    agenda.set("b", 1, 1, T)
    assert due(agenda, T) == ["a"]
    assert agenda.next_ms() == T + 1000
    agenda.set("b", 1, 2, T + 700)  # the first replica has woken it
    assert due(agenda, T + 1000) == []
    assert due(agenda, T + 1700) == ["b"]


def test_replicas_that_come_put_a_turn_off() -> None:
    delay_ms = 0
    agenda = Agenda(lambda table: delay_ms)
    agenda.set("a", 1, 1, T)
    delay_ms = 2000
    assert due(agenda, T) == []
    assert agenda.next_ms() == T + 2000
    assert due(agenda, T + 2000) == ["a"]


def test_places_left_behind_are_swept_out(agenda: Agenda) -> None:
    for version in range(1, 10_000):
        agenda.set("busy", 1, version, T + 3_600_000 + version)
        agenda.set(f"t{version % 10}", 1, version, T + version)
    assert len(agenda) == 11
    assert len(agenda._heap) <= 2 * 11 + 64
    assert len(agenda.due(T + 4_000_000)) + agenda.overdue_waiting == 11


@given(st.integers(0, 2**32), st.integers(1, 60))
def test_whatever_happens_each_deadline_comes_once_and_never_early(seed: int, steps: int) -> None:
    dice = random.Random(seed)
    agenda = Agenda(lambda table: 0)
    want: dict[str, tuple[int, int]] = {}
    now_ms, versions = T, dict.fromkeys("abcde", 0)
    for _ in range(steps):
        table = dice.choice("abcde")
        versions[table] += 1
        at_ms = dice.choice([0, now_ms + dice.randrange(500)])
        agenda.set(table, 1, versions[table], at_ms)
        want.pop(table, None)
        if at_ms:
            want[table] = (at_ms, versions[table])
        now_ms += dice.randrange(200)
        came = {entry.table: (entry.due_ms, entry.version) for entry in agenda.due(now_ms)}
        assert came == {name: entry for name, entry in want.items() if entry[0] <= now_ms}
        for name in came:
            del want[name]
            agenda.drop(name)
    assert len(agenda) == len(want)
