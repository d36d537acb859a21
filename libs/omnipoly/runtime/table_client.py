"""The table service as the services around it ask it: typed calls over link frames.

Each raises the table's `Failure`, UNAVAILABLE when no replica can be reached, DEADLINE_EXCEEDED. All may be carried out
twice without harm (reads change nothing, commands have an id, wake-ups and reports are idempotent), so a call whose
stream broke is sent again, once.
"""

from __future__ import annotations

from collections.abc import Iterable

from google.protobuf.message import Message

from omnipoly.runtime.peers import Peers
from omnipoly.wire.gen.game.v1 import view_pb2
from omnipoly.wire.gen.table.v1 import table_pb2

SERVICE = "/omnipoly.table.v1.TableService/"
ADMIN = "/omnipoly.table.v1.AdminService/"
CHAT = "/omnipoly.table.v1.ChatService/"
WALLET = "/omnipoly.table.v1.WalletService/"
SUBJECT = "omnipoly.table."
"""NATS: the commits of a table, its id behind."""
COMMITS = SUBJECT + "*"
"""NATS: the commits of all tables."""
VERSION, EPOCH, DEADLINE = "Omnipoly-Version", "Omnipoly-Epoch", "Omnipoly-Deadline"
"""Headers of a published commit, whole numbers; the deadline: milliseconds since 1970, platform's clock, 0 for none."""
MOST_HEADS = 1000
READ_S = 5.0


def table_of(subject: str) -> str:
    """The table whose commit was published under this subject."""
    return subject.removeprefix(SUBJECT)


class TableClient:
    """Calls of the table service; a call goes to the replica that its table belongs to."""

    def __init__(self, peers: Peers, *, key: str = "heads") -> None:
        """key: which replica is asked what belongs to no table: another one for each caller spreads that."""
        self._peers = peers
        self._key = key

    async def call(
        self,
        table: str,
        method: str,
        request: Message | bytes,
        timeout_s: float,
        traceparent: str = "",
        *,
        service: str = SERVICE,
    ) -> bytes:
        """Calls a method by its short name with a request or its bytes; the answer's bytes. service: `CHAT` for those
        of the chat, likewise `ADMIN` and `WALLET`."""
        body = request if isinstance(request, bytes) else request.SerializeToString()
        return await self._peers.call(
            table or self._key, service + method, body, timeout_s, resend=True, traceparent=traceparent
        )

    async def act(
        self, request: table_pb2.ActRequest, timeout_s: float, traceparent: str = ""
    ) -> table_pb2.ActResponse:
        """Has one action played."""
        return table_pb2.ActResponse.FromString(
            await self.call(request.table, "Act", request, timeout_s, traceparent or request.traceparent)
        )

    async def read(self, table: str, at_least: int = 0, timeout_s: float = READ_S) -> view_pb2.TableView:
        """A table's picture at that version or later."""
        request = table_pb2.ReadRequest(table=table, at_least=at_least)
        return table_pb2.ReadResponse.FromString(await self.call(table, "Read", request, timeout_s)).view

    async def commits(self, table: str, after: int, timeout_s: float = READ_S) -> table_pb2.CommitsResponse:
        """A page of at most 200 commits behind a version."""
        request = table_pb2.CommitsRequest(table=table, after=after)
        return table_pb2.CommitsResponse.FromString(await self.call(table, "Commits", request, timeout_s))

    async def heads(self, tables: Iterable[str], timeout_s: float = READ_S) -> table_pb2.HeadsResponse:
        """The heads of at most `MOST_HEADS` tables; unknown ones are left out."""
        request = table_pb2.HeadsRequest(tables=tables)
        return table_pb2.HeadsResponse.FromString(await self.call("", "Heads", request, timeout_s))

    async def list_heads(
        self, request: table_pb2.ListHeadsRequest, timeout_s: float = READ_S
    ) -> table_pb2.ListHeadsResponse:
        """A page of heads that changed or fall due."""
        return table_pb2.ListHeadsResponse.FromString(await self.call("", "ListHeads", request, timeout_s))

    async def list(self, request: table_pb2.ListRequest, timeout_s: float = READ_S) -> table_pb2.ListResponse:
        """A page of tables."""
        return table_pb2.ListResponse.FromString(await self.call("", "List", request, timeout_s))

    async def export(self, table: str, page_size: int = 1, timeout_s: float = READ_S) -> table_pb2.ExportResponse:
        """The first page of an export: with the edition's text."""
        request = table_pb2.ExportRequest(table=table, page_size=page_size)
        return table_pb2.ExportResponse.FromString(await self.call(table, "Export", request, timeout_s))

    async def wake(self, request: table_pb2.WakeRequest, timeout_s: float) -> table_pb2.WakeResponse:
        """Plays what is due at a table."""
        return table_pb2.WakeResponse.FromString(await self.call(request.table, "Wake", request, timeout_s))

    async def report(self, request: table_pb2.ReportRequest, timeout_s: float) -> table_pb2.ReportResponse:
        """Tells a table who came and who is gone."""
        return table_pb2.ReportResponse.FromString(await self.call(request.table, "Report", request, timeout_s))
