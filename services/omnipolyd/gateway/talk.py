"""The chat of a followed table: the lines that are kept, and how everybody who follows gets each of them once.

Lines come from three sides, as commits do: answers to this gateway's own, published ones, and pages fetched where there
is a gap, which the numbers tell. All lines that a table keeps are kept here, so that whoever comes needs no query.
"""

from __future__ import annotations

import asyncio
import random
from collections import deque
from typing import TYPE_CHECKING

from google.protobuf.message import DecodeError
from prometheus_client import Counter

from omnipoly.runtime import logging
from omnipoly.runtime.failures import Failure
from omnipoly.wire.gen.game.v1 import table_pb2
from omnipoly.wire.gen.gateway.v1 import play_pb2

from . import frames, limits

if TYPE_CHECKING:
    from .outlet import Follower
    from .room import Room
    from .upstream import Upstream

log = logging.get(__name__)

RETRY_S = 0.25
LONGEST_RETRY_S = 2.0

GAPS = Counter("omnipoly_gateway_chat_gaps_total", "Gaps in a table's chat that were fetched.")


class Talk:
    """The chat at one table."""

    def __init__(self, room: Room, upstream: Upstream) -> None:
        self.last = 0
        """The number of the last line shown."""
        self._room = room
        self._upstream = upstream
        self._known = False
        self._lines: deque[tuple[int, bytes]] = deque(maxlen=limits.CHAT_LINES_KEPT)
        """Ready-made messages by number, up to ``last``."""
        self._ahead: dict[int, bytes] = {}
        self._wanted = 0
        self._history = 0
        """Rises when nothing that was asked for before holds any more."""
        self._filling: asyncio.Task[None] | None = None

    def close(self) -> None:
        """Nobody follows any more."""
        if self._filling is not None:
            self._filling.cancel()

    def forget(self) -> None:
        """The log has another history, and with it the chat: everybody gets what is kept of it."""
        self._known = False
        self._history += 1
        self.last = self._wanted = 0
        self._lines.clear()
        self._ahead.clear()
        for follower in self._room.followers:
            follower.chat = 0

    # --- Lines

    def take(self, line: bytes) -> None:
        """A serialized line, from wherever. Bytes that are none are ignored, and the gap is found."""
        try:
            number = table_pb2.ChatLine.FromString(line).number
        except DecodeError:
            log.warning("no_line", table=self._room.table, size_bytes=len(line))
            return
        if not self._known or number > self.last + 1:
            if len(self._ahead) < limits.CHAT_LINES_KEPT:
                self._ahead[number] = line
            self.look(number)
        elif number == self.last + 1:
            self._show(number, line)
            self._show_ahead()

    def look(self, last: int) -> None:
        """The chat is said to be at ``last``: what is missing here is fetched."""
        self._wanted = max(self._wanted, last)
        if self._wanted > self.last:
            self._fill()

    async def ready(self) -> None:
        """Returns once what is kept is here, or cannot be had now: the chat keeps nobody from the game."""
        if not self._known:
            await asyncio.shield(self._fill())

    def _fill(self) -> asyncio.Task[None]:
        if self._filling is None:
            self._filling = asyncio.get_running_loop().create_task(self._fetch(), name="room-chat")
        return self._filling

    async def _fetch(self) -> None:
        """Fetches until nothing is missing; the first failure ends that where nothing is known yet."""
        pause_s = RETRY_S
        try:
            while not self._known or self._wanted > self.last:
                before, history = self.last, self._history
                try:
                    page = await self._upstream.lines(self._room.table, before)
                except Failure as failure:
                    log.info("chat_not_read", table=self._room.table, cause=str(failure))
                    if not self._known:
                        return  # whoever waits for it goes without; the next look at the heads tries again
                else:
                    if self._history != history:
                        continue
                    if self._known:
                        GAPS.inc()
                    self._known = True
                    for line in page.lines:
                        if line.number > self.last:  # lines that are kept no longer are passed over
                            self._show(line.number, line.SerializeToString())
                    self._show_ahead()
                    if self.last > before or page.last <= self.last:
                        self._wanted = page.last
                        pause_s = RETRY_S
                        continue
                await asyncio.sleep(pause_s * random.uniform(0.5, 1))
                pause_s = min(2 * pause_s, LONGEST_RETRY_S)
        finally:
            self._filling = None

    def _show(self, number: int, line: bytes) -> None:
        self.last = number
        self._lines.append((number, frames.field(frames.CHAT, line)))
        for follower in tuple(self._room.live):
            self.deliver(follower)

    def _show_ahead(self) -> None:
        while (line := self._ahead.pop(self.last + 1, None)) is not None:
            self._show(self.last + 1, line)
        for number in [number for number in self._ahead if number <= self.last]:
            del self._ahead[number]

    # --- Followers

    def deliver(self, follower: Follower) -> None:
        """Sends somebody all lines that they do not have; the platform's bots do not listen."""
        if follower.chat >= self.last or follower.caller.bots:
            return
        missed = min(len(self._lines), self.last - follower.chat)
        for number, frame in list(self._lines)[len(self._lines) - missed :]:
            if number > follower.chat:
                follower.chat = number
                follower.outlet.push(follower, frame)
                if not follower.live:
                    return  # it fell behind, and its place in the chat with it


def number_of(frame: bytes) -> int:
    """The number of the line that a ready-made message carries; 0 when it carries none."""
    if frame[0] != frames.CHAT << 3 | 2:
        return 0
    return play_pb2.PlayResponse.FromString(frame).chat.number
