"""The one way in: every RPC is registered through the door, which finds out who calls, counts, and reads the request.

Messages reach the door as bytes, so that malformed ones are refused in our words and answers may be bytes that stand
already. What is not registered is answered UNIMPLEMENTED by gRPC itself. Health and reflection come in ``beside``.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import grpc
import grpc.aio
from google.protobuf.message import Message

from omnipoly.rules.codes import Code
from omnipoly.runtime.failures import Failure

from . import checks, tokens
from .callers import Caller

if TYPE_CHECKING:
    from omnipoly.runtime.app import App

    from .limits import Limits
    from .revocations import Revocations
    from .tokens import Keys

Unary = Callable[[Any, Caller, float], Awaitable[bytes | Message]]
"""(request, caller, seconds the caller waits) to the response, as a message or as its bytes."""
Open = Callable[[Any], Awaitable[Message]]
"""The same for who has no session yet."""
Stream = Callable[[Caller, Any], Awaitable[None]]
"""(caller, context): reads and writes bytes."""
Follow = Callable[[Any, Caller, Any], Awaitable[None]]
"""(request, caller, context): writes bytes."""

Context = Any  # grpc.aio's own, or what the interceptors put in its place


class Door:
    """Makes handlers for gRPC."""

    def __init__(self, keys: Keys, revocations: Revocations, limits: Limits, *, address_header: str = "") -> None:
        """address_header: metadata in which a trusted proxy says where a client is."""
        self._keys = keys
        self._revocations = revocations
        self._limits = limits
        self._address_header = address_header.lower()

    def serve(self, app: App, service: str, methods: Mapping[str, grpc.RpcMethodHandler[Any, Any]]) -> None:
        """Registers the methods of a service, by its full name."""
        app.serve_generic(grpc.method_handlers_generic_handler(service, dict(methods)), service)

    def unary(self, kind: type[Message], handler: Unary) -> grpc.RpcMethodHandler[Any, Any]:
        """A call of somebody with a session; counts as a command."""

        async def call(data: bytes, context: Context) -> bytes:
            try:
                self._limits.call(self._connection(context))
                caller = await self.caller(context)
                self._limits.command(caller)
            except Failure as failure:
                raise await self._held(failure, context) from None
            answer = await handler(checks.parse(kind, data), caller, _timeout_s(context))
            return answer if isinstance(answer, bytes) else answer.SerializeToString()

        return grpc.unary_unary_rpc_method_handler(call)

    def open(self, kind: type[Message], handler: Open, *, sign_in: bool = True) -> grpc.RpcMethodHandler[Any, Any]:
        """A call that needs no session. sign_in: counts as one from its address."""

        async def call(data: bytes, context: Context) -> bytes:
            try:
                self._limits.call(self._connection(context))
                if sign_in:
                    self._limits.sign_in(self._address(context))
            except Failure as failure:
                raise await self._held(failure, context) from None
            return (await handler(checks.parse(kind, data))).SerializeToString()

        return grpc.unary_unary_rpc_method_handler(call)

    def two_way(self, handler: Stream) -> grpc.RpcMethodHandler[Any, Any]:
        """A two-way stream of bytes; counts as a stream."""

        async def call(_requests: object, context: Context) -> None:
            connection = self._connection(context)
            try:
                self._limits.call(connection)
                caller = await self.caller(context)
                self._limits.open_stream(caller, connection)
            except Failure as failure:
                raise await self._held(failure, context) from None
            try:
                await handler(caller, context)
            finally:
                self._limits.close_stream(caller, connection)

        return grpc.stream_stream_rpc_method_handler(call)

    def follow(self, kind: type[Message], handler: Follow) -> grpc.RpcMethodHandler[Any, Any]:
        """A stream of bytes that a request opens; counts as a stream and as a command."""

        async def call(data: bytes, context: Context) -> None:
            connection = self._connection(context)
            try:
                self._limits.call(connection)
                caller = await self.caller(context)
                self._limits.command(caller)
                self._limits.open_stream(caller, connection)
            except Failure as failure:
                raise await self._held(failure, context) from None
            try:
                await handler(checks.parse(kind, data), caller, context)
            finally:
                self._limits.close_stream(caller, connection)

        return grpc.unary_stream_rpc_method_handler(call)

    async def count(self, context: Context, weight: float = 1) -> None:
        """Counts a call that is not the door's own by what it came over. Raises ``Failure`` ``rate_limited``."""
        try:
            self._limits.call(self._connection(context), weight)
        except Failure as failure:
            raise await self._held(failure, context) from None

    @asynccontextmanager
    async def stream(self, context: Context) -> AsyncIterator[None]:
        """The same of a stream, for as long as it is open."""
        await self.count(context)
        connection = self._connection(context)
        try:
            self._limits.open_nameless(connection)
        except Failure as failure:
            raise await self._held(failure, context) from None
        try:
            yield
        finally:
            self._limits.close_nameless(connection)

    async def caller(self, context: Context) -> Caller:
        """Who calls. Raises ``Failure`` UNAUTHENTICATED, PERMISSION_DENIED for who is banned."""
        if not self._revocations.known:
            await self._revocations.wait_known()
        caller, traceparent = None, ""
        for key, value in context.invocation_metadata() or ():
            if not isinstance(value, str):
                continue
            if key == "authorization" and caller is None:
                scheme, _, token = value.partition(" ")
                if scheme.lower() == "bearer":
                    caller = self.known(token.strip())
            elif key == "traceparent":
                traceparent = checks.traceparent(value)
        if caller is None:
            raise tokens.sign_in_required()
        caller.traceparent = traceparent
        return caller

    def known(self, token: str) -> Caller:
        """Whose access token that is. Raises ``Failure`` for one that does not hold, or was revoked."""
        claims = self._keys.verify(token)
        self._revocations.check(claims)
        return Caller(claims)

    async def _held(self, failure: Failure, context: Context) -> Failure:
        """The refusal of a call, held back where it is for too many of them."""
        if failure.reason == Code.RATE_LIMITED:
            connection, remaining_s = self._connection(context), context.time_remaining()
            hold_s = self._limits.hold_s(connection, 1)
            try:
                await asyncio.sleep(hold_s if remaining_s is None else min(hold_s, remaining_s / 2))
            finally:
                self._limits.hold_s(connection, -1)
        return failure

    def _connection(self, context: Context) -> str:
        """What a client's calls come over: its connection; behind a proxy, which mixes them, its address."""
        return self._told(context) or str(context.peer())

    def _address(self, context: Context) -> str:
        """Where a client is, without its port."""
        return self._told(context) or str(context.peer()).rpartition(":")[0]

    def _told(self, context: Context) -> str:
        """Where a client is, as a trusted proxy says; "" without one."""
        if self._address_header:
            given = [value for key, value in context.invocation_metadata() or () if key == self._address_header]
            if given and isinstance(given[-1], str):
                return given[-1].rpartition(",")[2].strip()[:64]
        return ""


def uncounted(context: Context) -> Any:
    """grpc.aio's own context, below the one that counts each message: a stream to thousands counts them in bulk."""
    return getattr(context, "_context", context)


def _timeout_s(context: Context) -> float:
    """How long the caller of a plain call waits."""
    remaining_s = context.time_remaining()
    return checks.USUAL_S if remaining_s is None else min(float(remaining_s), checks.LONGEST_S)
