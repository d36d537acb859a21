"""A stream that comes back: opened, read, and opened again with what the follower has, until it is closed.

``Play`` and ``Watch`` say what to open and what a message means; when and why to come back is the same for both.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

import grpc
import grpc.aio

from omnipoly.client.backoff import Backoff
from omnipoly.client.refused import Refused
from omnipoly.wire.channels import EOF
from omnipoly.wire.malformed import Malformed

if TYPE_CHECKING:
    from omnipoly.client.connection import Tokens
    from omnipoly.wire.gen.gateway.v1 import stream_pb2

CLOSE_S = 2.0
"""How long the server gets to end a stream that we have half-closed."""

_FINAL = frozenset(
    (
        grpc.StatusCode.UNAUTHENTICATED,
        grpc.StatusCode.PERMISSION_DENIED,
        grpc.StatusCode.NOT_FOUND,
        grpc.StatusCode.INVALID_ARGUMENT,
        grpc.StatusCode.FAILED_PRECONDITION,
        grpc.StatusCode.UNIMPLEMENTED,
    )
)
"""Ends of a stream after which another one would end alike."""
_AGAIN = Refused("unavailable", "There is a new token.", status=grpc.StatusCode.UNAVAILABLE, retry_after_s=0)


class Stream:
    """The task that keeps one stream open."""

    def __init__(
        self,
        tokens: Tokens,
        open_: Callable[[Any], Any],
        begun: Callable[[Any], Awaitable[None]],
        heard: Callable[[Any], Awaitable[None]],
        renewed: Callable[[str], None],
        ended: Callable[[Refused | None], None],
    ) -> None:
        """``open_(metadata)`` makes the call. ``begun(call)`` says on a new one what it is for, until it ends.

        ``heard(response)`` takes each message. ``renewed(token)``: there is a new access token, under which the stream
        has to go on. ``ended`` is told once, when it is over for good, and why: ``None`` where it was closed.
        """
        self._tokens = tokens
        self._open = open_
        self._begun = begun
        self._heard = heard
        self._renewed = renewed
        self._ended = ended
        self._task: asyncio.Task[None] | None = None
        self._closing = asyncio.Event()
        self._call: Any = None
        self._renewal: asyncio.TimerHandle | None = None
        self._renew_at = 0.0
        """When the server wants to see us again, by the loop's clock; 0: it has not said."""
        self._token = ""
        self._heard_some = False
        self._renewed_in_vain = False
        """The last stream was refused before anything was heard, and its token was renewed for that."""
        self.opened = 0
        """How many streams were opened so far."""

    def start(self) -> None:
        """Open the stream, and keep it open."""
        self._task = asyncio.create_task(self._keep(), name="omnipoly-stream")

    async def close(self) -> None:
        """Close it, so that the server knows that it was meant."""
        self._closing.set()
        task, self._task = self._task, None
        if task is None:
            return
        call = self._call
        if call is not None and hasattr(call, "done_writing") and not call.done():
            # Where that does not end it, it is cancelled below.
            with contextlib.suppress(TimeoutError, grpc.aio.AioRpcError, asyncio.InvalidStateError):
                async with asyncio.timeout(CLOSE_S):
                    await _leave(call, task)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    def renew(self, after: stream_pb2.Reconnect) -> None:
        """The server ends this stream soon: open another, after the time it names."""
        after_s = after.after.seconds + after.after.nanos / 1e9
        self._cancel_renewal()
        call, loop = self._call, asyncio.get_running_loop()
        self._renew_at = loop.time() + after_s
        if call is not None:
            self._renewal = loop.call_later(after_s, call.cancel)

    def drop(self) -> None:
        """Break this stream now and open another."""
        if self._call is not None:
            self._call.cancel()

    async def _keep(self) -> None:
        backoff = Backoff()
        error: Refused | None = None
        try:
            while not self._closing.is_set():
                ended = await self._once(backoff)
                if ended is None:
                    continue
                if ended.status is grpc.StatusCode.UNAUTHENTICATED and self._tokens.renewable:
                    ended = await self._renew_token(ended)
                if ended.status in _FINAL and not self._heard_some:
                    error = ended
                    return
                await self._pause(max(backoff.pause_s(ended.retry_after_s), self._until_renewal_s()))
        except grpc.aio.UsageError:
            error = Refused("unavailable", "The connection is closed.", status=grpc.StatusCode.UNAVAILABLE)
        except Malformed as malformed:
            error = Refused("bad_request", f"What the server sends cannot be read: {malformed.sentence}.")
        except Exception as fault:
            error = Refused("internal", f"The stream's reader failed: {fault!r}.")
            raise
        finally:
            self._cancel_renewal()
            self._ended(error)

    async def _renew_token(self, ended: Refused) -> Refused:
        """The access token has ended under the stream. A new one that is refused at once is the end."""
        if not self._heard_some and self._renewed_in_vain:
            return ended
        self._renewed_in_vain = not self._heard_some
        try:
            await self._tokens.renew(self._token)
        except Refused as refused:
            self._heard_some = False
            return refused
        return _AGAIN

    async def _pause(self, pause_s: float) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(pause_s):
                await self._closing.wait()

    async def _once(self, backoff: Backoff) -> Refused | None:
        """One stream from its opening to its end; why it ended, ``None`` when the next one may follow at once."""
        self._heard_some = False
        self._renew_at = 0.0
        try:
            self._token = await self._tokens.current()
        except Refused as refused:
            return refused
        call = self._call = self._open((("authorization", f"Bearer {self._token}"),))
        self.opened += 1
        begun = asyncio.create_task(self._begin(call), name="omnipoly-stream-writer")
        renewer = asyncio.create_task(self._keep_token(), name="omnipoly-stream-renewer")
        try:
            while (response := await call.read()) is not EOF:
                if not self._heard_some:
                    self._heard_some = True
                    self._renewed_in_vain = False
                    backoff.reset()
                await self._heard(response)
                for one in response.along:
                    await self._heard(one)
        except grpc.aio.AioRpcError as error:
            return Refused.of_rpc(error)
        except asyncio.CancelledError:
            # Our own task's end goes on; a call that was cancelled under us is opened anew.
            if not call.cancelled() or _being_cancelled():
                raise
            return None
        finally:
            self._cancel_renewal()
            self._call = None
            begun.cancel()
            renewer.cancel()
            await asyncio.gather(begun, renewer, return_exceptions=True)
            call.cancel()
        # The server has let go of us, as one that drains does.
        return Refused("unavailable", "The stream was ended.", status=grpc.StatusCode.UNAVAILABLE)

    async def _keep_token(self) -> None:
        """Has the stream go on under a new token before its own ends."""
        backoff = Backoff()
        while not math.isinf(due_in_s := self._tokens.due_in_s):
            await asyncio.sleep(due_in_s)
            try:
                token = await self._tokens.current()
            except Refused as refused:
                if not refused.passing:
                    return  # the server ends the stream, and says why
                await asyncio.sleep(backoff.pause_s(refused.retry_after_s))
                continue
            backoff.reset()
            if token != self._token:
                self._token = token
                self._renewed(token)

    async def _begin(self, call: Any) -> None:
        # What is written on a call that has ended is lost; its reader hears why.
        with contextlib.suppress(grpc.aio.AioRpcError, grpc.aio.UsageError, asyncio.InvalidStateError):
            await self._begun(call)

    def _until_renewal_s(self) -> float:
        return max(0.0, self._renew_at - asyncio.get_running_loop().time()) if self._renew_at else 0.0

    def _cancel_renewal(self) -> None:
        if self._renewal is not None:
            self._renewal.cancel()
            self._renewal = None


async def _leave(call: Any, reader: asyncio.Task[None]) -> None:
    try:
        await call.done_writing()
        await asyncio.shield(reader)
    except asyncio.CancelledError:
        if _being_cancelled():
            raise  # else it was the call, which is renewed or dropped just now


def _being_cancelled() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0
