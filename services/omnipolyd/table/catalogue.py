"""The editions that tables are opened with, and those that older tables were begun with, by digest."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from omnipoly.editions import loader
from omnipoly.editions.problems import EditionError, UnknownEdition
from omnipoly.rules.codes import Code
from omnipoly.rules.ring import Game
from omnipoly.runtime.errors import StartError
from omnipoly.runtime.refusals import failure

if TYPE_CHECKING:
    from .store import Store

KEPT = 64
"""Compiled editions kept for tables begun with texts that are shipped no longer."""


class Catalogue:
    """Compiled editions: by name for new tables, by digest for those that stand."""

    def __init__(self, store: Store, folder: str = "") -> None:
        """``folder``: further edition files, each a table of its modes. Raises ``StartError`` for one that is wrong."""
        self._store = store
        self._games: dict[str, Game] = {}
        self._by_digest: dict[str, Game] = {}
        self._files: dict[str, Path] = {}
        if folder:
            self._read(Path(folder))

    def _read(self, folder: Path) -> None:
        if not folder.is_dir():
            raise StartError(f"the folder of editions {folder} is not there; check OMNIPOLY_EDITIONS")
        try:
            self._files = loader.folder(folder)
        except EditionError as error:
            raise StartError(str(error)) from error

    def by_name(self, name: str) -> Game:
        """The game of an edition's name, ``id`` or ``id/mode``. Raises ``Failure`` ``unknown_edition``."""
        game = self._games.get(name)
        if game is None:
            file, _, mode = name.partition("/")
            try:
                if file in self._files:
                    edition = loader.load(self._files[file], mode)
                else:
                    edition = loader.edition(name)
            except UnknownEdition as error:
                raise failure(Code.UNKNOWN_EDITION) from error
            game = self._games[name] = Game(edition)
            self._by_digest[edition.digest] = game
        return game

    async def by_digest(self, digest: str, name: str) -> Game:
        """The game that a table was begun with. Raises ``LookupError`` when its text is not kept."""
        game = self._by_digest.get(digest)
        if game is not None:
            return game
        kept = await self._store.edition(digest)
        if kept is None:
            raise LookupError(f"the text of edition {name} with digest {digest} is not kept")
        game = Game(loader.from_text(kept[1], kept[0].partition("/")[2]))
        if len(self._by_digest) >= KEPT:
            del self._by_digest[next(iter(self._by_digest))]
        self._by_digest[digest] = game
        return game
