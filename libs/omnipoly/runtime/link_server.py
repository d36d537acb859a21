"""The server's end of frames between services: see `link`, which is what to import."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, cast

import grpc
import grpc.aio
from google.protobuf.message import DecodeError
from prometheus_client import Counter, Gauge, Histogram

from omnipoly.runtime import failures, interceptors, logging
from omnipoly.runtime.failures import Failure
from omnipoly.runtime.server import EOF
from omnipoly.wire.gen.link.v1 import link_pb2

log = logging.get(__name__)

SERVICE = "omnipoly.link.v1.LinkService"
METHOD = f"/{SERVICE}/Frames"
TAKEN = "omnipoly-frames"
"""Initial metadata by which a caller knows that its stream has been taken."""

FRAME_ITEMS = 256
FRAME_BYTES = 1024 * 1024
BODY_BYTES = 1024 * 1024
IN_FLIGHT = 4096
LONGEST_TIMEOUT_MS = 600_000

ITEMS = Counter(
    "omnipoly_link_items_total", "Items of frames answered, by method and gRPC code.", ("method", "grpc_code")
)
SHED = Counter("omnipoly_link_shed_total", "Items refused because too many were in flight.")
IN_FLIGHT_NOW = Gauge("omnipoly_link_in_flight", "Items of frames that are being worked on.")
FRAME_SIZES = Histogram(
    "omnipoly_link_frame_items", "Items in a frame received.", buckets=(1, 2, 4, 8, 16, 32, 64, 128, 256)
)


class Call:
    """What a handler is told of an item besides its body."""

    __slots__ = ("deadline", "method", "peer", "traceparent")

    def __init__(self, method: str, deadline: float, traceparent: str, peer: str) -> None:
        self.method = method
        self.deadline = deadline
        """When the caller gives up, by the event loop's clock (`loop.time()`, seconds)."""
        self.traceparent = traceparent
        """W3C trace context, or empty."""
        self.peer = peer
        """The caller's address, as gRPC names it."""

    def remaining_s(self) -> float:
        """Seconds the caller still waits; 0 when it no longer does."""
        return max(0.0, self.deadline - asyncio.get_running_loop().time())


Handler = Callable[[bytes, Call], bytes | Awaitable[bytes]]
"""Answers one item. A plain function that returns bytes or a Future costs no task; a coroutine function gets one. It
may raise `Failure`. An item whose deadline has passed is never started; one that was is finished, whoever still waits.
"""


class LinkServer:
    """The servicer of frames: a table of methods, a bound on what is in flight, a drain that loses nothing."""

    def __init__(
        self,
        methods: Mapping[str, Handler],
        *,
        max_in_flight: int = IN_FLIGHT,
        stood_still_s: Callable[[], float] = lambda: 0.0,
    ) -> None:
        """max_in_flight: over all streams; beyond it an item is refused with RESOURCE_EXHAUSTED and RetryInfo.
        stood_still_s: for how long this process stood still until just now. What it reads then may have waited for all
        of that time, and its caller too.
        """
        self._methods: dict[str, _Method] = {name: _Method(name, handler) for name, handler in methods.items()}
        self._max_in_flight = max_in_flight
        self.stood_still_s = stood_still_s
        self._streams: set[_ServerStream] = set()
        self._tasks: set[asyncio.Task[bytes]] = set()
        self.in_flight = 0
        """Items taken and not yet answered."""
        self._draining = False
        self._settled = asyncio.Event()
        self._settled.set()

    def generic_handler(self) -> grpc.GenericRpcHandler[Any, Any]:
        """What the gRPC server registers; frames are bytes there."""
        handler = grpc.stream_stream_rpc_method_handler(cast("Any", self.frames))
        return grpc.method_handlers_generic_handler(SERVICE, {"Frames": handler})

    async def frames(self, _requests: object, context: Any) -> None:
        """The RPC itself."""
        stream = _ServerStream(self, context)
        self._streams.add(stream)
        self._settled.clear()
        try:
            await stream.run()
        finally:
            self._streams.discard(stream)
            self._settle()

    async def drain(self) -> None:
        """Tells every caller to send nothing more here, answers what is open, and returns when all is answered.

        Unbounded: the caller bounds it. What comes later on an old stream is still answered; a new stream is refused.
        """
        self._draining = True
        for stream in self._streams:
            stream.announce_drain()
        await self._settled.wait()

    @property
    def draining(self) -> bool:
        """Whether `drain` has been called."""
        return self._draining

    def begin(self, item: link_pb2.RequestItem, stream: _ServerStream, now: float, waited_ms: int) -> None:
        """Takes one item: refuses it, or starts its handler and has the answer sent when there is one.

        waited_ms: how long it may have lain here unread.
        """
        method = self._methods.get(item.method)
        if method is None:
            stream.answer_failure(item.call, None, _unknown_method(item.method))
            return
        if self.in_flight >= self._max_in_flight:
            SHED.inc()
            stream.answer_failure(item.call, method, failures.overloaded("too much is in flight here"))
            return
        timeout_ms = item.timeout_ms - waited_ms
        if timeout_ms <= 0:
            stream.answer_failure(item.call, method, failures.deadline_passed())
            return
        call = Call(item.method, now + timeout_ms / 1000, item.traceparent, stream.peer)
        try:
            result = method.handler(item.body, call)
        except Exception as error:  # noqa: BLE001 - answered, and logged where it is ours
            stream.answer_failure(item.call, method, _as_failure(error, method.name))
            return
        if isinstance(result, bytes):
            stream.answer(item.call, method, result)
            return
        self.in_flight += 1
        self._settled.clear()
        number = item.call
        if inspect.iscoroutine(result):
            future: asyncio.Future[bytes] = asyncio.create_task(result)
            self._tasks.add(cast("asyncio.Task[bytes]", future))
        else:
            future = asyncio.ensure_future(result)

        def finished(done: asyncio.Future[bytes]) -> None:
            self._tasks.discard(cast("asyncio.Task[bytes]", done))
            self.in_flight -= 1
            if done.cancelled():
                stream.answer_failure(number, method, failures.unavailable("this replica is stopping"))
            elif (error := done.exception()) is None:
                stream.answer(number, method, done.result())
            else:
                stream.answer_failure(number, method, _as_failure(error, method.name))
            if not self.in_flight:
                self._settle()

        future.add_done_callback(finished)

    def _settle(self) -> None:
        if not self.in_flight and not self._streams:
            self._settled.set()


class _Method:
    """A handler and its metrics, their labels looked up once."""

    __slots__ = ("handler", "name", "ok")

    def __init__(self, name: str, handler: Handler) -> None:
        self.name = name
        self.handler = handler
        self.ok = ITEMS.labels(name, "OK")


class _ServerStream:
    """One caller's stream: reads frames, gathers answers, writes them."""

    def __init__(self, server: LinkServer, context: Any) -> None:
        self._server = server
        self._context = context
        self.peer: str = context.peer()
        self._answers: list[link_pb2.ResponseItem] = []
        self._wake = asyncio.Event()
        self._open = 0
        self._read_all = False
        self._announce = False

    async def run(self) -> None:
        """Until the caller has closed its half and has every answer, or is gone."""
        if self._server.draining:
            raise failures.unavailable("this replica is stopping", retry_after_s=0.1)
        await self._context.send_initial_metadata(((TAKEN, "1"),))
        reader = asyncio.create_task(self._read(), name="link-reader")
        writer = asyncio.create_task(self._write(), name="link-writer")
        try:
            await asyncio.wait((reader, writer), return_when=asyncio.FIRST_EXCEPTION)
            for task in (reader, writer):
                if task.done() and (error := task.exception()) is not None:
                    if isinstance(error, Failure) or interceptors.gone(error):
                        raise error
                    raise interceptors.internal(error, METHOD, peer=self.peer)
        finally:
            reader.cancel()
            writer.cancel()
            await asyncio.gather(reader, writer, return_exceptions=True)

    def announce_drain(self) -> None:
        """Has the caller told to send nothing more."""
        self._announce = True
        self._wake.set()

    def answer(self, call: int, method: _Method, body: bytes) -> None:
        """Has an answer sent."""
        if len(body) > BODY_BYTES:
            log.error("link_answer_too_large", method=method.name, size_bytes=len(body))
            self.answer_failure(call, method, failures.internal(interceptors.new_error_id()))
            return
        method.ok.inc()
        self._answers.append(link_pb2.ResponseItem(call=call, body=body))
        self._open -= 1
        self._wake.set()

    def answer_failure(self, call: int, method: _Method | None, failure: Failure) -> None:
        """Has a refusal sent."""
        name = method.name if method is not None else "unknown"
        ITEMS.labels(name, interceptors.code_name(failure.status)).inc()
        self._answers.append(link_pb2.ResponseItem(call=call, error=failures.to_status(failure)))
        self._open -= 1
        self._wake.set()

    async def _read(self) -> None:
        read, begin, loop = self._context.read, self._server.begin, asyncio.get_running_loop()
        while (data := await read()) is not EOF:
            try:
                frame = link_pb2.FramesRequest.FromString(data)
            except DecodeError:
                raise Failure(grpc.StatusCode.INVALID_ARGUMENT, "bad_request", "that is no frame") from None
            items = frame.items
            FRAME_SIZES.observe(len(items))
            now = loop.time()
            waited_ms = round(self._server.stood_still_s() * 1000)
            self._open += len(items)
            for item in items:
                begin(item, self, now, waited_ms)
        self._read_all = True
        self._wake.set()

    async def _write(self) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            while self._answers or self._announce:
                frame = link_pb2.FramesResponse(items=take_frame(self._answers), draining=self._announce)
                self._announce = False
                await self._context.write(frame.SerializeToString())
            if self._read_all and not self._open:
                return


def take_frame(waiting: list[Any]) -> list[Any]:
    """Removes from `waiting` what fits into one frame, at least one item, and returns it."""
    count, size = 0, 0
    for item in waiting:
        size += len(item.body)
        if count and (count == FRAME_ITEMS or size > FRAME_BYTES):
            break
        count += 1
    if count == len(waiting):
        taken = waiting[:]
        waiting.clear()
    else:
        taken = waiting[:count]
        del waiting[:count]
    return taken


def _as_failure(error: BaseException, method: str) -> Failure:
    return error if isinstance(error, Failure) else interceptors.internal(error, f"link.{method}")


def _unknown_method(method: str) -> Failure:
    return Failure(grpc.StatusCode.UNIMPLEMENTED, "bad_request", f"there is no method {method[:64]!r} here")
