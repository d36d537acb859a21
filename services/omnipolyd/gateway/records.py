"""The record of a game in sentences, made by playing its log again from the beginning.

A line needs the state before its event. Where a page ended, the state is kept for a while, so that whoever reads on
does not have everything played again; playing is done in a thread, a page of the log at a time.
"""

from __future__ import annotations

import asyncio
import re
from collections import OrderedDict
from collections.abc import Iterable
from typing import TYPE_CHECKING

from omnipoly.client import record
from omnipoly.editions import loader
from omnipoly.editions.problems import EditionError
from omnipoly.rules import engine
from omnipoly.rules.codes import Code
from omnipoly.rules.ring import Game
from omnipoly.runtime import logging, refusals
from omnipoly.wire import commits
from omnipoly.wire.gen.gateway.v1 import watch_pb2 as pb
from omnipoly.wire.malformed import Malformed

from . import checks

if TYPE_CHECKING:
    from omnipoly.rules.state import State
    from omnipoly.wire.commits import Commit

    from .upstream import Upstream

log = logging.get(__name__)

KEPT_PLACES = 64
KEPT_GAMES = 16

_TOKEN = re.compile(r"([0-9]{1,18})-([0-9]{1,6})")

Key = tuple[str, int, int]
"""Table, epoch, version."""


class _Reading:
    """A page being made: the state at a version, and the lines from a place on."""

    def __init__(self, state: State, version: int, after: int, skip: int, size: int, language: str) -> None:
        self.state = state
        self.version = version
        self.after = after
        """Lines of commits up to this version have been given before."""
        self.skip = skip
        """So have so many of the next commit."""
        self.size = size
        self.language = language
        self.lines: list[pb.RecordLine] = []
        self.full = False

    def play(self, page: Iterable[Commit]) -> None:
        """Plays commits until the page of lines is full; then ``state`` is the one before the commit that begins the
        next."""
        for commit in page:
            before = self.state.copy() if commit.version > self.after else self.state
            engine.enter(self.state, commit.at_ms, commit.actor)
            told = list(record.tell(self.state, commit.events, self.language))
            if commit.version > self.after:
                told = told[self.skip :]
                space = self.size - len(self.lines)
                self.lines += [_line(commit, line) for line in told[:space]]
                if len(told) > space:
                    self.state, self.full = before, True
                    self.skip += space
                    return
                self.skip = 0
            self.version = commit.version

    @property
    def token(self) -> str:
        """Where the next page begins; empty: there is none yet."""
        return f"{self.version}-{self.skip}" if self.full else ""


class Records:
    """Pages of records."""

    def __init__(self, upstream: Upstream) -> None:
        self._upstream = upstream
        self._games: OrderedDict[str, Game] = OrderedDict()
        self._places: OrderedDict[Key, State] = OrderedDict()

    async def page(self, table: str, size: int, page_token: str, language: str = "") -> pb.RecordResponse:
        """A page of lines in a language ("": the edition's own), and where the next begins. Raises ``Failure``."""
        after, skip = _place(page_token)
        game = await self.game(table)
        page = await self._upstream.tables.commits(table, after)
        place = (table, page.epoch, after)
        state = self._places.get(place)
        if state is not None:
            self._places.move_to_end(place)
            state = state.copy()  # who follows a game asks from the same place until its page is full
        elif after:
            page = await self._upstream.tables.commits(table, 0)
        reading = _Reading(state or engine.blank(game.first), after if state else 0, after, skip, size, language)
        try:
            while page.commits:
                await asyncio.to_thread(_play, reading, list(page.commits), game)
                if reading.full or reading.version >= page.version:
                    break
                page = await self._upstream.tables.commits(table, reading.version)
        except (Malformed, ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            log.exception("record_not_told", table=table, version=reading.version, error=repr(error))
            raise refusals.failure(Code.TABLE_BROKEN, "This game's log cannot be told here.") from None
        if reading.full:
            self._places[(table, page.epoch, reading.version)] = reading.state
            if len(self._places) > KEPT_PLACES:
                self._places.popitem(last=False)
        return pb.RecordResponse(lines=reading.lines, next_page_token=reading.token)

    async def game(self, table: str) -> Game:
        """The edition that a table is played with, as its log keeps it."""
        game = self._games.pop(table, None)
        if game is None:
            first = await self._upstream.tables.export(table)
            try:
                game = Game(loader.from_text(first.edition_text, first.edition.partition("/")[2]))
            except EditionError as error:
                log.warning("edition_not_read", edition=first.edition, digest=first.digest, error=str(error))
                raise refusals.failure(Code.UNKNOWN_EDITION, "This game's edition cannot be read here.") from None
        self._games[table] = game
        if len(self._games) > KEPT_GAMES:
            self._games.popitem(last=False)
        return game


def _play(reading: _Reading, page: list[bytes], game: Game) -> None:
    reading.play(commits.decode(commit, game) for commit in page)


def _place(page_token: str) -> tuple[int, int]:
    if not page_token:
        return 0, 0
    found = _TOKEN.fullmatch(page_token)
    if found is None:
        raise checks.bad("page_token: one that a page ended with.")
    return int(found[1]), int(found[2])


def _line(commit: Commit, line: record.Line) -> pb.RecordLine:
    message = pb.RecordLine(version=commit.version, kind=line.kind, text=line.text)
    message.at.FromMilliseconds(commit.at_ms)
    return message
