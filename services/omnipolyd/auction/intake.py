"""The way of a bid: at each table in the order they came, so many under way at once, the rest waiting in line.

While a bid waits, those before it are decided: what has become too low by then never reaches the table.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict

from prometheus_client import Counter, Gauge

from omnipoly.rules.actions import Bid, Pass
from omnipoly.rules.codes import Code
from omnipoly.runtime import failures, tracing
from omnipoly.runtime.failures import Failure
from omnipoly.runtime.following import Follower
from omnipoly.runtime.refusals import failure
from omnipoly.runtime.table_client import TableClient
from omnipoly.runtime.unary import Asked
from omnipoly.wire.gen.table.v1 import table_pb2

from .book import AuctionBook
from .refusing import How, early

BIDS = Counter(
    "omnipoly_auction_bids_total",
    "Bids and passes by what became of them: carried to the table, or refused here and why.",
    ("outcome",),
)
WAITING = Gauge("omnipoly_auction_bids_waiting", "Bids and passes that wait in line or are under way.")


class _Lane:
    """The line of one table."""

    __slots__ = ("turn", "waiting")

    def __init__(self, at_once: int) -> None:
        self.turn = asyncio.Semaphore(at_once)  # first come, first served
        self.waiting = 0


class Intake:
    """Takes bids and passes, refuses what is surely refused, and carries the rest to their tables."""

    def __init__(
        self, tables: TableClient, books: Follower[AuctionBook], *, at_once: int, most: int, pace: Pace
    ) -> None:
        """at_once: bids of one table under way to it. most: bids that may wait for one table."""
        self._tables = tables
        self._books = books
        self._at_once = at_once
        self._most = most
        self._pace = pace
        self._lanes: dict[str, _Lane] = {}

    async def carry(self, act: table_pb2.ActRequest, action: Bid | Pass, asked: Asked) -> table_pb2.ActResponse:
        """The table's answer. Raises its `Failure`, a refusal of ours, or RESOURCE_EXHAUSTED when the line is full."""
        table, actor = act.table, act.identity.person
        wait_s = self._pace.wait_s(table, actor, asyncio.get_running_loop().time())
        if wait_s:
            BIDS.labels("too_fast").inc()
            raise failure(Code.RATE_LIMITED, retry_after_s=wait_s)
        lane = self._lanes.get(table)
        if lane is None:
            lane = self._lanes[table] = _Lane(self._at_once)
        if lane.waiting >= self._most:
            BIDS.labels("line_full").inc()
            raise failures.overloaded("Too many bids wait for this table.")
        lane.waiting += 1
        WAITING.inc()
        try:
            try:
                async with asyncio.timeout_at(asked.deadline):
                    await lane.turn.acquire()
            except TimeoutError:
                BIDS.labels("timed_out").inc()
                raise failures.deadline_passed() from None
            try:
                return await self._carry(act, action, asked)
            finally:
                lane.turn.release()
        finally:
            WAITING.dec()
            lane.waiting -= 1
            if not lane.waiting:
                del self._lanes[table]

    async def _carry(self, act: table_pb2.ActRequest, action: Bid | Pass, asked: Asked) -> table_pb2.ActResponse:
        refusal = await self._early(act, action)
        if refusal is not None:
            BIDS.labels(refusal.reason).inc()
            raise refusal
        BIDS.labels("carried").inc()
        with tracing.span_from(asked.traceparent, "auction.bid", kind="server", table=act.table):
            traceparent = tracing.current_traceparent() or asked.traceparent
            answer = await self._tables.act(act, asked.remaining_s(), traceparent)
        self._books.saw(act.table, answer.commits)
        return answer

    async def _early(self, act: table_pb2.ActRequest, action: Bid | Pass) -> Failure | None:
        book = self._books.known(act.table)
        if book is None:
            self._books.want(act.table)  # for the next one; this one does not wait for it
            return None
        actor, command_id = act.identity.person, act.command_id
        verdict = early(book, actor, action, command_id)
        if verdict is not None and verdict.how is How.CONFIRM:
            try:
                book = await self._books.current(act.table)
            except Failure:
                return None  # the table will say
            verdict = early(book, actor, action, command_id)
        return None if verdict is None else failure(verdict.code)


class Pace:
    """How fast one person may bid at one table: so many a second, so many at once after a rest."""

    def __init__(self, per_second: float, burst: int, *, most: int = 100_000) -> None:
        """most: persons at tables that are remembered; whoever is forgotten begins rested."""
        self._per_second = per_second
        self._burst = burst
        self._most = most
        self._ready: OrderedDict[tuple[str, str], float] = OrderedDict()
        """When each would be fully rested, seconds."""

    def wait_s(self, table: str, person: str, now: float) -> float:
        """Takes one bid in, 0; or says how long to wait for the next one, seconds."""
        key = (table, person)
        rested = max(self._ready.get(key, now), now) + 1 / self._per_second
        over = rested - now - self._burst / self._per_second
        if over > 1e-9:
            return over
        self._ready[key] = rested
        self._ready.move_to_end(key)
        if len(self._ready) > self._most:
            self._ready.popitem(last=False)
        return 0.0
