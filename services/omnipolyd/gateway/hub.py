"""What all RPCs of a gateway stand on."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import grpc
from google.protobuf import duration_pb2
from prometheus_client import Histogram

from omnipoly.rules.codes import Code
from omnipoly.runtime import failures, refusals, table_client
from omnipoly.runtime.failures import Failure
from omnipoly.wire.gen.gateway.v1 import stream_pb2
from omnipoly.wire.gen.table.v1 import chat_pb2

from . import frames, revocations

if TYPE_CHECKING:
    from .callers import Caller
    from .catalogue import Catalogue
    from .config import GatewaySettings
    from .limits import Limits
    from .presence import Presence
    from .records import Records
    from .revocations import Revocations
    from .rooms import Rooms
    from .streams import Stream
    from .upstream import Upstream
    from .viewers import Viewers


class Admitted(NamedTuple):
    """What somebody may do at a table."""

    seated: bool
    may_watch: bool
    """They have a seat, are its host, or are signed in, or guests may watch here (TUB-VIEWERS)."""


_SITS = frozenset(("join", "take_seat"))

COMMAND_SECONDS = Histogram(
    "omnipoly_gateway_command_seconds",
    "From when a command has come in to its table's answer, seconds, by outcome: ok, refused, failed (ours to mend).",
    ("outcome",),
    buckets=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10),
)
_ACCEPTED_AFTER, _REFUSED_AFTER, _FAILED_AFTER = map(COMMAND_SECONDS.labels, ("ok", "refused", "failed"))
_FAULTS = frozenset(
    (
        grpc.StatusCode.UNAVAILABLE,
        grpc.StatusCode.INTERNAL,
        grpc.StatusCode.UNKNOWN,
        grpc.StatusCode.DEADLINE_EXCEEDED,
        grpc.StatusCode.DATA_LOSS,
    )
)


class Hub:
    """The parts, and what several of them do together."""

    def __init__(
        self,
        settings: GatewaySettings,
        revoked: Revocations,
        known: Callable[[str], Caller],
        limits: Limits,
        catalogue: Catalogue,
        records: Records,
        upstream: Upstream,
        rooms: Rooms,
        presence: Presence,
        viewers: Viewers,
    ) -> None:
        self.settings = settings
        self.revoked = revoked
        self.known = known
        """Whose access token that is. Raises ``Failure``."""
        self.limits = limits
        self.catalogue = catalogue
        self.records = records
        self.upstream = upstream
        self.rooms = rooms
        rooms.sat = presence.sit
        self.presence = presence
        self.viewers = viewers
        self.stood_still_s: Callable[[], float] = lambda: 0.0
        """For how long this process stood still until just now: so long what it reads may have waited."""
        self.streams: set[Stream] = set()
        self._streams_gone = asyncio.Event()
        self._draining = False

    async def act(
        self, caller: Caller, kind: str, table: str, body: bytes, timeout_s: float, traceparent: str = ""
    ) -> Any:
        """Carries a command and shows what it led to; the table's ``ActResponse``. Raises ``Failure``."""
        timeout_s -= self.stood_still_s()
        if timeout_s <= 0:
            raise failures.deadline_passed()
        if kind == "take_seat" and caller.guest:
            # their own they may take back; anybody else's is for those who may watch (TUB-TAKEOVER)
            admitted = await self.admit(caller, table, "", timeout_s)
            if not admitted.may_watch:
                raise watching_refused()
        begun = time.perf_counter()
        try:
            answer = await self.upstream.act(kind, table, body, timeout_s, traceparent)
        except Failure as failure:
            taken = _FAILED_AFTER if failure.status in _FAULTS else _REFUSED_AFTER
            taken.observe(time.perf_counter() - begun)
            raise
        _ACCEPTED_AFTER.observe(time.perf_counter() - begun)
        self.rooms.take(table, answer)
        if kind in _SITS and not caller.bots:
            room = self.rooms.find(table)
            if room is not None:
                room.sit(caller.person)
        return answer

    async def admit(self, caller: Caller, table: str, pin: str, timeout_s: float) -> Admitted:
        """Asks the table to let somebody in. Raises ``Failure`` when it does not; the platform's bots may see all."""
        if caller.bots:
            return Admitted(seated=False, may_watch=True)
        answer = await self.upstream.admit(table, caller.identity, pin, timeout_s)
        seated = answer.seat >= 0
        return Admitted(seated, seated or answer.host or not caller.guest or self.settings.guests_watch)

    async def say(self, caller: Caller, table: str, command_id: str, text: str, timeout_s: float) -> Any:
        """Writes a line and shows it; the table's ``SayResponse``. Raises ``Failure``."""
        if caller.guest and not (await self.admit(caller, table, "", timeout_s)).may_watch:
            raise watching_refused()
        request = chat_pb2.SayRequest(table=table, identity=caller.identity, command_id=command_id, text=text)
        answer = chat_pb2.SayResponse.FromString(
            await self.upstream.tables.call(table, "Say", request, timeout_s, service=table_client.CHAT)
        )
        room = self.rooms.find(table)
        if room is not None:
            room.talk.take(answer.line.SerializeToString())
        return answer

    def called(self, caller: Caller, table: str, *, seated: bool) -> None:
        """A plain call about a table was answered: that counts as being there for a while."""
        if seated and not caller.bots:
            self.presence.called(caller.person, table)

    def opened(self, stream: Stream) -> None:
        """A stream has begun. Raises ``Failure`` UNAVAILABLE while the gateway drains."""
        if self._draining:
            raise failures.unavailable("This gateway is about to stop.", retry_after_s=0.1)
        self.streams.add(stream)
        self._streams_gone.clear()

    def closed(self, stream: Stream) -> None:
        """It has ended."""
        self.streams.discard(stream)
        if not self.streams:
            self._streams_gone.set()

    def end_revoked(self) -> None:
        """Ends the streams of sessions that are not good any more."""
        for stream in tuple(self.streams):
            failure = self.revoked.verdict(stream.caller.claims)
            if failure is not None:
                revocations.ENDED.inc()
                stream.outlet.end(failure)

    async def drain(self) -> None:
        """Sends every stream elsewhere, spread over a while, and returns when all have ended."""
        self._draining = True
        within_ms = self.settings.reconnect_within_s * 1000
        for stream in tuple(self.streams):
            after = duration_pb2.Duration()
            after.FromMilliseconds(round(random.uniform(0, within_ms)))
            message = stream_pb2.Reconnect(after=after, reason=stream_pb2.Reconnect.REASON_DRAINING)
            stream.move(frames.field(frames.RECONNECT, message.SerializeToString()))
        if self.streams:
            await self._streams_gone.wait()


def watching_refused() -> Failure:
    """The refusal of a guest who has no seat: watching needs a sign-in (TUB-VIEWERS)."""
    return refusals.failure(Code.SIGN_IN_REQUIRED, "Watching needs a sign-in that is not a guest's.")
