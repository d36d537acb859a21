"""Results and standings in Postgres."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from ..statements import Statements
from . import sql
from .making import ALL, Ended

if TYPE_CHECKING:
    from omnipoly.runtime.database import Connection


class Result(NamedTuple):
    """A row of a list."""

    finished_at: datetime
    table_id: str
    body: bytes


class Ranked(NamedTuple):
    """A person's row in a ranking."""

    person: str
    name: str
    games: int
    wins: int
    points: int


MOST = 2**62
"""More points, or wins, than anybody has."""


async def keep(connection: Connection, games: Sequence[tuple[str, Ended]]) -> None:
    """Write what games (table id, result) leave behind, in the transaction of their last commits."""
    results = [(table, game.edition, game.finished_at, game.body) for table, game in games]
    played = [(person, table, game.edition, game.finished_at) for table, game in games for person in game.persons]
    counted = [
        (edition, month, score.person, score.name, score.wins, score.points)
        for _, game in games
        for edition in (ALL, game.edition)
        for month in game.months
        for score in game.scores
    ]
    await connection.execute(sql.ENDED, *_columns(results, 4), *_columns(played, 4), *_columns(counted, 6))


def _columns(rows: Sequence[tuple[object, ...]], width: int) -> list[list[object]]:
    return [[row[column] for row in rows] for column in range(width)]


class ResultStore(Statements):
    """What is read of them; no query's work grows with the number of games."""

    async def results(
        self, edition: str, person: str, table: str, before: tuple[datetime, str], limit: int
    ) -> list[Result]:
        """Results, the latest first, before (time, table id); "" for any edition, person, table."""
        if table:
            found = [Result(*row) for row in await self._rows(sql.RESULT, table)]
            return [row for row in found if (row.finished_at, row.table_id) < before]
        if person and edition:
            rows = await self._rows(sql.RESULTS_OF_PERSON_AND_EDITION, *before, limit, person, edition)
        elif person:
            rows = await self._rows(sql.RESULTS_OF_PERSON, *before, limit, person)
        elif edition:
            rows = await self._rows(sql.RESULTS_OF_EDITION, *before, limit, edition)
        else:
            rows = await self._rows(sql.RESULTS, *before, limit)
        return [Result(*row) for row in rows]

    async def standings(self, edition: str, month: str, after: tuple[int, int, str], limit: int) -> list[Ranked]:
        """Persons, the best first, behind (points, wins, person)."""
        return [Ranked(*row) for row in await self._rows(sql.STANDINGS, edition, month, *after, limit)]
