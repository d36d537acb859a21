"""What operators want to know of the games themselves: how many begin and end, and how many tables there are.

What happens is counted as it is committed, by the replica that commits it. What there is, is asked of the database by
each replica, now and then: the numbers are the platform's, not the replica's.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from prometheus_client import Counter, Gauge

from omnipoly.rules import events
from omnipoly.rules.state import NOBODY
from omnipoly.runtime import logging
from omnipoly.runtime.database import FAULTS
from omnipoly.wire.gen.game.v1 import table_pb2

from . import summaries
from .statements import Statements

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from omnipoly.rules.events import Event

log = logging.get(__name__)

EVERY_S = 15.0

GAMES = Counter(
    "omnipoly_games_total", "Games by edition and what happened: started, or why they ended.", ("edition", "what")
)
AUCTIONS = Counter(
    "omnipoly_auctions_total", "Auctions by edition and what happened: opened, sold, unsold.", ("edition", "what")
)
TRADES = Counter(
    "omnipoly_trades_total",
    "Offers of trades by edition and what happened: made, or how they closed.",
    ("edition", "what"),
)
TABLES = Gauge(
    "omnipoly_tables", "Tables by state, of the whole platform; those that are over are not counted.", ("status",)
)
SEATED = Gauge("omnipoly_seated_persons", "Seats held by persons at tables that are not over, of the whole platform.")
QUARANTINED = Gauge("omnipoly_tables_out_of_play", "Tables in quarantine, of the whole platform.")

# The condition is that of the index `heads_in_play`.
CENSUS = "SELECT status, count(*), sum(cardinality(persons)) FROM heads WHERE status <> 4 GROUP BY status"
OUT_OF_PLAY = "SELECT count(*) FROM quarantined"

_STATES = {
    status: table_pb2.TableStatus.Name(status).removeprefix("TABLE_STATUS_").lower() for status in summaries.OPEN
}

_Counted = tuple[Counter, "Callable[[Event], str]"]

_KINDS: dict[type[Event], _Counted] = {
    events.GameStarted: (GAMES, lambda _: "started"),
    events.GameEnded: (GAMES, lambda event: event.why),  # type: ignore[attr-defined]
    events.AuctionOpened: (AUCTIONS, lambda _: "opened"),
    events.AuctionClosed: (AUCTIONS, lambda event: "unsold" if event.winner == NOBODY else "sold"),  # type: ignore[attr-defined]
    events.OfferMade: (TRADES, lambda _: "made"),
    events.OfferClosed: (TRADES, lambda event: event.how),  # type: ignore[attr-defined]
}


def count(edition: str, happened: Iterable[Event]) -> None:
    """Count what a commit did."""
    for event in happened:
        counted = _KINDS.get(type(event))
        if counted is not None:
            counter, what = counted
            counter.labels(edition, what(event)).inc()


class Census(Statements):
    """Counts tables, for ever."""

    async def run(self) -> None:
        """Look until cancelled; what is not answered stays as it was."""
        while True:
            try:
                await self.take()
            except FAULTS as error:
                log.info("census_not_taken", error=repr(error))
            await asyncio.sleep(EVERY_S)

    async def take(self) -> None:
        """Look once. Raises one of ``database.FAULTS``."""
        found = {row[0]: (row[1], row[2] or 0) for row in await self._rows(CENSUS)}
        for status, name in _STATES.items():
            TABLES.labels(name).set(found.get(status, (0, 0))[0])
        SEATED.set(sum(persons for status, (_, persons) in found.items() if status in _STATES))
        QUARANTINED.set(await self._value(OUT_OF_PLAY))
