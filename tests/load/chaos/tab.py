"""A stream of somebody's that comes back, by turns to another gateway, and goes on where it was."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from random import Random
from typing import Any

import grpc.aio

from omnipoly.wire.gen.game.v1 import view_pb2
from omnipoly.wire.gen.gateway.v1 import play_pb2, stream_pb2, watch_pb2
from tests.load.along import each

from .journal import Journal, digest
from .line import Line

EOF: Any = grpc.aio.EOF  # type: ignore[attr-defined]  # missing in the stubs
PATIENCE_S = 10.0
"""So long the end of a game is waited for; longer than a stream may be silent."""
_COMMIT = 0x0A
"""The tag of a commit in what streams carry."""


def _is_cancelled() -> bool:
    """Whether it is this task that is to end, and not the stream that it reads or writes."""
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


class Tab:
    """One stream at a time; what it shows of its table is written down and then told."""

    def __init__(
        self,
        number: int,
        line: Line,
        journal: Journal,
        random: Random,
        heard: Callable[[Any, int], None],
        *,
        watches: bool = False,
    ) -> None:
        """number: of this person's tabs. heard: is given each message and its stream's number, and None at the
        stream's end. watches: a viewer's.
        """
        self.gateway = line.gateways[(number + random.randrange(2)) % len(line.gateways)]
        self.stream = 0
        """The number of the present stream; over all tabs of a person none has it twice."""
        self._number = number
        self._line = line
        self._journal = journal
        self._random = random
        self._heard = heard
        self._watches = watches
        self._table = ""
        self._epoch = self._version = 0
        self._call: Any = None
        self._task: asyncio.Task[None] | None = None
        self._streams = 0
        self._pause_s = 0.0
        self._forget = False
        self._entered = False
        """The present stream has shown something."""
        self._over = asyncio.Event()
        """The game that is followed was shown to its end."""
        self._writes = asyncio.Lock()
        """A stream takes one message at a time."""

    def follow(self, table: str) -> None:
        """From now on shows this table."""
        self._table, self._epoch, self._version = table, 0, 0
        self._over.clear()
        self._task = asyncio.create_task(self._keep(), name="tab")

    async def leave(self) -> None:
        """Closes the stream, as somebody does who means to: when it has shown the end of the game, or will not."""
        task = self._task
        if task is None:
            return
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(PATIENCE_S):
                await self._over.wait()
        if self._task is not task:
            return
        self._task = None
        call = self._call
        if call is not None and not self._watches and not call.done():
            try:
                async with asyncio.timeout(2):
                    await call.done_writing()
                    await asyncio.shield(task)
            except (TimeoutError, grpc.aio.AioRpcError, asyncio.InvalidStateError, asyncio.CancelledError):
                task.cancel()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    def drop(self, away_s: float, *, forget: bool) -> None:
        """Breaks the stream; it comes back after a while, from where it was or (forget) from nothing."""
        self._pause_s, self._forget = away_s, forget
        if self._call is not None:
            self._call.cancel()

    async def send(self, request: play_pb2.PlayRequest) -> bool:
        """Writes a request; false when there is no stream to write it on."""
        call = self._call
        if call is None:
            return False
        try:
            async with self._writes:
                await call.write(request.SerializeToString())
        except (grpc.aio.AioRpcError, grpc.aio.UsageError, asyncio.InvalidStateError):
            return False
        except asyncio.CancelledError:
            if _is_cancelled():
                raise
            return False  # the stream is: another one follows
        return True

    # --- within

    async def _keep(self) -> None:
        while True:
            try:
                how = await self._once()
            except asyncio.CancelledError:
                self._journal.write("closed", s=self.stream, how="left")
                raise
            self._journal.write("closed", s=self.stream, how="left" if self._task is None else how)
            self._heard(None, self.stream)
            if self._task is None:
                return
            if how != "dropped" or self._random.random() < 0.5:
                self.gateway = self._line.other(self.gateway)
            pause_s, self._pause_s = self._pause_s, 0.0
            await asyncio.sleep(max(pause_s, self._random.uniform(0.05, 0.6)))
            if self._forget:
                self._forget, self._epoch, self._version = False, 0, 0

    async def _once(self) -> str:
        """One stream, from its opening to its end; how it ended."""
        self._streams += 1
        self.stream = 1000 * self._number + self._streams
        self._entered = False
        self._journal.write("stream", s=self.stream, on=self.gateway)
        self._journal.write("follow", s=self.stream, table=self._table, version=self._version, epoch=self._epoch)
        resume = stream_pb2.Resume(epoch=self._epoch, version=self._version) if self._version else None
        try:
            if self._watches:
                request = watch_pb2.WatchRequest(table=self._table, resume=resume)
                call = self._call = self._line.watch(self.gateway, request)
            else:
                call = self._call = self._line.play(self.gateway)
                first = play_pb2.PlayRequest(follow=play_pb2.Follow(table=self._table, resume=resume))
                await call.write(first.SerializeToString())
            while (data := await call.read()) is not EOF:
                taken = [self._take(one) for one in each(data)]
                if True in taken:
                    return "sent away"
        except grpc.aio.AioRpcError as error:
            return f"{error.code().name}: {(error.details() or '')[:100]}"
        except asyncio.InvalidStateError:
            return "broken"
        except asyncio.CancelledError:
            if _is_cancelled():
                raise
            return "dropped"
        finally:
            call, self._call = self._call, None
            if call is not None:
                call.cancel()
        return "ended"

    def _take(self, data: bytes) -> bool:
        """Takes a message in; whether the server wants to be rid of this stream."""
        response: Any = (watch_pb2.WatchResponse if self._watches else play_pb2.PlayResponse).FromString(data)
        kind = response.WhichOneof("response")
        if kind == "commit":
            self._shows("commit", response.commit, sha=digest(_body(data)))
            if any(event.HasField("game_ended") for event in response.commit.events):
                self._over.set()
        elif kind == "snapshot":
            view = response.snapshot.view
            self._shows("picture", view, **money(view))
            if view.ended:
                self._over.set()
        elif kind == "progress":
            resume = response.progress.resume
            self._write("level", response.progress.table, response.progress.version, resume.epoch)
        self._heard(response, self.stream)
        if kind == "refused" and not response.refused.command_id and not self._entered:
            return True  # it does not let us in (now)
        return kind in {"reconnect", "left"}

    def _shows(self, kind: str, shown: Any, **more: Any) -> None:
        self._write(kind, shown.table, shown.version, shown.epoch, **more)
        self._epoch, self._version = shown.epoch, shown.version

    def _write(self, kind: str, table: str, version: int, epoch: int, **more: Any) -> None:
        self._journal.write(kind, s=self.stream, table=table, version=version, epoch=epoch, **more)
        self._entered = True


def money(view: view_pb2.TableView) -> dict[str, Any]:
    """What a picture says of cash and of who owns what."""
    return {
        "cash": [seat.cash for seat in view.seats] if view.in_play else [],
        "owner": {str(at): field.owner for at, field in enumerate(view.fields) if field.owner >= 0},
        "casino": view.casino,
        "bank": view.bank,
    }


def _body(data: bytes) -> bytes:
    """The commit's bytes in a message that is nothing but one."""
    if data[0] != _COMMIT:
        raise ValueError("a commit is the only field of its message")
    at, size, shift = 1, 0, 0
    while True:
        byte = data[at]
        at += 1
        size |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            break
    if len(data) != at + size:
        raise ValueError("a commit is the only field of its message")
    return data[at:]
