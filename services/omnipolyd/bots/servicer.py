"""The bots service on the wire, for operators."""

from __future__ import annotations

from typing import TYPE_CHECKING

import grpc

from omnipoly.rules.codes import Code
from omnipoly.runtime.failures import Failure
from omnipoly.wire.gen.bots.v1 import bots_pb2, bots_pb2_grpc

if TYPE_CHECKING:
    import grpc.aio

    from .service import BotsService

LARGEST_PAGE = 1000
USUAL_PAGE = 100


class BotsServicer(bots_pb2_grpc.BotsServiceServicer):
    """Status, pause and resume of one replica."""

    def __init__(self, service: BotsService) -> None:
        self._service = service

    async def Status(self, request: bots_pb2.StatusRequest, context: object) -> bots_pb2.StatusResponse:
        if not 0 <= request.page_size <= LARGEST_PAGE:
            raise Failure(grpc.StatusCode.INVALID_ARGUMENT, Code.BAD_REQUEST, f"page_size: 0 to {LARGEST_PAGE}.")
        service = self._service
        response = bots_pb2.StatusResponse(
            replica=service.instance[:64],
            paused=service.paused,
            tables=len(service.tables),
            decisions=service.decisions,
            refused=service.refused,
        )
        response.started.FromMilliseconds(round(service.started_s * 1000))
        size = request.page_size or USUAL_PAGE
        ids = sorted(table for table in service.tables if table > request.page_token)
        for table in ids[:size]:
            player = service.tables[table]
            response.page.add(table=table, version=player.replica.version, seats=player.seats)
        if len(ids) > size:
            response.next_page_token = ids[size - 1]
        return response

    async def Pause(self, request: bots_pb2.PauseRequest, context: object) -> bots_pb2.PauseResponse:
        return bots_pb2.PauseResponse(already=self._service.pause(True))

    async def Resume(self, request: bots_pb2.ResumeRequest, context: object) -> bots_pb2.ResumeResponse:
        return bots_pb2.ResumeResponse(already=self._service.pause(False))
