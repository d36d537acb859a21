"""Who is where, by what gateways have said: pure, time is passed in.

Each gateway has a lease, and under it one row for a person at a table. Over all leases a person is there when any row
says so; otherwise the latest of their departures counts. Whose lease ends is gone as broken. Times are milliseconds
since 1970 on the platform's clock.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from typing import NamedTuple
from zlib import crc32

from omnipoly.wire.gen.presence.v1 import presence_pb2

CONNECTED = presence_pb2.STATUS_CONNECTED
MOVING = presence_pb2.STATUS_MOVING
CLOSED = presence_pb2.STATUS_CLOSED
BROKEN = presence_pb2.STATUS_BROKEN
WATCHING = presence_pb2.STATUS_WATCHING

THERE = (CONNECTED, MOVING, WATCHING)
"""What a row says of somebody who has not gone."""
GONE_FOR_MS = 60_000
"""How long a departure is kept: longer than its grace, so that another replica learns of it."""
SHARDS = 64
"""Parts in which a lease's rows are kept and compared, by table."""
LEFT = ""
"""The lease under which departures stand whose own has ended."""

Key = tuple[str, str]
"""(table, person)."""


class Row(NamedTuple):
    """What one gateway knows of a person at a table."""

    status: int
    since_ms: int
    watched: bool = False
    """They only watched, without a seat: their going is nothing to a game."""


class Report(NamedTuple):
    """What a gateway says."""

    lease: str
    revision: int
    full: bool
    people: list[tuple[Key, Row]]
    draining: bool


class Lease:
    """A gateway's people."""

    __slots__ = (
        "began_ms",
        "doubted_until_ms",
        "draining",
        "heard_ms",
        "lease",
        "owner",
        "parts",
        "read",
        "revision",
        "rows",
        "wanted",
    )

    def __init__(self, lease: str, owner: str) -> None:
        self.lease = lease
        self.owner = owner
        """The presence replica that it reports to."""
        self.began_ms = 0
        """When it first reported to any replica."""
        self.revision = 0
        self.draining = False
        self.heard_ms = 0
        """When it last reported to this replica; 0: never."""
        self.doubted_until_ms = 0
        """Until when it is believed without a word of it; 0: nothing is wrong."""
        self.parts = 0
        """The parts in which the replica that it reports to has rows of it, a bit each."""
        self.read = 0
        """Those that have been read here."""
        self.wanted = False
        """Its gateway is asked to say everything: what it told another replica may be missing."""
        self.rows: dict[Key, Row] = {}

    @property
    def whole(self) -> bool:
        """Whether nothing is missing of what its gateway has said, here or to another replica."""
        return not self.wanted and not self.parts & ~self.read

    def shard(self, number: int) -> list[tuple[Key, Row]]:
        """The rows of one part."""
        return [(key, row) for key, row in self.rows.items() if shard_of(key[0]) == number]


def shard_of(table: str) -> int:
    """The part in which a table's rows are kept."""
    return crc32(table.encode()) % SHARDS


class Picture:
    """All leases, and what they mean for each person at each table. Changes are told as the keys that they touch."""

    def __init__(self) -> None:
        self.leases: dict[str, Lease] = {}
        self._tables: dict[str, dict[str, dict[str, Row]]] = {}
        """Rows by table, person, lease."""
        self._departures: deque[tuple[int, str, Key]] = deque()
        """(when, lease, key) of departures, in the order in which they were told."""

    def lease(self, lease: str, owner: str) -> Lease:
        """The lease of that name, made if there is none."""
        found = self.leases.get(lease)
        if found is None:
            found = self.leases[lease] = Lease(lease, owner)
        return found

    # --- changes

    def put(self, lease: Lease, key: Key, row: Row) -> bool:
        """One row as it is now; whether that is news."""
        before = lease.rows.get(key)
        if before is not None and row.status not in THERE:
            row = row._replace(watched=before.watched if before.status not in THERE else before.status == WATCHING)
        if row == before:
            return False
        if before is not None and before.status == row.status:
            # there since the first time; gone since the last
            since_ms = min if row.status in THERE else max
            row = row._replace(since_ms=since_ms(before.since_ms, row.since_ms))
            if row == before:
                return False
        lease.rows[key] = row
        self._place(lease.lease, key, row)
        return True

    def replace(
        self, lease: Lease, rows: Iterable[tuple[Key, Row]], now_ms: int, shard: int | None = None
    ) -> list[Key]:
        """All rows of the lease, or of one part of it: whoever was there and is not among them is gone as broken."""
        new = dict(rows)
        changed = [key for key, row in new.items() if self.put(lease, key, row)]
        for key, row in list(lease.rows.items()):
            if key in new or row.status not in THERE or (shard is not None and shard_of(key[0]) != shard):
                continue
            since_ms = row.since_ms if row.status == MOVING else now_ms
            if self.put(lease, key, Row(BROKEN, since_ms)):
                changed.append(key)
        return changed

    def drain(self, lease: Lease, now_ms: int) -> list[Key]:
        """The gateway sends its people to others: they are moving."""
        there = [key for key, row in lease.rows.items() if row.status == CONNECTED]
        return [key for key in there if self.put(lease, key, Row(MOVING, now_ms))]

    def end(self, lease: Lease, now_ms: int) -> list[Key]:
        """The lease is over: whoever was there is gone as broken; departures are kept without it."""
        self.leases.pop(lease.lease, None)
        for key, row in lease.rows.items():
            if row.status in THERE:
                since_ms = row.since_ms if row.status == MOVING else now_ms
                row = Row(BROKEN, since_ms, row.status == WATCHING)
            persons = self._tables[key[0]]
            rows = persons[key[1]]
            del rows[lease.lease]
            other = rows.get(LEFT)
            if other is None or other.since_ms <= row.since_ms:
                self._place(LEFT, key, row)
        return list(lease.rows)

    def forget(self, before_ms: int) -> list[tuple[Lease, Key]]:
        """Drops departures from before a time; those whose lease still stands, for who keeps it elsewhere too."""
        dropped = []
        while self._departures and self._departures[0][0] < before_ms:
            since_ms, name, key = self._departures.popleft()
            rows = self._tables.get(key[0], {}).get(key[1], {})
            row = rows.get(name)
            if row is None or row.status in THERE or row.since_ms != since_ms:
                continue
            lease = self.leases.get(name)
            if lease is not None:
                del lease.rows[key]
                dropped.append((lease, key))
            del rows[name]
            self._tidy(key)
        return dropped

    def set_back(self, now_ms: int) -> None:
        """The wall clock was set back to that: what was before it was not after it."""
        for table, persons in self._tables.items():
            for person, rows in persons.items():
                for name, row in rows.items():
                    if row.since_ms > now_ms:
                        rows[name] = row = row._replace(since_ms=now_ms)
                        if name in self.leases:
                            self.leases[name].rows[table, person] = row
        self._departures = deque((min(at_ms, now_ms), name, key) for at_ms, name, key in self._departures)

    # --- what it means

    def standing(self, table: str, person: str) -> Row | None:
        """How a person is at a table, over all leases; None: nothing is known of them."""
        rows = self._tables.get(table, {}).get(person)
        if not rows:
            return None
        there = [row for row in rows.values() if row.status == CONNECTED]
        if not there:
            there = [row for row in rows.values() if row.status == WATCHING]
        if there:
            return min(there, key=lambda row: row.since_ms)
        return max(rows.values(), key=lambda row: (row.since_ms, row.status == CLOSED))

    def persons(self, table: str) -> Iterator[tuple[str, Row]]:
        """Everybody of whom something is known at a table, by id, with how they are there."""
        for person in sorted(self._tables.get(table, ())):
            row = self.standing(table, person)
            if row is not None:
                yield person, row

    # --- within

    def _place(self, lease: str, key: Key, row: Row) -> None:
        self._tables.setdefault(key[0], {}).setdefault(key[1], {})[lease] = row
        if row.status not in THERE:
            self._departures.append((row.since_ms, lease, key))

    def _tidy(self, key: Key) -> None:
        persons = self._tables[key[0]]
        if not persons[key[1]]:
            del persons[key[1]]
            if not persons:
                del self._tables[key[0]]
