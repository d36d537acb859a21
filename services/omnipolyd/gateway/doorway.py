"""Who follows a table and may do so no longer (TUB-PRIVATE, TUB-VIEWERS): asked whenever the table's door has moved.

That is published, and found in the heads: nobody who has to go stays because a message was lost.
"""

from __future__ import annotations

import asyncio
import random
from typing import TYPE_CHECKING

from google.protobuf.message import DecodeError

from omnipoly.runtime import logging
from omnipoly.runtime.failures import Failure
from omnipoly.wire.gen.gateway.v1 import stream_pb2
from omnipoly.wire.gen.table.v1 import table_pb2

if TYPE_CHECKING:
    from .outlet import Follower
    from .room import Room
    from .upstream import Upstream

log = logging.get(__name__)

RETRY_S = 0.25
LONGEST_RETRY_S = 2.0
MOST_PERSONS = 2000

_REASONS = {
    table_pb2.TurnedAway.REASON_BARRED: stream_pb2.Left.REASON_BARRED,
    table_pb2.TurnedAway.REASON_PRIVATE: stream_pb2.Left.REASON_PRIVATE,
}


class Doorway:
    """The door of one table, as far as those are concerned who are in already."""

    def __init__(self, room: Room, upstream: Upstream, *, guests_watch: bool) -> None:
        self._room = room
        self._upstream = upstream
        self._guests_watch = guests_watch
        self._revision = 0
        """What all who follow are known to be let in by."""
        self._wanted = 0
        self._again = False
        self.checks = 0
        """How often was asked so far."""
        self._sat: set[str] = set()
        """Who has taken a seat since it was last asked: what is answered of them may be from before."""
        self._checking: asyncio.Task[None] | None = None

    def close(self) -> None:
        """Nobody follows any more."""
        if self._checking is not None:
            self._checking.cancel()

    def forget(self) -> None:
        """The log has another history, and with it the door, whose revisions begin lower: nobody is known to be let in
        by it."""
        self._revision = self._wanted = 0
        self._again = True
        self.look(0)

    def heard(self, data: bytes) -> None:
        """A published ``DoorMoved``."""
        try:
            self.look(table_pb2.DoorMoved.FromString(data).door)
        except DecodeError:
            log.warning("no_door", table=self._room.table, size_bytes=len(data))

    def look(self, revision: int) -> None:
        """The door is said to be at a revision: whoever may have to go is asked about."""
        self._wanted = max(self._wanted, revision)
        if (self._again or self._wanted > self._revision) and self._checking is None:
            self._checking = asyncio.get_running_loop().create_task(self._check(), name="room-door")

    def admitted(self, follower: Follower, checks: int) -> None:
        """Somebody was let in who asked when there had been so many checks: a later one said nothing of them."""
        follower.admitted = True
        if checks != self.checks:
            self._again = True
            self.look(self._wanted)

    def sat(self, person: str) -> None:
        """Somebody has taken a seat."""
        if self._checking is not None:
            self._sat.add(person)

    async def _check(self) -> None:
        pause_s = RETRY_S
        try:
            while self._again or self._wanted > self._revision:
                wanted = self._wanted
                self._again = False
                self._sat.clear()
                self.checks += 1
                epoch = self._room.epoch
                try:
                    revision, turned_away, viewers = await self._ask()
                except Failure as failure:
                    self._again = True
                    log.info("door_not_seen", table=self._room.table, cause=str(failure))
                    await asyncio.sleep(pause_s * random.uniform(0.5, 1))
                    pause_s = min(2 * pause_s, LONGEST_RETRY_S)
                else:
                    if self._room.epoch != epoch:
                        continue  # that door is no more
                    self._revision = wanted if revision is None else revision
                    if self._wanted == wanted:
                        self._wanted = self._revision  # what was said was of another history, or is passed
                    self._part_with(turned_away, viewers)
        finally:
            self._checking = None

    async def _ask(self) -> tuple[int | None, dict[str, table_pb2.TurnedAway.Reason.ValueType], set[str]]:
        """(the revision that this holds for, who has to go, and why, the other viewers); with nobody to ask about there
        is no revision. Raises ``Failure``."""
        persons = sorted({one.caller.person for one in self._room.followers if one.admitted})
        revisions: list[int] = []
        turned_away: dict[str, table_pb2.TurnedAway.Reason.ValueType] = {}
        viewers: set[str] = set()
        for first in range(0, len(persons), MOST_PERSONS):
            answer = await self._upstream.recheck(self._room.table, persons[first : first + MOST_PERSONS])
            revisions.append(answer.door)
            turned_away.update((one.person, one.reason) for one in answer.turned_away)
            viewers.update(answer.viewers)
        return min(revisions, default=None), turned_away, viewers

    def _part_with(self, turned_away: dict[str, table_pb2.TurnedAway.Reason.ValueType], viewers: set[str]) -> None:
        for follower in tuple(self._room.followers):
            caller = follower.caller
            person = caller.person
            if not follower.admitted or caller.bots or caller.identity.admin or person in self._sat:
                continue
            if person in turned_away:
                self._room.send_away(follower, _REASONS[turned_away[person]])
            elif person in viewers:
                follower.seated = False
                if caller.guest and not self._guests_watch:
                    self._room.send_away(follower, stream_pb2.Left.REASON_SIGN_IN)
