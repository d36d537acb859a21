"""Watching a bucket: its present values, then every change; begun anew whenever it may have missed something.

nats-py's own watcher stands on an ordered consumer, which stays silent for ever, without an error, once the store is
lost. This one has a plain push consumer with heartbeats: one that stays out, or that names a message we have not seen,
begins the watch anew, as does each reconnect.
"""

from __future__ import annotations

import asyncio
import enum
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, NamedTuple

import nats.errors
from nats.aio.msg import Msg
from nats.js import api
from nats.js import errors as js_errors
from prometheus_client import Counter

from omnipoly.runtime import logging

if TYPE_CHECKING:
    from omnipoly.runtime.bus import Bus

log = logging.get(__name__)

HEARTBEAT_S = 1.0
SILENCE_S = 3.0
RETRY_S = 0.5

RESTARTS = Counter("omnipoly_bus_watch_restarts_total", "Times a watch of a bucket was begun anew.", ("bucket",))


class Change(enum.Enum):
    """What happened to a key, or to the picture as a whole."""

    RESET = "reset"
    """The picture begins anew: every present key comes as PUT, then CURRENT; what does not come is gone."""
    CURRENT = "current"
    """Every present key has come."""
    LOST = "lost"
    """The picture may be old from now on: NATS is silent, or something was missed. RESET follows."""
    PUT = "put"
    DELETED = "deleted"
    EXPIRED = "expired"
    """The key's time ran out; told only for buckets with `limit_marker_ttl_s`."""


class WatchEvent(NamedTuple):
    """One step of a watch; key, value and revision are empty with RESET, CURRENT and LOST, the value with an end."""

    change: Change
    key: str = ""
    value: bytes = b""
    revision: int = 0


class Watch:
    """A watch under way; ended by `Bus.unwatch` or with the bus."""

    def __init__(
        self,
        bus: Bus,
        bucket: str,
        keys: str,
        handler: Callable[[WatchEvent], Awaitable[None]],
        heard: Callable[[], None],
    ) -> None:
        """For `Bus.watch` alone."""
        self.bucket = bucket
        self._bus = bus
        self._keys = keys
        self._handler = handler
        self._heard = heard
        self._arrived: asyncio.Queue[Msg | None] = asyncio.Queue()

    def restart(self) -> None:
        """Begins anew: the connection is another, or the bucket was made again."""
        self._arrived.put_nowait(None)

    async def run(self) -> None:
        """For ever; supervised by the bus."""
        await self._bus.looked_after()  # a bucket that is only just made would have it begin twice
        while True:
            await self._bus.wait_connected()
            try:
                await self._follow()
            except js_errors.NotFoundError:
                # The bucket is gone; it will be made again, and this watch told so.
                self._bus.missing()
                await self._restarted(RETRY_S)
            except (nats.errors.Error, TimeoutError, OSError) as error:
                log.info("bus_watch_broken", bucket=self.bucket, error=repr(error))
                await asyncio.sleep(RETRY_S)
            RESTARTS.labels(self.bucket).inc()

    async def _follow(self) -> None:
        """Until something may have been missed."""
        client, jetstream = self._bus._client, self._bus.jetstream
        if client is None or jetstream is None:
            return
        arrived = self._arrived = asyncio.Queue()
        inbox = client.new_inbox()
        subscription = await client.subscribe(inbox, cb=arrived.put)
        consumer = ""
        try:
            made = await jetstream.add_consumer(
                f"KV_{self.bucket}",
                api.ConsumerConfig(
                    deliver_subject=inbox,
                    deliver_policy=api.DeliverPolicy.LAST_PER_SUBJECT,
                    ack_policy=api.AckPolicy.NONE,
                    filter_subject=f"$KV.{self.bucket}.{self._keys}",
                    idle_heartbeat=HEARTBEAT_S,
                    inactive_threshold=30,
                    num_replicas=1,
                    mem_storage=True,
                    max_deliver=1,
                ),
            )
            consumer = made.name
            await self._tell(WatchEvent(Change.RESET))
            try:
                await self._hear(arrived, current=not made.num_pending)
            except TimeoutError:
                log.info("bus_watch_silent", bucket=self.bucket)
            await self._tell(WatchEvent(Change.LOST))
        finally:
            await self._leave(subscription.unsubscribe)
            if consumer:
                await self._leave(lambda: jetstream.delete_consumer(f"KV_{self.bucket}", consumer))

    async def _hear(self, arrived: asyncio.Queue[Msg | None], *, current: bool) -> None:
        """Tells what arrives, until something may have been missed; raises TimeoutError when nothing does."""
        if current:
            await self._tell(WatchEvent(Change.CURRENT))
        seen = 0
        while True:
            async with asyncio.timeout(SILENCE_S):
                message = await arrived.get()
            if message is None:
                return
            headers = message.headers or {}
            if headers.get("Status") == "100":
                if int(headers.get("Nats-Last-Consumer", seen)) != seen:
                    return
                self._heard()
                continue
            sequence = message.metadata.sequence
            if sequence.consumer != seen + 1:
                return
            seen = sequence.consumer
            await self._tell(self._event(message, headers, sequence.stream))
            if not current and not message.metadata.num_pending:
                current = True
                await self._tell(WatchEvent(Change.CURRENT))
            self._heard()

    async def _restarted(self, within_s: float) -> None:
        """Returns when `restart` was called, or after a while."""
        try:
            async with asyncio.timeout(within_s):
                while await self._arrived.get() is not None:
                    continue
        except TimeoutError:
            return

    def _event(self, message: Msg, headers: dict[str, str], revision: int) -> WatchEvent:
        key = message.subject.removeprefix(f"$KV.{self.bucket}.")
        if headers.get("Nats-Marker-Reason") == "MaxAge":
            return WatchEvent(Change.EXPIRED, key, b"", revision)
        if "KV-Operation" in headers or "Nats-Marker-Reason" in headers:
            return WatchEvent(Change.DELETED, key, b"", revision)
        return WatchEvent(Change.PUT, key, message.data, revision)

    async def _tell(self, event: WatchEvent) -> None:
        try:
            await self._handler(event)
        except Exception as error:
            log.exception("bus_watch_handler_failed", bucket=self.bucket, change=event.change.value, error=repr(error))

    async def _leave(self, step: Callable[[], Awaitable[object]]) -> None:
        """Tidies up behind a watch, if NATS is there; an ephemeral consumer ends by itself after 30 s otherwise."""
        if not self._bus.connected:
            return
        try:
            await step()
        except (nats.errors.Error, TimeoutError, OSError) as error:
            log.debug("bus_watch_left_behind", bucket=self.bucket, error=repr(error))
