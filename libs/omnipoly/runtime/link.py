"""Frames between services: one two-way stream per pair of processes; a frame carries all that waits.

Whoever writes takes everything that has gathered while the last write was under way: under load frames fill up and the
cost of a message is shared, without load an item leaves at once. Answers come back the same way, each when it is ready.

`LinkServer` is the server's end, `Link` a client's of one address; `peers.Peers` spreads calls over several.
"""

from __future__ import annotations

import asyncio
import enum
import random
from collections.abc import Callable
from typing import Any

import grpc
import grpc.aio

from omnipoly.runtime import failures, logging, server
from omnipoly.runtime.errors import ConfigError
from omnipoly.runtime.failures import Failure
from omnipoly.runtime.link_server import (
    BODY_BYTES,
    IN_FLIGHT,
    LONGEST_TIMEOUT_MS,
    METHOD,
    TAKEN,
    Call,
    Handler,
    LinkServer,
    take_frame,
)
from omnipoly.runtime.tls import Certificate
from omnipoly.wire.gen.link.v1 import link_pb2

__all__ = ["Call", "Handler", "Link", "LinkLost", "LinkServer", "State"]

log = logging.get(__name__)

CONNECT_S = 2.0
KEEPALIVE_S = 4.0
"""Silence after which a peer is probed, and how long a probe may stay unanswered: one that stands still is given up
within twice that."""
FIRST_BACKOFF_S = 0.05
LONGEST_BACKOFF_S = 2.0


class LinkLost(Exception):
    """The stream to a peer is not there (`sent` False: nothing was done), or broke with the item under way (`sent`
    True: what became of it is unknown)."""

    def __init__(self, address: str, *, sent: bool, cause: str = "") -> None:
        super().__init__(address, sent, cause)
        self.address = address
        self.sent = sent
        self.cause = cause

    def __str__(self) -> str:
        return f"the stream to {self.address} {'broke' if self.sent else 'is not there'}: {self.cause}"


class State(enum.Enum):
    """Where a link stands."""

    IDLE = "idle"
    """Not used yet."""
    CONNECTING = "connecting"
    """For the first time: calls wait for it."""
    CONNECTED = "connected"
    DOWN = "down"
    """Lost or refused; it is tried again with a growing pause, calls meanwhile fail at once."""
    DRAINING = "draining"
    """The peer is stopping: answers still come, nothing new is sent."""
    CLOSED = "closed"


class Link:
    """The client's end: one stream to one address, opened at the first call, kept, and opened again when it breaks."""

    def __init__(
        self,
        address: str,
        *,
        max_in_flight: int = 2 * IN_FLIGHT,
        on_change: Callable[[], None] | None = None,
        identity: Certificate | None = None,
        name: str = "",
    ) -> None:
        """address: host:port. on_change: called whenever `state` has changed.

        identity: what this end shows; None: plain text. name: what the peer's certificate bears; empty: its address.
        """
        self._identity = identity
        self._name = name
        self.address = address
        self.state = State.IDLE
        self._max_in_flight = max_in_flight
        self._on_change = on_change
        self._calls: dict[int, asyncio.Future[bytes]] = {}
        self._waiting: list[link_pb2.RequestItem] = []
        self._wake = asyncio.Event()
        self._last_call = 0
        self._runner: asyncio.Task[None] | None = None
        self._cause = ""

    @property
    def ready(self) -> bool:
        """Whether a call is worth trying: it would be sent, or wait for a connection being made."""
        return self.state in {State.IDLE, State.CONNECTING, State.CONNECTED}

    @property
    def in_flight(self) -> int:
        """Calls without an answer yet."""
        return len(self._calls)

    async def call(self, method: str, body: bytes, timeout_s: float, traceparent: str = "") -> bytes:
        """Calls `method` of the peer and returns its answer.

        Raises the peer's `Failure`; DEADLINE_EXCEEDED when there was no answer within `timeout_s` (at most 600 s; what
        became of it is unknown); RESOURCE_EXHAUSTED when too many calls wait here; `LinkLost`. A cancelled caller does
        not take back what was sent, but what was not is never sent.
        """
        if not self.ready:
            raise LinkLost(self.address, sent=False, cause=self._cause or self.state.value)
        calls = self._calls
        if len(calls) >= self._max_in_flight:
            raise failures.overloaded(f"too much is in flight to {self.address}")
        if len(body) > BODY_BYTES:
            raise Failure(grpc.StatusCode.INVALID_ARGUMENT, "too_large", f"a body has at most {BODY_BYTES} bytes")
        timeout_ms = int(timeout_s * 1000)
        if timeout_ms <= 0:
            raise failures.deadline_passed()
        loop = asyncio.get_running_loop()
        self._last_call = number = self._last_call + 1
        future: asyncio.Future[bytes] = loop.create_future()
        calls[number] = future
        self._waiting.append(
            link_pb2.RequestItem(
                call=number,
                method=method,
                body=body,
                timeout_ms=min(timeout_ms, LONGEST_TIMEOUT_MS),
                traceparent=traceparent,
            )
        )
        self._wake.set()
        if self._runner is None:
            self._become(State.CONNECTING)
            self._runner = asyncio.create_task(self._run(), name=f"link-{self.address}")
        timer = loop.call_later(timeout_s, self._time_out, future, method, timeout_s)
        try:
            return await future
        finally:
            timer.cancel()
            calls.pop(number, None)

    async def close(self) -> None:
        """Ends the stream; calls in flight end with `LinkLost`."""
        runner, self._runner = self._runner, None
        self._become(State.CLOSED)
        if runner is not None:
            runner.cancel()
            await asyncio.gather(runner, return_exceptions=True)
        self._lose("closed here")

    def _time_out(self, future: asyncio.Future[bytes], method: str, timeout_s: float) -> None:
        if not future.done():
            future.set_exception(
                failures.deadline_passed(f"no answer to {method} from {self.address} within {timeout_s:.3g} s")
            )

    def _become(self, state: State) -> None:
        if self.state is not state and self.state is not State.CLOSED:
            self.state = state
            if self._on_change is not None:
                self._on_change()

    async def _run(self) -> None:
        backoff_s = FIRST_BACKOFF_S
        options = [
            *server.channel_options(
                keepalive_s=KEEPALIVE_S, probe_s=KEEPALIVE_S, max_receive_bytes=server.MAX_FRAME_BYTES
            ),
            ("grpc.use_local_subchannel_pool", 1),  # a connection of its own
        ]
        if self._name:
            options.append(("grpc.ssl_target_name_override", self._name))
        while True:
            shown = self._identity.stamp() if self._identity is not None else None
            async with self._channel(options) as channel:
                open_stream: Any = channel.stream_stream(METHOD, None, None)
                while self._identity is None or shown == self._identity.stamp():  # else with what was renewed
                    stream = open_stream()
                    try:
                        async with asyncio.timeout(CONNECT_S):
                            taken = await _taken(stream)
                        if taken:
                            self._become(State.CONNECTED)
                            backoff_s = FIRST_BACKOFF_S
                            cause = await self._carry(stream)
                        else:
                            cause = f"{(await stream.code()).name}: {await stream.details()}"
                    except (grpc.aio.AioRpcError, TimeoutError, asyncio.InvalidStateError) as error:
                        cause = _cause(error)
                    finally:
                        stream.cancel()
                    self._become(State.DOWN)
                    self._lose(cause)
                    log.info("link_lost", address=self.address, cause=cause, again_in_s=backoff_s)
                    await asyncio.sleep(backoff_s * random.uniform(0.5, 1))
                    backoff_s = min(2 * backoff_s, LONGEST_BACKOFF_S)

    def _channel(self, options: list[server.Option]) -> grpc.aio.Channel:
        if self._identity is None:
            return grpc.aio.insecure_channel(self.address, options=options)
        try:
            credentials = self._identity.channel_credentials()
        except ConfigError as error:
            # Files in the middle of a renewal: this connection is refused, the next one reads them again.
            log.error("certificate_not_read", error=str(error))  # noqa: TRY400 - one line
            credentials = grpc.ssl_channel_credentials()
        return grpc.aio.secure_channel(self.address, credentials, options=options)

    async def _carry(self, stream: Any) -> str:
        """Writes and reads until the stream ends; why it did."""
        writer = asyncio.create_task(self._write(stream), name="link-writer")
        try:
            calls, read = self._calls, stream.read
            while (data := await read()) is not server.EOF:
                frame = link_pb2.FramesResponse.FromString(data)
                for item in frame.items:
                    future = calls.get(item.call)
                    if future is None or future.done():
                        continue  # its caller has given up
                    if item.HasField("error"):
                        future.set_exception(failures.from_status(item.error))
                    else:
                        future.set_result(item.body)
                if frame.draining:
                    self._become(State.DRAINING)
                    self._wake.set()
            return "the peer has stopped"
        finally:
            writer.cancel()
            await asyncio.gather(writer, return_exceptions=True)

    async def _write(self, stream: Any) -> None:
        calls = self._calls
        try:
            while True:
                while self._waiting:
                    # What its caller has given up meanwhile would be done for nobody, in a time that has run out.
                    items = [
                        item
                        for item in take_frame(self._waiting)
                        if (future := calls.get(item.call)) is not None and not future.done()
                    ]
                    if items:
                        await stream.write(link_pb2.FramesRequest(items=items).SerializeToString())
                if self.state is State.DRAINING:
                    await stream.done_writing()
                    return
                self._wake.clear()
                await self._wake.wait()
        except (grpc.aio.AioRpcError, asyncio.InvalidStateError) as error:
            # The reader is told the same by its read, and says so for both.
            log.debug("link_write_failed", address=self.address, cause=_cause(error))

    def _lose(self, cause: str) -> None:
        """Ends every call: those still here were not sent."""
        self._cause = cause
        unsent = {item.call for item in self._waiting}
        self._waiting.clear()
        for number, future in list(self._calls.items()):
            if not future.done():
                future.set_exception(LinkLost(self.address, sent=number not in unsent, cause=cause))


async def _taken(stream: Any) -> bool:
    """Whether the peer takes frames on this stream; one that is about to stop ends it without a word before."""
    await stream.wait_for_connection()
    return any(key == TAKEN for key, _ in await stream.initial_metadata())


def _cause(error: BaseException) -> str:
    if isinstance(error, grpc.aio.AioRpcError):
        return f"{error.code().name}: {error.details()}"
    return "no answer" if isinstance(error, TimeoutError) else str(error) or type(error).__name__
