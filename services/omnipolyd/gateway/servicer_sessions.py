"""``SessionsService``: signing in, and what this server is."""

from __future__ import annotations

import math
import time
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from omnipoly.wire.gen.gateway.v1 import sessions_pb2 as pb

from . import checks, tokens
from .tokens import Claims

if TYPE_CHECKING:
    import grpc

    from .door import Door
    from .hub import Hub

SERVICE = pb.DESCRIPTOR.services_by_name["SessionsService"].full_name


class SessionsServicer:
    """The calls that need no session."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub

    def methods(self, door: Door) -> dict[str, grpc.RpcMethodHandler[Any, Any]]:
        """What is answered, by method."""
        return {
            "SignInGuest": door.open(pb.SignInGuestRequest, self.SignInGuest),
            "GetServerInfo": door.open(pb.GetServerInfoRequest, self.GetServerInfo),
        }

    async def SignInGuest(self, request: pb.SignInGuestRequest) -> pb.SignInGuestResponse:
        """A session for somebody nobody knows. It cannot be renewed, and so lives long."""
        checks.command_id(request.request_id, "request_id")
        name = checks.name(request.name)
        claims = Claims(tokens.new_guest(), name, True, (), time.time() + self._hub.settings.session_s)
        session = pb.Session(
            access_token=self._hub.keys.sign(claims), person=claims.person, name=claims.name, guest=True
        )
        session.expires.FromSeconds(math.ceil(claims.expires_s))
        session.session_expires.CopyFrom(session.expires)
        return pb.SignInGuestResponse(session=session)

    async def GetServerInfo(self, request: pb.GetServerInfoRequest) -> pb.GetServerInfoResponse:
        """Version, time, limits and editions."""
        hub = self._hub
        response = pb.GetServerInfoResponse(
            version=version("omnipoly"),
            limits=hub.limits.message(),
            editions=hub.catalogue.summaries,
            dev=hub.settings.dev,
        )
        response.server_time.GetCurrentTime()
        return response
