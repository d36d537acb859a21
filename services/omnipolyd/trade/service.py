"""The trade service: no store of its own, nothing that may not be lost, as many replicas as one likes.

Callers pick the replica by the table for what goes to a table, and by the person for lists and drafts: all drafts of a
person lie in one replica.
"""

from __future__ import annotations

import asyncio
from typing import ClassVar

from prometheus_client import Counter

from omnipoly.rules.actions import Accept, Offer, Refuse, Withdraw
from omnipoly.rules.codes import Code
from omnipoly.runtime import app, following, tracing, unary
from omnipoly.runtime.failures import Failure
from omnipoly.runtime.refusals import failure
from omnipoly.runtime.table_client import COMMITS, TableClient
from omnipoly.runtime.unary import Asked
from omnipoly.wire.gen.table.v1 import table_pb2

from . import servicer
from .book import TradeBook
from .config import TradeSettings
from .drafts import Drafts
from .offers import Offers
from .refusing import gone, quota

COMMANDS = Counter(
    "omnipoly_trade_commands_total",
    "Commands about offers by what became of them: carried to the table, or refused here and why.",
    ("action", "outcome"),
)


class TradeService(app.Service):
    """The way of an offer to its table, lists of open offers, drafts."""

    settings: TradeSettings
    uses_bus: ClassVar[bool] = True
    callers: ClassVar[tuple[str, ...]] = ("gateway",)

    async def start(self, running: app.App) -> None:
        """Begins to hear commits; what it knows comes with the first questions."""
        settings = self.settings
        self.tables = TableClient(await running.peers(settings.table_addr), key=running.instance)
        self.books = following.Follower("trade", self.tables, TradeBook, keep_s=2 * settings.repeats_for_s)
        self.offers = Offers(self.tables, self.books)
        self.drafts = Drafts(most=settings.drafts_kept, for_s=settings.drafts_for_s)
        running.tasks.spawn("trade-confirm", self.books.confirm)
        running.tasks.spawn("trade-look", self.books.keep_looking)
        await running.bus.subscribe(COMMITS, self.books.hear)
        running.bus.on_reconnect(self._reconnected)
        unary.serve(running, servicer.NAME, servicer.methods(self))

    async def stop(self) -> None:
        """Nothing has to be kept."""
        await self.books.close()

    async def _reconnected(self) -> None:
        self.books.look()

    # --- what is asked

    async def carry(
        self, act: table_pb2.ActRequest, action: Offer | Accept | Refuse | Withdraw, asked: Asked
    ) -> table_pb2.ActResponse:
        """The table's answer, or a refusal that the table need not be asked for."""
        kind = type(action).__name__.lower()
        code = await self._early(act, action)
        if code is not None:
            COMMANDS.labels(kind, code.value).inc()
            raise failure(code)
        COMMANDS.labels(kind, "carried").inc()
        with tracing.span_from(asked.traceparent, "trade.offer", kind="server", table=act.table):
            traceparent = tracing.current_traceparent() or asked.traceparent
            answer = await self.tables.act(act, asked.remaining_s(), traceparent)
        self.books.saw(act.table, answer.commits)
        return answer

    async def send_draft(
        self, draft: str, act: table_pb2.ActRequest, offer: Offer, asked: Asked
    ) -> table_pb2.ActResponse:
        """Offers a draft; it is gone once the table has accepted it."""
        answer = await self.carry(act, offer, asked)
        self.drafts.sent(act.identity.person, draft, act.command_id)
        return answer

    async def _early(self, act: table_pb2.ActRequest, action: Offer | Accept | Refuse | Withdraw) -> Code | None:
        book = self.books.known(act.table)
        if book is None:
            self.books.want(act.table)  # for the next one; this one does not wait for it
            return None
        if isinstance(action, Offer):
            if self._quota(book, act, action) is None:
                return None
            try:
                return self._quota(await self.books.current(act.table), act, action)
            except Failure:
                return None  # the table will say
        return Code.OFFER_GONE if gone(book, act.identity.person, action, act.command_id) else None

    def _quota(self, book: TradeBook, act: table_pb2.ActRequest, offer: Offer) -> Code | None:
        now_s = asyncio.get_running_loop().time()
        repeats_s = self.settings.repeats_for_s
        return quota(book, act.identity.person, offer, act.command_id, now_s=now_s, repeats_s=repeats_s)
