"""The auction service: no store of its own, nothing that may not be lost, as many replicas as one likes."""

from __future__ import annotations

from typing import ClassVar

from omnipoly.rules.actions import Bid, Pass
from omnipoly.rules.codes import Code
from omnipoly.runtime import app, following, unary
from omnipoly.runtime.refusals import failure
from omnipoly.runtime.table_client import COMMITS, TableClient
from omnipoly.runtime.unary import Asked
from omnipoly.wire.gen.game.v1 import auction_pb2
from omnipoly.wire.gen.table.v1 import table_pb2

from . import servicer
from .book import AuctionBook
from .config import AuctionSettings
from .intake import Intake, Pace
from .watching import Watching


class AuctionService(app.Service):
    """The way of a bid to its table, and pictures of auctions."""

    settings: AuctionSettings
    uses_bus: ClassVar[bool] = True
    callers: ClassVar[tuple[str, ...]] = ("gateway",)

    async def start(self, running: app.App) -> None:
        """Begins to hear commits; what it knows comes with the first bids."""
        settings = self.settings
        tables = TableClient(await running.peers(settings.table_addr), key=running.instance)
        self.books = following.Follower("auction", tables, AuctionBook)
        self.intake = Intake(
            tables,
            self.books,
            at_once=settings.bids_at_table,
            most=settings.bids_waiting,
            pace=Pace(settings.bids_per_second, settings.bids_burst),
        )
        self.watching = Watching(self.books, most=settings.auction_followers)
        running.tasks.spawn("auction-confirm", self.books.confirm)
        running.tasks.spawn("auction-look", self.books.keep_looking)
        await running.bus.subscribe(COMMITS, self.books.hear)
        running.bus.on_reconnect(self._reconnected)
        unary.serve(running, servicer.NAME, servicer.methods(self), servicer.streams(self))

    async def drain(self) -> None:
        """Those who follow are sent to another replica; bids under way are answered."""
        self.watching.end()

    async def stop(self) -> None:
        """Nothing has to be kept."""
        await self.books.close()

    async def _reconnected(self) -> None:
        self.books.look()

    # --- what is asked

    async def carry(self, act: table_pb2.ActRequest, action: Bid | Pass, asked: Asked) -> table_pb2.ActResponse:
        """Carries a bid or a pass to its table."""
        return await self.intake.carry(act, action, asked)

    async def picture(self, table: str, auction: int, at_least: int) -> auction_pb2.AuctionPicture:
        """An auction as it stands; 0: the running one.

        Raises the table's `Failure`, and ``auction_closed`` when none runs or its end is forgotten.
        """
        book = await self.books.get(table, at_least)
        if auction not in {0, book.running} and auction not in book.ended:
            book = await self.books.current(table)
        if book.running and auction in {0, book.running}:
            return book.picture()
        if auction in book.ended:
            return book.ended[auction]
        raise failure(Code.AUCTION_CLOSED)
