"""Inside a process of `up`: one role, and its owner told once it serves."""

from __future__ import annotations

import sys
from collections.abc import Callable, Coroutine
from multiprocessing.connection import Connection
from typing import Any, cast

import grpc.aio
from grpc_health.v1 import health_pb2, health_pb2_grpc

from omnipoly.runtime.app import App
from omnipoly.runtime.errors import StartError
from omnipoly.runtime.server import channel_options
from omnipolyd import roles

from .entry import SERVING

CHECK_S = 10.0


def serve(role: str, owner: Connection) -> None:
    """Runs the role; ends the process with its exit code."""

    async def tell(app: App) -> None:
        if not app.server.secure:  # its certificate is for clients, by a name that this machine may not have
            await _check(app.address)
        owner.send((SERVING, ""))
        owner.close()

    sys.exit(roles.serve(roles.ROLES[role], tell))


async def _check(address: str) -> None:
    """Asks this process's own server for its health, as anybody would."""
    async with grpc.aio.insecure_channel(address, channel_options()) as channel:
        check = cast(
            "Callable[..., Coroutine[Any, Any, health_pb2.HealthCheckResponse]]",
            health_pb2_grpc.HealthStub(channel).Check,
        )
        try:
            answer = await check(health_pb2.HealthCheckRequest(), timeout=CHECK_S, wait_for_ready=True)
        except grpc.aio.AioRpcError as error:
            raise StartError(f"the server at {address} does not answer: {error.details()}") from None
    if answer.status != health_pb2.HealthCheckResponse.SERVING:
        raise StartError(f"the server at {address} is not serving")
