"""Who watches a table, at whatever gateway, as far as presence knows (TUB-VIEWERS)."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, NamedTuple

from omnipoly.rules.codes import Code
from omnipoly.runtime import logging, refusals
from omnipoly.runtime.failures import Failure
from omnipoly.wire.gen.presence.v1 import presence_pb2

if TYPE_CHECKING:
    from omnipoly.runtime.peers import Peers

    from .room import Room
    from .rooms import Rooms

log = logging.get(__name__)

WHO = "/omnipoly.presence.v1.PresenceService/Who"
WHO_S = 3.0
BELIEVED_S = 2.0
"""How long it is believed who watches at other gateways: that many may be too many for a moment."""
KEPT = 256


class Viewer(NamedTuple):
    """Somebody who watches."""

    person: str
    since_ms: int
    """Since when at least, milliseconds since 1970 UTC."""


class Viewers:
    """The viewers of tables; without a presence service those of this gateway."""

    def __init__(self, peers: Peers | None, rooms: Rooms, *, most: int) -> None:
        """most: of one table."""
        self._peers = peers
        self._rooms = rooms
        self._most = most
        self._elsewhere: dict[str, tuple[float, set[str]]] = {}
        """By table: until when it is believed, and the persons."""

    async def make_room(self, room: Room) -> None:
        """Looks whether one more may watch, who is in the room already. Raises ``Failure`` ``viewers_closed``."""
        if len(room.viewers | await self._known(room.table)) > self._most:
            raise refusals.failure(Code.VIEWERS_CLOSED, "This table has as many viewers as it may have.")

    async def of(self, table: str) -> list[Viewer]:
        """Everybody who watches a table, by id. Raises ``Failure``."""
        found = dict(await self._asked(table))
        room = self._rooms.find(table)
        now_ms = round(time.time() * 1000)
        for person in room.viewers if room is not None else ():
            found.setdefault(person, now_ms)
        return [Viewer(person, since_ms) for person, since_ms in sorted(found.items())]

    async def _known(self, table: str) -> set[str]:
        now = asyncio.get_running_loop().time()
        until, persons = self._elsewhere.get(table, (0.0, set()))
        if until <= now and self._peers is not None:
            try:
                persons = set(await self._asked(table))
            except Failure as failure:
                log.info("viewers_not_counted", table=table, cause=str(failure))
            self._elsewhere[table] = (now + BELIEVED_S, persons)
            if len(self._elsewhere) > KEPT:
                del self._elsewhere[next(iter(self._elsewhere))]
        return persons

    async def _asked(self, table: str) -> dict[str, int]:
        """Since when each watches, as presence says. Raises ``Failure``."""
        found: dict[str, int] = {}
        request = presence_pb2.WhoRequest(tables=[table])
        while self._peers is not None:
            body = await self._peers.call(table, WHO, request.SerializeToString(), WHO_S, resend=True)
            page = presence_pb2.WhoResponse.FromString(body)
            for row in page.people:
                if row.status == presence_pb2.STATUS_WATCHING:
                    found[row.person] = row.since.ToMilliseconds()
            request.page_token = page.next_page_token
            if not page.next_page_token:
                break
        return found
