"""Open decisions at a followed table: told by the table with the commit that opened them, or asked for.

A decision is shown behind its commit, to all streams of its person that follow the table. Whoever comes, comes back or
may have missed one has it asked for, until there is an answer: nobody runs into the clock of what they were not shown.
"""

from __future__ import annotations

import asyncio
import random
from collections import deque
from collections.abc import Iterable
from typing import TYPE_CHECKING

import grpc

from omnipoly.runtime import logging
from omnipoly.runtime.failures import Failure

from . import frames

if TYPE_CHECKING:
    from .outlet import Follower
    from .room import Room
    from .upstream import Upstream

log = logging.get(__name__)

KEPT = 256
"""Versions whose decisions may wait for their commit."""
HEARD = 64
"""Versions remembered, so that what is both answered and published is shown once."""
RECENT = 8
"""Of so many of the last versions it is asked what they opened, where that may have been told to nobody."""
ASK_AGAIN = 8
"""How often a decision is asked for in a row while others overtake the answer; then with pauses."""
RETRY_S = 0.25
LONGEST_RETRY_S = 2.0
LASTING = frozenset(
    (
        grpc.StatusCode.PERMISSION_DENIED,  # they have no seat (any more)
        grpc.StatusCode.NOT_FOUND,
        grpc.StatusCode.INVALID_ARGUMENT,
        grpc.StatusCode.FAILED_PRECONDITION,
        grpc.StatusCode.UNAUTHENTICATED,
        grpc.StatusCode.UNIMPLEMENTED,
    )
)
"""Refusals that stay what they are, however often is asked."""


class Decisions:
    """Decisions at one table."""

    def __init__(self, room: Room, upstream: Upstream) -> None:
        self.waiting: dict[int, list[tuple[str | Follower, bytes]]] = {}
        """To be shown once a version is: each with its person, or with the one stream that asked; none open: empty."""
        self._room = room
        self._upstream = upstream
        self._heard: deque[int] = deque(maxlen=HEARD)
        self._asking: dict[Follower, asyncio.Task[None]] = {}

    def close(self) -> None:
        """Ends what is under way."""
        for task in self._asking.values():
            task.cancel()

    def forget(self) -> None:
        """Nothing told so far holds any more, nor what is being answered; who follows asks once they are back."""
        self.close()
        self._asking.clear()
        self.waiting.clear()
        self._heard.clear()
        for follower in self._room.followers:
            follower.prompted = 0

    def told(self, version: int, prompts: Iterable[tuple[str, bytes]]) -> None:
        """What the commit of ``version`` opened, by person: shown once it is."""
        if version not in self._heard:
            self._heard.append(version)
            self._wait(version, prompts)

    def untold(self, version: int) -> None:
        """A commit of just now was there already when its command came again: whoever made it may have told nobody what
        it opened, so everybody's is asked for, once."""
        if version not in self._heard and self._room.version - RECENT < version <= self._room.version:
            self._heard.append(version)
            self.ask_all()

    def show(self) -> None:
        """Shows what is no longer to wait."""
        for version in sorted(version for version in self.waiting if version <= self._room.version):
            for whose, prompt in self.waiting.pop(version):
                data = frames.field(frames.PROMPT, prompt) if prompt else b""
                if isinstance(whose, str):
                    self._room.sit(whose)  # who is asked has a seat, wherever they have taken it
                for follower in self._room.players.get(whose, ()) if isinstance(whose, str) else (whose,):
                    # One told late says nothing to who has asked since.
                    if follower.live and version > follower.prompted:
                        follower.prompted = version
                        if data:
                            follower.outlet.push(follower, data)

    def ask_all(self) -> None:
        """Asks for everybody's: what told of them may be lost."""
        for follower in self._room.followers:
            self.ask(follower)

    def ask(self, follower: Follower) -> None:
        """Asks for the decision of a follower who has a seat, and shows it on that stream."""
        if follower.plays and follower.seated and follower not in self._asking:
            task = asyncio.get_running_loop().create_task(self._ask(follower), name="room-ask")
            self._asking[follower] = task

    async def _ask(self, follower: Follower) -> None:
        room = self._room
        overtaken, pause_s = 0, RETRY_S
        try:
            while follower in room.followers:
                try:
                    answer = await self._upstream.legal(
                        room.table, follower.caller.person, room.version, answers_only=True
                    )
                except Failure as failure:
                    if failure.status in LASTING:
                        return
                    log.info("prompt_not_asked", table=room.table, cause=str(failure))
                else:
                    if answer.version >= room.version:
                        prompt = answer.prompt.SerializeToString() if answer.prompt.prompt_id else b""
                        self._wait(answer.version, [(follower, prompt)])
                        return
                    # what came meanwhile may have changed it
                    overtaken += 1
                    if overtaken < ASK_AGAIN:
                        continue
                await asyncio.sleep(pause_s * random.uniform(0.5, 1))
                pause_s = min(2 * pause_s, LONGEST_RETRY_S)
        finally:
            if self._asking.get(follower) is asyncio.current_task():
                del self._asking[follower]

    def _wait(self, version: int, prompts: Iterable[tuple[str | Follower, bytes]]) -> None:
        self.waiting.setdefault(version, []).extend(prompts)
        self.show()
        if len(self.waiting) > KEPT:
            del self.waiting[min(self.waiting)]
