"""Tells the presence service who is at which table, as seen from this gateway.

A person's streams at a table count as one, and a plain call about it as one for 30 s. What changed is reported at once,
several changes together while a report is under way; everything when the service asks for it. Nobody is reported where
no presence service is configured.

How a stream ended, as far as gRPC's server tells: a client that half-closes (``done_writing``) has closed on purpose. A
call that is cancelled, a process that is killed, a connection that is cut and one that keepalive gives up all look the
same (the read ends, then the handler is cancelled): *broken*, so that the grace of 10 s covers whoever only lost the
network. A client that means to be away at once half-closes.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
import time
from typing import TYPE_CHECKING

from prometheus_client import Counter

from omnipoly.runtime import logging
from omnipoly.runtime.failures import Failure
from omnipoly.wire.gen.presence.v1 import presence_pb2

if TYPE_CHECKING:
    from omnipoly.runtime.peers import Peers

log = logging.get(__name__)

METHOD = "/omnipoly.presence.v1.PresenceService/Report"
CALL_COUNTS_S = 30.0
RENEW_S = 5.0
"""How often the lease is renewed until the service has said how long it lives."""
REPORT_S = 1.5
"""A replica that does not answer by then may stand still: another one is told."""
RETRY_S = 0.5
DRAIN_TRIES = 2
"""How often a gateway that stops tells of it: the second time another replica, if there is one."""
WAYS = 32
MOST = 2000
"""Persons in one report."""

CONNECTED = presence_pb2.STATUS_CONNECTED
MOVING = presence_pb2.STATUS_MOVING
CLOSED = presence_pb2.STATUS_CLOSED
BROKEN = presence_pb2.STATUS_BROKEN
WATCHING = presence_pb2.STATUS_WATCHING

FAILED = Counter("omnipoly_gateway_presence_failed_total", "Presence reports that were not taken in.")

Key = tuple[str, str]
"""Person and table."""


class _Here:
    """A person at a table."""

    __slots__ = ("called_until", "seated", "since_ms", "status", "streams")

    def __init__(self) -> None:
        self.streams = 0
        self.called_until = 0.0
        self.seated = False
        self.status: presence_pb2.Status.ValueType = presence_pb2.STATUS_UNSPECIFIED
        self.since_ms = 0


class Presence:
    """Who is here, and the reports of it."""

    def __init__(self, peers: Peers | None) -> None:
        """peers: the presence service; None: nobody is to be told."""
        self._peers = peers
        self._lease = secrets.token_hex(16)
        self._revision = 0
        self._way = 0
        """Counts the ways that led nowhere: the next one leads to another replica, or the same if there is no other."""
        self._here: dict[Key, _Here] = {}
        self._changed: dict[Key, presence_pb2.PersonAtTable] = {}
        self._calls: dict[Key, float] = {}
        """Until when plain calls count, in order of time."""
        self._full = True
        self._renew_s = RENEW_S
        self._wake = asyncio.Event()
        self._reporting = asyncio.Lock()
        self._drained = False
        self._loop = asyncio.get_running_loop()

    def enter(self, person: str, table: str, *, seated: bool) -> None:
        """A stream of a person follows a table from now on."""
        if self._peers is None:
            return
        here = self._here.setdefault((person, table), _Here())
        here.streams += 1
        here.seated = here.seated or seated
        self._note((person, table), here, CONNECTED if here.seated else WATCHING)

    def leave(self, person: str, table: str, how: presence_pb2.Status.ValueType) -> None:
        """It does no longer. how: ``CLOSED``, ``BROKEN`` or ``MOVING``."""
        key = (person, table)
        here = self._here.get(key)
        if self._peers is None or here is None:
            return
        here.streams -= 1
        if here.streams > 0 or (how != CLOSED and here.called_until > self._loop.time()):
            return
        self._gone(key, here, how)

    def called(self, person: str, table: str) -> None:
        """A plain call of a person about a table where they have a seat was answered."""
        if self._peers is None:
            return
        key = (person, table)
        here = self._here.setdefault(key, _Here())
        here.called_until = self._loop.time() + CALL_COUNTS_S
        here.seated = True
        self._calls.pop(key, None)
        self._calls[key] = here.called_until
        self._note(key, here, CONNECTED)

    def sit(self, person: str, table: str) -> None:
        """A person has taken a seat."""
        here = self._here.get((person, table))
        if here is not None and not here.seated:
            here.seated = True
            self._note((person, table), here, CONNECTED)

    def _gone(self, key: Key, here: _Here, how: presence_pb2.Status.ValueType) -> None:
        del self._here[key]
        self._calls.pop(key, None)
        self._note(key, here, how)

    def _note(self, key: Key, here: _Here, status: presence_pb2.Status.ValueType) -> None:
        if here.status == status:
            return
        here.status = status
        here.since_ms = round(time.time() * 1000)
        self._changed[key] = _row(key, here)
        self._wake.set()

    async def report_changes(self) -> None:
        """Reports, for ever."""
        while self._peers is not None:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(min(self._renew_s, 1.0) if self._calls else self._renew_s):
                    await self._wake.wait()
            if self._drained:
                return
            self._wake.clear()
            self._end_calls()
            try:
                await self._report()
            except Failure as failure:
                FAILED.inc()
                log.info("presence_not_reported", cause=str(failure))
                self._full = True
                await asyncio.sleep(RETRY_S)
                self._wake.set()

    async def drain(self) -> None:
        """Reports everybody as moving: another gateway has them in a moment."""
        if self._peers is None:
            return
        self._drained = True
        for key, here in self._here.items():
            self._note(key, here, MOVING)
        for _ in range(DRAIN_TRIES):
            try:
                await self._report(draining=True)
            except Failure as failure:
                FAILED.inc()
                log.warning("presence_not_reported", cause=str(failure), draining=True)
                self._full = True
            else:
                return

    def _end_calls(self) -> None:
        now = self._loop.time()
        for key, until in list(self._calls.items()):
            if until > now:
                return
            del self._calls[key]
            here = self._here.get(key)
            if here is not None and not here.streams:
                self._gone(key, here, BROKEN)

    async def _report(self, *, draining: bool = False) -> None:
        """Sends what changed, or everything; what is not taken in stays to be sent. Raises ``Failure``."""
        async with self._reporting:
            full, self._full = self._full, False
            if full:
                self._changed = {key: _row(key, here) for key, here in self._here.items()} | self._changed
            last = False
            while not last:
                rows = dict(list(self._changed.items())[:MOST])
                last = len(rows) == len(self._changed)
                answer = await self._send(rows, full=full, draining=draining and last)
                for key, row in rows.items():
                    if self._changed.get(key) is row:
                        del self._changed[key]
                if answer.full_wanted and not full:
                    self._full = True
                    self._wake.set()
                full = False

    async def _send(
        self, rows: dict[Key, presence_pb2.PersonAtTable], *, full: bool, draining: bool
    ) -> presence_pb2.ReportResponse:
        assert self._peers is not None
        self._revision += 1
        request = presence_pb2.ReportRequest(
            lease=self._lease, revision=self._revision, full=full, people=rows.values(), draining=draining
        )
        try:
            body = await self._peers.call(self._key, METHOD, request.SerializeToString(), REPORT_S, resend=True)
        except Failure:
            self._go_another_way(self._peers)
            raise
        answer = presence_pb2.ReportResponse.FromString(body)
        lease_s = answer.lease_for.ToMilliseconds() / 1000
        self._renew_s = lease_s / 3 if lease_s > 0 else RENEW_S
        return answer

    @property
    def _key(self) -> str:
        """By which the replica is chosen that is told."""
        return f"{self._lease}-{self._way}"

    def _go_another_way(self, peers: Peers) -> None:
        """The next report goes to another replica, if there is one."""
        if len(peers.members) < 2:
            return
        first = peers.order(self._key)[:1]
        for _ in range(WAYS):
            self._way += 1
            if peers.order(self._key)[:1] != first:
                return


def _row(key: Key, here: _Here) -> presence_pb2.PersonAtTable:
    row = presence_pb2.PersonAtTable(person=key[0], table=key[1], status=here.status)
    row.since.FromMilliseconds(here.since_ms)
    return row
