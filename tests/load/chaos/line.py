"""A client's line to the gateways: plain calls and a stream, in bytes, with nothing of the platform's own client."""

from __future__ import annotations

import asyncio
from typing import Any

import grpc
import grpc.aio
from google.rpc import error_details_pb2, status_pb2

PACKAGE = "/omnipoly.gateway.v1."
OPTIONS = [
    ("grpc.use_local_subchannel_pool", 1),
    ("grpc.keepalive_time_ms", 5_000),
    ("grpc.keepalive_timeout_ms", 5_000),
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.http2.max_pings_without_data", 0),
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.min_reconnect_backoff_ms", 5_000),
    ("grpc.max_reconnect_backoff_ms", 1_000),
    ("grpc.enable_retries", 0),
]
UNKNOWN = frozenset(
    (
        grpc.StatusCode.UNAVAILABLE.value[0],
        grpc.StatusCode.DEADLINE_EXCEEDED.value[0],
        grpc.StatusCode.CANCELLED.value[0],
        grpc.StatusCode.UNKNOWN.value[0],
    )
)
"""Ends of a call after which nobody knows what became of it."""
BUSY = grpc.StatusCode.RESOURCE_EXHAUSTED.value[0]


class Said(Exception):
    """The answer was no, or there was none."""

    def __init__(self, status: int, code: str) -> None:
        super().__init__(status, code)
        self.status = status
        self.code = code

    @property
    def unknown(self) -> bool:
        """Nobody knows what became of it."""
        return self.status in UNKNOWN

    @property
    def again(self) -> bool:
        """The same may be tried again in a moment."""
        return self.unknown or self.status == BUSY


def said(status: status_pb2.Status) -> Said:
    """A refusal as it travels."""
    info = error_details_pb2.ErrorInfo()
    for detail in status.details:
        if detail.Unpack(info):
            return Said(status.code, info.reason.lower())
    return Said(status.code, "")


def _said(error: grpc.aio.AioRpcError) -> Said:
    for key, value in error.trailing_metadata() or ():
        if key == "grpc-status-details-bin" and isinstance(value, bytes):
            return said(status_pb2.Status.FromString(value))
    return Said(error.code().value[0], "")


class Line:
    """A connection of one client's own to each gateway, made when it is needed."""

    def __init__(self, gateways: list[str]) -> None:
        self.gateways = gateways
        self.token = ""
        self._channels: dict[str, grpc.aio.Channel] = {}

    def other(self, gateway: str) -> str:
        """The gateway after this one."""
        return self.gateways[(self.gateways.index(gateway) + 1) % len(self.gateways)]

    async def call(self, gateway: str, method: str, request: Any, response: Any, timeout_s: float) -> Any:
        """One plain call; method without the package. Raises ``Said``."""
        call = self._channel(gateway).unary_unary(PACKAGE + method)
        try:
            data = await call(request.SerializeToString(), metadata=self._metadata(), timeout=timeout_s)
        except grpc.aio.AioRpcError as error:
            raise _said(error) from None
        return response.FromString(data)

    def play(self, gateway: str) -> Any:
        """A ``Play`` stream of bytes."""
        return self._channel(gateway).stream_stream(f"{PACKAGE}PlayService/Play")(metadata=self._metadata())

    def watch(self, gateway: str, request: Any) -> Any:
        """A ``Watch`` stream of bytes."""
        call = self._channel(gateway).unary_stream(f"{PACKAGE}WatchService/Watch")
        return call(request.SerializeToString(), metadata=self._metadata())

    async def close(self) -> None:
        """Ends everything."""
        await asyncio.gather(*(channel.close(None) for channel in self._channels.values()))

    def _channel(self, gateway: str) -> grpc.aio.Channel:
        channel = self._channels.get(gateway)
        if channel is None:
            channel = self._channels[gateway] = grpc.aio.insecure_channel(gateway, options=OPTIONS)
        return channel

    def _metadata(self) -> tuple[tuple[str, str], ...]:
        return (("authorization", f"Bearer {self.token}"),) if self.token else ()
