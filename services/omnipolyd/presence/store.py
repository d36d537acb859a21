"""What presence replicas share through NATS KV: leases, their people, and one another.

Three kinds of keys in one bucket, all of which expire unless they are written again: `lease.<id>`, written with each
report; `people.<id>.<part>`, a lease's rows, in parts by table; `replica.<id>`. Whoever begins reads them all.
"""

from __future__ import annotations

import asyncio

import msgspec
from prometheus_client import Counter

from omnipoly.runtime import logging
from omnipoly.runtime.bus import BucketSpec, Bus, WatchEvent
from omnipoly.runtime.failures import Failure

from .clock import Clock
from .picture import Lease, Row, shard_of

log = logging.get(__name__)

MARKER_S = 60.0
"""How long the mark of an expiry is kept."""

UNSHARED = Counter("omnipoly_presence_unshared_total", "Writes of leases that NATS did not take; tried again.")


class LeaseValue(msgspec.Struct, frozen=True):
    """A lease, as it is shared."""

    lease: str
    revision: int
    replica: str
    began_ms: int
    """When it first reported."""
    draining: bool
    parts: int = 0
    """The parts that have rows, a bit each: who does not find one of them does not know everybody."""


class PeopleValue(msgspec.Struct, frozen=True):
    """One part of a lease's rows."""

    lease: str
    revision: int
    replica: str
    shard: int
    rows: list[tuple[str, str, int, int, bool]]
    """(table, person, status, since in milliseconds, only watched)."""


class ReplicaValue(msgspec.Struct, frozen=True):
    """A presence replica."""

    replica: str
    revision: int
    """The last revision it has used or heard of."""


Value = LeaseValue | PeopleValue | ReplicaValue

_KINDS: dict[str, type[Value]] = {"lease": LeaseValue, "people": PeopleValue, "replica": ReplicaValue}


def parse(event: WatchEvent) -> tuple[str, str, Value | None]:
    """Kind, name and value of a key; the value is None for one that ended. Raises ``ValueError`` for a foreign one."""
    kind, _, rest = event.key.partition(".")
    if kind not in _KINDS:
        raise ValueError(f"the key {event.key} is not one of presence")
    name = bytes.fromhex(rest.partition(".")[0]).decode()
    if not event.value:
        return kind, name, None
    return kind, name, msgspec.msgpack.decode(event.value, type=_KINDS[kind])


class _Shared:
    """What the bucket has of a lease, and what it lacks."""

    __slots__ = ("lacking", "lock", "waiting", "written")

    def __init__(self) -> None:
        self.lacking: set[int] = set()
        """Parts that have to be written."""
        self.written: dict[int, int] = {}
        """When each part was written."""
        self.waiting = False
        """Something has to be written, be it only the lease itself."""
        self.lock = asyncio.Lock()


class Store:
    """Writes to the bucket: what changed at once, what did not before it expires."""

    def __init__(self, bus: Bus, bucket: str, clock: Clock, replica: str, lease_s: float) -> None:
        self._bus = bus
        self._bucket = bucket
        self._clock = clock
        self._replica = replica
        self._renew_ms = round(lease_s * 1000 / 3)
        self._shared: dict[str, _Shared] = {}
        """By lease."""
        self._ended = False
        """This replica has said that it ends."""
        self._alive = asyncio.Lock()
        self._over: set[str] = set()
        """Leases whose keys have to be deleted."""
        bus.declare(BucketSpec(bucket, ttl_s=lease_s, limit_marker_ttl_s=MARKER_S))

    def changed(self, lease: Lease, table: str) -> None:
        """Rows of a lease at a table have changed."""
        shared = self._of(lease)
        shared.lacking.add(shard_of(table))
        shared.waiting = True

    def all_changed(self, lease: Lease) -> None:
        """The bucket has lost the lease, or never had it."""
        shared = self._of(lease)
        shared.written.clear()
        shared.lacking.update(shard_of(table) for table, _ in lease.rows)
        shared.waiting = True

    def waiting(self, lease: Lease) -> bool:
        """Whether something of a lease has to be written."""
        shared = self._shared.get(lease.lease)
        return shared is not None and shared.waiting

    def forget(self, lease: Lease) -> None:
        """The lease is over, or another replica's: what of it is being written now is written no further."""
        self._shared.pop(lease.lease, None)

    def over(self, lease: Lease) -> None:
        """A lease of this replica has ended, whatever the bucket says."""
        self.forget(lease)
        self._over.add(lease.lease)

    async def delete_over(self) -> None:
        """Tells the other replicas of leases that have ended here. Raises `Failure`."""
        while self._over:
            name = next(iter(self._over))
            await self._bus.delete(self._bucket, f"lease.{name.encode().hex()}")
            self._over.discard(name)

    async def save(self, lease: Lease) -> bool:
        """Shares a lease: its changed and its old parts, then itself. Whether NATS took all of it."""
        self._over.discard(lease.lease)
        shared = self._of(lease)
        async with shared.lock:
            shared.waiting = True
            old_ms = self._clock.now_ms() - self._renew_ms
            shared.lacking |= {shard for shard, at_ms in shared.written.items() if at_ms <= old_ms}
            name = lease.lease.encode().hex()
            try:
                while True:
                    while shared.lacking and self._shared.get(lease.lease) is shared:
                        await self._save_shard(lease, name, shared)
                    if self._shared.get(lease.lease) is not shared:
                        return True  # forgotten meanwhile
                    parts = sum(1 << shard for shard in shared.written)
                    value = LeaseValue(
                        lease.lease, lease.revision, self._replica, lease.began_ms, lease.draining, parts
                    )
                    await self._put(f"lease.{name}", value)
                    if not shared.lacking:
                        break  # nothing has changed meanwhile
            except Failure as error:
                UNSHARED.inc()
                log.info("lease_unshared", error=str(error))
                return False
            shared.waiting = False
            return True

    async def _save_shard(self, lease: Lease, name: str, shared: _Shared) -> None:
        shard = shared.lacking.pop()
        rows = [(*key, *row) for key, row in lease.shard(shard)]
        value = PeopleValue(lease.lease, lease.revision, self._replica, shard, rows)
        if rows:
            # before it is: who finds meanwhile that the bucket has lost everything has this part written again
            shared.written[shard] = self._clock.now_ms()
        else:
            shared.written.pop(shard, None)  # it may expire
        try:
            await self._put(f"people.{name}.{shard}", value)
        except BaseException:
            shared.lacking.add(shard)
            raise

    def _of(self, lease: Lease) -> _Shared:
        return self._shared.setdefault(lease.lease, _Shared())

    async def save_replica(self, revision: int) -> None:
        """Says that this replica lives, unless it has said that it ends. Raises `Failure`."""
        async with self._alive:
            if not self._ended:
                await self._put(self._own_key, ReplicaValue(self._replica, revision))

    async def delete_replica(self) -> None:
        """Says that it ends, behind all that it said before. Raises `Failure`."""
        self._ended = True
        async with self._alive:
            await self._bus.delete(self._bucket, self._own_key)

    @property
    def _own_key(self) -> str:
        return f"replica.{self._replica.encode().hex()}"

    async def _put(self, key: str, value: Value) -> None:
        await self._bus.put(self._bucket, key, msgspec.msgpack.encode(value))


def rows_of(value: PeopleValue) -> list[tuple[tuple[str, str], Row]]:
    """The rows of a part."""
    return [
        ((table, person), Row(status, since_ms, watched)) for table, person, status, since_ms, watched in value.rows
    ]
