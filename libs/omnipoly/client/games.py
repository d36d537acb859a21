"""Games of the past, and finished ones to check. Every call raises ``Refused`` when the answer is no."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING

from omnipoly.wire.gen.gateway.v1 import watch_pb2, watch_pb2_grpc

if TYPE_CHECKING:
    from omnipoly.client.connection import Calls
    from omnipoly.wire.gen.game.v1 import commit_pb2, platform_pb2, table_pb2


class Games:
    """What is kept of games, for one session."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls
        self._stub = watch_pb2_grpc.WatchServiceStub(calls.connection.channel)

    async def export(self, table: str, *, pin: str = "") -> watch_pb2.ExportResponse:
        """Everything that a finished game can be replayed and checked from, its pages put together."""
        whole = watch_pb2.ExportResponse()
        async for page in self._calls.pages(self._stub.Export, watch_pb2.ExportRequest(table=table, pin=pin)):
            whole.MergeFrom(page)
        whole.next_page_token = ""
        return whole

    async def history(self, table: str, *, after: int = 0, pin: str = "") -> AsyncIterator[commit_pb2.Commit]:
        """A table's commits beyond a version, up to the last one there is."""
        while True:
            request = watch_pb2.HistoryRequest(table=table, after=after, pin=pin)
            page = await self._calls.call(self._stub.History, request)
            for commit in page.commits:
                yield commit
                after = commit.version
            if not page.commits or after >= page.version:
                return

    async def record(self, table: str, *, pin: str = "", language: str = "") -> AsyncIterator[watch_pb2.RecordLine]:
        """A table's record, the oldest line first; in a language that its edition has texts in, else in its own."""
        request = watch_pb2.RecordRequest(table=table, pin=pin, language=language)
        async for page in self._calls.pages(self._stub.Record, request):
            for line in page.lines:
                yield line

    async def results(
        self, *, edition: str = "", person: str = "", table: str = ""
    ) -> AsyncIterator[table_pb2.GameResult]:
        """Finished games, the latest first."""
        request = watch_pb2.ListResultsRequest(edition=edition, person=person, table=table)
        async for page in self._calls.pages(self._stub.ListResults, request):
            for result in page.results:
                yield result

    async def leaderboard(self, *, edition: str = "", month: str = "") -> AsyncIterator[platform_pb2.Standing]:
        """Persons by their finished games, the best first; of an edition, of a month as 2026-10 (UTC)."""
        request = watch_pb2.LeaderboardRequest(edition=edition, month=month)
        async for page in self._calls.pages(self._stub.Leaderboard, request):
            for standing in page.standings:
                yield standing
