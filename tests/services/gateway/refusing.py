"""What a refusal must look like, and a game at which nothing may change by one."""

from __future__ import annotations

import grpc

from omnipoly.runtime.failures import Failure
from tests.services.gateway.calling import Client, Playing

INVALID, PRECONDITION = grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.FAILED_PRECONDITION
DENIED, NOT_FOUND = grpc.StatusCode.PERMISSION_DENIED, grpc.StatusCode.NOT_FOUND
EXHAUSTED, ABORTED = grpc.StatusCode.RESOURCE_EXHAUSTED, grpc.StatusCode.ABORTED


class Game:
    """Ann's turn at a table of Rug Pull, before her throw."""

    def __init__(self, table: str, ann: Client, bob: Client, stream: Playing) -> None:
        self.table = table
        self.ann = ann
        self.bob = bob
        self.stream = stream

    async def unchanged(self) -> None:
        """The table is as it was."""
        view = await self.ann.view(self.table)
        assert view.version == 3
        assert view.seats[0].prompt == 1


def told(failure: Failure, status: grpc.StatusCode, reason: str) -> None:
    """It says why: a status, a reason and a sentence."""
    assert (failure.status, failure.reason) == (status, reason)
    assert failure.sentence[:1].isupper() or failure.sentence.partition(":")[0].isidentifier()
    assert failure.sentence.endswith(".")
