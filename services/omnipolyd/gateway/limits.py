"""How much one person may ask for, and one connection: commands a second, streams at once. In memory, for this gateway
alone.

Whoever asks for more is answered RESOURCE_EXHAUSTED, ``rate_limited``, and not at once: a refusal that costs its caller
no time would cost this process all of its own.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from google.protobuf import duration_pb2

from omnipoly.rules.codes import Code
from omnipoly.runtime import refusals
from omnipoly.runtime.server import MAX_ANSWER_BYTES
from omnipoly.wire.gen.gateway.v1 import sessions_pb2

from .checks import COMMAND_BYTES, MESSAGE_BYTES

if TYPE_CHECKING:
    from omnipoly.runtime.failures import Failure

    from .callers import Caller
    from .config import GatewaySettings

QUEUE = 256
"""Messages that may wait for a slow stream."""
QUEUE_BYTES = 4 * MAX_ANSWER_BYTES
"""What they may weigh: a few of the largest there are."""
HISTORY_PAGE = 200
LOTS_PER_SIDE = 28
CHAT_CHARACTERS = 300
CHAT_LINES_KEPT = 200
PIN_TRIES = 5
PIN_WINDOW_S = 600

NEW_PIN = 9
"""What a new PIN counts for beside its call: it is hashed for some 50 ms of a processor, few at once."""
REFLECTED = 10
"""What a question to reflection counts for on its connection: its answer has 33 kB and costs 0.7 ms."""
HOLD_S = 0.25
"""How long the refusal of who asks for too much is held back, for each that is held back of the same connection."""
LONGEST_HOLD_S = 10.0
"""With it a connection, which has only so many calls open (``max_concurrent_streams``), gets 20 refusals a second."""
LONGEST_PAUSE_S = 5.0
"""For which a stream that goes on asking for too much is not read."""
FORGET_S = 60.0
"""A person is forgotten after it: long enough for any bucket of sane settings to be full again."""


class _Person:
    """What is counted of a person, of a connection, or of an address that somebody signs in from."""

    __slots__ = ("at", "streams", "tokens")

    def __init__(self, tokens: float, at: float) -> None:
        self.tokens = tokens
        self.at = at
        self.streams = 0


class Limits:
    """Counts by person; the platform's bots are not counted."""

    def __init__(self, settings: GatewaySettings) -> None:
        self._settings = settings
        self._rate = settings.commands_per_second
        self._burst = float(settings.commands_burst)
        self._persons: dict[str, _Person] = {}
        self._held: dict[str, int] = {}
        self._loop = asyncio.get_running_loop()
        self._swept = self._loop.time()

    @property
    def command_every_s(self) -> float:
        """How long one person's commands are apart who sends no more than they may, seconds."""
        return 1 / self._rate

    def command(self, caller: Caller, weight: float = 1) -> None:
        """Counts a command, or one that costs as much as several. Raises ``Failure`` ``rate_limited`` with the time
        until the next one."""
        if caller.bots:
            return
        self._take(caller.person, self._rate, self._burst, min(weight, self._burst))

    def sign_in(self, address: str) -> None:
        """Counts a sign-in or a renewal from an address. Raises ``Failure`` likewise."""
        settings = self._settings
        self._take(f"at {address}", settings.sign_ins_per_second, float(settings.sign_ins_burst))

    def hold_s(self, connection: str, change: int) -> float:
        """One refusal more, or less, of a connection's is held back; for how long."""
        held = self._held.get(connection, 0) + change
        if held:
            self._held[connection] = held
        else:
            self._held.pop(connection, None)
        return min(HOLD_S * held, LONGEST_HOLD_S)

    def call(self, connection: str, weight: float = 1) -> None:
        """Counts a call that came over a connection, whoever calls, or what costs as much as several. Raises
        ``Failure`` likewise."""
        settings = self._settings
        burst = float(settings.connection_calls_burst)
        self._take(f"via {connection}", settings.connection_calls_per_second, burst, min(weight, burst))

    def _take(self, key: str, rate: float, burst: float, weight: float = 1) -> None:
        now = self._loop.time()
        person = self._person(key, now, burst)
        tokens = min(burst, person.tokens + (now - person.at) * rate)
        person.at = now
        if tokens < weight:
            person.tokens = tokens
            raise refusals.failure(Code.RATE_LIMITED, retry_after_s=(weight - tokens) / rate)
        person.tokens = tokens - weight

    def open_stream(self, caller: Caller, connection: str) -> None:
        """Counts a stream; each is to be given back with ``close_stream``. Raises ``Failure`` ``rate_limited``."""
        if caller.bots:
            return
        most = self._settings.streams_per_identity
        person = self._person(caller.person, self._loop.time(), self._burst)
        if person.streams >= most:
            raise _too_many_streams("person", most)
        self.open_nameless(connection)
        person.streams += 1

    def open_nameless(self, connection: str) -> None:
        """Counts a stream of whoever it is, by its connection alone; to be given back with ``close_nameless``. Raises
        ``Failure`` likewise."""
        settings = self._settings
        through = self._person(f"via {connection}", self._loop.time(), float(settings.connection_calls_burst))
        if through.streams >= settings.streams_per_connection:
            raise _too_many_streams("connection", settings.streams_per_connection)
        through.streams += 1

    def close_stream(self, caller: Caller, connection: str) -> None:
        """Gives a stream back."""
        if not caller.bots:
            self._close(caller.person)
            self.close_nameless(connection)

    def close_nameless(self, connection: str) -> None:
        """Gives a stream back that was counted by its connection alone."""
        self._close(f"via {connection}")

    def _close(self, key: str) -> None:
        counted = self._persons.get(key)
        if counted is not None and counted.streams:
            counted.streams -= 1

    def _person(self, key: str, now: float, burst: float) -> _Person:
        person = self._persons.get(key)
        if person is None:
            if now - self._swept > FORGET_S:
                self._sweep(now)
            person = self._persons[key] = _Person(burst, now)
        return person

    def _sweep(self, now: float) -> None:
        self._swept = now
        settings = self._settings
        full_s = max(
            FORGET_S,
            self._burst / self._rate,
            settings.sign_ins_burst / settings.sign_ins_per_second,
            settings.connection_calls_burst / settings.connection_calls_per_second,
        )
        for key in [key for key, one in self._persons.items() if not one.streams and now - one.at > full_s]:
            del self._persons[key]

    def message(self) -> sessions_pb2.Limits:
        """What the server bounds, for clients."""
        settings = self._settings
        return sessions_pb2.Limits(
            message_in_bytes=MESSAGE_BYTES,
            message_out_bytes=MAX_ANSWER_BYTES,
            command_bytes=COMMAND_BYTES,
            streams_per_identity=settings.streams_per_identity,
            streams_per_connection=settings.streams_per_connection,
            commands_per_second=round(settings.commands_per_second),
            commands_burst=settings.commands_burst,
            open_tables_per_identity=settings.open_tables,
            viewers_per_table=settings.viewers_per_table,
            lots_per_side=LOTS_PER_SIDE,
            history_page=HISTORY_PAGE,
            chat_characters=CHAT_CHARACTERS,
            chat_lines_per_second=max(1, round(settings.chat_lines_per_second)),
            chat_lines_kept=CHAT_LINES_KEPT,
            pin_tries=PIN_TRIES,
            pin_window=duration_pb2.Duration(seconds=PIN_WINDOW_S),
            stream_queue=QUEUE,
        )


class Pace:
    """How long a stream that asks for too much is not read: until it may ask again, and twice as long each time that it
    then asks for too much at once. What it asks for when it may shortens that again."""

    __slots__ = ("_last_s", "_step_s", "due_s")

    def __init__(self, limits: Limits) -> None:
        self._step_s = limits.command_every_s
        self._last_s = 0.0
        self.due_s = 0.0
        """How long to wait before the next message is read, seconds; who waits sets it to 0."""

    def given(self) -> None:
        """Something was within the limits."""
        if self._last_s:
            self._last_s = max(0.0, self._last_s - self._step_s)

    def refused(self, retry_after_s: float) -> None:
        """Something was too much; how long until it would not be."""
        self._last_s = self.due_s = min(max(2 * self._last_s, retry_after_s), LONGEST_PAUSE_S)


def _too_many_streams(of: str, most: int) -> Failure:
    return refusals.failure(Code.RATE_LIMITED, f"One {of} has at most {most} streams.", retry_after_s=1)
