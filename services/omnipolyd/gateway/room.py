"""One followed table: what it has shown, who follows it, and how both stay in step with the log.

Commits come from three sides: answers to commands of this gateway, published messages, and pages fetched where there
is a gap. All go by version: older than shown is ignored, the next is shown, beyond it the gap is fetched. A new epoch
makes everything shown void: all followers get a fresh snapshot.

A follower is either *live*, so that whatever the room shows next is all it needs, or on its way there; between the last
look at the room's version and becoming live nothing is awaited.
"""

from __future__ import annotations

import asyncio
import random
from collections import deque
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from google.protobuf.message import DecodeError
from prometheus_client import Counter

from omnipoly.runtime import logging, tracing
from omnipoly.runtime.failures import Failure
from omnipoly.wire.gen.gateway.v1 import stream_pb2

from . import frames
from .decisions import Decisions
from .doorway import Doorway
from .talk import Talk

if TYPE_CHECKING:
    from .outlet import Follower
    from .upstream import Upstream

log = logging.get(__name__)

BUFFER = 256
"""Commits kept for those who come back."""
MISSED = 200
"""Who has missed more than this gets a snapshot: one page of commits."""
FAR = 1000
"""A gap beyond this is not fetched: all followers get a snapshot."""
PICTURE_AGE = 16
"""A picture serves newcomers until it is so many commits old."""
RETRY_S = 0.25
LONGEST_RETRY_S = 2.0

GAPS = Counter("omnipoly_gateway_gaps_total", "Gaps in a table's commits that were fetched.")
SNAPSHOTS = Counter("omnipoly_gateway_snapshots_total", "Snapshots sent to streams.")
EPOCHS = Counter("omnipoly_gateway_epochs_total", "Tables whose epoch rose while they were followed.")


class Room:
    """A table as this gateway shows it; lives as long as somebody follows it."""

    opened: asyncio.Future[None]
    """Done once what is published is heard here; nobody is let in before."""

    def __init__(
        self,
        table: str,
        upstream: Upstream,
        send_away: Callable[[Follower, stream_pb2.Left.Reason.ValueType], None],
        sat: Callable[[str, str], None],
        *,
        guests_watch: bool = False,
    ) -> None:
        """send_away: tells somebody why, and has them follow no longer. sat: told of a person who has a seat since a
        moment ago, and of the table. guests_watch: without a seat."""
        self.table = table
        self.send_away = send_away
        self._sat = sat
        self.known = False
        """Version and epoch are those of the log, or were a moment ago."""
        self.version = 0
        self.epoch = 0
        self.followers: dict[Follower, None] = {}
        self.shown_at = 0.0
        """When something was last shown, by the event loop's clock."""
        self.live: dict[Follower, None] = {}
        self.players: dict[str, list[Follower]] = {}
        """Followers that get prompts, by person."""
        self._upstream = upstream
        self._loop = asyncio.get_running_loop()
        self._buffer: deque[bytes] = deque(maxlen=BUFFER)
        """Ready-made messages of the last commits, up to ``version``."""
        self._ahead: dict[int, bytes] = {}
        self._wanted = 0
        """The highest version heard of in this epoch."""
        self._filling: asyncio.Task[None] | None = None
        self._picture: tuple[int, bytes] | None = None
        """(version, the answer as a ``Snapshot``'s bytes)."""
        self._no_older = 0
        """The version from which on a picture may be."""
        self._reading: asyncio.Task[None] | None = None
        self._holding: dict[Follower, None] = {}
        self.decisions = Decisions(self, upstream)
        self.talk = Talk(self, upstream)
        self.doorway = Doorway(self, upstream, guests_watch=guests_watch)

    def close(self) -> None:
        """Nobody follows it any more."""
        for task in (self._filling, self._reading):
            if task is not None:
                task.cancel()
        self.decisions.close()
        self.talk.close()
        self.doorway.close()

    # --- Commits

    def take(self, commit: bytes) -> bool:
        """A commit of this table, from wherever. False: it is of a history that is no more. Bytes that are no commit
        are ignored likewise, and the gap is found."""
        try:
            version, epoch = frames.head(commit)
        except DecodeError:
            log.warning("no_commit", table=self.table, size_bytes=len(commit))
            return False
        if epoch < self.epoch:
            return False
        if not self.known:
            if len(self._ahead) < BUFFER:
                self._ahead[version] = commit
        elif epoch > self.epoch:
            self._new_epoch(epoch)
        elif version == self.version + 1:
            self._show(version, commit)
            if self._ahead:
                self._show_ahead()
        elif version > self.version:
            if len(self._ahead) < BUFFER:
                self._ahead[version] = commit
            self.look(version, epoch)
        return True

    def is_behind(self, version: int, epoch: int) -> bool:
        """Whether the log is beyond all that was heard of it, in the same epoch."""
        return self.known and epoch == self.epoch and version > max(self.version, self._wanted)

    def look(self, version: int, epoch: int) -> None:
        """The log is said to be at ``version``: what is missing here is fetched."""
        if not self.known or epoch < self.epoch:
            return
        if epoch > self.epoch:
            self._new_epoch(epoch)
        elif version > self.version:
            self._wanted = max(self._wanted, version)
            if self._filling is None:
                self._filling = self._loop.create_task(self._fill(), name="room-fill")

    def _show(self, version: int, commit: bytes) -> None:
        data = frames.commit(commit)
        self.version = version
        self.shown_at = self._loop.time()
        self._buffer.append(data)
        if tracing.current_traceparent():
            with tracing.span_from("", "gateway.show", table=self.table, version=version, streams=len(self.live)):
                self._push(data)
        else:
            self._push(data)
        if self.decisions.waiting:
            self.decisions.show()
        if self._holding:
            self._release()

    def _push(self, data: bytes) -> None:
        for follower in tuple(self.live):
            follower.outlet.push(follower, data)

    def _show_ahead(self) -> None:
        while (commit := self._ahead.pop(self.version + 1, None)) is not None:
            self._show(self.version + 1, commit)
        if self._ahead:
            for version in [version for version in self._ahead if version <= self.version]:
                del self._ahead[version]

    async def _fill(self) -> None:
        """Fetches what is missing, until there is nothing more to fetch."""
        pause_s = RETRY_S
        try:
            while self.known and self._wanted > self.version:
                if self._wanted - self.version > FAR:
                    self._start_anew()
                    return
                epoch, before = self.epoch, self.version
                try:
                    page = await self._upstream.tables.commits(self.table, before)
                except Failure as failure:
                    log.info("gap_not_filled", table=self.table, cause=str(failure))
                else:
                    if page.epoch > self.epoch:
                        self._new_epoch(page.epoch)
                        return
                    if epoch == self.epoch and page.epoch == epoch:
                        for commit in page.commits:
                            self.take(commit)
                    if self.version > before:
                        GAPS.inc()
                        pause_s = RETRY_S
                        self.decisions.ask_all()
                        continue
                await asyncio.sleep(pause_s * random.uniform(0.5, 1))
                pause_s = min(2 * pause_s, LONGEST_RETRY_S)
        finally:
            self._filling = None

    def _new_epoch(self, epoch: int) -> None:
        """The log has another history now: nothing shown holds any more."""
        EPOCHS.inc()
        log.info("epoch_rose", table=self.table, old=self.epoch, new=epoch)
        self.epoch = epoch
        self._start_anew()
        self.doorway.forget()
        for follower in tuple(self._holding):  # what they wait for may never come
            follower.outlet.release(follower, 2**63)
        self._holding.clear()

    def _start_anew(self) -> None:
        """Everybody gets a snapshot; the room learns from it where the log is."""
        self.known = False
        self._buffer.clear()
        self._ahead.clear()
        self.decisions.forget()
        self.talk.forget()
        self._picture = None
        self._wanted = self._no_older = 0
        for follower in tuple(self.live):
            follower.outlet.fall_behind(follower)

    def _learn(self, version: int, epoch: int, last: Iterable[bytes] = ()) -> None:
        """Where the log is, when the room did not know; with the last commits up to there."""
        if 0 < self.epoch < epoch:
            self._new_epoch(epoch)
        self.known = True
        self.version, self.epoch = version, epoch
        self._buffer.clear()
        self._buffer.extend(frames.commit(commit) for commit in last)
        waiting, self._ahead = sorted(self._ahead.items()), {}
        for _, commit in waiting:
            self.take(commit)

    # --- Followers

    @property
    def viewers(self) -> set[str]:
        """The persons who follow without a seat."""
        return {one.caller.person for one in self.followers if not one.seated and not one.caller.bots}

    def join(self, follower: Follower) -> None:
        """Somebody will follow; ``enter`` brings them in."""
        self.followers[follower] = None
        if follower.plays:
            self.players.setdefault(follower.caller.person, []).append(follower)

    def leave(self, follower: Follower) -> None:
        """Somebody follows no more; answers they waited for go out as they are."""
        if follower not in self.followers:
            return
        del self.followers[follower]
        if follower.plays:
            players = self.players[follower.caller.person]
            players.remove(follower)
            if not players:
                del self.players[follower.caller.person]
        self.drop(follower)
        self._holding.pop(follower, None)
        follower.outlet.forget(follower)
        follower.outlet.release(follower, 2**63)

    def outdate_picture(self) -> None:
        """Somebody could not go on from what they were shown: pictures are not from before that any more."""
        if self.known:
            self._no_older = self.version

    def sit(self, person: str) -> None:
        """A person has taken a seat: their streams get prompts from now on."""
        self.doorway.sat(person)
        for follower in self.players.get(person, ()):
            if not follower.seated:
                follower.seated = True
                self._sat(person, self.table)

    def drop(self, follower: Follower) -> None:
        """Shows a follower nothing until they enter again."""
        follower.live = False
        self.live.pop(follower, None)

    async def enter(self, follower: Follower, resume: stream_pb2.Resume | None = None) -> None:
        """Brings a follower to where the room is: by what they missed, or by a snapshot. Raises ``Failure``."""
        await asyncio.shield(self.opened)
        if not follower.caller.bots:
            await self.talk.ready()
        if resume is not None:
            follower.chat = resume.chat
            if resume.version > 0 and await self._covered(resume.version, resume.epoch):
                self._begin(follower, resume.version)
                return
        while True:
            version, picture = await self._snapshot()
            if self._covers(version):
                SNAPSHOTS.inc()
                if resume is not None and resume.epoch != self.epoch:
                    follower.chat = 0  # numbers of another history
                self._begin(follower, version, _snapshot(picture, follower.chat))
                return
            self._picture = None

    def answer(self, follower: Follower, version: int, data: bytes) -> None:
        """Sends an answer behind the commits up to ``version``."""
        if follower.live and self.version >= version and not follower.held:
            follower.outlet.answer(data)
        else:
            follower.outlet.hold(follower, version, data)
            self._holding[follower] = None

    def _begin(self, follower: Follower, version: int, snapshot: bytes | None = None) -> None:
        """Sends what lies between ``version`` and the room's, then everything as it comes."""
        if follower not in self.followers:
            return
        outlet = follower.outlet
        outlet.behind.pop(follower, None)
        follower.live = True
        self.live[follower] = None
        first = [] if snapshot is None else [snapshot]
        missed = list(self._buffer)[len(self._buffer) - (self.version - version) :]
        for data in (*first, *missed):
            outlet.push(follower, data)
            if not follower.live:
                return  # it fell behind again
        self.talk.deliver(follower)
        if follower.live:
            outlet.push(follower, self.progress())
        if follower.held:
            self._release()

    def _covers(self, version: int) -> bool:
        return self.known and 0 <= self.version - version <= len(self._buffer)

    async def _covered(self, version: int, epoch: int) -> bool:
        """Whether what follows ``version`` is here, after a look into the log if that may help."""
        if self.known and (epoch != self.epoch or self.version - version > MISSED):
            return False
        if self._covers(version):
            return True
        page = await self._upstream.tables.commits(self.table, version)
        missed = page.version - version
        if page.epoch != epoch or page.epoch < self.epoch or missed != len(page.commits):
            return False  # the epoch may have risen meanwhile
        if not self.known:
            self._learn(page.version, page.epoch, page.commits)
        elif self.epoch == epoch and self.version < version:
            # they have seen more elsewhere than has been heard of here: nobody goes back to an older picture
            self.look(page.version, epoch)
            if self._filling is not None:
                await asyncio.shield(self._filling)
        elif self.epoch == epoch:
            before = self.version
            for commit in page.commits:
                self.take(commit)
            if self.version > before:
                self.decisions.ask_all()
            self._lengthen(version, page.commits)
        return self.epoch == epoch and self._covers(version)

    def _lengthen(self, after: int, commits: Iterable[bytes]) -> None:
        """Puts commits in front of the buffer that begin at ``after`` + 1, as far as they reach it and it has space."""
        first = self.version - len(self._buffer) + 1
        older = [frames.commit(commit) for commit in commits][: max(0, first - after - 1)]
        space = BUFFER - len(self._buffer)
        if space and after + len(older) == first - 1:
            self._buffer.extendleft(reversed(older[-space:]))

    async def _snapshot(self) -> tuple[int, bytes]:
        """A picture that is not too old, and its version; many who ask at once cause one read."""
        while True:
            oldest = max(self._no_older, self.version - PICTURE_AGE)
            if self.known and self._picture is not None and self._picture[0] >= oldest:
                return self._picture
            if self._reading is None:
                self._reading = self._loop.create_task(self._read(), name="room-read")
                self._reading.add_done_callback(_seen)
            await asyncio.shield(self._reading)

    async def _read(self) -> None:
        try:
            answer, version, epoch = await self._upstream.read(self.table, self.version if self.known else 0)
            if epoch < self.epoch or (self.known and epoch == self.epoch and version < self.version):
                await asyncio.sleep(RETRY_S)  # an answer from before the epoch rose, or from a replica behind
                return
            if not self.known or epoch > self.epoch:
                self._learn(version, epoch)
            elif version > self.version:
                self.look(version, epoch)
                if self._filling is not None:
                    await asyncio.shield(self._filling)
            if self.epoch == epoch and self.version >= version:
                resume = stream_pb2.Resume(epoch=epoch, version=version)
                self._picture = (version, answer + frames.field(2, resume.SerializeToString()))
        finally:
            self._reading = None

    def progress(self, server_time_ms: int = 0) -> bytes:
        """Says where the room is."""
        message = stream_pb2.Progress(
            table=self.table,
            version=self.version,
            resume=stream_pb2.Resume(epoch=self.epoch, version=self.version, chat=self.talk.last),
        )
        if server_time_ms:
            message.server_time.FromMilliseconds(server_time_ms)
        else:
            message.server_time.GetCurrentTime()
        return frames.field(frames.PROGRESS, message.SerializeToString())

    def show_progress(self, server_time_ms: int) -> None:
        """Tells everybody that there is nothing new."""
        self.shown_at = self._loop.time()
        data = self.progress(server_time_ms)
        for follower in tuple(self.live):
            follower.outlet.push(follower, data)

    def _release(self) -> None:
        for follower in tuple(self._holding):
            if follower.live:
                follower.outlet.release(follower, self.version)
                if not follower.held:
                    del self._holding[follower]


def _snapshot(picture: bytes, chat: int) -> bytes:
    """A picture for somebody who has heard the chat up to a line: where they stand with it says so, too."""
    if chat:
        picture += frames.field(2, stream_pb2.Resume(chat=chat).SerializeToString())
    return frames.field(frames.SNAPSHOT, picture)


def _seen(task: asyncio.Task[None]) -> None:
    """What a shared task raises goes to all who wait for it; that nobody does any more is no fault."""
    if not task.cancelled():
        task.exception()
