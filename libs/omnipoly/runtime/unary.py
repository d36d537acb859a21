"""The methods of a contract between services, each served both ways: in link frames, which services use among
themselves, and as a plain RPC, for people with a gRPC tool and for tests.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, NamedTuple

import grpc
import grpc.aio
from google.protobuf.message import DecodeError, Message

from omnipoly.rules.codes import Code
from omnipoly.runtime.app import App
from omnipoly.runtime.link import Call
from omnipoly.runtime.link import Handler as LinkHandler
from omnipoly.runtime.refusals import failure

LONGEST_S = 60.0
"""How long a plain RPC without a deadline of its own may take."""


class Asked(NamedTuple):
    """What a method is told besides the request."""

    deadline: float
    """When the caller gives up, by the event loop's clock (``loop.time()``, seconds)."""
    traceparent: str
    """W3C trace context; "" when not traced."""

    def remaining_s(self) -> float:
        """Seconds the caller still waits; 0 when it no longer does."""
        return max(0.0, self.deadline - asyncio.get_running_loop().time())


Method = Callable[[Any, Asked], Awaitable[Message]]
"""Answers a request of the contract; raises ``Failure``."""


class Unary(NamedTuple):
    """One method of a contract."""

    request: type[Message]
    method: Method


def serve(
    app: App,
    service: str,
    methods: Mapping[str, Unary],
    streams: Mapping[str, grpc.RpcMethodHandler[Any, Any]] | None = None,
) -> None:
    """Serves the methods of a service (its full name) both ways, and its streaming ones as plain RPCs alone."""
    app.serve_link(links(service, methods))
    app.serve_generic(handler(service, methods, streams), service)


def links(service: str, methods: Mapping[str, Unary]) -> dict[str, LinkHandler]:
    """The methods for link frames, by full name: for who serves those of several contracts."""
    return {f"/{service}/{name}": _framed(unary) for name, unary in methods.items()}


def handler(
    service: str, methods: Mapping[str, Unary], streams: Mapping[str, grpc.RpcMethodHandler[Any, Any]] | None = None
) -> grpc.GenericRpcHandler[Any, Any]:
    """The methods as plain RPCs."""
    plain = {
        name: grpc.unary_unary_rpc_method_handler(
            _plain(unary.method),
            request_deserializer=unary.request.FromString,
            response_serializer=_serialize,
        )
        for name, unary in methods.items()
    }
    return grpc.method_handlers_generic_handler(service, {**(streams or {}), **plain})


def _serialize(message: Message) -> bytes:
    return message.SerializeToString()


def _framed(unary: Unary) -> LinkHandler:
    parse, method = unary.request.FromString, unary.method

    async def handler(body: bytes, call: Call) -> bytes:
        try:
            request = parse(body)
        except DecodeError:
            raise failure(Code.BAD_REQUEST, f"The body is not a {unary.request.DESCRIPTOR.name}.") from None
        return (await method(request, Asked(call.deadline, call.traceparent))).SerializeToString()

    return handler


def _plain(method: Method) -> Any:
    async def handler(request: Message, context: Any) -> Message:
        remaining = context.time_remaining()
        allowed_s = LONGEST_S if remaining is None else min(remaining, LONGEST_S)
        return await method(request, Asked(asyncio.get_running_loop().time() + allowed_s, ""))

    return handler
