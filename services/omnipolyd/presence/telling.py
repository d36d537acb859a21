"""What the tables are to be told, and when: pure, time is passed in.

Somebody who is there is told at once, so is one who closed; one who broke off or moves when the grace is over. Of a
person at a table at most one change in 2 s is told: who flaps faster renews nothing. What is told is repeated until the
table has taken it in, or until it is no longer so.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from itertools import islice

from .picture import BROKEN, CLOSED, CONNECTED, MOVING, Row

GRACE_MS = 10_000
QUIET_MS = 2000
MOST = 100
"""Persons in one report."""
FIRST_PAUSE_MS = 250
LONGEST_PAUSE_MS = 10_000
UNKNOWN = 0
FOREVER_MS = 1 << 62


class _Person:
    __slots__ = ("at_ms", "sent", "sent_ms", "since_ms", "told", "wanted")

    def __init__(self) -> None:
        self.wanted = UNKNOWN
        """What the table should know: CONNECTED, CLOSED or BROKEN."""
        self.at_ms = 0
        """From when on."""
        self.since_ms = 0
        """Since when their connection has been broken; 0: it is not."""
        self.told = UNKNOWN
        """What it surely knows."""
        self.sent = UNKNOWN
        """What it was last sent, whether it got there or not."""
        self.sent_ms = -QUIET_MS
        """When that first left."""

    def ready_ms(self, held_until_ms: int) -> int:
        """When what is wanted may leave: the same again at once, something else not before 2 s are over."""
        ready_ms = self.at_ms if self.wanted == self.sent else max(self.at_ms, self.sent_ms + QUIET_MS)
        return ready_ms if self.wanted == CONNECTED else max(ready_ms, held_until_ms)


class Told:
    """A table, and what it has been told of whom."""

    __slots__ = ("failures", "flying", "not_before_ms", "persons", "place", "table")

    def __init__(self, table: str) -> None:
        self.table = table
        self.persons: dict[str, _Person] = {}
        self.flying = False
        """A report is under way."""
        self.failures = 0
        self.not_before_ms = 0
        self.place = 0

    def next_ms(self, held_until_ms: int) -> int | None:
        """When there is something to tell next."""
        times = [person.ready_ms(held_until_ms) for person in self.persons.values() if person.wanted != person.told]
        return max(min(times), self.not_before_ms) if times else None


class Telling:
    """Everything that is to be told."""

    def __init__(self) -> None:
        self._tables: dict[str, Told] = {}
        self._heap: list[tuple[int, int, Told]] = []
        self._places = 0
        self._held_until_ms = 0
        self._heard_ms = FOREVER_MS
        self.unheard: dict[str, Told] = {}
        """Tables with nothing to tell but departures that nobody can be sure of before more is heard."""

    # --- what is so

    def see(self, table: str, name: str, row: Row | None, now_ms: int) -> None:
        """How a person is at a table now; None: nothing is known any more, and what was is let stand."""
        if row is None:
            return
        told = self._tables.get(table)
        known = told.persons.get(name) if told is not None else None
        if row.status == CONNECTED:
            wanted, at_ms = CONNECTED, now_ms
        elif row.status in {CLOSED, BROKEN, MOVING} and (known is not None or not row.watched):
            wanted = CLOSED if row.status == CLOSED else BROKEN
            at_ms = now_ms if wanted == CLOSED else min(row.since_ms, now_ms) + GRACE_MS
        else:
            return
        self.want(table, name, wanted, at_ms, row.since_ms if wanted == BROKEN else 0)

    def want(self, table: str, name: str, wanted: int, at_ms: int, since_ms: int = 0) -> None:
        """The table should be told this of a person from that time on.

        since_ms: since when their connection has been broken; 0: it is not, or nobody knows.
        """
        told = self._tables.get(table)
        if told is None:
            told = self._tables[table] = Told(table)
        person = told.persons.setdefault(name, _Person())
        if person.wanted != wanted or wanted == BROKEN:
            person.wanted, person.at_ms, person.since_ms = wanted, at_ms, since_ms
            self._place(told)

    def tell_again(self, table: str) -> None:
        """Nothing is known of what the table was told: it is told everything."""
        told = self._tables.get(table)
        if told is not None:
            for person in told.persons.values():
                person.told = UNKNOWN
            told.not_before_ms = told.failures = 0
            self._place(told)

    def hold_departures(self, until_ms: int) -> None:
        """Nobody is told of anybody's going before that time: it may be that they are back, and not known here."""
        if until_ms != self._held_until_ms:
            self._held_until_ms = until_ms
            self.unheard.clear()
            for told in self._tables.values():
                self._place(told)

    def heard(self, until_ms: int) -> None:
        """Departures up to that time are known for sure: nothing is on its way that says otherwise."""
        if until_ms != self._heard_ms:
            self._heard_ms = until_ms
            unheard, self.unheard = self.unheard, {}
            for told in unheard.values():
                self._place(told)

    def set_back(self, now_ms: int) -> None:
        """The wall clock was set back to that: nothing waits longer from now on than it ever does."""
        for told in self._tables.values():
            told.not_before_ms = min(told.not_before_ms, now_ms + LONGEST_PAUSE_MS)
            for person in told.persons.values():
                person.at_ms = min(person.at_ms, now_ms + GRACE_MS)
                person.sent_ms = min(person.sent_ms, now_ms)
            self._place(told)

    # --- what to do

    def due(self, now_ms: int) -> list[Told]:
        """Takes the tables to which something is to be told now."""
        due = []
        while self._heap and self._heap[0][0] <= now_ms:
            _, place, told = heapq.heappop(self._heap)
            if told.place == place and not told.flying:
                told.place = 0
                if any(self._ready(told, now_ms)):
                    due.append(told)
                else:
                    self.unheard[told.table] = told
        return due

    def next_ms(self) -> int | None:
        """When `due` has to be asked next."""
        while self._heap and self._heap[0][2].place != self._heap[0][1]:
            heapq.heappop(self._heap)
        return self._heap[0][0] if self._heap else None

    def begin(self, told: Told, now_ms: int) -> dict[str, int]:
        """What a table is told now, by person, at most `MOST`; it is under way until `took` or `failed`."""
        batch: dict[str, int] = {}
        for name, person in islice(self._ready(told, now_ms), MOST):
            batch[name] = person.wanted
            if person.sent != person.wanted:
                person.sent, person.sent_ms = person.wanted, now_ms
        told.flying = True
        return batch

    def since_ms(self, told: Told, name: str) -> int:
        """Since when somebody's connection has been broken, as far as that is known; 0: it is not."""
        person = told.persons.get(name)
        return person.since_ms if person is not None and person.wanted == BROKEN else 0

    def took(self, told: Told, batch: dict[str, int], early_until_ms: int = 0) -> None:
        """The table has taken a report in, or another replica tells it.

        early_until_ms: not of those whose connection broke: they have time to come back until then.
        """
        told.failures = told.not_before_ms = 0
        for name, status in batch.items():
            person = told.persons.get(name)
            if person is None or person.sent != status:
                continue
            if early_until_ms and status == BROKEN:
                person.told = UNKNOWN
                person.at_ms = max(person.at_ms, early_until_ms)
            else:
                person.told = status
        self._land(told)

    def failed(self, told: Told, batch: dict[str, int], now_ms: int, pause_ms: int = 0) -> None:
        """It is not known whether a report got there: what is so by then is told after a pause."""
        told.not_before_ms = now_ms + max(pause_ms, min(FIRST_PAUSE_MS << min(told.failures, 10), LONGEST_PAUSE_MS))
        told.failures += 1
        for name in batch:
            person = told.persons.get(name)
            if person is not None:
                person.told = UNKNOWN
        self._land(told)

    def drop(self, told: Told) -> None:
        """There is no such table."""
        self._tables.pop(told.table, None)
        self.unheard.pop(told.table, None)
        told.place, told.persons = 0, {}

    def tables(self) -> list[str]:
        """Every table to which something is told."""
        return list(self._tables)

    def forget(self, before_ms: int) -> None:
        """Drops those who are gone and of whom the table has known that since before a time."""
        for told in list(self._tables.values()):
            for name, person in list(told.persons.items()):
                if person.told == person.wanted != CONNECTED and person.sent_ms < before_ms:
                    del told.persons[name]
            if not told.persons and not told.flying:
                told.place = 0
                del self._tables[told.table]

    def _ready(self, told: Told, now_ms: int) -> Iterator[tuple[str, _Person]]:
        """Of whom a table may be told now."""
        for name, person in told.persons.items():
            if person.wanted != person.told:
                ready_ms = person.ready_ms(self._held_until_ms)
                if ready_ms <= now_ms and (person.wanted == CONNECTED or ready_ms <= self._heard_ms):
                    yield name, person

    def _land(self, told: Told) -> None:
        told.flying = False
        self._place(told)

    def _place(self, told: Told) -> None:
        if told.flying:
            return
        at_ms = told.next_ms(self._held_until_ms)
        if at_ms is None:
            told.place = 0
            return
        self._places += 1
        told.place = self._places
        heapq.heappush(self._heap, (at_ms, told.place, told))
        if len(self._heap) > 2 * len(self._tables) + 64:
            self._heap = [item for item in self._heap if item[2].place == item[1]]
            heapq.heapify(self._heap)
