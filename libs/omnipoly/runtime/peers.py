"""The replicas of a service, seen from a caller: who they are, which one a key belongs to, what to do when one is gone.

A key (a table's id) belongs to a replica by rendezvous hashing, so that callers agree without talking and a change of
members moves only the keys of those that came or went. It is only a matter of warm caches: any replica can answer.
"""

from __future__ import annotations

import asyncio
import hashlib
import socket
from types import TracebackType
from typing import Self

from prometheus_client import Counter, Gauge

from omnipoly.runtime import failures, logging
from omnipoly.runtime.link import Link, LinkLost, State
from omnipoly.runtime.tls import Certificate

log = logging.get(__name__)

RESOLVE_S = 5.0
RECONNECT_WAIT_S = 1.0
"""How long a call waits for any replica to come back when none is there, if its own timeout allows."""
CACHED_ORDERS = 65_536

RESENT = Counter("omnipoly_link_resent_total", "Calls sent again to another replica after their stream broke.")
MEMBERS = Gauge("omnipoly_link_members", "Replicas known of a service.", ("target",))


class Peers:
    """All replicas behind one target, `dns:///host:port` (looked up every 5 s) or `host:port,host:port`."""

    def __init__(self, target: str, *, max_in_flight: int = 8192, identity: Certificate | None = None) -> None:
        """max_in_flight: for each replica. identity: what this process shows; None: plain text.

        Call `start` before use and `close` after; `App.peers` does both.
        """
        self._identity = identity
        self.target = target
        self._max_in_flight = max_in_flight
        self._links: dict[str, Link] = {}
        self._orders: dict[str, list[str]] = {}
        self._changed = asyncio.Event()
        self._resolver: asyncio.Task[None] | None = None
        self._closing: set[asyncio.Task[None]] = set()
        self._dns: tuple[str, int] | None = None
        if target.startswith("dns:///"):
            host, _, port = target.removeprefix("dns:///").rpartition(":")
            self._dns = (host.strip("[]"), int(port))
        else:
            self._set_members({part.strip() for part in target.split(",")})

    async def start(self) -> None:
        """Looks the members up, and again every 5 s. A name that does not resolve (yet) has no members (yet)."""
        if self._dns is not None and self._resolver is None:
            await self._resolve()
            self._resolver = asyncio.create_task(self._keep_resolving(), name=f"resolve-{self.target}")

    async def close(self) -> None:
        """Ends the streams; calls in flight end with UNAVAILABLE."""
        if self._resolver is not None:
            self._resolver.cancel()
            await asyncio.gather(self._resolver, return_exceptions=True)
            self._resolver = None
        links, self._links = self._links, {}
        self._orders.clear()
        await asyncio.gather(*(link.close() for link in links.values()), *self._closing)

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    @property
    def members(self) -> list[str]:
        """The addresses known now, sorted."""
        return sorted(self._links)

    def order(self, key: str) -> list[str]:
        """The members in the order in which `key` prefers them; the same for whoever knows the same members."""
        order = self._orders.get(key)
        if order is None:
            order = rendezvous(key, self._links)
            if len(self._orders) >= CACHED_ORDERS:
                self._orders.clear()
            self._orders[key] = order
        return order

    async def call(
        self, key: str, method: str, body: bytes, timeout_s: float, *, resend: bool, traceparent: str = ""
    ) -> bytes:
        """Calls the first healthy replica for `key`, and with `resend` another when the stream breaks under the call.

        resend: the call may be carried out twice without harm, so that one whose stream broke is sent again, once, with
        the same body. What never left is always tried elsewhere. Raises the replica's `Failure`, or UNAVAILABLE when
        nobody can be reached or the outcome is unknown.
        """
        loop = asyncio.get_running_loop()
        until = loop.time() + timeout_s
        give_up = min(until, loop.time() + RECONNECT_WAIT_S)
        broken: str | None = None
        while True:
            changed = self._changed  # taken before the links are tried: a change meanwhile is not slept over
            for address in self.order(key):
                link = self._links.get(address)
                if link is None or not link.ready or (address == broken and len(self._links) > 1):
                    continue
                try:
                    return await link.call(method, body, until - loop.time(), traceparent)
                except LinkLost as lost:
                    if not lost.sent:
                        continue
                    if not resend or broken is not None:
                        raise failures.unavailable(f"{method}: {lost}; what became of it is unknown") from None
                    broken = address
                    give_up = min(until, loop.time() + RECONNECT_WAIT_S)
                    RESENT.inc()
            try:
                async with asyncio.timeout_at(give_up):
                    await changed.wait()
            except TimeoutError:
                raise failures.unavailable(f"{method}: no replica of {self.target} can be reached") from None

    def _set_members(self, addresses: set[str]) -> None:
        if addresses == self._links.keys():
            return
        for address in addresses - self._links.keys():
            self._links[address] = Link(
                address,
                max_in_flight=self._max_in_flight,
                on_change=self._note_change,
                identity=self._identity,
                # Looked up here, so that gRPC knows an address alone: the certificate bears the name.
                name=self._dns[0] if self._dns is not None else "",
            )
        for address in self._links.keys() - addresses:
            task = asyncio.create_task(self._retire(self._links.pop(address)), name=f"retire-{address}")
            self._closing.add(task)
            task.add_done_callback(self._closing.discard)
        self._orders.clear()
        MEMBERS.labels(self.target).set(len(self._links))
        self._note_change()

    async def _retire(self, link: Link) -> None:
        """A member that is gone from the list may still answer what it has."""
        while link.in_flight and link.state in {State.CONNECTED, State.DRAINING}:  # noqa: ASYNC110 - too rare for an event
            await asyncio.sleep(0.1)
        await link.close()

    def _note_change(self) -> None:
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()

    async def _keep_resolving(self) -> None:
        while True:
            await asyncio.sleep(RESOLVE_S)
            await self._resolve()

    async def _resolve(self) -> None:
        if self._dns is None:
            return
        host, port = self._dns
        try:
            found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except OSError as error:
            # The last known members are better than none.
            log.warning("peers_unresolved", target=self.target, error=str(error), members=len(self._links))
            return
        hosts = {str(where[0]) for *_, where in found}
        self._set_members({f"[{one}]:{port}" if ":" in one else f"{one}:{port}" for one in hosts})


def rendezvous(key: str, members: dict[str, Link] | list[str]) -> list[str]:
    """The members by the hash of key and member, highest first (highest random weight, Thaler and Ravishankar 1998)."""
    salted = key.encode()

    def weight(member: str) -> tuple[bytes, str]:
        return hashlib.blake2b(salted + b"\0" + member.encode(), digest_size=8).digest(), member

    return sorted(members, key=weight, reverse=True)
