"""TLS in front of a Postgres that has none: the embedded one is built without.

It speaks the protocol's own upgrade, takes nobody without it, and hands everything else on as it is.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

SSL_REQUEST = bytes.fromhex("0000000804d2162f")


class Front:
    """One that listens; ``context`` is asked for each connection."""

    def __init__(self, socket: str, context: Callable[[], ssl.SSLContext]) -> None:
        self._socket = socket
        self._context = context
        self._writers: set[asyncio.StreamWriter] = set()
        self.encrypted = 0
        self.refused = 0
        self.port = 0

    async def _take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        try:
            if await reader.readexactly(8) != SSL_REQUEST:
                self.refused += 1
                return
            writer.write(b"S")
            await writer.drain()
            await writer.start_tls(self._context())
            self.encrypted += 1
            below, into = await asyncio.open_unix_connection(self._socket)
            self._writers.add(into)
            async with asyncio.TaskGroup() as group:
                group.create_task(self._carry(reader, into))
                group.create_task(self._carry(below, writer))
        except* (OSError, ssl.SSLError, asyncio.IncompleteReadError):
            self.refused += 1
        finally:
            writer.close()

    @staticmethod
    async def _carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while data := await reader.read(65536):
                writer.write(data)
                await writer.drain()
        finally:
            writer.close()

    def close(self) -> None:
        """Cuts everything."""
        for writer in self._writers:
            writer.transport.abort()


@asynccontextmanager
async def front(socket: str, context: Callable[[], ssl.SSLContext]) -> AsyncIterator[Front]:
    """Listens for the length of the block, on ``port``. socket: the path of the server's."""
    made = Front(socket, context)
    server = await asyncio.start_server(made._take, "127.0.0.1", 0)
    made.port = server.sockets[0].getsockname()[1]
    try:
        yield made
    finally:
        server.close()
        made.close()
