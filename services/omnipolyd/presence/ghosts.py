"""Whom tables believe to be connected though nobody has a word of them: after a start from nothing.

When no lease outlived the stop of everything, the last picture of who is there is the tables' own. It is believed until
gateways have had a lease period to report; whoever a table then still counts as connected is gone as broken.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from prometheus_client import Counter

from omnipoly.rules.codes import Code
from omnipoly.runtime import logging
from omnipoly.runtime.failures import Failure
from omnipoly.runtime.table_client import TableClient
from omnipoly.wire.gen.game.v1 import table_pb2 as game_table_pb2
from omnipoly.wire.gen.game.v1 import types_pb2
from omnipoly.wire.gen.table.v1 import table_pb2

from .clock import Clock

log = logging.get(__name__)

PLAYED = (game_table_pb2.TABLE_STATUS_LOBBY, game_table_pb2.TABLE_STATUS_PLAYING)
EVER_MS = 366 * 86_400_000
RETRY_S = 1.0

T = TypeVar("T")

FOUND = Counter("omnipoly_presence_ghosts_total", "Persons a table took for connected of whom nobody had a word.")


class Ghosts:
    """Looks for them, once."""

    def __init__(
        self, tables: TableClient, clock: Clock, known: Callable[[str, str], bool], gone: Callable[[str, str], None]
    ) -> None:
        """known: whether anything is known of a person at a table. gone: they are not there."""
        self._tables = tables
        self._clock = clock
        self._known = known
        self._gone = gone

    async def look(self) -> None:
        """Looks at every table that is played, one after the other."""
        request = table_pb2.ListHeadsRequest()
        request.due_before.FromMilliseconds(self._clock.now_ms() + EVER_MS)
        while True:
            page = await self._patiently(lambda: self._tables.list_heads(request))
            for head in page.heads:
                if head.status in PLAYED:
                    await self._look_at(head.table)
            if not page.next_page_token:
                return
            request.page_token = page.next_page_token

    async def _look_at(self, table: str) -> None:
        try:
            view = await self._patiently(lambda: self._tables.read(table))
        except Failure as error:
            log.info("table_unread", table=table, error=str(error))
            return
        for seat in view.seats:
            here = seat.connected and not seat.bot and seat.out == types_pb2.OUT_IN
            if here and not self._known(table, seat.holder):
                FOUND.inc()
                self._gone(table, seat.holder)

    async def _patiently(self, call: Callable[[], Awaitable[T]]) -> T:
        """Asks until the table service answers; raises a `Failure` that asking again would not mend."""
        while True:
            try:
                return await call()
            except Failure as error:
                if error.reason != Code.UNAVAILABLE:
                    raise
            await asyncio.sleep(RETRY_S)
