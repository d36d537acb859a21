"""A service to test the runtime with: frames, and RPCs of all four kinds whose messages are bytes."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from typing import Any

import grpc
import grpc.aio

from omnipoly.runtime import app, config, link, logging
from omnipoly.runtime.failures import Failure
from omnipoly.runtime.server import EOF

SECRET = "the seed is 4711"
NAME = "example.Echo"


class ExampleSettings(config.ServiceSettings):
    service_name = "example"

    example_stuck: str = ""


def parse(data: bytes) -> bytes:
    """Reads every message but one."""
    if data == b"malformed":
        raise ValueError(SECRET)
    return data


def write(answer: bytes) -> bytes:
    """Writes every message but one."""
    if answer == b"unwritable":
        raise TypeError(SECRET)
    return answer


def refused() -> Failure:
    return Failure(grpc.StatusCode.FAILED_PRECONDITION, "not_your_turn", "Wait.", retry_after_s=2)


class ExampleService(app.Service):
    """Echoes; on `refuse` it refuses, on `crash` it crashes, on `wait` it waits for `release`."""

    def __init__(self, settings: ExampleSettings | None = None) -> None:
        super().__init__(settings or ExampleSettings(reflection=True))
        self.steps: list[str] = []
        self.release = asyncio.Event()
        self.started = asyncio.Event()
        self.seen: list[bytes] = []
        self.calls: list[link.Call] = []

    async def start(self, running: app.App) -> None:
        self.steps.append("start")
        if self.settings.example_stuck == "starting":
            running.tasks.once("stuck", self._announce_stuck())
            await asyncio.Event().wait()
        self.link = running.serve_link(
            {"Echo": self.link_echo, "Now": self.link_now, "Future": self.link_future, "Big": self.link_big},
        )
        running.serve_generic(
            grpc.method_handlers_generic_handler(
                NAME,
                {
                    "UnaryUnary": grpc.unary_unary_rpc_method_handler(self.unary_unary),
                    "UnaryStream": grpc.unary_stream_rpc_method_handler(self.unary_stream),
                    "StreamUnary": grpc.stream_unary_rpc_method_handler(self.stream_unary),
                    "StreamStream": grpc.stream_stream_rpc_method_handler(self.stream_stream),
                    "ReadWrite": grpc.stream_stream_rpc_method_handler(self.read_write),
                    "Parsed": grpc.unary_unary_rpc_method_handler(self.unary_unary, parse, write),
                    "ParsedStream": grpc.stream_stream_rpc_method_handler(self.stream_stream, parse, write),
                    "ParsedReads": grpc.stream_stream_rpc_method_handler(self.read_write, parse, write),
                },
            ),
            NAME,
        )

    async def drain(self) -> None:
        self.steps.append("drain")
        self.release.set()
        if self.settings.example_stuck == "waiting":
            await asyncio.Event().wait()
        if self.settings.example_stuck == "blocking":
            threading.Event().wait()

    async def stop(self) -> None:
        self.steps.append("stop")

    async def _announce_stuck(self) -> None:
        logging.get(__name__).info("stuck")

    async def act(self, body: bytes) -> bytes:
        self.seen.append(body)
        if body == b"refuse":
            raise refused()
        if body == b"crash":
            raise RuntimeError(SECRET)
        if body.startswith(b"wait"):
            self.started.set()
            await self.release.wait()
        return body

    async def unary_unary(self, request: bytes, context: Any) -> bytes:
        return await self.act(request)

    async def unary_stream(self, request: bytes, context: Any) -> AsyncIterator[bytes]:
        yield b"first"
        yield await self.act(request)

    async def stream_unary(self, requests: AsyncIterator[bytes], context: Any) -> bytes:
        return b"".join([await self.act(request) async for request in requests])

    async def stream_stream(self, requests: AsyncIterator[bytes], context: Any) -> AsyncIterator[bytes]:
        async for request in requests:
            yield await self.act(request)

    async def read_write(self, requests: Any, context: Any) -> None:
        while (request := await context.read()) is not EOF:
            await context.write(await self.act(request))
            while request == b"flood":
                await context.write(bytes(64 * 1024))

    async def link_echo(self, body: bytes, call: link.Call) -> bytes:
        self.calls.append(call)
        return await self.act(body)

    def link_now(self, body: bytes, call: link.Call) -> bytes:
        if body == b"crash":
            raise RuntimeError(SECRET)
        return body

    def link_future(self, body: bytes, call: link.Call) -> asyncio.Future[bytes]:
        future: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        if body == b"refuse":
            future.set_exception(refused())
        else:
            asyncio.get_running_loop().call_soon(future.set_result, body)
        return future

    async def link_big(self, body: bytes, call: link.Call) -> bytes:
        return bytes(int(body))


if __name__ == "__main__":
    raise SystemExit(app.main(ExampleService, ExampleSettings))
