"""One table that bots sit at: who has an idea, when it is ripe, what became of it."""

from __future__ import annotations

import asyncio
import random
from typing import TYPE_CHECKING, NamedTuple, Protocol

import grpc
from prometheus_client import Counter

from omnipoly.client.refused import Refused
from omnipoly.rules.codes import Code
from omnipoly.rules.state import Phase
from omnipoly.runtime import logging

from . import ideas

if TYPE_CHECKING:
    from omnipoly.client.lobby import Answer
    from omnipoly.client.replica import TableReplica

    from .ideas import Idea

log = logging.get(__name__)

DECISIONS = Counter("omnipoly_bots_decisions_total", "Decisions of bots that were sent.")
REFUSED = Counter("omnipoly_bots_refused_total", "Decisions of bots that were refused.", ("code",))

AGAIN_S = 0.25
"""After a refusal that time alone mends and that does not say how long it takes."""
BROKEN_S = 5.0
"""After a refusal that is not about the game: the table is frozen or out of order, or nobody answers."""
NEVER = float("inf")
CLOCK_SHARE = 0.25
"""At most so much of what is left of its clock a bot spends on thinking."""

_PASSES = frozenset((Code.TOO_EARLY, Code.RATE_LIMITED, Code.OFFER_COOLDOWN))
"""Refusals that time alone mends."""
_RACES = frozenset((Code.STALE_VERSION, Code.STALE_PROMPT, Code.KEY_REUSED, Code.AUCTION_CLOSED, Code.GAME_OVER))
"""Refusals that only say that somebody else was faster, another replica among them."""


class Mind(Protocol):
    """What a table needs of the service."""

    async def act(self, table: str, idea: Idea) -> Answer:
        """Ask for it as that bot. Raises ``Refused``."""
        ...

    def thinking_s(self) -> float:
        """How long a bot thinks, this time."""
        ...

    @property
    def paused(self) -> bool:
        """Whether all bots stand still."""
        ...

    decisions: int
    refused: int


class _Blocked(NamedTuple):
    """A seat whose idea was refused: it is not asked for again on the same version, or not before a time."""

    version: int
    until: float
    """By the loop's clock."""


class _Ripening(NamedTuple):
    """Something a seat thinks about."""

    about: tuple[int, int]
    """The prompt, and how many things the seat has done in it."""
    at: float
    """When it acts, by the loop's clock."""


class BotTable:
    """Plays the bots of one table until it is over or has none left."""

    def __init__(self, mind: Mind, replica: TableReplica) -> None:
        self.replica = replica
        self._mind = mind
        self._changed = asyncio.Event()
        self._blocked: dict[int, _Blocked] = {}
        self._ripening: dict[int, _Ripening] = {}
        self._done: dict[int, tuple[int, int]] = {}
        """By seat: a prompt, and how many things were done in it."""

    def wake(self) -> None:
        """Something has changed."""
        self._changed.set()

    @property
    def seats(self) -> list[int]:
        """Seats that bots hold."""
        return ideas.bot_seats(self.replica.state)

    async def run(self) -> None:
        """Play until there is nothing left to play."""
        loop = asyncio.get_running_loop()
        while not self._over():
            self._changed.clear()
            idea, wait_s = self._next(loop.time())
            if idea is not None:
                await self._act(idea)
                continue
            try:
                async with asyncio.timeout(wait_s):
                    await self._changed.wait()
            except TimeoutError:
                continue

    def _over(self) -> bool:
        s = self.replica.state
        return s.phases[-1] is Phase.OVER or not ideas.bot_seats(s)

    def _next(self, now: float) -> tuple[Idea | None, float | None]:
        """The first ripe idea, else how long to wait for one; ``None``: until something changes."""
        replica = self.replica
        s = replica.state
        if self._mind.paused or ideas.rests(s):
            return None, None
        now_ms = replica.now_ms()
        soonest: float | None = None
        for seat in ideas.bot_seats(s):
            blocked = self._blocked.get(seat)
            if blocked is not None and blocked.version == replica.version and now < blocked.until:
                if blocked.until != NEVER:
                    soonest = _sooner(soonest, blocked.until)
                continue
            look = ideas.look(s, seat, replica.version, now_ms)
            if look.idea is not None:
                ripe_at = self._ripe_at(seat, now)
                if ripe_at <= now:
                    return look.idea, None
                soonest = _sooner(soonest, ripe_at)
            elif look.wakes_ms > now_ms:
                soonest = _sooner(soonest, now + (look.wakes_ms - now_ms) / 1000)
        return None, None if soonest is None else max(0.0, soonest - now)

    def _ripe_at(self, seat: int, now: float) -> float:
        """When a seat has thought long enough about what it is asked."""
        prompt = self.replica.state.prompt[seat]
        done = self._done.get(seat, (0, 0))
        about = (prompt, done[1] if done[0] == prompt else 0)
        ripening = self._ripening.get(seat)
        if ripening is None or ripening.about != about:
            thinks_s = self._mind.thinking_s()
            left_s = self.replica.left_s(seat)
            if left_s is not None:
                thinks_s = min(thinks_s, max(0.0, left_s * CLOCK_SHARE))
            ripening = self._ripening[seat] = _Ripening(about, now + thinks_s)
        return ripening.at

    async def _act(self, idea: Idea) -> None:
        seat, version = idea.seat, self.replica.version
        mind = self._mind
        mind.decisions += 1
        DECISIONS.inc()
        try:
            answer = await mind.act(self.replica.table, idea)
        except Refused as refused:
            mind.refused += 1
            REFUSED.labels(refused.code if refused.known is not None else "other").inc()
            self._block(idea, version, refused)
            return
        prompt = self.replica.state.prompt[seat]
        done = self._done.get(seat, (0, 0))
        self._done[seat] = (prompt, done[1] + 1 if done[0] == prompt else 0)
        if answer.duplicate and self.replica.version == version:
            # Another replica was faster, and its commit is on its way here.
            self._blocked[seat] = _Blocked(version, asyncio.get_running_loop().time() + BROKEN_S)

    def _block(self, idea: Idea, version: int, refused: Refused) -> None:
        """A refused idea is not repeated on the same version, unless time alone may mend it."""
        if refused.known in _PASSES or refused.status is grpc.StatusCode.RESOURCE_EXHAUSTED:
            wait_s = refused.retry_after_s or AGAIN_S
        elif refused.passing or refused.known in (None, Code.TABLE_BROKEN, Code.UNAVAILABLE):
            wait_s = BROKEN_S * random.uniform(1.0, 1.5)
        else:
            wait_s = NEVER
        if refused.known not in _RACES:
            log.info(
                "idea_refused",
                table=self.replica.table,
                version=version,
                seat=idea.seat,
                command_id=idea.command_id,
                kind=type(idea.action).__name__,
                code=refused.code,
            )
        self._blocked[idea.seat] = _Blocked(version, asyncio.get_running_loop().time() + wait_s)


def _sooner(one: float | None, other: float) -> float:
    return other if one is None else min(one, other)
