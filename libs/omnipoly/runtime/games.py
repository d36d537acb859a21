"""The compiled editions of tables that somebody else keeps: by digest, shipped ones at once, others asked for."""

from __future__ import annotations

from omnipoly.editions import loader
from omnipoly.editions.problems import EditionError
from omnipoly.rules.ring import Game
from omnipoly.runtime.table_client import TableClient
from omnipoly.wire.malformed import Malformed

KEPT = 64


class Games:
    """Editions by digest."""

    def __init__(self, tables: TableClient) -> None:
        self._tables = tables
        self._games: dict[str, Game] = {}

    async def of(self, table: str, edition: str, digest: str) -> Game:
        """The game that a table was begun with: shipped under that name, or of the text that the table's log keeps.

        Raises `Failure` when the table service cannot be asked, `Malformed` when no text with that digest is there.
        """
        game = self._games.get(digest)
        if game is not None:
            return game
        game = _shipped(edition)
        if game is None or game.edition.digest != digest:
            text = (await self._tables.export(table)).edition_text
            try:
                game = Game(loader.from_text(text, edition.partition("/")[2]))
            except EditionError as error:
                raise Malformed(f"the edition {edition} of a table cannot be read") from error
            if game.edition.digest != digest:
                raise Malformed(f"the text of the edition {edition} is another")
        if len(self._games) >= KEPT:
            del self._games[next(iter(self._games))]
        self._games[digest] = game
        return game


def _shipped(edition: str) -> Game | None:
    try:
        return Game(loader.edition(edition))
    except EditionError:
        return None
