"""What is played here, as clients see it: the shipped editions, and those of the operator's folder."""

from __future__ import annotations

from pathlib import Path

from omnipoly.editions import loader
from omnipoly.editions.model import Edition
from omnipoly.editions.problems import EditionError, UnknownEdition
from omnipoly.rules.codes import Code
from omnipoly.runtime import refusals
from omnipoly.runtime.errors import StartError
from omnipoly.wire import editions
from omnipoly.wire.gen.game.v1 import edition_pb2


class Catalogue:
    """Editions by name and digest."""

    def __init__(self, folder: str = "") -> None:
        """folder: further edition files. Raises ``StartError`` for one that is wrong."""
        self._files: dict[str, Path] = {}
        shown = {name: loader.edition(name) for name in loader.shipped()}
        if folder:
            shown |= self._read(Path(folder))
        self._shown = dict(sorted(shown.items()))
        self._by_digest = {edition.digest: edition for edition in shown.values()}
        for edition in shown.values():
            if not edition.mode and len(edition.boards) > 1:
                for board in edition.boards:
                    on_board = self.find(f"{edition.id}/{board.id}")
                    self._by_digest[on_board.digest] = on_board
        self.summaries: list[edition_pb2.EditionSummary] = [
            editions.summary(edition) for edition in self._shown.values()
        ]
        """All of them, by id."""

    def _read(self, folder: Path) -> dict[str, Edition]:
        if not folder.is_dir():
            raise StartError(f"the folder of editions {folder} is not there; check OMNIPOLY_EDITIONS")
        try:
            self._files = loader.folder(folder)
            editions = [loader.load(path, mode) for path in self._files.values() for mode in loader.modes(path)]
        except EditionError as error:
            raise StartError(str(error)) from error
        return {edition.id: edition for edition in editions}

    def find(self, name: str, digest: str = "") -> Edition:
        """The edition of a digest, or else of a name: ``id``, ``id/mode`` or ``id/board``.

        Raises ``Failure`` ``unknown_edition``.
        """
        if digest:
            known = self._by_digest.get(digest)
            if known is None:
                raise refusals.failure(Code.UNKNOWN_EDITION)
            return known
        file, _, mode = name.partition("/")
        try:
            if file in self._files:
                return loader.load(self._files[file], mode)
            return loader.edition(name)
        except UnknownEdition:
            raise refusals.failure(Code.UNKNOWN_EDITION) from None
        except EditionError as error:
            raise refusals.failure(Code.UNKNOWN_EDITION, "This edition's file can no longer be read.") from error

    def page(self, page_size: int, after: str) -> tuple[list[edition_pb2.EditionSummary], str]:
        """At most so many editions behind an id, and where the next page begins; empty: there is none."""
        rest = [one for one in self.summaries if one.id > after]
        page = rest[:page_size]
        return page, page[-1].id if len(rest) > page_size else ""
