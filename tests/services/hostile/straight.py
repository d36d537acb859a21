"""Straight to the gateway's handlers, past HTTP/2: for the long runs, in which the messages count and not the network.

What answers is what answers in a server: the handler that the door has registered, inside the interceptor that makes
statuses of failures. Streams go by the network also there.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import grpc
import grpc.aio
from google.rpc import status_pb2

from omnipoly.runtime.failures import Failure, from_status
from omnipoly.runtime.interceptors import Errors
from omnipolyd.gateway.door import Door

HELD_S = 30.0


class Handlers:
    """The handlers of plain calls, by path."""

    def __init__(self) -> None:
        self._behaviours: dict[str, Any] = {}
        self._errors = Errors()

    @contextmanager
    def taken(self) -> Iterator[None]:
        """Whatever a door registers meanwhile is taken here, too."""
        serve = Door.serve

        def both(door: Door, app: Any, service: str, methods: Any) -> None:
            for name, handler in methods.items():
                if handler.unary_unary is not None:
                    path = f"/{service}/{name}"
                    self._behaviours[path] = self._errors._wrap(path, handler).unary_unary
            serve(door, app, service, methods)

        Door.serve = both  # type: ignore[method-assign]
        try:
            yield
        finally:
            Door.serve = serve  # type: ignore[method-assign]

    async def call(self, path: str, message: bytes, metadata: tuple[tuple[str, str], ...]) -> bytes:
        """The answer. Raises ``Failure``."""
        context = _Context(metadata)
        try:
            answer: bytes = await self._behaviours[path](message, context)
        except grpc.aio.AbortError:
            raise context.failure() from None
        return answer


class _Context:
    """What a handler of a plain call asks of its context."""

    def __init__(self, metadata: tuple[tuple[str, str], ...]) -> None:
        self._metadata = metadata
        self._until = asyncio.get_running_loop().time() + HELD_S
        self._ended: tuple[Any, str, tuple[Any, ...]] | None = None

    def invocation_metadata(self) -> tuple[tuple[str, str], ...]:
        return self._metadata

    def time_remaining(self) -> float:
        return self._until - asyncio.get_running_loop().time()

    def peer(self) -> str:
        return "straight:0"

    async def abort(self, code: grpc.StatusCode, details: str = "", trailing: tuple[Any, ...] = ()) -> None:
        self._ended = (code, details, trailing)
        raise grpc.aio.AbortError("ended")

    def failure(self) -> Failure:
        """How it was ended."""
        assert self._ended is not None
        code, details, trailing = self._ended
        for key, value in trailing:
            if key == "grpc-status-details-bin":
                return from_status(status_pb2.Status.FromString(value))
        return Failure(code, code.name.lower(), details)
