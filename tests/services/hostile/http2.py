"""A client of gRPC that is cheap for who sends very much: HTTP/2 over a plain socket, of bytes, in one thread.

What a client library does for a call costs three times what a server does; here a call costs some 30 µs. Its answers
are read whole: status, reason and messages. Header compression is kept without a table, so that the same status is the
same bytes, and is read once.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple
from urllib.parse import unquote

import grpc
from google.rpc import status_pb2

from omnipoly.runtime.failures import Failure, from_status

_DATA, _HEADERS, _RST_STREAM, _SETTINGS, _PING, _GOAWAY, _WINDOW_UPDATE, _CONTINUATION = 0, 1, 3, 4, 6, 7, 8, 9
_END_STREAM, _ACK, _END_HEADERS, _PADDED, _PRIORITY = 1, 1, 4, 8, 32
_HEADER_TABLE_SIZE, _INITIAL_WINDOW_SIZE, _MAX_FRAME_SIZE, _TRUE_BINARY = 1, 4, 5, 0xFE03
_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
_LARGEST_WINDOW = 2**31 - 1
_REFILL_BYTES = 2**29
_CANCEL = 8
_KNOWN_STATUSES = 10_000
_CODES = {code.value[0]: code for code in grpc.StatusCode}
LOST = grpc.StatusCode.UNAVAILABLE


class End(NamedTuple):
    """How a call ended."""

    status: grpc.StatusCode
    reason: str
    """ErrorInfo's; "" for a call that went well."""
    sentence: str

    def failure(self) -> Failure:
        """The same to be raised."""
        return Failure(self.status, self.reason, self.sentence)


WELL = End(grpc.StatusCode.OK, "", "")


class Stream:
    """One call under way."""

    __slots__ = ("_buffer", "_on_end", "_on_message", "began", "number", "window")

    def __init__(
        self, number: int, window: int, on_message: Callable[[bytes], None], on_end: Callable[[End], None]
    ) -> None:
        self.number = number
        self.window = window
        """Bytes that the server takes now."""
        self.began = asyncio.get_running_loop().time()
        self._buffer = b""
        self._on_message = on_message
        self._on_end = on_end

    def took(self, data: bytes) -> None:
        """More of what the server says: hands on each message that is whole."""
        buffer = self._buffer + data if self._buffer else data
        while len(buffer) >= 5:
            size = 5 + int.from_bytes(buffer[1:5], "big")
            if len(buffer) < size:
                break
            self._on_message(buffer[5:size])
            buffer = buffer[size:]
        self._buffer = buffer

    def ended(self, end: End) -> None:
        """The server has ended it."""
        if end is WELL and self._buffer:
            end = End(grpc.StatusCode.INTERNAL, "half_a_message", "the answer ended within a message")
        self._on_end(end)


class Connection(asyncio.Protocol):
    """One connection, whose calls all carry the same session."""

    def __init__(self, authority: str, token: str, within_s: float) -> None:
        """within_s: how long each call may take; the server is told."""
        self._before = b"\x83\x86" + _literal(b":path", b"")[:-1]
        self._behind = b"".join(
            _literal(name, value)
            for name, value in (
                (b":authority", authority.encode()),
                (b"content-type", b"application/grpc"),
                (b"te", b"trailers"),
                (b"grpc-timeout", f"{round(within_s * 1000)}m".encode()),
                *(((b"authorization", f"Bearer {token}".encode()),) if token else ()),
            )
        )
        self._blocks: dict[str, bytes] = {}
        self._loop = asyncio.get_running_loop()
        self._transport: Any = None
        self._out: list[bytes] = []
        self._buffer = b""
        self._next = 1
        self._window = 65_535
        self._first_window = 65_535
        self._largest_frame = 16_384
        self._received = 0
        self._block: tuple[int, int, bytes] | None = None
        self._waiting: deque[tuple[Stream, bytes, bool]] = deque()
        """What the server does not take now."""
        self.streams: dict[int, Stream] = {}
        self.closed = False
        self._ready: asyncio.Future[None] = self._loop.create_future()

    @classmethod
    async def open(cls, address: str, token: str = "", within_s: float = 30.0) -> Connection:
        """Connects, and waits until the server has said what it takes."""
        host, _, port = address.rpartition(":")
        _, connection = await asyncio.get_running_loop().create_connection(
            lambda: cls(address, token, within_s), host, int(port)
        )
        async with asyncio.timeout(within_s):
            await connection._ready
        return connection

    def close(self) -> None:
        """Ends it, and what is under way over it without a word."""
        self.closed = True
        self.streams.clear()
        if self._transport is not None:
            self._transport.close()

    # --- calls

    def start(
        self,
        path: str,
        message: bytes | None,
        on_message: Callable[[bytes], None],
        on_end: Callable[[End], None],
    ) -> Stream:
        """Begins a call; with a message that is all the client says. ``on_end`` is called once, later."""
        number, self._next = self._next, self._next + 2
        stream = Stream(number, self._first_window, on_message, on_end)
        if self.closed:
            self._loop.call_soon(on_end, End(LOST, "connection_lost", "the server has closed the connection"))
            return stream
        self.streams[number] = stream
        block = self._blocks.get(path)
        if block is None:
            block = self._blocks[path] = self._before + _string(path.encode()) + self._behind
        self._write(_frame(_HEADERS, _END_HEADERS, number, block))
        if message is not None:
            self.say(stream, message, last=True)
        return stream

    def say(self, stream: Stream, message: bytes, *, last: bool = False) -> None:
        """One message more."""
        self._say(stream, b"\0" + len(message).to_bytes(4, "big") + message, last)

    def said(self, stream: Stream) -> None:
        """That was all."""
        self._say(stream, b"", True)

    def drop(self, stream: Stream) -> None:
        """Ends a call from here: ``on_end`` is not called any more."""
        if self.streams.pop(stream.number, None) is not None and not self.closed:
            self._write(_frame(_RST_STREAM, 0, stream.number, _CANCEL.to_bytes(4, "big")))

    async def ask(self, path: str, message: bytes) -> bytes:
        """A plain call. Raises ``Failure``."""
        answers: list[bytes] = []
        ended: asyncio.Future[End] = self._loop.create_future()
        self.start(path, message, answers.append, lambda end: None if ended.done() else ended.set_result(end))
        end = await ended
        if end is not WELL:
            raise end.failure()
        return answers[0]

    def _say(self, stream: Stream, data: bytes, last: bool) -> None:
        if stream.number not in self.streams:
            return  # ended meanwhile
        waits = any(one is stream for one, _, _ in self._waiting)
        rest = data if waits else self._say_part(stream, data, last)
        if rest is not None:
            self._waiting.append((stream, rest, last))

    def _say_part(self, stream: Stream, data: bytes, last: bool) -> bytes | None:
        """Says as much as the server takes now; what is left, None for nothing."""
        while True:
            size = max(0, min(len(data), self._window, stream.window, self._largest_frame))
            if data and not size:
                return data
            done = size == len(data)
            self._window -= size
            stream.window -= size
            self._write(_frame(_DATA, _END_STREAM if done and last else 0, stream.number, data[:size]))
            if done:
                return None
            data = data[size:]

    def _say_what_waits(self) -> None:
        waiting, self._waiting = self._waiting, deque()
        held: set[int] = set()
        for stream, data, last in waiting:
            if stream.number in self.streams:
                rest = data if stream.number in held else self._say_part(stream, data, last)
                if rest is not None:
                    held.add(stream.number)
                    self._waiting.append((stream, rest, last))

    def _write(self, frame: bytes) -> None:
        if not self._out:
            self._loop.call_soon(self._flush)
        self._out.append(frame)

    def _flush(self) -> None:
        out, self._out = self._out, []
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(b"".join(out))

    # --- what comes

    def connection_made(self, transport: Any) -> None:
        self._transport = transport
        settings = ((_HEADER_TABLE_SIZE, 0), (_INITIAL_WINDOW_SIZE, _LARGEST_WINDOW), (_TRUE_BINARY, 1))
        said = b"".join(key.to_bytes(2, "big") + value.to_bytes(4, "big") for key, value in settings)
        grown = (_LARGEST_WINDOW - 65_535).to_bytes(4, "big")
        self._write(_PREFACE + _frame(_SETTINGS, 0, 0, said) + _frame(_WINDOW_UPDATE, 0, 0, grown))

    def connection_lost(self, error: Exception | None) -> None:
        self.closed = True
        streams, self.streams = list(self.streams.values()), {}
        for stream in streams:
            stream.ended(End(LOST, "connection_lost", f"the server has closed the connection: {error}"))
        if not self._ready.done():
            self._ready.set_exception(ConnectionError("the server has closed the connection"))

    def data_received(self, data: bytes) -> None:
        buffer = self._buffer + data if self._buffer else data
        at, size = 0, len(buffer)
        while at + 9 <= size:
            end = at + 9 + (buffer[at] << 16 | buffer[at + 1] << 8 | buffer[at + 2])
            if end > size:
                break
            kind, flags = buffer[at + 3], buffer[at + 4]
            number = int.from_bytes(buffer[at + 5 : at + 9], "big") & 0x7FFFFFFF
            self._took(kind, flags, number, buffer[at + 9 : end])
            at = end
        self._buffer = buffer[at:]

    def _took(self, kind: int, flags: int, number: int, body: bytes) -> None:
        if kind == _DATA:
            self._received += len(body)
            if self._received > _REFILL_BYTES:
                self._write(_frame(_WINDOW_UPDATE, 0, 0, self._received.to_bytes(4, "big")))
                self._received = 0
            stream = self.streams.get(number)
            if stream is not None:
                stream.took(_unpadded(body, flags))
        elif kind == _HEADERS:
            body = _unpadded(body, flags)
            body = body[5:] if flags & _PRIORITY else body
            if flags & _END_HEADERS:
                self._took_headers(number, flags, body)
            else:
                self._block = (number, flags, body)
        elif kind == _CONTINUATION and self._block is not None:
            number, first, block = self._block
            self._block = (number, first, block + body)
            if flags & _END_HEADERS:
                self._took_headers(*self._block)
                self._block = None
        elif kind == _RST_STREAM:
            stream = self.streams.pop(number, None)
            if stream is not None:
                stream.ended(End(LOST, "stream_reset", f"HTTP/2 error {int.from_bytes(body, 'big')}"))
        elif kind == _SETTINGS and not flags & _ACK:
            self._took_settings(body)
        elif kind == _PING and not flags & _ACK:
            self._write(_frame(_PING, _ACK, 0, body))
        elif kind == _WINDOW_UPDATE:
            self._took_window(number, int.from_bytes(body, "big"))
        elif kind == _GOAWAY:
            self.closed = True  # what is under way is still answered

    def _took_headers(self, number: int, flags: int, block: bytes) -> None:
        if flags & _END_STREAM:
            stream = self.streams.pop(number, None)
            if stream is not None:
                stream.ended(_end_of(block))

    def _took_settings(self, body: bytes) -> None:
        for at in range(0, len(body), 6):
            key, value = int.from_bytes(body[at : at + 2], "big"), int.from_bytes(body[at + 2 : at + 6], "big")
            if key == _INITIAL_WINDOW_SIZE:
                for stream in self.streams.values():
                    stream.window += value - self._first_window
                self._first_window = value
            elif key == _MAX_FRAME_SIZE:
                self._largest_frame = value
        self._write(_frame(_SETTINGS, _ACK, 0, b""))
        self._say_what_waits()
        if not self._ready.done():
            self._ready.set_result(None)

    def _took_window(self, number: int, more: int) -> None:
        if not number:
            self._window += more
        elif number in self.streams:
            self.streams[number].window += more
        if self._waiting:
            self._say_what_waits()


def _frame(kind: int, flags: int, number: int, body: bytes) -> bytes:
    return len(body).to_bytes(3, "big") + bytes((kind, flags)) + number.to_bytes(4, "big") + body


def _unpadded(body: bytes, flags: int) -> bytes:
    return body[1 : len(body) - body[0]] if flags & _PADDED else body


# --- header blocks, without a table and without Huffman's code


def _integer(value: int, bits: int) -> bytes:
    most = (1 << bits) - 1
    if value < most:
        return bytes((value,))
    out, value = bytearray((most,)), value - most
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def _string(text: bytes) -> bytes:
    return _integer(len(text), 7) + text


def _literal(name: bytes, value: bytes) -> bytes:
    return b"\0" + _string(name) + _string(value)


def _read_integer(block: bytes, at: int, bits: int) -> tuple[int, int]:
    most = (1 << bits) - 1
    value, at = block[at] & most, at + 1
    if value == most:
        shift = 0
        while True:
            value += (block[at] & 0x7F) << shift
            shift += 7
            at += 1
            if not block[at - 1] & 0x80:
                break
    return value, at


def _read_string(block: bytes, at: int) -> tuple[bytes, int]:
    if block[at] & 0x80:
        raise ValueError("the server uses Huffman's code")
    size, at = _read_integer(block, at, 7)
    return block[at : at + size], at + size


def _fields(block: bytes) -> dict[bytes, bytes]:
    """The fields of a block that bear their own names; those of the static table say nothing that is looked at."""
    found, at = {}, 0
    while at < len(block):
        first = block[at]
        if first & 0x80:  # name and value are the static table's
            _, at = _read_integer(block, at, 7)
        elif first & 0xE0 == 0x20:  # the table's size
            _, at = _read_integer(block, at, 5)
        else:
            index, at = _read_integer(block, at, 6 if first & 0x40 else 4)
            name = b""
            if not index:
                name, at = _read_string(block, at)
            value, at = _read_string(block, at)
            found[name] = value
    return found


_ends: dict[bytes, End] = {}


def _end_of(block: bytes) -> End:
    """How a call ended, from the last headers of its stream."""
    end = _ends.get(block)
    if end is None:
        if len(_ends) >= _KNOWN_STATUSES:
            _ends.clear()
        end = _ends[block] = _read_end(_fields(block))
    return end


def _read_end(fields: dict[bytes, bytes]) -> End:
    if fields.get(b"grpc-status") == b"0":
        return WELL
    details = fields.get(b"grpc-status-details-bin")
    if details is not None:
        failure = from_status(status_pb2.Status.FromString(details[1:]))  # what is not base64 begins with a zero
        return End(failure.status, failure.reason, failure.sentence)
    status = _CODES.get(int(fields.get(b"grpc-status", b"2")), grpc.StatusCode.UNKNOWN)
    return End(status, "", unquote(fields.get(b"grpc-message", b"").decode("latin-1")))
