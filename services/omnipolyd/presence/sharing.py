"""What other replicas and NATS say of leases: whose picture is taken over, and when a lease is over.

Absence is an event: a lease ends when its expiry is seen while NATS was up all along. After a reconnect or with a lost
store the bucket says nothing about those it lacks: they are believed for one lease period, in which gateways report
again. A lease that reports here is never over for what the bucket says.

As long as the bucket is not seen as it is, and for one lease period after it is again, nobody's going is told to a
table either: whoever left one gateway may have come to another that reports to another replica. Likewise after a
standstill of this process, whose picture is that of before it, and when the wall clock was set, by which all of this is
counted. And a going that is due is told only when NATS has spoken since, which it does each second: if it stands still,
nobody knows of it at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from prometheus_client import Counter, Gauge

from omnipoly.runtime import logging
from omnipoly.runtime.bus import Bus, Change, WatchEvent
from omnipoly.runtime.peers import rendezvous
from omnipoly.runtime.standstill import Standstill

from .clock import Clock
from .picture import Key, Lease, Picture
from .revisions import Revisions
from .store import LeaseValue, PeopleValue, ReplicaValue, Store, parse, rows_of
from .telling import FOREVER_MS, GRACE_MS

log = logging.get(__name__)

ORDERS_KEPT = 65_536
ENDED_KEPT = 1024

LEASES = Gauge("omnipoly_presence_leases", "Gateways whose people are known.")
ENDED = Counter("omnipoly_presence_leases_ended_total", "Leases that ended because nobody renewed them.")
FLAPS = Counter(
    "omnipoly_presence_lease_flaps_total", "Leases that ended, though their gateway was there and reported again."
)
REPLICAS = Gauge("omnipoly_presence_replicas", "Presence replicas known, this one included.")


class Sharing:
    """The shared part of the picture, and the replicas that share it."""

    def __init__(
        self,
        picture: Picture,
        store: Store,
        bus: Bus,
        clock: Clock,
        revisions: Revisions,
        replica: str,
        lease_s: float,
        standstill: Standstill,
        *,
        changed: Callable[[Iterable[Key]], None],
        mine_now: Callable[[Callable[[str], bool]], None],
        clock_set: Callable[[], None],
    ) -> None:
        """changed: people are otherwise than before. mine_now: tables may be this replica's to tell that were not, or
        whose were told by several while none saw the others; it is told which were this replica's alone. clock_set: the
        wall clock was set.
        """
        self._picture = picture
        self._store = store
        self._bus = bus
        self._clock = clock
        self._revisions = revisions
        self.replica = replica
        self.lease_ms = round(lease_s * 1000)
        self._changed = changed
        self._mine_now = mine_now
        self._clock_set = clock_set
        self._others: dict[str, int] = {}
        """Until when other replicas are believed without a word of them; 0: nothing is wrong."""
        self._current = False
        self._connects = 0
        """Which connection it was read over."""
        self._seen: set[tuple[str, str]] = set()
        self._trusted_ms = 0
        """From then on an expiry is an event: NATS has been up for a lease period."""
        self._standstill = standstill
        self._noticed = (0, 0)
        """How often this process stood still, and how often the wall clock was set under it."""
        self._held_ms = 0
        self._seen_ms = 0
        """When the bucket was last seen as it is."""
        self._heard_ms = 0
        """When NATS last spoke and had left nothing out."""
        self._began_ms = clock.now_ms()
        self.begun = False
        """Whether the bucket was read once."""
        self.began_empty = False
        """Whether no lease in it had outlived the stop of everything."""
        self._outlived = False
        self._orders: dict[str, bool] = {}
        self._ended: dict[str, None] = {}
        """Leases that ended unasked, by which one that comes back is known."""

    # --- whose turn it is

    @property
    def in_sight(self) -> bool:
        """Whether the bucket is seen as it is."""
        return self._current and self._bus.connected and self._bus.connects == self._connects

    @property
    def ready(self) -> bool:
        """Whether it is known who else there is, or that nobody can be seen."""
        return self.begun or self._clock.now_ms() >= self._began_ms + 2 * self.lease_ms

    def mine(self, table: str) -> bool:
        """Whether this replica tells the table: the first of the table's order; everyone while none sees the others."""
        if not self.in_sight:
            return True
        first = self._orders.get(table)
        if first is None:
            if len(self._orders) >= ORDERS_KEPT:
                self._orders.clear()
            first = self._orders[table] = rendezvous(table, [self.replica, *self._others])[0] == self.replica
        return first

    @property
    def departures_from_ms(self) -> int:
        """From when on tables may be told that somebody is gone: not while people are known to be missing here."""
        known = all(lease.whole for lease in self._picture.leases.values())
        alone = self.begun and not self._others  # who has never seen the bucket does not know that it is
        return self._held_ms if known and (self.in_sight or alone) else FOREVER_MS

    @property
    def departures_until_ms(self) -> int:
        """Up to when what is known here can be all there is: a later word of somebody may be on its way."""
        return self._heard_ms if self._others else FOREVER_MS

    def heard(self) -> None:
        """NATS has spoken: nothing was missed until now."""
        if self._current:
            self._heard_ms = self._clock.now_ms()

    def _notice_standstill(self) -> None:
        """After one, everything known here is in doubt; called before anything is made of it."""
        self._standstill.look()
        noticed = (self._standstill.times, self._standstill.sets)
        if noticed == self._noticed:
            return
        clock_set = noticed[1] != self._noticed[1]
        self._noticed = noticed
        now_ms = self._clock.now_ms()
        self._trusted_ms = self._held_ms = now_ms + self.lease_ms
        if clock_set:
            # Whoever is away has the whole of their time to come back once more.
            self._held_ms = max(self._held_ms, now_ms + GRACE_MS)
            self._began_ms = min(self._began_ms, now_ms)
            self._seen_ms, self._heard_ms = min(self._seen_ms, now_ms), min(self._heard_ms, now_ms)
            for lease in self._picture.leases.values():
                lease.heard_ms = min(lease.heard_ms, now_ms)
                if lease.owner == self.replica:
                    self._store.all_changed(lease)  # when its parts were written says nothing any more
            self._clock_set()
        for lease in self._picture.leases.values():
            if lease.doubted_until_ms:
                self._doubt(lease)
        for replica, until_ms in self._others.items():
            if until_ms:
                self._others[replica] = now_ms + self.lease_ms

    # --- what is reported here

    def take(self, name: str, revision: int) -> tuple[Lease, bool, bool]:
        """The lease of a report; whether the report is news, and whether its people were known to this replica."""
        self._notice_standstill()
        known = name in self._picture.leases
        if name in self._ended:
            del self._ended[name]
            FLAPS.inc()
        lease = self._picture.lease(name, self.replica)
        # What its gateway has told another replica meanwhile, while this one stood still, is not known here.
        known = known and lease.owner == self.replica and revision <= lease.revision + 1
        news = revision > lease.revision
        if lease.owner != self.replica and not news:
            return lease, False, True  # it has lain here while its gateway went on with another replica
        if lease.owner != self.replica:
            lease.owner = self.replica
            lease.parts = 0  # it says itself who there is
            self._store.all_changed(lease)
        lease.heard_ms = self._clock.now_ms()
        lease.began_ms = lease.began_ms or lease.heard_ms
        lease.doubted_until_ms = 0
        lease.revision = max(lease.revision, revision)
        LEASES.set(len(self._picture.leases))
        return lease, news, known

    def reports_here(self, lease: Lease) -> bool:
        """Whether a lease is alive for what this replica has heard itself."""
        return (
            lease.owner == self.replica and not lease.draining and self._clock.now_ms() < lease.heard_ms + self.lease_ms
        )

    # --- what the bucket says

    async def on_event(self, event: WatchEvent) -> None:
        """One step of the watch; the handler of it."""
        self._notice_standstill()
        if event.change is Change.RESET:
            self._current, self._connects = False, self._bus.connects
            self._seen.clear()
            for lease in self._picture.leases.values():
                lease.read = 0
        elif event.change is Change.CURRENT:
            self._stands()
        elif event.change is Change.LOST:
            self._current = False
            self._changed(())  # nobody's going may be told from now on
        else:
            try:
                kind, name, value = parse(event)
            except ValueError as error:  # msgspec's errors are too
                log.warning("presence_key_unreadable", error=str(error))
                return
            if event.change is Change.PUT and value is not None:
                self._seen.add((kind, name))
                self._put(value)
            elif kind == "lease":
                self._lease_ended(name)
            elif kind == "replica":
                self._replica_ended(name, event.change)

    def _put(self, value: LeaseValue | PeopleValue | ReplicaValue) -> None:
        if value.replica == self.replica:
            return
        if isinstance(value, ReplicaValue):
            self._replica_lives(value)
            return
        lease = self._adopted(value)
        if lease is None:
            return
        now_ms = self._clock.now_ms()
        if isinstance(value, LeaseValue):
            self._outlived |= value.began_ms < self._began_ms - self.lease_ms
            lease.draining, lease.began_ms = value.draining, value.began_ms
            lease.doubted_until_ms = now_ms + self.lease_ms if value.draining else 0
            lease.parts = value.parts
            self._changed(())
        else:
            lease.read |= 1 << value.shard
            self._changed(self._picture.replace(lease, rows_of(value), now_ms, value.shard))

    def _adopted(self, value: LeaseValue | PeopleValue) -> Lease | None:
        """The lease as another replica has it, if that is newer than what is known here."""
        lease = self._picture.leases.get(value.lease)
        if lease is None:
            lease = self._picture.lease(value.lease, value.replica)
            # its people come before it does
            lease.doubted_until_ms = self._clock.now_ms() + self.lease_ms
            LEASES.set(len(self._picture.leases))
        elif lease.owner == self.replica:
            if value.revision <= lease.revision:
                if value.revision < lease.revision:
                    self._store.all_changed(lease)  # the bucket has an older picture in place of this one
                return None
            self._store.forget(lease)
        elif value.revision < lease.revision:
            return None
        elif value.revision > lease.revision and lease.doubted_until_ms:
            self._doubt(lease)  # its gateway reports: the lease itself comes after its people
        if lease.owner != value.replica:
            lease.read, lease.wanted = 0, False  # the other one writes all of it anew
        lease.owner, lease.revision = value.replica, value.revision
        return lease

    def _replica_lives(self, value: ReplicaValue) -> None:
        if not self.begun:
            self._revisions.begin_beside(value.revision)
        self._revisions.heard(value.revision)
        new = value.replica not in self._others
        self._others[value.replica] = 0
        if new and self.begun:
            log.info("presence_replica_came", replica=value.replica)
            self._replicas_changed()

    def _stands(self) -> None:
        """The bucket has been read: what it lacks is in doubt from now on."""
        now_ms = self._clock.now_ms()
        self._current = True
        self._trusted_ms = now_ms + self.lease_ms
        if not self.begun:
            self.begun = True
            self.began_empty = not self._outlived
            # What is in it may be all that was there, or what is left of it; and what was may be over, where it could
            # not be read at once.
            if self._outlived or now_ms > self._began_ms + self.lease_ms:
                self._held_ms = self._trusted_ms
        elif now_ms > self._seen_ms:
            self._held_ms = self._trusted_ms
        self._seen_ms = self._heard_ms = now_ms
        for lease in self._picture.leases.values():
            if self.reports_here(lease):
                self._store.all_changed(lease)
            elif ("lease", lease.lease) not in self._seen:
                self._doubt(lease)
        for replica in self._others:
            if ("replica", replica) not in self._seen:
                self._others[replica] = now_ms + self.lease_ms
        self._orders.clear()  # meanwhile everybody told everything
        self._replicas_changed()

    def _lease_ended(self, name: str) -> None:
        lease = self._picture.leases.get(name)
        if lease is None or not self._current:
            return  # before CURRENT it is only missing
        if self._clock.now_ms() < self._trusted_ms:
            self._doubt(lease)
        elif not self.reports_here(lease):
            self._end(lease)

    def _replica_ended(self, name: str, change: Change) -> None:
        if name not in self._others:
            return
        if change is Change.EXPIRED and (not self._current or self._clock.now_ms() < self._trusted_ms):
            self._others[name] = self._clock.now_ms() + self.lease_ms
        else:
            self._replica_gone(name)

    # --- what time says

    def next_ms(self) -> int | None:
        """When `look` has to be called next."""
        times = [lease.doubted_until_ms for lease in self._picture.leases.values() if lease.doubted_until_ms]
        times += [until_ms for until_ms in self._others.values() if until_ms]
        return min(times, default=None)

    def look(self) -> None:
        """Ends what was in doubt for too long, and what has reported here and does so no longer."""
        self._notice_standstill()
        now_ms = self._clock.now_ms()
        if not self.in_sight:
            for lease in self._picture.leases.values():
                if lease.doubted_until_ms:
                    self._doubt(lease)
            for replica, until_ms in self._others.items():
                if until_ms:
                    self._others[replica] = now_ms + self.lease_ms
            return
        self._seen_ms = now_ms
        for lease in list(self._picture.leases.values()):
            silent = lease.owner == self.replica and lease.heard_ms + 2 * self.lease_ms <= now_ms >= self._trusted_ms
            if (0 < lease.doubted_until_ms <= now_ms and not self.reports_here(lease)) or silent:
                self._end(lease)
                if lease.owner == self.replica:
                    self._store.over(lease)
        for replica in [name for name, until_ms in self._others.items() if 0 < until_ms <= now_ms]:
            self._replica_gone(replica)

    # --- within

    def _doubt(self, lease: Lease) -> None:
        lease.doubted_until_ms = self._clock.now_ms() + self.lease_ms

    def _end(self, lease: Lease) -> None:
        ENDED.inc()
        if not lease.draining:
            self._ended[lease.lease] = None
            if len(self._ended) > ENDED_KEPT:
                del self._ended[next(iter(self._ended))]
        log.info("lease_ended", lease=lease.lease, people=len(lease.rows), draining=lease.draining)
        self._store.forget(lease)
        self._changed(self._picture.end(lease, self._clock.now_ms()))
        LEASES.set(len(self._picture.leases))

    def _replica_gone(self, replica: str) -> None:
        del self._others[replica]
        log.info("presence_replica_gone", replica=replica)
        self._replicas_changed()

    def _replicas_changed(self) -> None:
        REPLICAS.set(len(self._others) + 1)
        before, self._orders = self._orders, {}
        self._mine_now(lambda table: before.get(table, False))
