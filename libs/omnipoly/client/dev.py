"""Positions and a driven clock, at tables opened with ``dev`` on a server under ``--dev``.

Every call raises ``Refused`` when the answer is no.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnipoly.client import names
from omnipoly.client.lobby import Answer
from omnipoly.wire.gen.gateway.v1 import dev_pb2, dev_pb2_grpc

if TYPE_CHECKING:
    from omnipoly.client.connection import Calls
    from omnipoly.wire.gen.game.v1 import script_pb2, view_pb2


class Dev:
    """The developer's calls, for one session."""

    def __init__(self, calls: Calls) -> None:
        self._calls = calls
        self._stub = dev_pb2_grpc.DevServiceStub(calls.connection.channel)

    async def set_up(self, table: str, view: view_pb2.TableView) -> Answer:
        """Set a table up from a position."""
        request = dev_pb2.SetUpRequest(table=table, command_id=names.fresh(), view=view)
        answer = await self._calls.call(self._stub.SetUp, request)
        return Answer(answer.version, answer.duplicate)

    async def advance(self, table: str, by_ms: int, script: script_pb2.Script | None = None) -> Answer:
        """Move a table's clock forward; what falls due meanwhile is played when it does, with the script's throws."""
        request = dev_pb2.AdvanceRequest(table=table, command_id=names.fresh(), script=script)
        request.by.FromMilliseconds(by_ms)
        answer = await self._calls.call(self._stub.Advance, request)
        return Answer(answer.version, answer.duplicate)
