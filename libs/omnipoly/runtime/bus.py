"""NATS: a connection that is never in the way, plain subscriptions, and streams and buckets that are made again.

Nothing here is the truth: commits are, in Postgres. So publishing does not wait and does not fail, a service starts
without NATS, and whoever reads closes gaps by version. What a lost NATS may cost is time.
"""

from __future__ import annotations

import asyncio
import ssl
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

import nats.errors
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.js import JetStreamContext
from nats.js import errors as js_errors
from prometheus_client import Counter, Gauge

from omnipoly.runtime import failures, logging
from omnipoly.runtime.bus_streams import BucketSpec, Keeper, StreamSpec
from omnipoly.runtime.bus_watch import Change, Watch, WatchEvent
from omnipoly.runtime.tasks import Tasks

__all__ = ["BucketSpec", "Bus", "Change", "Message", "StreamSpec", "Subscription", "Watch", "WatchEvent"]

log = logging.get(__name__)

PENDING_MESSAGES = 4096
PENDING_BYTES = 16 * 1024 * 1024
"""What waits to be published; beyond either the oldest goes: the newest tells readers that there is a gap."""

RECONNECT_WAIT_S = 0.25
PING_S = 10
REQUEST_S = 2.0
CLOSE_S = 2.0
QUIET_S = 30.0
"""An error of the connection is logged at most this often; all are counted."""

CONNECTED = Gauge("omnipoly_bus_connected", "1 while connected to NATS.")
CONNECTS = Counter("omnipoly_bus_connects_total", "Connections made to NATS, the first included.")
DISCONNECTS = Counter("omnipoly_bus_disconnects_total", "Connections to NATS lost.")
ERRORS = Counter("omnipoly_bus_errors_total", "Errors that the NATS client reported.", ("kind",))
WAITING = Gauge("omnipoly_bus_waiting", "Messages that wait to be handed to NATS.")
PUBLISHED = Counter("omnipoly_bus_published_total", "Messages handed to NATS.")
DROPPED = Counter("omnipoly_bus_dropped_total", "Messages not published.", ("reason",))
HANDLER_ERRORS = Counter("omnipoly_bus_handler_errors_total", "Messages whose handler raised.")


class Message(NamedTuple):
    """What a subscription gets."""

    subject: str
    data: bytes
    headers: dict[str, str]


Handler = Callable[[Message], Awaitable[None]]


class Subscription:
    """A plain subscription; it survives reconnects and a client that gave up."""

    def __init__(
        self, bus: Bus, subject: str, handler: Handler, queue: str, pending_messages: int, pending_bytes: int
    ) -> None:
        """For `Bus.subscribe` alone."""
        self.subject = subject
        self._bus = bus
        self._handler = handler
        self._queue = queue
        self._pending_messages = pending_messages
        self._pending_bytes = pending_bytes
        self._sub: Any = None

    async def close(self) -> None:
        """Ends it; what is queued is not handled any more."""
        await self._bus._remove(self)

    async def _begin(self, client: Client) -> None:
        """Begins on a client, which keeps it over its own reconnects."""
        if self not in self._bus._subscriptions:
            return
        try:
            sub = await client.subscribe(
                self.subject,
                queue=self._queue,
                cb=self._handle,
                pending_msgs_limit=self._pending_messages,
                pending_bytes_limit=self._pending_bytes,
            )
        except nats.errors.ConnectionClosedError:
            return  # the next client begins it
        self._sub = sub
        if self not in self._bus._subscriptions:
            await self._end()  # it was closed meanwhile

    async def _end(self) -> None:
        sub, self._sub = self._sub, None
        if sub is not None:
            try:
                await sub.unsubscribe()
            except nats.errors.Error as error:
                log.debug("bus_unsubscribe_failed", subject=self.subject, error=repr(error))

    async def _handle(self, message: Msg) -> None:
        try:
            await self._handler(Message(message.subject, message.data, message.headers or {}))
        except Exception as error:
            HANDLER_ERRORS.inc()
            log.exception("bus_handler_failed", subject=self.subject, error=repr(error))


class _Client(Client):
    """A client that does not let itself be talked out of TLS."""

    def __init__(self, *, secure: bool) -> None:
        super().__init__()
        self._secure = secure

    async def _process_info(self, info: dict[str, Any], initial_connection: bool = False) -> None:
        # What the server says first comes in plain text, and from whoever stands between: before anything is answered.
        if self._secure and initial_connection and not info.get("tls_required"):
            raise nats.errors.Error("the server offers no TLS")
        await super()._process_info(info, initial_connection)


class Bus:
    """The process's connection to NATS and everything on it."""

    def __init__(
        self,
        url: str,
        *,
        name: str = "omnipoly",
        replicas: int = 1,
        context: ssl.SSLContext | None = None,
        inbox: str = "_INBOX",
    ) -> None:
        """url: nats://…, several separated by commas. replicas: of streams and buckets, as the NATS cluster allows.

        context: what TLS is spoken with, which is then insisted on; None: plain text. inbox: prefix of the subjects on
        which answers come, which nobody else may listen to.
        """
        self._context = context
        self._inbox = inbox
        self._servers = [part.strip() for part in url.split(",")]
        self._name = name
        self._client: Client | None = None
        self._jetstream: JetStreamContext | None = None
        self._connected = asyncio.Event()
        self._connects = 0
        self._tasks = Tasks()
        self._subscriptions: dict[Subscription, None] = {}
        self._watches: dict[Watch, asyncio.Task[None]] = {}
        self._callbacks: list[Callable[[], Awaitable[None]]] = []
        self._keeper = Keeper(self, replicas)
        self._pending: deque[tuple[str, bytes, dict[str, str] | None]] = deque()
        self._pending_bytes = 0
        self._to_publish = asyncio.Event()
        self._silent_until = 0.0

    async def start(self) -> None:
        """Begins to connect, in the background; returns at once, whether NATS is there or not."""
        await self._tasks.__aenter__()
        WAITING.set_function(self._pending.__len__)
        self._tasks.spawn("bus-connect", self._keep_connected)
        self._tasks.spawn("bus-publish", self._publish_pending)
        self._tasks.spawn("bus-keeper", self._keeper.run)

    async def close(self) -> None:
        """Hands what waits to NATS if it is there (2 s at most), then ends everything."""
        if self.connected and self._client is not None:
            try:
                async with asyncio.timeout(CLOSE_S):
                    while self._pending and self.connected:
                        await self._publish_some(self._client)
                    await self._client.flush()
            except (TimeoutError, OSError, nats.errors.Error) as error:
                log.warning("bus_flush_failed", error=repr(error), waiting=len(self._pending))
        await self._tasks.close()
        self._connected.clear()
        if self._client is not None:
            await self._client.close()
            self._client = None

    @property
    def connected(self) -> bool:
        """Whether NATS is there now."""
        return self._connected.is_set()

    @property
    def connects(self) -> int:
        """How often a connection was made: who compares two values knows whether one was lost between."""
        return self._connects

    @property
    def jetstream(self) -> JetStreamContext | None:
        """JetStream's client, for what has no method here; None before the first connection."""
        return self._jetstream

    async def wait_connected(self, timeout_s: float | None = None) -> None:
        """Waits until NATS is there; raises TimeoutError."""
        async with asyncio.timeout(timeout_s):
            await self._connected.wait()

    def on_reconnect(self, callback: Callable[[], Awaitable[None]]) -> None:
        """Calls `callback` after each connect, the first included, once subscriptions, streams and buckets stand.

        This is where a reader looks for what it missed. One that raises is logged and called again next time.
        """
        self._callbacks.append(callback)

    # --- Messages

    def publish(self, subject: str, data: bytes, headers: dict[str, str] | None = None) -> None:
        """Publishes, soon. Never waits, never raises; while NATS is away a bounded number waits, the rest is counted.

        subject: no spaces, no wildcards. data: at most NATS's limit, 1 MiB. headers: printable, e.g. traceparent.
        """
        self._pending.append((subject, data, headers))
        self._pending_bytes += len(data)
        while len(self._pending) > PENDING_MESSAGES or self._pending_bytes > PENDING_BYTES:
            self._pending_bytes -= len(self._pending.popleft()[1])
            DROPPED.labels("full").inc()
        self._to_publish.set()

    async def subscribe(
        self,
        subject: str,
        handler: Handler,
        *,
        queue: str = "",
        pending_messages: int = 65_536,
        pending_bytes: int = 64 * 1024 * 1024,
    ) -> Subscription:
        """Has `handler` called for each message, one after the other; also when NATS only comes later.

        queue: of the members of a queue group one gets each message. pending_messages, pending_bytes: what may wait for
        the handler; beyond, messages are lost and counted (kind SlowConsumerError), and the reader finds a gap.
        """
        subscription = Subscription(self, subject, handler, queue, pending_messages, pending_bytes)
        self._subscriptions[subscription] = None
        if self._client is not None:
            # also while it reconnects: it takes it along then, and nothing else would
            await subscription._begin(self._client)
        return subscription

    async def _remove(self, subscription: Subscription) -> None:
        self._subscriptions.pop(subscription, None)
        await subscription._end()

    async def flush(self, timeout_s: float = REQUEST_S) -> None:
        """Returns when NATS has seen every subscription and message up to here. Raises TimeoutError; for tests."""
        async with asyncio.timeout(timeout_s):
            await self._connected.wait()
            while self._pending and self._client is not None:
                await self._publish_some(self._client)
            if self._client is not None:
                await self._client.flush(max(1, round(timeout_s)))

    # --- Streams and buckets

    def declare(self, spec: StreamSpec | BucketSpec) -> None:
        """Has a stream or bucket made, and made again whenever it is gone: at each connect, every 10 s, when missed."""
        self._keeper.declare(spec)

    async def put(self, bucket: str, key: str, value: bytes) -> int:
        """Writes a key; its revision. Makes the bucket again if it was lost. Raises `Failure` UNAVAILABLE."""
        return await self._write(bucket, key, value, None)

    async def delete(self, bucket: str, key: str) -> None:
        """Deletes a key: those who watch see `Change.DELETED`. Raises `Failure` UNAVAILABLE."""
        await self._write(bucket, key, b"", {"KV-Operation": "DEL"})

    async def get(self, bucket: str, key: str) -> bytes | None:
        """A key's value; None when it has none (any more). Raises `Failure` UNAVAILABLE."""
        jetstream = self._require()
        try:
            found = await jetstream.get_msg(f"KV_{bucket}", subject=f"$KV.{bucket}.{key}", direct=True)
        except js_errors.NotFoundError:
            return None
        except (nats.errors.NoRespondersError, js_errors.ServiceUnavailableError):
            self._keeper.hurry()
            raise failures.unavailable(f"the bucket {bucket} is being made again") from None
        except (nats.errors.Error, TimeoutError, OSError) as error:
            raise failures.unavailable(f"NATS does not answer: {error!r}") from None
        headers = found.headers or {}
        return None if "KV-Operation" in headers or "Nats-Marker-Reason" in headers else found.data

    def watch(
        self,
        bucket: str,
        handler: Callable[[WatchEvent], Awaitable[None]],
        keys: str = ">",
        *,
        heard: Callable[[], None] = lambda: None,
    ) -> Watch:
        """Has `handler` told of every change of a bucket's keys, from the present values on; see `bus_watch`.

        heard: called each time NATS has spoken, about once a second at least: up to now nothing was missed.
        """
        watch = Watch(self, bucket, keys, handler, heard)
        self._watches[watch] = self._tasks.spawn("bus-watch", watch.run)
        return watch

    async def unwatch(self, watch: Watch) -> None:
        """Ends a watch."""
        task = self._watches.pop(watch, None)
        if task is not None:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    def restart_watches(self, bucket: str = "") -> None:
        """Begins the watches of a bucket anew, or all; for the keeper and at a reconnect."""
        for watch in self._watches:
            if bucket in {"", watch.bucket}:
                watch.restart()

    async def looked_after(self) -> None:
        """Returns once streams and buckets have been looked after for the first time: made, where that was possible."""
        await self._keeper.looked()

    def missing(self) -> None:
        """Has the streams and buckets looked after at once: somebody has missed one."""
        self._keeper.hurry()

    async def _write(self, bucket: str, key: str, value: bytes, headers: dict[str, str] | None) -> int:
        jetstream = self._require()
        subject = f"$KV.{bucket}.{key}"
        try:
            try:
                done = await jetstream.publish(subject, value, timeout=REQUEST_S, headers=headers)
            except js_errors.NoStreamResponseError:
                await self._keeper.ensure()
                done = await jetstream.publish(subject, value, timeout=REQUEST_S, headers=headers)
        except (nats.errors.Error, TimeoutError, OSError) as error:
            raise failures.unavailable(f"the bucket {bucket} cannot be written: {error!r}") from None
        return int(done.seq)

    def _require(self) -> JetStreamContext:
        if self._jetstream is None or not self.connected:
            raise failures.unavailable("NATS is away")
        return self._jetstream

    # --- The connection

    async def _keep_connected(self) -> None:
        while True:
            client = _Client(secure=self._context is not None)
            ended = asyncio.Event()

            async def closed(ended: asyncio.Event = ended) -> None:
                ended.set()

            try:
                # With unbounded attempts this returns only once there is a connection.
                await client.connect(
                    self._servers,
                    name=self._name,
                    error_cb=self._on_error,
                    disconnected_cb=self._on_disconnected,
                    reconnected_cb=self._on_connected,
                    closed_cb=closed,
                    max_reconnect_attempts=-1,
                    reconnect_time_wait=RECONNECT_WAIT_S,  # type: ignore[arg-type]  # any number of seconds
                    ping_interval=PING_S,
                    max_outstanding_pings=2,
                    inbox_prefix=self._inbox,
                    tls=self._context,
                )
                self._client = client
                self._jetstream = client.jetstream(timeout=REQUEST_S)
                for subscription in tuple(self._subscriptions):  # those made from now on begin by themselves
                    await subscription._begin(client)
                await self._on_connected()
                # The client reconnects by itself; it gives up only when the server throws it out for good.
                await ended.wait()
                log.warning("bus_client_closed", error=repr(client.last_error))
            finally:
                self._mark_away()
                await client.close()
            await asyncio.sleep(RECONNECT_WAIT_S)

    async def _on_connected(self) -> None:
        self._connects += 1
        self._silent_until = 0.0
        CONNECTS.inc()
        CONNECTED.set(1)
        self._connected.set()
        self._to_publish.set()
        self._keeper.hurry()
        self.restart_watches()
        log.info("bus_connected", connects=self._connects)

    async def _on_disconnected(self) -> None:
        if self.connected:
            DISCONNECTS.inc()
            log.warning("bus_disconnected")
        self._mark_away()

    async def _on_error(self, error: Exception) -> None:
        ERRORS.labels(type(error).__name__).inc()
        now = asyncio.get_running_loop().time()
        if now >= self._silent_until:
            self._silent_until = now + QUIET_S
            log.warning("bus_error", error=repr(error), connected=self.connected)

    def _mark_away(self) -> None:
        self._connected.clear()
        CONNECTED.set(0)

    async def after_connect(self) -> None:
        """Calls those who want to look for what they missed; for the keeper, once everything stands."""
        for callback in self._callbacks:
            try:
                await callback()
            except Exception as error:
                log.exception("bus_reconnect_callback_failed", error=repr(error))

    async def _publish_pending(self) -> None:
        while True:
            await self._to_publish.wait()
            await self._connected.wait()
            self._to_publish.clear()
            while self._pending and self.connected and self._client is not None:
                await self._publish_some(self._client)

    async def _publish_some(self, client: Client) -> None:
        subject, data, headers = self._pending.popleft()
        self._pending_bytes -= len(data)
        try:
            await client.publish(subject, data, headers=headers)
            PUBLISHED.inc()
        except (nats.errors.Error, OSError) as error:
            reason = "too_large" if isinstance(error, nats.errors.MaxPayloadError) else "error"
            DROPPED.labels(reason).inc()
            log.warning("bus_not_published", subject=subject, size_bytes=len(data), error=repr(error))
