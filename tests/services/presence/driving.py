"""A clock that a test drives, and a presence service that runs by it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from omnipoly.runtime import app
from omnipoly.wire.gen.presence.v1 import presence_pb2
from omnipolyd.presence.config import PresenceSettings
from omnipolyd.presence.picture import BROKEN, CLOSED, CONNECTED, MOVING, WATCHING
from omnipolyd.presence.service import PresenceService
from tests.services.playing import ANN, BOB, CID, Asking, Tables
from tests.services.waiting import eventually

__all__ = [
    "BROKEN",
    "CLOSED",
    "CONNECTED",
    "MOVING",
    "WATCHING",
    "DrivenClock",
    "Gateway",
    "Presence",
    "all_there",
    "presence",
]

BEGIN_MS = 1_800_000_000_000


class DrivenClock:
    """Time stands still until the test lets it pass."""

    def __init__(self) -> None:
        self._now_ms = BEGIN_MS
        self._set_ms = 0
        """By how much it was set."""
        self._tick = asyncio.Event()

    def now_ms(self) -> int:
        return self._now_ms

    async def wait(self, event: asyncio.Event, until_ms: int | None) -> None:
        set_ms = self._set_ms
        while not event.is_set() and (until_ms is None or self._now_ms - self._set_ms < until_ms - set_ms):
            waiting = [asyncio.create_task(event.wait()), asyncio.create_task(self._tick.wait())]
            try:
                await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
            finally:
                for task in waiting:
                    task.cancel()
                await asyncio.gather(*waiting, return_exceptions=True)

    def advance(self, ms: int) -> None:
        """So much time passes."""
        self._now_ms += ms
        tick, self._tick = self._tick, asyncio.Event()
        tick.set()

    def set_by(self, ms: int) -> None:
        """It is set; no time passes, and whoever waits waits as long as before."""
        self._now_ms += ms
        self._set_ms += ms


class Presence:
    """A presence service, asked over a link."""

    def __init__(self, running: app.App, service: PresenceService) -> None:
        self.app = running
        self.service = service
        self.ask = Asking(running.address, "omnipoly.presence.v1.PresenceService", presence_pb2)

    async def who(self, *tables: str) -> dict[tuple[str, str], int]:
        """Status by table and person."""
        answer = await self.ask("Who", presence_pb2.WhoRequest(tables=tables))
        return {(entry.table, entry.person): entry.status for entry in answer.people}

    async def set_clock(self, clock: DrivenClock, ms: int) -> None:
        """The wall clock is set, and the process sees it."""
        clock.set_by(ms)
        self.app.standstill.sets += 1
        self.service._wake.set()
        await self.settled()

    async def settled(self) -> None:
        """Everything that is due by now has been told."""

        def still() -> bool:
            telling, reporting = self.service.telling, self.service.reporting
            next_ms = telling.next_ms()
            idle = next_ms is None or next_ms > self.service.clock.now_ms()
            return idle and not telling.unheard and not reporting._under_way and not self.service._wake.is_set()

        await eventually(still)


class Gateway:
    """What a gateway does: reports under a lease."""

    def __init__(self, presence: Presence, lease: str) -> None:
        self.presence = presence
        self.lease = lease
        self.revision = 0

    async def report(self, *rows: tuple[str, str, Any], **more: Any) -> presence_pb2.ReportResponse:
        """rows: (table, person, status). The first one is of all there is, unless told otherwise."""
        self.revision += 1
        said = {"lease": self.lease, "revision": self.revision, "full": self.revision == 1}
        request = presence_pb2.ReportRequest(**(said | more))
        for table, person, status in rows:
            request.people.add(table=table, person=person, status=status)
        answer: presence_pb2.ReportResponse = await self.presence.ask("Report", request)
        return answer


async def all_there(gateway: Gateway, tables: Tables) -> str:
    """A game whose three players are connected."""
    table = await tables.start()
    await gateway.report(*((table, person, CONNECTED) for person in (ANN, BOB, CID)))
    await gateway.presence.settled()
    return table


@asynccontextmanager
async def presence(
    tables: Tables, nats_url: str, bucket: str, clock: DrivenClock, *, ready: bool = True, **more: Any
) -> AsyncIterator[Presence]:
    """A presence service that has read its bucket."""
    settings = {"table_addr": tables.address, "lease_s": 600, "port": 0} | more
    service = PresenceService(PresenceSettings(nats_url=nats_url, presence_bucket=bucket, **settings), clock)
    async with app.running(service) as running:
        if ready:
            await eventually(lambda: service.sharing.begun)
        found = Presence(running, service)
        yield found
        await found.ask.close()
