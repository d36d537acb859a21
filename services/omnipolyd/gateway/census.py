"""How many follow tables here, and how many of their streams lag: counted now and then, not at every step."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from prometheus_client import Gauge

if TYPE_CHECKING:
    from .hub import Hub

EVERY_S = 5.0

PERSONS = Gauge(
    "omnipoly_gateway_persons",
    "Persons at tables on streams of this gateway, once for each table: player, viewer.",
    ("part",),
)
LAGGING = Gauge(
    "omnipoly_gateway_streams_behind", "Streams too slow for a table, which wait for a snapshot of it.", ("kind",)
)


async def take(hub: Hub) -> None:
    """Counts for ever."""
    while True:
        count(hub)
        await asyncio.sleep(EVERY_S)


def count(hub: Hub) -> None:
    """Counts once."""
    players = viewers = 0
    for room in hub.rooms:
        players += len({one.caller.person for one in room.followers if one.seated and not one.caller.bots})
        viewers += len(room.viewers)
    PERSONS.labels("player").set(players)
    PERSONS.labels("viewer").set(viewers)
    for kind in ("play", "watch"):
        LAGGING.labels(kind).set(sum(stream.kind == kind and bool(stream.outlet.behind) for stream in hub.streams))
