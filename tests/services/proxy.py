"""A TCP proxy in front of Postgres, a service or NATS that breaks what it is told to, when it sees it.

    async with Proxy(database_url) as proxy:
        service = ...(database_url=proxy.url)
        cut = proxy.cut_at(b"command-17", Cut.AFTER)     # the next time these bytes pass
        ...
        await cut.done.wait()

What is to be broken is recognised by bytes that are in it, a command's id for example; so that they can be seen,
nothing is encrypted: the URL for Postgres says `sslmode=disable`. Where the same bytes go by in several statements (a
command is appended, and looked up), the trap names the text of the statement that is meant; the proxy then has to be
one that reads what goes to Postgres (`reads=True`).
"""

from __future__ import annotations

import asyncio
import enum
from types import TracebackType
from typing import Self
from urllib.parse import parse_qs, quote, unquote, urlsplit

CHUNK = 256 * 1024


class Cut(enum.Enum):
    """Where a connection is cut, seen from what was recognised."""

    BEFORE = "before"
    """Nothing of it arrives."""
    IN = "in"
    """Half of it does: the other side cannot make anything of it."""
    AFTER = "after"
    """It arrives, and whatever the other side says next is lost."""


class Way(enum.Enum):
    """Which way what is waited for goes."""

    THERE = "there"
    """To the server."""
    BACK = "back"
    """To the client."""


class Trap:
    """Bytes that are waited for, once."""

    def __init__(self, marker: bytes, cut: Cut | None, way: Way, statement: bytes = b"") -> None:
        self.marker = marker
        self.statement = statement
        """In the text of the statement that the bytes are given to; empty: they may be anywhere."""
        self.cut = cut
        self.way = way
        self.sprung = asyncio.Event()
        """Set when the bytes have been seen."""
        self.done = asyncio.Event()
        """Set when the connection has been cut, or the bytes have gone on."""
        self.released = asyncio.Event()
        """For `hold`: set it to let the bytes go on."""


class Proxy:
    """Between one client and one server; as many connections as come."""

    def __init__(self, url: str, *, reads: bool = False) -> None:
        """url: of the server, with a host and port (`tcp://host:port` for what is not Postgres), or a folder of sockets
        as `host` in its query. reads: which statement each execution is of; only in front of Postgres."""
        self._given = urlsplit(url)
        self.reads = reads
        self._server: asyncio.Server | None = None
        self._port = 0
        self._traps: list[Trap] = []
        self._pairs: set[_Pair] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._flows = asyncio.Event()
        self._flows.set()
        self.connections = 0
        """Made so far."""

    @property
    def url(self) -> str:
        """The server's URL by way of this proxy."""
        user = quote(unquote(self._given.username or ""), safe="")
        password = quote(unquote(self._given.password or ""), safe="")
        return f"postgresql://{user}:{password}@127.0.0.1:{self._port}{self._given.path}?sslmode=disable"

    @property
    def address(self) -> str:
        """host:port by way of this proxy."""
        return f"127.0.0.1:{self._port}"

    def lead_to(self, url: str) -> None:
        """Connections made from now on lead to another server, where user, password and database are the same."""
        self._given = urlsplit(url)

    # --- what it does to the connections

    def cut_at(self, marker: bytes, cut: Cut, way: Way = Way.THERE, *, statement: bytes = b"") -> Trap:
        """Cut the connection on which `marker` comes by next, among what is given to a statement with such a text."""
        if statement and not (self.reads and way is Way.THERE):
            raise ValueError("this proxy does not read statements, or not that way")
        self._traps.append(trap := Trap(marker, cut, way, statement))
        return trap

    def disarm(self, trap: Trap) -> bool:
        """A trap that has not sprung will not any more; whether that was so."""
        if trap not in self._traps:
            return False
        self._traps.remove(trap)
        return True

    def hold(self, marker: bytes, way: Way = Way.THERE) -> Trap:
        """Keep back what contains `marker`, and what follows on its connection, until `released` is set."""
        self._traps.append(trap := Trap(marker, None, way))
        return trap

    def cut_all(self) -> int:
        """Cut every connection there is; how many that are."""
        pairs = list(self._pairs)
        for pair in pairs:
            pair.cut()
        return len(pairs)

    def freeze(self) -> None:
        """Swallow everything from now on, without a word: what has been sent is not answered, what connects waits."""
        self._flows.clear()

    def thaw(self) -> None:
        """Deliver what was swallowed, and everything after it."""
        self._flows.set()

    async def stop(self) -> None:
        """Cut every connection and refuse new ones."""
        server, self._server = self._server, None
        if server is not None:
            server.close()
            self.cut_all()
            await server.wait_closed()

    async def start(self) -> None:
        """Accept connections, on the same port as before."""
        if self._server is None:
            self._server = await asyncio.start_server(self._accept, "127.0.0.1", self._port, limit=CHUNK)
            self._port = self._server.sockets[0].getsockname()[1]

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.thaw()
        for trap in self._traps:
            trap.released.set()
        await self.stop()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    # --- within

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            await self._flows.wait()
            pair = _Pair(self, writer, *await self._connect())
            self._pairs.add(pair)
            try:
                await asyncio.gather(pair.to_server(reader), pair.to_client())
            finally:
                self._pairs.discard(pair)
                pair.cut()
        except OSError:
            return  # the server refuses: so does the proxy
        finally:
            writer.transport.abort()
            self._tasks.discard(task)

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        folder = parse_qs(self._given.query).get("host", [""])[0]
        port = self._given.port or 5432
        if folder.startswith("/"):
            return await asyncio.open_unix_connection(f"{folder}/.s.PGSQL.{port}", limit=CHUNK)
        return await asyncio.open_connection(self._given.hostname, port, limit=CHUNK)

    def sprung(self, data: bytes, way: Way, given: list[tuple[bytes, bytes]]) -> Trap | None:
        """The trap that these bytes spring, which is then no longer set. given: statements that are carried out with
        them, each with what it is given."""
        for trap in self._traps:
            if trap.way is way and (
                any(trap.statement in text and trap.marker in values for text, values in given)
                if trap.statement
                else trap.marker in data
            ):
                self._traps.remove(trap)
                trap.sprung.set()
                return trap
        return None

    async def flows(self) -> None:
        """Return while bytes may pass."""
        await self._flows.wait()


class _Statements:
    """What a client says to Postgres, as far as it prepares statements and carries them out."""

    def __init__(self) -> None:
        self._begun = False
        self._rest = b""
        """Of a message that has not come whole."""
        self._texts: dict[bytes, bytes] = {}

    def read(self, data: bytes) -> list[tuple[bytes, bytes]]:
        """The statements that are carried out with these bytes: the text of each, and what it is given."""
        data, at, found = self._rest + data, 0, []
        # the first message has no kind
        while len(data) >= (body := at + (5 if self._begun else 4)):
            end = body - 4 + int.from_bytes(data[body - 4 : body], "big")
            if end > len(data):
                break
            kind = data[at : at + 1] if self._begun else b""
            if kind == b"P":
                name, text, _ = data[body:end].split(b"\0", 2)
                self._texts[name] = text
            elif kind == b"B":
                _, name, values = data[body:end].split(b"\0", 2)
                found.append((self._texts.get(name, b""), values))
            at, self._begun = end, True
        self._rest = data[at:]
        return found


class _Pair:
    """A client's connection and the server's."""

    def __init__(
        self,
        proxy: Proxy,
        client: asyncio.StreamWriter,
        server_reader: asyncio.StreamReader,
        server: asyncio.StreamWriter,
    ) -> None:
        self._proxy = proxy
        self._client = client
        self._server = server
        self._server_reader = server_reader
        self._last: Trap | None = None
        """It has arrived, its answer is lost."""
        self._statements = _Statements() if proxy.reads else None

    def cut(self) -> None:
        if self._last is not None:
            self._last.done.set()
        self._client.transport.abort()
        self._server.transport.abort()

    async def to_server(self, reader: asyncio.StreamReader) -> None:
        await self._carry(reader, self._server, Way.THERE)

    async def to_client(self) -> None:
        await self._carry(self._server_reader, self._client, Way.BACK)

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, way: Way) -> None:
        while data := await _read(reader):
            await self._proxy.flows()
            reads = self._statements if way is Way.THERE else None
            given = reads.read(data) if reads is not None else []
            if self._last is not None and self._last.way is not way:
                self.cut()
                return
            trap = self._proxy.sprung(data, way, given)
            if trap is None:
                await self._send(writer, data)
            elif trap.cut is None:
                await trap.released.wait()
                await self._send(writer, data)
                trap.done.set()
            elif trap.cut is Cut.AFTER:
                self._last = trap
                await self._send(writer, data)
            else:
                if trap.cut is Cut.IN:
                    await self._send(writer, data[: len(data) // 2])
                self.cut()
                trap.done.set()
                return
        self.cut()

    async def _send(self, writer: asyncio.StreamWriter, data: bytes) -> None:
        try:
            writer.write(data)
            await writer.drain()
        except OSError:
            self.cut()


async def _read(reader: asyncio.StreamReader) -> bytes:
    try:
        return await reader.read(CHUNK)
    except OSError:
        return b""
