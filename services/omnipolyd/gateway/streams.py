"""A client's stream: the tables it follows, the way out, and how it ends."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any

from prometheus_client import Counter, Gauge

from omnipoly.rules.codes import Code
from omnipoly.runtime import failures, interceptors, logging
from omnipoly.runtime.failures import Failure
from omnipoly.wire.gen.gateway.v1 import stream_pb2

from . import door, frames, presence, tokens
from .hub import watching_refused
from .outlet import Follower, Outlet

if TYPE_CHECKING:
    from omnipoly.wire.gen.presence.v1 import presence_pb2

    from .callers import Caller
    from .hub import Hub

log = logging.get(__name__)

ENTER_S = 10.0
"""How long it may take to bring somebody in."""
END_S = 10.0
"""How long a stream that ends in order gets to be answered and written."""
RETRY_S = 1.0
"""Pause before a stream that is behind is tried again."""

OPEN = Gauge("omnipoly_gateway_streams", "Streams of clients.", ("kind",))


class Stream:
    """A stream; made for one RPC, ended with it."""

    kind = ""
    plays = False
    sent: Counter
    """Messages sent on streams of this kind."""

    def __init__(self, hub: Hub, caller: Caller, context: Any) -> None:
        self._hub = hub
        self.caller = caller
        self._context = context
        self._loop = asyncio.get_running_loop()
        self.outlet = Outlet(bots=caller.bots, idle=self._catch_up)
        self.follows: dict[str, Follower] = {}
        self.tasks: set[asyncio.Task[None]] = set()
        """What is under way for this stream and will be answered: commands, tables being entered."""
        self._catching_up: asyncio.Task[None] | None = None
        self._expiry: asyncio.TimerHandle | None = None
        self._how: presence_pb2.Status.ValueType = presence.BROKEN

    async def read(self) -> None:
        """Takes in what the client says, for as long as that takes. Raises ``Failure``, which ends the stream."""
        raise TypeError(type(self).__name__)

    async def run(self) -> None:
        """Until the stream ends. Raises ``Failure`` when that is not as the client asked."""
        # By itself: if the first message brought it along, and the stream ended under that write, gRPC would send it
        # once more with the status, fail, and leave the client waiting for ever.
        await self._context.send_initial_metadata(())
        self._hub.opened(self)
        open_ = OPEN.labels(self.kind)
        open_.inc()
        outlet = self.outlet
        self._expire()
        writing = outlet.write_all(door.uncounted(self._context).write, self.sent)
        writer = self._loop.create_task(writing, name="stream-writer")
        writer.add_done_callback(self._ended)
        reader = self._loop.create_task(self.read(), name="stream-reader")
        reader.add_done_callback(self._ended)
        try:
            await outlet.ended
            # As asked: what is under way is answered, what waits is written.
            reader.cancel()
            async with asyncio.timeout(END_S):
                while self.tasks:
                    await asyncio.wait(self.tasks)
                outlet.close()
                await writer
        except TimeoutError:
            raise failures.unavailable("The stream was too slow to be ended in order.") from None
        finally:
            if self._expiry is not None:
                self._expiry.cancel()
            for follower in tuple(self.follows.values()):
                self.unfollow(follower, self._how)
            pending = [task for task in (writer, reader, self._catching_up, *self.tasks) if task is not None]
            for task in pending:
                task.cancel()
            self._hub.closed(self)
            open_.dec()
            await asyncio.gather(*pending, return_exceptions=True)

    def _expire(self) -> None:
        """Ends the stream with its token."""
        if self._expiry is not None:
            self._expiry.cancel()
        left_s = max(0.0, self.caller.claims.expires_s - time.time())
        self._expiry = self._loop.call_later(left_s, self.outlet.end, tokens.expired())

    def renew(self, caller: Caller) -> None:
        """Goes on under another token of the same person. Raises ``Failure`` for anybody else's."""
        mine = self.caller
        if (caller.person, caller.guest, caller.bots) != (mine.person, mine.guest, mine.bots):
            raise tokens.sign_in_required("This stream is another person's.")
        self.caller = caller
        for follower in self.follows.values():
            follower.caller = caller
        self._expire()

    def move(self, data: bytes) -> None:
        """Sends the client elsewhere and ends the stream once everything is written."""
        self._how = presence.MOVING
        self.outlet.answer(data)
        self.outlet.end()

    def closed(self) -> None:
        """The client has closed its side: the stream ends once everything is answered."""
        self._how = presence.CLOSED
        self.outlet.end()

    def spawn(self, work: Coroutine[None, None, None]) -> asyncio.Task[None]:
        """Runs something for the length of the stream."""
        task = self._loop.create_task(work, name="stream-work")
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)
        return task

    def _ended(self, task: asyncio.Task[None]) -> None:
        """The writer or the reader is done: with a fault of ours, a broken protocol, or because the client has gone."""
        error = None if task.cancelled() else task.exception()
        if error is None or interceptors.gone(error):
            if error is not None:
                self.outlet.end()
        elif isinstance(error, Failure):
            self.outlet.end(error)
        else:
            self.outlet.end(interceptors.internal(error, f"stream.{self.kind}", person=self.caller.person))

    # --- Tables

    def follow(self, table: str) -> Follower:
        """Begins to follow a table; ``enter`` brings its first picture. One already followed begins anew, and to
        presence nobody has left meanwhile."""
        old = self.follows.get(table)
        if old is not None:
            self._hub.rooms.leave(old)
        room = self._hub.rooms.open(table)
        follower = Follower(room, self.outlet, self.caller, plays=self.plays, gone=self.gone)
        if old is not None:
            follower.entered = old.entered
            room.outdate_picture()
        room.join(follower)
        self.follows[table] = follower
        return follower

    async def enter(self, follower: Follower, resume: stream_pb2.Resume | None, pin: str) -> None:
        """Lets a follower in and brings them to where the table is. Raises ``Failure``; then it is followed no more."""
        hub, room, caller = self._hub, follower.room, self.caller
        try:
            async with asyncio.timeout(ENTER_S):
                checks = room.doorway.checks
                admitted = await hub.admit(caller, room.table, pin, ENTER_S)
                follower.seated = follower.seated or admitted.seated  # they may have sat down meanwhile
                if not admitted.may_watch:
                    raise watching_refused()
                if not follower.seated and not caller.bots:
                    await hub.viewers.make_room(room)
                room.doorway.admitted(follower, checks)
                await room.enter(follower, resume)
        except TimeoutError:
            self.unfollow(follower, presence.BROKEN)
            raise failures.unavailable("The table cannot be shown now; try again.") from None
        except Failure:
            # who followed before has not closed anything: they have time to try again
            self.unfollow(follower, presence.BROKEN)
            raise
        if self.follows.get(room.table) is follower and not caller.bots:
            if not follower.entered:
                follower.entered = True
                hub.presence.enter(caller.person, room.table, seated=follower.seated)
            elif follower.seated:
                hub.presence.sit(caller.person, room.table)
            room.decisions.ask(follower)

    def unfollow(self, follower: Follower, how: presence_pb2.Status.ValueType = presence.CLOSED) -> None:
        """Follows a table no more."""
        table = follower.room.table
        if self.follows.get(table) is not follower:
            return
        self._hub.rooms.leave(follower)
        self._drop(follower, how)

    def gone(self, follower: Follower) -> None:
        """The table is kept no longer."""
        self._drop(follower, presence.CLOSED)

    def _drop(self, follower: Follower, how: presence_pb2.Status.ValueType) -> None:
        table = follower.room.table
        if self.follows.get(table) is follower:
            del self.follows[table]
            if follower.entered:
                self._hub.presence.leave(self.caller.person, table, how)

    def _catch_up(self) -> None:
        """The stream has nothing left to write and tables are behind: brings them back, one after another."""
        if self._catching_up is None:
            self._catching_up = self._loop.create_task(self._catch_up_all(), name="stream-catch-up")

    async def _catch_up_all(self) -> None:
        try:
            while self.outlet.behind and not self.outlet.queue:
                follower = next(iter(self.outlet.behind))
                try:
                    async with asyncio.timeout(ENTER_S):
                        await follower.room.enter(follower)
                except TimeoutError:
                    log.info("still_behind", table=follower.room.table)
                except Failure as failure:
                    if failure.reason in {Code.UNKNOWN_TABLE, Code.TABLE_BROKEN}:
                        self._hub.rooms.gone(follower.room)
                        continue
                    log.info("still_behind", table=follower.room.table, cause=str(failure))
                    await asyncio.sleep(RETRY_S)
                else:
                    follower.room.decisions.ask(follower)
        finally:
            self._catching_up = None


def left(table: str, reason: stream_pb2.Left.Reason.ValueType) -> bytes:
    """Says that a table is followed no longer."""
    message = stream_pb2.Left(table=table, reason=reason)
    return frames.field(frames.LEFT, message.SerializeToString())
