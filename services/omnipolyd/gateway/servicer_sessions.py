"""``SessionsService``: signing in, and what this server is."""

from __future__ import annotations

from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from omnipoly.wire.gen.gateway.v1 import sessions_pb2 as pb

from . import checks, tokens

if TYPE_CHECKING:
    import grpc

    from .door import Door
    from .hub import Hub
    from .oidc.signing_in import SigningIn
    from .sessions import Sessions

SERVICE = pb.DESCRIPTOR.services_by_name["SessionsService"].full_name
LONGEST_TEXT = 4096


class SessionsServicer:
    """The calls that need no session."""

    def __init__(self, hub: Hub, sessions: Sessions, signing_in: SigningIn) -> None:
        self._hub = hub
        self._sessions = sessions
        self._signing_in = signing_in

    def methods(self, door: Door) -> dict[str, grpc.RpcMethodHandler[Any, Any]]:
        """What is answered, by method."""
        return {
            "SignInGuest": door.open(pb.SignInGuestRequest, self.SignInGuest),
            "StartOidcSignIn": door.open(pb.StartOidcSignInRequest, self.StartOidcSignIn),
            "FinishOidcSignIn": door.open(pb.FinishOidcSignInRequest, self.FinishOidcSignIn),
            "Refresh": door.open(pb.RefreshRequest, self.Refresh),
            "Revoke": door.open(pb.RevokeRequest, self.Revoke),
            "GetServerInfo": door.open(pb.GetServerInfoRequest, self.GetServerInfo, sign_in=False),
        }

    async def SignInGuest(self, request: pb.SignInGuestRequest) -> pb.SignInGuestResponse:
        """A session for somebody nobody knows, where the operator takes guests."""
        checks.command_id(request.request_id, "request_id")
        name = checks.name(request.name)
        if not self._hub.settings.guests:
            raise tokens.sign_in_required("This server takes no guests; sign in with one of its issuers.")
        return pb.SignInGuestResponse(session=await self._sessions.guest(name))

    async def StartOidcSignIn(self, request: pb.StartOidcSignInRequest) -> pb.StartOidcSignInResponse:
        """Begins a sign-in with an issuer."""
        checks.command_id(request.request_id, "request_id")
        return await self._signing_in.start(request)

    async def FinishOidcSignIn(self, request: pb.FinishOidcSignInRequest) -> pb.FinishOidcSignInResponse:
        """Ends it."""
        checks.command_id(request.request_id, "request_id")
        for field, most in (("sign_in", 2048), ("code", 2048), ("state", 512), ("iss", 256)):
            if len(getattr(request, field)) > most:
                raise checks.bad(f"{field}: at most {most} characters.")
        return pb.FinishOidcSignInResponse(session=await self._signing_in.finish(request))

    async def Refresh(self, request: pb.RefreshRequest) -> pb.RefreshResponse:
        """Renews a session."""
        checks.command_id(request.request_id, "request_id")
        if len(request.refresh_token) > LONGEST_TEXT:
            raise tokens.sign_in_required()
        session = await self._sessions.renew(request.refresh_token, request.request_id)
        return pb.RefreshResponse(session=session)

    async def Revoke(self, request: pb.RevokeRequest) -> pb.RevokeResponse:
        """Ends a session, or all of its person."""
        checks.command_id(request.request_id, "request_id")
        if len(request.refresh_token) > LONGEST_TEXT:
            raise tokens.sign_in_required()
        return pb.RevokeResponse(revoked=await self._sessions.revoke(request.refresh_token, everywhere=request.all))

    async def GetServerInfo(self, request: pb.GetServerInfoRequest) -> pb.GetServerInfoResponse:
        """Version, time, limits, editions and issuers."""
        hub = self._hub
        response = pb.GetServerInfoResponse(
            version=version("omnipoly"),
            limits=hub.limits.message(),
            editions=hub.catalogue.summaries,
            issuers=self._signing_in.shown,
            dev=hub.settings.dev,
            guests=hub.settings.guests,
        )
        response.server_time.GetCurrentTime()
        return response
