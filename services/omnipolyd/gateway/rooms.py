"""All tables that somebody follows here: one subscription each, and one look at their heads every 2 s for all of them.

A lost message is found by the next one of its table, and a lost last message by the heads. With NATS away the answers
to this gateway's own commands and the heads keep everything going.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

import nats.errors
from google.protobuf.message import DecodeError
from prometheus_client import Counter, Gauge, Histogram

from omnipoly.runtime import logging, tracing
from omnipoly.runtime.failures import Failure
from omnipoly.runtime.table_client import MOST_HEADS
from omnipoly.wire.gen.gateway.v1 import stream_pb2
from omnipoly.wire.gen.table.v1 import table_pb2

from . import frames
from .room import Room

if TYPE_CHECKING:
    from omnipoly.runtime.bus import Bus, Message, Subscription

    from .config import GatewaySettings
    from .outlet import Follower
    from .upstream import Upstream

log = logging.get(__name__)

HEADS_S = 2.0
SENT = "Omnipoly-Sent"
"""Header that says when a commit stood in the log, seconds since 1970 UTC."""

ROOMS = Gauge("omnipoly_gateway_rooms", "Tables followed here.")
PUBLISH_LAG = Histogram(
    "omnipoly_publish_lag_seconds",
    "From when a commit stood in the log to when this gateway heard of it by NATS, by the clocks of two machines.",
    buckets=(0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10),
)
HEADS_GAPS = Counter(
    "omnipoly_gateway_heads_gaps_total",
    "Tables whose head was ahead of all that was heard of them: messages were lost, or are very late.",
)
HEADS_FAILED = Counter("omnipoly_gateway_heads_failed_total", "Looks at the heads that failed.")


class Rooms:
    """Rooms by table."""

    def __init__(self, upstream: Upstream, bus: Bus, settings: GatewaySettings) -> None:
        self._upstream = upstream
        self._bus = bus
        self._every_s = settings.heads_every_s
        self._quiet_s = settings.progress_after_s
        self._guests_watch = settings.guests_watch
        self.sat: Callable[[str, str], None] = lambda person, table: None
        """Told of a person who has taken a seat, and where."""
        self._rooms: dict[str, Room] = {}
        self._subscriptions: dict[Room, Subscription] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._loop = asyncio.get_running_loop()
        self._hurry = asyncio.Event()

    def find(self, table: str) -> Room | None:
        """The room of a table that somebody follows."""
        return self._rooms.get(table)

    def __iter__(self) -> Iterator[Room]:
        """All rooms."""
        return iter(self._rooms.values())

    def open(self, table: str) -> Room:
        """The room of a table; given back with ``leave`` once somebody has joined."""
        room = self._rooms.get(table)
        if room is None:
            room = self._rooms[table] = Room(
                table, self._upstream, self.send_away, self.sat, guests_watch=self._guests_watch
            )
            room.opened = self._spawn(self._subscribe(room))
            ROOMS.inc()
        return room

    def leave(self, follower: Follower) -> None:
        """Takes a follower out, and closes the room behind the last."""
        room = follower.room
        room.leave(follower)
        self.close_if_empty(room)

    def close_if_empty(self, room: Room) -> None:
        """Closes a room that nobody follows."""
        if room.followers or self._rooms.get(room.table) is not room:
            return
        del self._rooms[room.table]
        ROOMS.dec()
        room.close()
        subscription = self._subscriptions.pop(room, None)
        if subscription is not None:
            self._spawn(subscription.close())

    async def stop(self) -> None:
        """Closes everything."""
        for room in tuple(self._rooms.values()):
            room.followers.clear()
            self.close_if_empty(room)
        await asyncio.gather(*self._tasks)

    def take(self, table: str, answer: Any) -> None:
        """An answer of the table to a command of ours: its commits and prompts, if anybody follows the table here."""
        room = self._rooms.get(table)
        if room is None:
            return
        if not all(room.take(commit) for commit in answer.commits):
            return  # what it opened is no more either
        if answer.prompts:
            room.decisions.told(answer.version, [(one.person, one.prompt) for one in answer.prompts])
        elif answer.duplicate:
            room.decisions.untold(answer.version)

    def take_commit(self, table: str, commit: bytes) -> None:
        """One commit of an answer that has no prompts, likewise."""
        room = self._rooms.get(table)
        if room is not None:
            room.take(commit)

    # --- NATS

    async def _subscribe(self, room: Room) -> None:
        """Hears all that is published about a table, what is of one kind in order, on one subscription."""

        async def hear(message: Message) -> None:
            kind = message.subject.split(".", 2)[1]
            if kind == "table":
                sent = message.headers.get(SENT)
                if sent:
                    PUBLISH_LAG.observe(max(0.0, time.time() - float(sent)))
                with _heard(message, room.table):
                    room.take(message.data)
            elif kind == "prompts":
                _take_prompts(room, message.data)
            elif kind == "chat":
                room.talk.take(message.data)
            elif kind == "doors":
                room.doorway.heard(message.data)

        try:
            subscription = await self._bus.subscribe(f"omnipoly.*.{room.table}", hear)
        except nats.errors.Error as error:
            log.warning("room_not_subscribed", table=room.table, error=repr(error))
            return
        if self._rooms.get(room.table) is room:
            self._subscriptions[room] = subscription
        else:
            await subscription.close()

    def _spawn(self, work: Coroutine[None, None, None]) -> asyncio.Task[None]:
        task = self._loop.create_task(work, name="room-subscription")
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    # --- Heads

    async def look_now(self) -> None:
        """Has the heads looked at without waiting: after NATS was away."""
        self._hurry.set()

    async def watch_heads(self) -> None:
        """Compares every room with the log, for ever."""
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._every_s):
                    await self._hurry.wait()
            self._hurry.clear()
            tables = list(self._rooms)
            for first in range(0, len(tables), MOST_HEADS):
                await self._look(tables[first : first + MOST_HEADS])
            self._progress()

    async def _look(self, tables: list[str]) -> None:
        try:
            answer = await self._upstream.tables.heads(tables, HEADS_S)
        except Failure as failure:
            HEADS_FAILED.inc()
            log.warning("heads_not_seen", tables=len(tables), cause=str(failure))
            return
        gone = set(tables)
        for head in answer.heads:
            gone.discard(head.table)
            room = self._rooms.get(head.table)
            if room is not None:
                if room.is_behind(head.version, head.epoch):
                    HEADS_GAPS.inc()
                room.look(head.version, head.epoch)
                room.talk.look(head.chat)
                room.doorway.look(head.door)
        for table in gone:
            room = self._rooms.get(table)
            if room is not None and room.known:
                self.gone(room)

    def gone(self, room: Room) -> None:
        """The table is kept no longer: everybody is told, and nobody follows it any more."""
        for follower in tuple(room.followers):
            self.send_away(follower, stream_pb2.Left.REASON_GONE)

    def send_away(self, follower: Follower, reason: stream_pb2.Left.Reason.ValueType) -> None:
        """Somebody is told why, and follows the table no longer."""
        room = follower.room
        message = stream_pb2.Left(table=room.table, reason=reason)
        room.leave(follower)
        follower.outlet.answer(frames.field(frames.LEFT, message.SerializeToString()))
        follower.gone(follower)
        self.close_if_empty(room)

    def _progress(self) -> None:
        """Tells those who have heard nothing for a while that there is nothing new."""
        before = self._loop.time() - self._quiet_s
        now_ms = 0
        for room in self._rooms.values():
            if room.known and room.shown_at <= before:
                now_ms = now_ms or round(time.time() * 1000)
                room.show_progress(now_ms)


def _heard(message: Message, table: str) -> AbstractContextManager[object]:
    """A span that continues the trace of the command behind a commit, where there is one."""
    traceparent = message.headers.get("traceparent") if tracing.enabled() else None
    if not traceparent:
        return contextlib.nullcontext()
    return tracing.span_from(traceparent, "gateway.hear", kind="consumer", table=table)


def _take_prompts(room: Room, data: bytes) -> None:
    try:
        message = table_pb2.SeatPrompts.FromString(data)
    except DecodeError:
        log.warning("no_prompts", table=room.table, size_bytes=len(data))
        return
    room.decisions.told(message.version, [(one.person, one.prompt) for one in message.prompts])
