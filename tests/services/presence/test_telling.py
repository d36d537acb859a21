"""What tables are told and when, pure: the grace, the flapping, the repeats."""

from __future__ import annotations

import itertools
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnipolyd.presence.picture import BROKEN, CLOSED, CONNECTED, MOVING, WATCHING, Row
from omnipolyd.presence.revisions import MARGIN_US, Revisions
from omnipolyd.presence.telling import FOREVER_MS, GRACE_MS, MOST, QUIET_MS, Telling
from tests.services.presence.driving import DrivenClock

T = 1_000_000


class Table:
    """A table that takes in what it is told, when it can."""

    def __init__(self) -> None:
        self.telling = Telling()
        self.told: list[tuple[int, dict[str, int]]] = []
        self.answers = True

    def see(
        self, status: int, at_ms: int, *, now_ms: int | None = None, person: str = "p", watched: bool = False
    ) -> None:
        self.telling.see("t", person, Row(status, at_ms, watched), at_ms if now_ms is None else now_ms)

    def at(self, now_ms: int) -> dict[str, int]:
        """What the table is told at that time."""
        found: dict[str, int] = {}
        for told in self.telling.due(now_ms):
            batch = self.telling.begin(told, now_ms)
            if self.answers:
                self.telling.took(told, batch)
                self.told.append((now_ms, batch))
                found |= batch
            else:
                self.telling.failed(told, batch, now_ms)
        return found

    def knows(self, person: str) -> bool:
        """Whether anything is told of a person."""
        told = self.telling._tables.get("t")
        return told is not None and person in told.persons


@pytest.fixture
def table() -> Table:
    return Table()


def test_who_comes_and_who_closes_is_told_at_once(table: Table) -> None:
    table.see(CONNECTED, T)
    assert table.at(T) == {"p": CONNECTED}
    assert table.at(T) == {}
    table.see(CLOSED, T + 5000)
    assert table.at(T + 5000) == {"p": CLOSED}
    assert table.telling.next_ms() is None


@pytest.mark.parametrize("how", [BROKEN, MOVING])
def test_who_breaks_off_or_moves_is_told_when_the_grace_is_over(table: Table, how: int) -> None:
    table.see(CONNECTED, T)
    table.at(T)
    table.see(how, T + 5000)
    assert table.at(T + 5000 + GRACE_MS - 1) == {}
    assert table.telling.next_ms() == T + 5000 + GRACE_MS
    assert table.at(T + 5000 + GRACE_MS) == {"p": BROKEN}


@pytest.mark.parametrize("how", [BROKEN, CLOSED])
def test_while_departures_are_held_only_arrivals_are_told(table: Table, how: int) -> None:
    """Each when it is its time: also of who is back, or gone, meanwhile."""
    for person in ("p", "q", "r"):
        table.see(CONNECTED, T, person=person)
    table.at(T)
    table.telling.hold_departures(FOREVER_MS)
    for person in ("p", "q"):
        table.see(how, T + 5000, person=person)
    table.see(CONNECTED, T + 5000, person="s")
    assert table.at(T + 100_000) == {"s": CONNECTED}
    table.see(CONNECTED, T + 100_000, person="q")
    table.telling.hold_departures(T + 200_000)
    assert table.at(T + 199_999) == {}
    assert table.telling.next_ms() == T + 200_000
    table.telling.hold_departures(T + 150_000)
    assert table.at(T + 199_999) == {"p": how}


@pytest.mark.parametrize("how", [BROKEN, CLOSED])
def test_a_departure_is_told_once_it_is_known_that_nothing_says_otherwise(table: Table, how: int) -> None:
    """Whoever comes back meanwhile is not told of at all; arrivals wait for nothing."""
    for person in ("p", "q"):
        table.see(CONNECTED, T, person=person)
    table.at(T)
    table.telling.heard(T + 5000)
    for person in ("p", "q"):
        table.see(how, T + 6000, person=person)
    due_ms = T + 6000 + (GRACE_MS if how == BROKEN else 0)
    assert table.at(due_ms) == {}
    assert table.telling.unheard
    assert table.telling.next_ms() is None
    table.see(CONNECTED, due_ms + 1, person="s")
    table.see(CONNECTED, due_ms + 1, person="q")
    assert table.at(due_ms + 10) == {"s": CONNECTED}
    table.telling.heard(due_ms - 1)
    assert table.at(due_ms + 20) == {}
    table.telling.heard(due_ms)
    assert table.at(due_ms + 30) == {"p": how}
    assert not table.telling.unheard
    assert table.telling.next_ms() is None


def test_a_departure_that_nobody_is_sure_of_may_be_held_or_forgotten(table: Table) -> None:
    table.see(CONNECTED, T)
    table.at(T)
    table.telling.heard(T)
    table.see(CLOSED, T + 5000)
    assert table.at(T + 5000) == {}
    table.telling.hold_departures(T + 9000)
    assert not table.telling.unheard
    assert table.telling.next_ms() == T + 9000
    table.telling.heard(T + 8999)
    assert table.at(T + 9000) == {}
    table.telling.heard(FOREVER_MS)  # nobody else is there who could know more
    assert table.at(T + 9000) == {"p": CLOSED}
    table.see(BROKEN, T)
    (told,) = table.telling._tables.values()
    table.telling.heard(T)
    table.see(CONNECTED, T + 20_000)
    table.at(T + 20_000)
    table.see(CLOSED, T + 30_000)
    assert table.at(T + 30_000) == {}
    table.telling.drop(told)
    assert not table.telling.unheard


def test_whom_the_table_gives_more_time_is_told_of_again(table: Table) -> None:
    """With the time since when; nobody else waits for it."""
    for person in ("p", "q"):
        table.see(CONNECTED, T, person=person)
    table.at(T)
    table.see(BROKEN, T + 5000, person="p")
    table.see(CLOSED, T + 5000 + GRACE_MS, person="q")
    (told,) = table.telling.due(T + 5000 + GRACE_MS)
    batch = table.telling.begin(told, T + 5000 + GRACE_MS)
    assert batch == {"p": BROKEN, "q": CLOSED}
    assert (table.telling.since_ms(told, "p"), table.telling.since_ms(told, "q")) == (T + 5000, 0)
    table.telling.took(told, batch, T + 22_000)
    assert table.telling.next_ms() == T + 22_000
    table.see(CONNECTED, T + 18_000, person="q")
    assert table.at(T + 18_000) == {"q": CONNECTED}
    assert table.at(T + 22_000) == {"p": BROKEN}
    assert table.telling.next_ms() is None


def test_who_is_back_in_time_is_never_told_of(table: Table) -> None:
    table.see(CONNECTED, T)
    table.at(T)
    table.see(BROKEN, T + 5000)
    table.see(CONNECTED, T + 5000 + GRACE_MS - 1)
    assert table.at(T + 60_000) == {}
    # The next grace is a whole one.
    table.see(BROKEN, T + 61_000)
    assert table.at(T + 61_000 + GRACE_MS - 1) == {}
    assert table.at(T + 61_000 + GRACE_MS) == {"p": BROKEN}


def test_a_break_that_turns_out_to_be_a_close_ends_the_grace(table: Table) -> None:
    table.see(CONNECTED, T)
    table.at(T)
    table.see(BROKEN, T + 5000)
    table.see(CLOSED, T + 6000)
    assert table.at(T + 6000) == {"p": CLOSED}


def test_one_change_in_two_seconds_however_fast_somebody_flaps(table: Table) -> None:
    table.see(CONNECTED, T)
    table.at(T)
    for number in range(100):
        at_ms = T + 3000 + 50 * number
        table.see(CLOSED if number % 2 == 0 else CONNECTED, at_ms)
        table.at(at_ms)
    for at_ms in range(T + 8000, T + 20_000, 10):
        table.at(at_ms)
    times = [at_ms for at_ms, _ in table.told]
    assert all(later - earlier >= QUIET_MS for earlier, later in itertools.pairwise(times))
    assert table.told[-1][1] == {"p": CONNECTED}
    assert len(table.told) <= 5


def test_a_blink_within_the_quiet_time_is_nothing(table: Table) -> None:
    table.see(CONNECTED, T)
    table.at(T)
    table.see(CLOSED, T + 10)
    assert table.at(T + 10) == {}
    table.see(CONNECTED, T + 20)
    assert table.at(T + 10_000) == {}


def test_what_was_not_taken_in_is_told_again_and_what_changed_meanwhile_instead(table: Table) -> None:
    table.see(CONNECTED, T)
    table.at(T)
    table.answers = False
    table.see(CLOSED, T + 5000)
    table.at(T + 5000)
    assert T + 5000 < (table.telling.next_ms() or 0) <= T + 6000
    table.at(T + 6000)
    table.at(T + 7000)
    # The table may know of the close or not: it is told of the return in either case, not sooner than 2 s after.
    table.see(CONNECTED, T + 6500)
    table.answers = True
    assert table.at(T + 6999) == {}
    assert table.at(T + 30_000) == {"p": CONNECTED}
    assert table.telling.next_ms() is None


def test_failures_are_spaced_out(table: Table) -> None:
    table.answers = False
    table.see(CONNECTED, T)
    tries = []
    for now_ms in range(T, T + 120_000, 10):
        if (next_ms := table.telling.next_ms()) is not None and next_ms <= now_ms:
            tries.append(now_ms)
            table.at(now_ms)
    assert 10 < len(tries) < 30
    assert max(later - earlier for earlier, later in itertools.pairwise(tries)) <= 10_010


def test_while_a_report_is_under_way_no_other_leaves(table: Table) -> None:
    table.see(CONNECTED, T)
    (told,) = table.telling.due(T)
    batch = table.telling.begin(told, T)
    table.see(CONNECTED, T + 5, person="q")
    table.see(CLOSED, T + 3000)
    assert table.telling.due(T + 3000) == []
    table.telling.took(told, batch)
    assert table.at(T + 3000) == {"p": CLOSED, "q": CONNECTED}


def test_a_report_is_bounded(table: Table) -> None:
    for number in range(MOST + 20):
        table.see(CONNECTED, T, person=f"p{number}")
    assert [len(table.at(T)), len(table.at(T))] == [MOST, 20]


def test_watchers_are_nothing_to_a_game(table: Table) -> None:
    table.see(WATCHING, T)
    table.see(BROKEN, T + 5000, watched=True)
    assert table.at(T + 60_000) == {}
    assert not table.knows("p")
    # But one of whom the table was told is told of when gone, whatever they did last.
    table.see(CONNECTED, T + 61_000)
    table.at(T + 61_000)
    table.see(CLOSED, T + 70_000, watched=True)
    assert table.at(T + 70_000) == {"p": CLOSED}


def test_another_replica_that_takes_over_tells_everything(table: Table) -> None:
    table.see(CONNECTED, T)
    table.see(CLOSED, T, person="q")
    table.at(T)
    table.telling.tell_again("t")
    table.telling.tell_again("u")
    assert table.at(T) == {"p": CONNECTED, "q": CLOSED}


def test_whoever_is_gone_and_told_is_forgotten(table: Table) -> None:
    table.see(CONNECTED, T)
    table.see(CLOSED, T, person="q")
    table.at(T)
    table.telling.forget(T + 1)
    assert (table.knows("p"), table.knows("q")) == (True, False)
    table.see(CLOSED, T + 5000)
    table.telling.forget(T + 60_000)
    assert table.telling.tables() == ["t"]  # not told yet
    table.at(T + 60_000)
    table.telling.forget(T + 60_001)
    assert (table.telling.tables(), table.telling.next_ms()) == ([], None)


def test_a_table_that_is_not_there_is_dropped(table: Table) -> None:
    table.see(CONNECTED, T)
    (told,) = table.telling.due(T)
    table.telling.begin(told, T)
    table.telling.drop(told)
    assert (table.telling.tables(), table.at(T + 5000)) == ([], {})


@given(st.integers(0, 2**32), st.integers(1, 120))
def test_in_the_end_the_table_knows_and_never_more_often_than_every_two_seconds(seed: int, steps: int) -> None:
    dice = random.Random(seed)
    table = Table()
    now_ms = T
    sent: list[tuple[int, int]] = []
    last = 0
    for _ in range(steps):
        now_ms += dice.choice([5, 50, 500, 1500, 3000, 12_000])
        table.answers = dice.random() < 0.7
        if dice.random() < 0.8:
            last = dice.choice([CONNECTED, CLOSED, BROKEN])
            table.see(last, now_ms)
        before = table.telling._tables["t"].persons["p"].sent if table.knows("p") else 0
        table.at(now_ms)
        after = table.telling._tables["t"].persons["p"].sent if table.knows("p") else 0
        if after != before:
            sent.append((now_ms, after))
    assert all(later[0] - earlier[0] >= QUIET_MS for earlier, later in itertools.pairwise(sent))
    table.answers = True
    for _ in range(100):
        now_ms += 1000
        table.at(now_ms)
    if last:
        person = table.telling._tables["t"].persons["p"]
        assert person.told == person.wanted == last
        assert table.telling.next_ms() is None


# --- Revisions


def test_revisions_grow_whatever_the_clock_does() -> None:
    clock = DrivenClock()
    revisions = Revisions(clock, "one")
    seen = [revisions.next() for _ in range(100)]
    clock.advance(1000)
    seen.append(revisions.next())
    clock.advance(-60_000)
    seen += [revisions.next() for _ in range(100)]
    assert seen == sorted(set(seen))
    assert revisions.last <= seen[-1]


def test_revisions_of_replicas_pass_each_other() -> None:
    clock, ahead = DrivenClock(), DrivenClock()
    ahead.advance(3000)
    one, other = Revisions(ahead, "one"), Revisions(clock, "other")
    heard = one.last
    one.next()
    last = one.last
    ahead.advance(2000)
    used = one.next()  # since it was heard last
    other.begin_beside(last)
    assert other.next() > used > last > heard
    assert other.next() < used + 2 * MARGIN_US
    one.heard(other.last)
    assert one.next() > other.last


def test_revisions_of_two_replicas_are_never_the_same() -> None:
    clock = DrivenClock()
    tags = {Revisions(clock, f"replica-{number}").next() for number in range(2)}
    assert len(tags) == 2
