"""Which table is due when: one heap, whatever the number of tables; pure, time is passed in.

A table's entry goes by epoch and version. What has been moved leaves its old place in the heap behind; such places are
passed over, and swept out when they outnumber the entries. Times are milliseconds since 1970 on the platform's clock.
"""

from __future__ import annotations

import heapq
from collections import OrderedDict
from collections.abc import Callable, Iterator

LATE_MS = 1000
"""From so late on an entry is overdue: it waits in the other line, which is played at a bounded rate."""
QUIET_KEPT = 20_000
"""Tables without a deadline that are remembered, so that an old message does not set one again."""


class Entry:
    """A table with a deadline."""

    __slots__ = ("at_ms", "due_ms", "epoch", "place", "table", "tries", "version")

    def __init__(self, table: str, epoch: int, version: int, due_ms: int) -> None:
        self.table = table
        self.epoch = epoch
        self.version = version
        """The version of the commit that set the deadline."""
        self.due_ms = due_ms
        self.at_ms = due_ms
        """When to wake the table: not before its deadline, later where another replica is first or a try failed."""
        self.tries = 0
        """Wake-ups for this deadline that failed."""
        self.place = 0
        """Its present place in the heap; 0: in none, it is being woken."""


class Agenda:
    """The deadlines of all tables."""

    def __init__(self, delay_ms: Callable[[str], int]) -> None:
        """delay_ms: how long after a table's deadline this replica's turn comes, by its place in the table's order."""
        self._delay_ms = delay_ms
        self._entries: dict[str, Entry] = {}
        self._quiet: OrderedDict[str, tuple[int, int]] = OrderedDict()
        self._heap: list[tuple[int, int, Entry]] = []
        self._late: list[tuple[int, int, Entry]] = []
        self._places = 0

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[Entry]:
        return iter(self._entries.values())

    def entry(self, table: str) -> Entry | None:
        """A table's entry, if it has a deadline."""
        return self._entries.get(table)

    def quiet(self, table: str) -> int:
        """The version at which a table is known to have no deadline; 0: it is not known."""
        return self._quiet.get(table, (0, 0))[1]

    def set(self, table: str, epoch: int, version: int, due_ms: int) -> bool:
        """What a commit or head says; due_ms 0: nothing falls due. Whether it was news."""
        entry = self._entries.get(table)
        if entry is not None:
            if (epoch, version) <= (entry.epoch, entry.version):
                return False
        elif (epoch, version) <= self._quiet.get(table, (0, 0)):
            return False
        if not due_ms:
            if entry is not None:
                self.drop(table)
            self._quiet[table] = (epoch, version)
            self._quiet.move_to_end(table)
            if len(self._quiet) > QUIET_KEPT:
                self._quiet.popitem(last=False)
            return True
        if entry is None:
            self._quiet.pop(table, None)
            entry = self._entries[table] = Entry(table, epoch, version, due_ms)
        elif due_ms == entry.due_ms and not entry.tries and entry.place:
            entry.epoch, entry.version = epoch, version  # it stays where it is
            return True
        entry.epoch, entry.version, entry.due_ms, entry.tries = epoch, version, due_ms, 0
        self._place(entry, due_ms + self._delay_ms(table))
        return True

    def postpone(self, entry: Entry, at_ms: int) -> None:
        """A wake-up failed: once more at that time, unless something newer is known."""
        if self._entries.get(entry.table) is entry and not entry.place:
            entry.tries += 1
            self._place(entry, at_ms)

    def set_back(self, now_ms: int, by_ms: int) -> None:
        """The wall clock was set back: other tries come as soon as they would have, deadlines when they say."""
        for entry in self._entries.values():
            if entry.tries and entry.place and entry.at_ms > now_ms:
                self._place(entry, max(entry.at_ms - by_ms, entry.due_ms))

    def drop(self, table: str) -> None:
        """There is nothing to wake (any more)."""
        entry = self._entries.pop(table, None)
        if entry is not None:
            entry.place = 0

    def due(self, now_ms: int) -> list[Entry]:
        """Takes what is due now, earliest first, and puts what is overdue into the other line."""
        due: list[Entry] = []
        heap = self._heap
        while heap and heap[0][0] <= now_ms:
            at_ms, place, entry = heapq.heappop(heap)
            if entry.place != place:
                continue
            if not entry.tries and (turn_ms := entry.due_ms + self._delay_ms(entry.table)) > now_ms:
                self._place(entry, turn_ms)  # the replicas are others than when it was put there
            elif now_ms - at_ms >= LATE_MS:
                heapq.heappush(self._late, (entry.due_ms, place, entry))
            else:
                entry.place = 0
                due.append(entry)
        return due

    def overdue(self) -> Entry | None:
        """Takes the one that is overdue longest; None when none is."""
        self._skip(self._late)
        if not self._late:
            return None
        entry = heapq.heappop(self._late)[2]
        entry.place = 0
        return entry

    @property
    def overdue_waiting(self) -> int:
        """How many wait in the other line, at most."""
        self._skip(self._late)
        return len(self._late)

    def next_ms(self) -> int | None:
        """When `due` has to be asked next."""
        self._skip(self._heap)
        return self._heap[0][0] if self._heap else None

    def _place(self, entry: Entry, at_ms: int) -> None:
        self._places += 1
        entry.at_ms, entry.place = at_ms, self._places
        heapq.heappush(self._heap, (at_ms, entry.place, entry))
        if len(self._heap) > 2 * len(self._entries) + 64:
            self._heap = [item for item in self._heap if item[2].place == item[1]]
            heapq.heapify(self._heap)

    def _skip(self, heap: list[tuple[int, int, Entry]]) -> None:
        while heap and heap[0][2].place != heap[0][1]:
            heapq.heappop(heap)
