"""The server's two interceptors: telemetry around every RPC, and what an exception becomes.

Order on the server: telemetry outermost, then errors, then whatever a service adds (the gateway's identity). Both work
for the four kinds of RPC, for handlers that are coroutines with `context.read` and `context.write` and for those that
are async generators.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
import secrets
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, cast

import grpc
import grpc.aio
from prometheus_client import Counter, Histogram

from omnipoly.runtime import failures, logging, metrics, tracing

log = logging.get(__name__)

Continuation = Callable[[grpc.HandlerCallDetails], Awaitable["grpc.RpcMethodHandler[Any, Any] | None"]]
Context = Any  # grpc.aio's own context, or what stands in its place
Behaviour = Callable[[Any, Context], Any]

_EOF: Any = grpc.aio.EOF  # type: ignore[attr-defined]  # missing in the stubs


def new_error_id() -> str:
    """Names a fault for its caller and in the log: 12 hex digits."""
    return secrets.token_hex(6)


def internal(error: BaseException, where: str, **fields: object) -> failures.Failure:
    """Logs an exception nobody foresaw, with its text and trace, and makes the INTERNAL that may leave."""
    error_id = new_error_id()
    log.error("unexpected_error", where=where, error_id=error_id, exc_info=error, **fields)
    return failures.internal(error_id)


class Wrapping(grpc.aio.ServerInterceptor):  # type: ignore[type-arg]  # generic in the stubs alone
    """Wraps each method's handler once and keeps the wrapped one for later RPCs."""

    def __init__(self) -> None:
        # By identity of the handler, which lives as long as the server; the handler itself is kept so that it does.
        self._wrapped: dict[int, tuple[Any, Any]] = {}

    async def intercept_service(  # type: ignore[override]  # the stubs do not know of unknown methods
        self, continuation: Continuation, handler_call_details: grpc.HandlerCallDetails
    ) -> grpc.RpcMethodHandler[Any, Any] | None:
        handler = await continuation(handler_call_details)
        if handler is None:
            return None
        known = self._wrapped.get(id(handler))
        if known is not None and known[0] is handler:
            return cast("grpc.RpcMethodHandler[Any, Any]", known[1])
        wrapped = self._wrap(handler_call_details.method, handler)
        self._wrapped[id(handler)] = (handler, wrapped)
        return wrapped

    def _wrap(self, method: str, handler: Any) -> grpc.RpcMethodHandler[Any, Any]:
        kind, behaviour = _shape(handler)
        return _handler(
            kind, self._behaviour(method, kind, behaviour), handler.request_deserializer, handler.response_serializer
        )

    def _behaviour(self, method: str, kind: str, behaviour: Behaviour) -> Behaviour:
        raise AssertionError("each interceptor has its own")


class Errors(Wrapping):
    """A `Failure` becomes its rich status; anything unforeseen INTERNAL with an error id, its text only in the log.

    A message that cannot be read is INVALID_ARGUMENT, `bad_request`. What grpc.aio would do outside the handler, read
    the one request and write the one answer, is done inside it, so that nothing of an exception's text gets out there
    either. A client that has gone (cygrpc's ExecuteBatchError in a write) has its RPC cancelled; that and an abort
    already made pass through untouched.
    """

    def _wrap(self, method: str, handler: Any) -> grpc.RpcMethodHandler[Any, Any]:
        kind, behaviour = _shape(handler)
        read, write = handler.request_deserializer, handler.response_serializer
        asks_once = kind.startswith("unary")
        if is_generator(behaviour):

            async def generating(request: Any, context: Context) -> AsyncIterator[Any]:
                try:
                    parsed = _parsed(read, request) if asks_once else request
                    async for message in behaviour(parsed, context):
                        yield write(message) if write else message
                except Exception as error:  # noqa: BLE001 - `_end` logs it or raises it again
                    await self._end(method, context, error)

            return _handler(kind, generating, None if asks_once else _reader(read), None)

        answers_once = kind.endswith("unary")

        async def calling(request: Any, context: Context) -> Any:
            try:
                answer = await behaviour(_parsed(read, request) if asks_once else request, context)
                return write(answer) if answers_once and write else answer
            except Exception as error:  # noqa: BLE001
                await self._end(method, context, error)

        return _handler(kind, calling, None if asks_once else _reader(read), None if answers_once else write)

    async def _end(self, method: str, context: Context, error: Exception) -> None:
        if isinstance(error, grpc.aio.AbortError):
            raise error
        if gone(error):
            # grpc.aio would log an error when it has not yet heard of the client's going itself.
            raise asyncio.CancelledError from error
        failure = error if isinstance(error, failures.Failure) else internal(error, method)
        await failures.abort(context, failure)


class Telemetry(Wrapping):
    """RPC metrics as go-grpc-middleware names them, and a span that continues the caller's `traceparent` metadata.

    The span is for unary RPCs: a stream has one metadata for everything it carries, each of which has its own trace.
    """

    def _behaviour(self, method: str, kind: str, behaviour: Behaviour) -> Behaviour:
        rpc = _Rpc(method, kind)
        if is_generator(behaviour):

            async def generating(request: Any, context: Context) -> AsyncIterator[Any]:
                counted = rpc.begin(request, context)
                code = "Unknown"
                try:
                    async for message in behaviour(counted.request, counted):
                        rpc.sent.inc()
                        yield message
                    code = counted.code_name()
                except BaseException as error:
                    code = _code_of(error, counted)
                    raise
                finally:
                    rpc.end(code, counted)

            return generating

        async def calling(request: Any, context: Context) -> Any:
            counted = rpc.begin(request, context)
            code = "Unknown"
            try:
                if rpc.spans and tracing.enabled():
                    with tracing.span_from(counted.traceparent(), method, kind="server"):
                        answer = await behaviour(counted.request, counted)
                else:
                    answer = await behaviour(counted.request, counted)
                code = counted.code_name()
                if rpc.answers_once and code == "OK":
                    rpc.sent.inc()
                return answer
            except BaseException as error:
                code = _code_of(error, counted)
                raise
            finally:
                rpc.end(code, counted)

        return calling


class _Rpc:
    """The metrics of one method, their label values looked up once."""

    def __init__(self, method: str, kind: str) -> None:
        service, _, name = method.lstrip("/").rpartition("/")
        client, server = kind.split("_")
        grpc_type = {"unary_unary": "unary", "stream_unary": "client_stream", "unary_stream": "server_stream"}.get(
            kind, "bidi_stream"
        )
        self.labels = (grpc_type, service, name)
        self.asks_once = client == "unary"
        self.answers_once = server == "unary"
        self.spans = kind == "unary_unary"
        self.received: Counter = metrics.RPC_MSG_RECEIVED.labels(*self.labels)
        self.sent: Counter = metrics.RPC_MSG_SENT.labels(*self.labels)
        self.started: Counter = metrics.RPC_STARTED.labels(*self.labels)
        self.seconds: Histogram = metrics.RPC_SECONDS.labels(*self.labels)
        self._handled: dict[str, Counter] = {}

    def begin(self, request: Any, context: Context) -> _CountingContext:
        self.started.inc()
        if self.asks_once:
            self.received.inc()
        return _CountingContext(self, request, context)

    def end(self, code: str, counted: _CountingContext) -> None:
        handled = self._handled.get(code)
        if handled is None:
            handled = self._handled[code] = metrics.RPC_HANDLED.labels(*self.labels, code)
        handled.inc()
        self.seconds.observe(time.perf_counter() - counted.begun)


class _CountingContext:
    """grpc.aio's context with messages counted; every other attribute is the context's own."""

    __slots__ = ("_context", "_rpc", "begun", "ended_with", "request")

    def __init__(self, rpc: _Rpc, request: Any, context: Context) -> None:
        self._rpc = rpc
        self._context = context
        self.begun = time.perf_counter()
        self.ended_with: grpc.StatusCode | None = None
        self.request = request if rpc.asks_once else _CountingRequests(rpc, request)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._context, name)

    def traceparent(self) -> str:
        """The caller's trace context; empty without."""
        for key, value in self._context.invocation_metadata() or ():
            if key == "traceparent" and isinstance(value, str):
                return value
        return ""

    async def read(self) -> Any:
        message = await self._context.read()
        if message is not _EOF:
            self._rpc.received.inc()
        return message

    async def write(self, message: Any) -> None:
        await self._context.write(message)
        self._rpc.sent.inc()

    async def abort(self, code: grpc.StatusCode, details: str = "", trailing_metadata: tuple[Any, ...] = ()) -> None:
        self.ended_with = code
        await self._context.abort(code, details, trailing_metadata)

    async def abort_with_status(self, status: grpc.Status) -> None:
        self.ended_with = status.code
        await self._context.abort_with_status(status)

    def code_name(self) -> str:
        return code_name(self.ended_with or self._context.code() or grpc.StatusCode.OK)


class _CountingRequests:
    """The request iterator of a streaming RPC, counted."""

    __slots__ = ("_requests", "_rpc")

    def __init__(self, rpc: _Rpc, requests: AsyncIterator[Any]) -> None:
        self._rpc = rpc
        self._requests = requests

    def __aiter__(self) -> _CountingRequests:
        return self

    async def __anext__(self) -> Any:
        message = await self._requests.__anext__()
        self._rpc.received.inc()
        return message


def gone(error: BaseException) -> bool:
    """Whether a write or read failed because the client has vanished (a blocked write raises cygrpc's own error)."""
    return type(error).__name__ == "ExecuteBatchError"


def code_name(code: grpc.StatusCode) -> str:
    """A status code as go-grpc-middleware labels it: OK, NotFound, DeadlineExceeded, …; Canceled has one l there."""
    if code is grpc.StatusCode.OK:
        return "OK"
    if code is grpc.StatusCode.CANCELLED:
        return "Canceled"
    return "".join(part.capitalize() for part in code.name.split("_"))


def _code_of(error: BaseException, counted: _CountingContext) -> str:
    if counted.ended_with is not None:
        return code_name(counted.ended_with)
    # A generator that is closed, a task that is cancelled, a write to nobody: the client has gone.
    if isinstance(error, Exception) and not gone(error):
        return "Unknown"
    return "Canceled"


def _shape(handler: Any) -> tuple[str, Behaviour]:
    """A handler's kind, e.g. "unary_stream", and the function that serves it."""
    kind = ("stream" if handler.request_streaming else "unary") + (
        "_stream" if handler.response_streaming else "_unary"
    )
    return kind, getattr(handler, kind)


def _handler(kind: str, behaviour: Behaviour, read: Any, write: Any) -> grpc.RpcMethodHandler[Any, Any]:
    make: Callable[..., grpc.RpcMethodHandler[Any, Any]] = getattr(grpc, f"{kind}_rpc_method_handler")
    return make(behaviour, request_deserializer=read, response_serializer=write)


def _parsed(read: Callable[[bytes], Any] | None, data: Any) -> Any:
    """A request; raises the `Failure` of one that cannot be read."""
    if read is None:
        return data
    try:
        return read(data)
    except Exception:  # noqa: BLE001 - whatever a deserializer raises, it means this
        raise failures.Failure(grpc.StatusCode.INVALID_ARGUMENT, "bad_request", "the message cannot be read") from None


def _reader(read: Callable[[bytes], Any] | None) -> Callable[[bytes], Any] | None:
    """What reads a stream's messages; its failures surface where the handler reads."""
    return None if read is None else functools.partial(_parsed, read)


def is_generator(behaviour: Behaviour) -> bool:
    """Whether a handler is an async generator."""
    return inspect.isasyncgenfunction(behaviour)
