"""Which of the clock replicas this one is, and where it stands in a table's order."""

from __future__ import annotations

import asyncio
import socket

from omnipoly.runtime import logging
from omnipoly.runtime.app import App
from omnipoly.runtime.peers import Peers

log = logging.get(__name__)

LOOK_S = 5.0
SEARCH_S = 0.2
STEP_MS = 1000
"""How long each replica gives those before it."""


class Standing:
    """This replica among the others. Nobody leads: the order of a table follows from the members alone."""

    def __init__(self, peers: Peers, running: App, own: str = "") -> None:
        """peers: the clock replicas, never called. own: this replica's address among them; "": found out."""
        self._peers = peers
        self._running = running
        self._given = own
        self.own = own

    def delay_ms(self, table: str) -> int:
        """How long after a table's deadline it is this replica's turn.

        One that does not find itself among the members comes behind them all, or first where there is but one.
        """
        order = self._peers.order(table)
        if self.own in order:
            return order.index(self.own) * STEP_MS
        return len(order) * STEP_MS if len(order) > 1 else 0

    async def keep(self) -> None:
        """Finds out which member this process is, again and again, for ever; to be spawned."""
        warned = False
        while True:
            members = self._peers.members
            if not self._given and self.own not in members and self._running.port:
                self.own = await self._find(members)
                if not self.own and len(members) > 1 and not warned:
                    log.warning("clock_not_a_member", members=members, port=self._running.port)
                    warned = True
            searching = not self._running.port or (self.own not in members and not warned)
            await asyncio.sleep(SEARCH_S if searching and len(members) > 1 else LOOK_S)

    async def _find(self, members: list[str]) -> str:
        loop = asyncio.get_running_loop()
        for member in members:
            host, _, port = member.rpartition(":")
            if int(port) != self._running.port:
                continue
            try:
                found = await loop.getaddrinfo(host.strip("[]"), None, type=socket.SOCK_DGRAM)
            except OSError:
                continue
            if any(_is_here(family, address[0]) for family, _, _, _, address in found):
                return member
        return ""


def _is_here(family: int, host: str | int) -> bool:
    """Whether an address is one of this machine: only such can be bound."""
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        try:
            probe.bind((host, 0))
        except OSError:
            return False
    return True
