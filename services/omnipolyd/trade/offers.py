"""Each person's open offers, wherever they lie: from followed tables; a miss is read from the table."""

from __future__ import annotations

import asyncio
from collections import OrderedDict

from omnipoly.rules.codes import Code
from omnipoly.runtime import logging, page_tokens
from omnipoly.runtime.failures import Failure
from omnipoly.runtime.following import Follower
from omnipoly.runtime.table_client import TableClient
from omnipoly.wire.gen.game.v1 import table_pb2 as game_table_pb2
from omnipoly.wire.gen.game.v1 import trade_pb2
from omnipoly.wire.gen.table.v1 import table_pb2

from .book import TradeBook

log = logging.get(__name__)

SEATS_FOR_S = 5.0
"""How long it is believed at which tables somebody sits; a trade needs a seat held for longer than that."""
PERSONS_KEPT = 10_000
PLAYED = (game_table_pb2.TABLE_STATUS_PLAYING, game_table_pb2.TABLE_STATUS_PAUSED)


class Offers:
    """The lists."""

    def __init__(self, tables: TableClient, books: Follower[TradeBook]) -> None:
        self._tables = tables
        self._books = books
        self._sits: OrderedDict[str, tuple[float, list[str]]] = OrderedDict()
        """By person: until when it is believed, and the tables with a seat of theirs."""

    async def of(
        self, person: str, table: str, most: int, page_token: str
    ) -> tuple[list[trade_pb2.PersonalOffer], str]:
        """A page of the open offers from and to a person, by table, then the oldest first; and the next page's token.

        Raises the table's `Failure`, ``bad_request`` for a page token that is not ours.
        """
        after = _position(page_token)
        books = [await self._books.get(table)] if table else await self._followed(person)
        found = [offer for book in sorted(books, key=lambda book: book.table) for offer in book.offers_of(person)]
        found = [offer for offer in found if (offer.table, offer.offer.offer) > after]
        page = found[:most]
        more = len(found) > most
        return page, page_tokens.encode(page[-1].table, page[-1].offer.offer) if more else ""

    async def _followed(self, person: str) -> list[TradeBook]:
        async def get(table: str) -> TradeBook | None:
            try:
                return await self._books.get(table)
            except Failure as error:
                if error.reason != Code.TABLE_BROKEN:
                    raise
                log.info("offers_unread", table=table, error=str(error))
                return None

        books = await asyncio.gather(*(get(table) for table in await self._tables_of(person)))
        return [book for book in books if book is not None]

    async def _tables_of(self, person: str) -> list[str]:
        now = asyncio.get_running_loop().time()
        until, tables = self._sits.get(person, (0.0, []))
        if now < until:
            return tables
        found = set()
        for status in PLAYED:
            request = table_pb2.ListRequest(status=status, person=person, page_size=100)
            found |= {summary.table for summary in (await self._tables.list(request)).tables}
        tables = sorted(found)
        self._sits[person] = (now + SEATS_FOR_S, tables)
        self._sits.move_to_end(person)
        if len(self._sits) > PERSONS_KEPT:
            self._sits.popitem(last=False)
        return tables


def _position(page_token: str) -> tuple[str, int]:
    if not page_token:
        return ("", 0)
    table, number = page_tokens.decode(page_token, 2)
    return (table, page_tokens.decode_number(number))
