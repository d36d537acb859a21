"""The presence service: gateways report to any replica, NATS KV makes them agree, one of them tells each table."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import ClassVar

from omnipoly.runtime import app, logging, unary
from omnipoly.runtime.failures import Failure
from omnipoly.runtime.table_client import TableClient

from . import servicer
from .clock import Clock, WallClock
from .config import PresenceSettings
from .ghosts import Ghosts
from .picture import BROKEN, GONE_FOR_MS, Key, Picture, Report
from .reporting import Reporting
from .revisions import Revisions
from .sharing import Sharing
from .store import Store
from .telling import Telling

log = logging.get(__name__)

TIDY_MS = 5000


class PresenceService(app.Service):
    """Who is where."""

    settings: PresenceSettings
    uses_bus: ClassVar[bool] = True
    callers: ClassVar[tuple[str, ...]] = ("gateway",)

    def __init__(self, settings: PresenceSettings, clock: Clock | None = None) -> None:
        """clock: what tells the time; the machine's unless given."""
        super().__init__(settings)
        self.clock = clock or WallClock()
        self.picture = Picture()
        self.telling = Telling()
        self._wake = asyncio.Event()
        self._to_save = asyncio.Event()
        self._reported = asyncio.Event()
        self._tidied_ms = 0
        self._missed_since_ms = 0
        """Since when whoever no gateway tells of has been missed, after a start from nothing."""

    async def start(self, running: app.App) -> None:
        """Begins to read what other replicas and gateways have left in NATS."""
        settings, clock = self.settings, self.clock
        tables = TableClient(await running.peers(settings.table_addr), key=running.instance)
        self.revisions = Revisions(clock, running.instance)
        self.store = Store(running.bus, settings.presence_bucket, clock, running.instance, settings.lease_s)
        self.sharing = Sharing(
            self.picture,
            self.store,
            running.bus,
            clock,
            self.revisions,
            running.instance,
            settings.lease_s,
            running.standstill,
            changed=self._see,
            mine_now=self._mine_now,
            clock_set=self._clock_set,
        )
        self.reporting = Reporting(
            tables,
            self.telling,
            self.revisions,
            clock,
            self.sharing.mine,
            at_once=settings.reports_at_once,
            wake=self._wake.set,
        )
        self._ghosts = Ghosts(
            tables,
            clock,
            lambda table, person: self.picture.standing(table, person) is not None,
            self._gone,
        )
        self._bus = running.bus
        self._watch = running.bus.watch(settings.presence_bucket, self.sharing.on_event, heard=self._heard)
        running.tasks.spawn("presence-tell", self._tell)
        running.tasks.spawn("presence-share", self._share)
        running.tasks.spawn("presence-ghosts", self._look_for_ghosts)
        unary.serve(running, servicer.NAME, servicer.methods(self))

    async def stop(self) -> None:
        """Leaves to the other replicas: they tell from now on."""
        await self.reporting.stop()
        await self._bus.unwatch(self._watch)
        try:
            await self.store.delete_replica()
        except Failure as error:
            log.info("presence_left_unsaid", error=str(error))

    # --- what is asked

    async def take(self, report: Report) -> bool:
        """Takes a gateway's report in, and shares it; whether a full one is wanted next."""
        lease, news, known = self.sharing.take(report.lease, report.revision)
        self._reported.set()
        if news:
            lease.wanted = not (report.full or report.draining) and (lease.wanted or not known)
            now_ms = self.clock.now_ms()
            if report.full:
                changed = self.picture.replace(lease, report.people, now_ms)
            else:
                changed = [key for key, row in report.people if self.picture.put(lease, key, row)]
            lease.draining = report.draining
            if report.draining:
                changed += self.picture.drain(lease, now_ms)
            for table, _ in changed:
                self.store.changed(lease, table)
            self._see(changed)
        if lease.draining:
            lease.doubted_until_ms = self.clock.now_ms() + self.sharing.lease_ms
        if not await self.store.save(lease):
            self._to_save.set()
        return lease.wanted

    # --- what goes on

    def _see(self, changed: Iterable[Key]) -> None:
        """People are otherwise than before."""
        now_ms = self.clock.now_ms()
        for table, person in changed:
            self.telling.see(table, person, self.picture.standing(table, person), now_ms)
        self._wake.set()

    def _heard(self) -> None:
        """The bucket is known up to now."""
        self.sharing.heard()
        if self.telling.unheard:
            self._wake.set()

    def _gone(self, table: str, person: str) -> None:
        self.telling.want(table, person, BROKEN, self.clock.now_ms(), self._missed_since_ms)
        self._wake.set()

    def _mine_now(self, was_mine: Callable[[str], bool]) -> None:
        """Nobody knows what the tables that are this replica's from now on have been told: they are told everything."""
        for table in self.telling.tables():
            if self.sharing.mine(table) and not was_mine(table):
                self.telling.tell_again(table)
        self._to_save.set()
        self._wake.set()

    def _clock_set(self) -> None:
        """What lies in the future now was before."""
        now_ms = self.clock.now_ms()
        self.picture.set_back(now_ms)
        self.telling.set_back(now_ms)
        self._tidied_ms = min(self._tidied_ms, now_ms)
        self._wake.set()

    async def _tell(self) -> None:
        self._tidied_ms = self.clock.now_ms()
        while True:
            self._wake.clear()
            now_ms = self.clock.now_ms()
            self.sharing.look()
            self.telling.hold_departures(self.sharing.departures_from_ms)
            self.telling.heard(self.sharing.departures_until_ms)
            if self.sharing.ready:
                self.reporting.go()
            if now_ms >= self._tidied_ms + TIDY_MS:
                self._tidied_ms = now_ms
                for lease, (table, _) in self.picture.forget(now_ms - GONE_FOR_MS):
                    self.store.changed(lease, table)
                self.telling.forget(now_ms - GONE_FOR_MS)
            times = [self.sharing.next_ms(), self.reporting.next_ms() if self.sharing.ready else None]
            next_ms = min((at_ms for at_ms in times if at_ms is not None), default=now_ms + TIDY_MS)
            await self.clock.wait(self._wake, min(next_ms, now_ms + TIDY_MS))

    async def _share(self) -> None:
        """Says that this replica lives, and writes what NATS did not take before."""
        while True:
            self._to_save.clear()
            try:
                await self.store.save_replica(self.revisions.last)
                await self.store.delete_over()
                for lease in list(self.picture.leases.values()):
                    if self.store.waiting(lease) and (lease.draining or self.sharing.reports_here(lease)):
                        await self.store.save(lease)
            except Failure as error:
                log.debug("replica_unshared", error=str(error))
            await self.clock.wait(self._to_save, self.clock.now_ms() + self.sharing.lease_ms // 3)

    async def _look_for_ghosts(self) -> None:
        """Once, after a start from nothing, when gateways have had their time."""
        await self._reported.wait()
        self._missed_since_ms = self.clock.now_ms()
        await self.clock.wait(asyncio.Event(), self.clock.now_ms() + 2 * self.sharing.lease_ms)
        if self.sharing.began_empty:
            await self._ghosts.look()
