"""Results and standings on the wire."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from omnipoly.runtime import page_tokens
from omnipoly.wire.gen.table.v1 import table_pb2 as pb

from .. import paging, requests
from ..asking import asked
from ..store import LATEST
from .store import MOST

if TYPE_CHECKING:
    from .store import ResultStore

MOST_ROWS = 100
USUAL_ROWS = 50

_MONTH = re.compile(r"(?:[0-9]{4}-(?:0[1-9]|1[0-2]))?")


class ResultReader:
    """Answers from rows that are kept for it."""

    def __init__(self, store: ResultStore) -> None:
        self._store = store

    def handlers(self) -> dict[str, Callable[[bytes, float, str], Awaitable[bytes]]]:
        """By method of the ``TableService``."""
        return {"ListResults": self._list, "Leaderboard": self._leaderboard}

    async def _list(self, body: bytes, waits_s: float, traceparent: str) -> bytes:
        request = requests.parse(pb.ListResultsRequest, body)
        limit = requests.page_size(request.page_size, MOST_ROWS, USUAL_ROWS)
        edition = requests.edition(request.edition)
        person = requests.person_id(request.person) if request.person else ""
        table = requests.table_id(request.table) if request.table else ""
        before = paging.position(request.page_token, LATEST)
        found = await asked(lambda: self._store.results(edition, person, table, before, limit), waits_s)
        response = pb.ListResultsResponse()
        for row in found:
            response.results.add().ParseFromString(row.body)
        if len(found) == limit:
            response.next_page_token = paging.token(found[-1].finished_at, found[-1].table_id)
        return response.SerializeToString()

    async def _leaderboard(self, body: bytes, waits_s: float, traceparent: str) -> bytes:
        request = requests.parse(pb.LeaderboardRequest, body)
        limit = requests.page_size(request.page_size, MOST_ROWS, USUAL_ROWS)
        edition = requests.edition(request.edition)
        if not _MONTH.fullmatch(request.month):
            raise requests.bad("A month is written 2026-10.")
        points, wins, person, place, before = _after(request.page_token)
        found = await asked(
            lambda: self._store.standings(edition, request.month, (points, wins, person), limit), waits_s
        )
        response = pb.LeaderboardResponse()
        for number, row in enumerate(found, start=before + 1):
            if (row.points, row.wins) != (points, wins):
                place = number
            points, wins = row.points, row.wins
            response.standings.add(
                place=place, person=row.person, name=row.name, games=row.games, wins=row.wins, points=row.points
            )
        if len(found) == limit:
            response.next_page_token = page_tokens.encode(points, wins, found[-1].person, place, before + limit)
        return response.SerializeToString()


def _after(page_token: str) -> tuple[int, int, str, int, int]:
    """(points, wins, person) behind which a page begins, the place of that row, and how many came before."""
    if not page_token:
        return MOST, 0, "", 0, 0
    points, wins, person, place, before = page_tokens.decode(page_token, 5)
    number = page_tokens.decode_number
    return number(points), number(wins), requests.person_id(person), number(place), number(before)
