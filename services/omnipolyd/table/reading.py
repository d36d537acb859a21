"""What is read of many tables, or from the log alone, on the wire: heads, lists, commits, exports."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import TYPE_CHECKING, Any

from omnipoly.rules.codes import Code
from omnipoly.runtime.refusals import failure
from omnipoly.wire.gen.table.v1 import table_pb2 as pb

from . import paging, requests
from .asking import asked
from .store import EARLIEST, LATEST

if TYPE_CHECKING:
    from .store import Head, Store

COMMITS_A_PAGE = 200
PAGE_BYTES = 768 * 1024
"""Of a page's rows: an answer has at most 1 MiB with all that stands around them, an edition's text included."""
MOST_HEADS = 1000
MOST_LISTED = 100


class Reader:
    """Answers from the store. Each query is asked again for as long as its caller waits."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def handlers(self) -> dict[str, Callable[[bytes, float, str], Awaitable[bytes]]]:
        """By method."""
        return {
            "Commits": self._commits,
            "Export": self._export,
            "Heads": self._heads,
            "ListHeads": self._list_heads,
            "List": self._list,
        }

    async def knows(self, table_id: str, actor: str, command_id: str, until: float) -> bool:
        """Whether a command is in the log. Raises ``Failure``."""
        waits_s = until - asyncio.get_running_loop().time()
        return await asked(lambda: self._store.command(table_id, actor, command_id), waits_s) is not None

    async def _commits(self, body: bytes, waits_s: float, traceparent: str) -> bytes:
        request = requests.parse(pb.CommitsRequest, body)
        table_id = requests.table_id(request.table)
        limit = requests.page_size(request.page_size, COMMITS_A_PAGE, COMMITS_A_PAGE)
        after = max(0, request.after)
        heads = await asked(lambda: self._store.heads([table_id]), waits_s)
        if not heads:
            raise failure(Code.UNKNOWN_TABLE)
        rows = await asked(lambda: self._store.commits(table_id, after, limit), waits_s)
        response = pb.CommitsResponse(version=heads[0].version, epoch=heads[0].epoch, commits=_page(rows, PAGE_BYTES))
        if response.commits:
            # the head may have moved between the two queries
            response.version = max(response.version, after + len(response.commits))
        return response.SerializeToString()

    async def _export(self, body: bytes, waits_s: float, traceparent: str) -> bytes:
        return (await self.export(requests.parse(pb.ExportRequest, body), waits_s)).SerializeToString()

    async def export(self, request: pb.ExportRequest, waits_s: float) -> pb.ExportResponse:
        """A page of a game's export. Raises ``Failure``."""
        table_id = requests.table_id(request.table)
        limit = requests.page_size(request.page_size, COMMITS_A_PAGE, COMMITS_A_PAGE)
        after = paging.version(request.page_token)
        response = pb.ExportResponse()
        edition = await asked(lambda: self._store.edition_of(table_id), waits_s)
        if edition is None:
            raise failure(Code.UNKNOWN_TABLE)
        room = PAGE_BYTES
        if not after:
            response.edition, response.digest, response.edition_text = edition
            room -= len(response.edition_text)
        rows = await asked(lambda: self._store.commits(table_id, after, limit), waits_s)
        response.commits.extend(_page(rows, room))
        if len(rows) == limit or len(response.commits) < len(rows):
            response.next_page_token = str(after + len(response.commits))
        return response

    async def _heads(self, body: bytes, waits_s: float, traceparent: str) -> bytes:
        request = requests.parse(pb.HeadsRequest, body)
        if not 1 <= len(request.tables) <= MOST_HEADS:
            raise requests.bad(f"Heads are asked for of 1 to {MOST_HEADS} tables.")
        tables = [requests.table_id(table) for table in request.tables]
        response = pb.HeadsResponse()
        response.server_time.GetCurrentTime()
        _fill(response.heads, await asked(lambda: self._store.heads(tables), waits_s))
        return response.SerializeToString()

    async def _list_heads(self, body: bytes, waits_s: float, traceparent: str) -> bytes:
        request = requests.parse(pb.ListHeadsRequest, body)
        limit = requests.page_size(request.page_size, MOST_HEADS, MOST_HEADS)
        response = pb.ListHeadsResponse()
        response.server_time.GetCurrentTime()
        before = requests.moment(request.due_before) if request.HasField("due_before") else None
        after = paging.position(request.page_token, EARLIEST)
        if request.HasField("changed_since"):
            since = requests.moment(request.changed_since)
            heads = await asked(lambda: self._store.heads_changed(since, before, after, limit), waits_s)
        else:
            heads = await asked(lambda: self._store.heads_due(before, after, limit), waits_s)
        _fill(response.heads, heads)
        if len(heads) == limit:
            response.next_page_token = paging.token(heads[-1].due_at or LATEST, heads[-1].table_id)
        return response.SerializeToString()

    async def _list(self, body: bytes, waits_s: float, traceparent: str) -> bytes:
        request = requests.parse(pb.ListRequest, body)
        limit = requests.page_size(request.page_size, MOST_LISTED, 50)
        statuses = requests.status(request.status)
        edition = requests.edition(request.edition)
        person = requests.person_id(request.person) if request.person else ""
        host = requests.person_id(request.host) if request.host else ""
        before = paging.position(request.page_token, LATEST)
        rows = await asked(
            lambda: self._store.list_tables(statuses, edition, person, host, request.open_only, before, limit),
            waits_s,
        )
        response = pb.ListResponse()
        for row in rows:
            summary = response.tables.add()
            summary.ParseFromString(row["summary"])
            summary.version, summary.status = row["version"], row["status"]
        if len(rows) == limit:
            response.next_page_token = paging.token(rows[-1]["opened_at"], rows[-1]["table_id"])
        return response.SerializeToString()


def _page(rows: list[bytes], room: int) -> list[bytes]:
    """The first rows that fit, at least one."""
    fits = 0
    for row in rows:
        room -= len(row)
        if room < 0 and fits:
            break
        fits += 1
    return rows[:fits]


def _fill(messages: Any, heads: Iterable[Head]) -> None:
    for head in heads:
        message = messages.add()
        message.table, message.version, message.epoch = head.table_id, head.version, head.epoch
        message.status, message.door, message.chat = head.status, head.door, head.chat
        if head.due_at is not None:
            message.next_deadline.FromDatetime(head.due_at)
