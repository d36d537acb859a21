"""Finding tables that bots sit at: by what is heard on the bus at once, and by looking from time to time.

What is heard is only a hint, and may be missed: the list of running tables, read at the start and every few seconds,
finds every one of them.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

from google.protobuf.message import DecodeError

from omnipoly.wire.gen.game.v1 import commit_pb2, table_pb2

if TYPE_CHECKING:
    from omnipoly.client.lobby import Lobby

REMEMBERED = 10_000
"""Tables before their start of which it is known that bots sit there."""


class Hints:
    """What commits tell of tables that are not followed."""

    def __init__(self) -> None:
        self._seated: OrderedDict[str, None] = OrderedDict()

    def heard(self, data: bytes) -> str:
        """A published commit; the table that is worth following now, "" for none."""
        try:
            commit = commit_pb2.Commit.FromString(data)
        except DecodeError:
            return ""
        worth = False
        for event in commit.events:
            kind = event.WhichOneof("kind")
            if kind == "seat_taken" and event.seat_taken.bot:
                self._remember(commit.table)
            elif kind == "game_started":
                worth = self._seated.pop(commit.table, 0) is None or worth
            elif kind == "seat_handed_over":
                worth = event.seat_handed_over.bot or worth
            elif kind == "resumed":
                worth = True
        return commit.table if worth else ""

    def _remember(self, table: str) -> None:
        self._seated[table] = None
        self._seated.move_to_end(table)
        if len(self._seated) > REMEMBERED:
            self._seated.popitem(last=False)


async def running(lobby: Lobby) -> AsyncIterator[str]:
    """The tables that are played at and have bots. Raises ``Refused``."""
    async for table in lobby.tables(status=table_pb2.TABLE_STATUS_PLAYING):
        if table.bots:
            yield table.table
