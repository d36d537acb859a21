"""A ``Play`` stream: requests in, each answered when it is done, in whatever order that is."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from omnipoly.rules.codes import Code
from omnipoly.runtime import failures, interceptors, metrics, refusals, tracing
from omnipoly.runtime.failures import Failure
from omnipoly.runtime.server import EOF
from omnipoly.wire import actions
from omnipoly.wire.gen.gateway.v1 import play_pb2, stream_pb2
from omnipoly.wire.gen.table.v1 import table_pb2

from . import acting, callers, checks, frames, limits
from .streams import Stream, left

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from .hub import Hub
    from .outlet import Follower

IN_FLIGHT = 256
"""Requests of one stream that may be under way; beyond, the next is not read yet."""
BOTS_IN_FLIGHT = 4096
HALF_CLOSE_S = 0.05
"""A read that ends says that the client has closed its half, or, within this time, that the call is cancelled."""


class PlayStream(Stream):
    """One client's stream for playing."""

    kind = "play"
    plays = True
    sent = metrics.RPC_MSG_SENT.labels("bidi_stream", "omnipoly.gateway.v1.PlayService", "Play")

    def __init__(self, hub: Hub, caller: callers.Caller, context: Any) -> None:
        super().__init__(hub, caller, context)
        self._pace = limits.Pace(hub.limits)

    async def read(self) -> None:
        """Takes requests until the client closes its half. Raises ``Failure`` for what is no request at all."""
        most = BOTS_IN_FLIGHT if self.caller.bots else IN_FLIGHT
        read, take, pace = self._context.read, self._take, self._pace
        while (data := await read()) is not EOF:
            take(data)
            if pace.due_s:
                # Who asks for too much is not read for a while: what they send waits in the network.
                pause_s, pace.due_s = pace.due_s, 0.0
                await asyncio.sleep(pause_s)
            while len(self.tasks) >= most:
                await asyncio.wait(self.tasks, return_when=asyncio.FIRST_COMPLETED)
        await asyncio.sleep(HALF_CLOSE_S)
        self.closed()

    def _take(self, data: bytes) -> None:
        request = checks.parse(play_pb2.PlayRequest, data)
        kind = request.WhichOneof("request")
        if kind is None:
            self.refuse("", "", checks.bad("A request of no kind, or of one that is not known here."))
            return
        body = getattr(request, kind)
        try:
            self._hub.limits.command(self.caller)
            self._pace.given()
            getattr(self, f"_{kind}")(body, len(data))
        except Failure as failure:
            if failure.reason == Code.RATE_LIMITED and failure.retry_after_s:
                self._pace.refused(failure.retry_after_s)
            self.refuse(getattr(body, "command_id", "")[:64], getattr(body, "table", "")[:36], failure)

    # --- Acting

    def _act(self, act: play_pb2.Act, size_bytes: int) -> None:
        hub, caller = self._hub, self.caller
        checks.table(act.table)
        checks.command_id(act.command_id)
        kind = act.action.WhichOneof("kind")
        if kind is None or kind in actions.PLATFORM_KINDS:
            raise checks.bad("action: one that players have.")
        scripted = act.HasField("script")
        if not (scripted and hub.settings.dev):
            checks.command_size(size_bytes)
        if kind in acting.NAMED:
            acting.named(kind, act.action, caller)
        checks.tied(act.prompt_id, act.if_version)
        timed = act.HasField("timeout")
        timeout_s = checks.seconds("timeout", act.timeout) if timed else checks.USUAL_S
        request = table_pb2.ActRequest(
            table=act.table,
            action=act.action,
            command_id=act.command_id,
            prompt_id=act.prompt_id,
            if_version=act.if_version,
        )
        if timed:
            request.timeout.CopyFrom(act.timeout)
        if act.pin:
            checks.pin(act.pin)
            request.pin = act.pin
        if scripted:
            if not hub.settings.dev:
                raise checks.bad("script: this server does not run under --dev.")
            request.script.CopyFrom(act.script)
        traceparent = checks.traceparent(act.traceparent)
        if traceparent:
            request.traceparent = traceparent
        identity = caller.act_field
        if act.as_bot:
            identity = _as_bot(caller, act.as_bot)
        body = request.SerializeToString() + identity
        self.spawn(self._carry(act, kind, body, timeout_s, traceparent))

    async def _carry(self, act: play_pb2.Act, kind: str, body: bytes, timeout_s: float, traceparent: str) -> None:
        table, command_id = act.table, act.command_id
        try:
            with tracing.span_from(
                traceparent, "gateway.act", kind="server", action=kind, table=table, command_id=command_id
            ):
                traceparent = tracing.current_traceparent() or traceparent
                answer = await self._hub.act(self.caller, kind, table, body, timeout_s, traceparent)
        except Failure as failure:
            self.refuse(command_id, table, failure)
            return
        except Exception as error:  # noqa: BLE001 - logged there, answered here
            self.refuse(command_id, table, interceptors.internal(error, "play.act", table=table))
            return
        version = answer.version
        accepted = play_pb2.Accepted(
            command_id=command_id, table=table, version=version, duplicate=answer.duplicate
        ).SerializeToString()
        data = frames.field(frames.ACCEPTED, accepted)
        follower = self.follows.get(table)
        if follower is None:
            self.outlet.answer(data)
        else:
            follower.room.answer(follower, version, data)

    def refuse(self, command_id: str, table: str, failure: Failure) -> None:
        """Tells the client that a request was refused."""
        message = play_pb2.Refused(command_id=command_id, table=table, status=failures.to_status(failure))
        self.outlet.answer(frames.field(frames.REFUSED, message.SerializeToString()))

    # --- The other requests

    def _follow(self, request: play_pb2.Follow, _size_bytes: int) -> None:
        checks.table(request.table)
        checks.pin(request.pin)
        most = self._hub.settings.followed_tables
        if len(self.follows) >= most and request.table not in self.follows and not self.caller.bots:
            raise refusals.failure(Code.RATE_LIMITED, f"One stream follows at most {most} tables.")
        follower = self.follow(request.table)
        self._answering("", request.table, self._bring_in(follower, request))

    async def _bring_in(self, follower: Follower, request: play_pb2.Follow) -> None:
        resume = request.resume if request.HasField("resume") else None
        await self.enter(follower, resume, request.pin)

    def _unfollow(self, request: play_pb2.Unfollow, _size_bytes: int) -> None:
        checks.table(request.table)
        follower = self.follows.get(request.table)
        if follower is not None:
            self.unfollow(follower)
        self.outlet.answer(left(request.table, stream_pb2.Left.REASON_UNFOLLOWED))

    def _renew(self, request: play_pb2.Renew, _size_bytes: int) -> None:
        caller = self._hub.known(request.access_token)
        self.renew(caller)
        renewed = play_pb2.Renewed()
        renewed.expires.FromSeconds(round(caller.claims.expires_s))
        self.outlet.answer(frames.field(frames.RENEWED, renewed.SerializeToString()))

    def _ask_legal(self, request: play_pb2.AskLegal, _size_bytes: int) -> None:
        checks.table(request.table)
        self._answering("", request.table, self._tell_legal(request.table))

    async def _tell_legal(self, table: str) -> None:
        room = self._hub.rooms.find(table)
        at_least = room.version if room is not None and room.known else 0
        answer = await self._hub.upstream.legal(table, self.caller.person, at_least)
        self.outlet.answer(frames.field(frames.LEGAL, answer.prompt.SerializeToString()))

    def _say(self, request: play_pb2.Say, size_bytes: int) -> None:
        checks.table(request.table)
        checks.command_id(request.command_id)
        checks.command_size(size_bytes)
        self._answering(request.command_id, request.table, self._write_line(request))

    async def _write_line(self, request: play_pb2.Say) -> None:
        table, command_id = request.table, request.command_id
        answer = await self._hub.say(self.caller, table, command_id, request.text, checks.USUAL_S)
        accepted = play_pb2.Accepted(
            command_id=command_id, table=table, version=answer.line.number, duplicate=answer.duplicate
        )
        self.outlet.answer(frames.field(frames.ACCEPTED, accepted.SerializeToString()))

    def _answering(self, command_id: str, table: str, work: Coroutine[Any, Any, None]) -> None:
        """Runs what ends in a refusal if it fails."""

        async def run() -> None:
            try:
                await work
            except Failure as failure:
                self.refuse(command_id, table, failure)
            except Exception as error:  # noqa: BLE001 - logged there, answered here
                self.refuse(command_id, table, interceptors.internal(error, "play.request", table=table))

        self.spawn(run())


def _as_bot(caller: callers.Caller, bot: str) -> bytes:
    if not caller.bots:
        raise refusals.failure(Code.NOT_SEATED, "Only the platform's own bots act as a bot.")
    checks.bot(bot)
    return callers.bot_field(bot)
