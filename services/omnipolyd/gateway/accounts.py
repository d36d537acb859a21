"""What the gateway asks of persons and sessions, as frames to the table service."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnipoly.wire.gen.table.v1 import accounts_pb2 as pb

if TYPE_CHECKING:
    from google.protobuf.message import Message

    from omnipoly.runtime.peers import Peers

_SERVICE = "/omnipoly.table.v1.AccountService/"
ASK_S = 8.0
"""How long an answer is waited for."""
LOOK_S = 3.0
"""Likewise for what is asked again soon."""


class Accounts:
    """Calls of the account service; each may be carried out twice without harm. All raise ``Failure``."""

    def __init__(self, peers: Peers, key: str) -> None:
        """key: which replica is asked what belongs to nobody."""
        self._peers = peers
        self._key = key

    async def upsert(self, issuer: str, subject: str, name: str) -> pb.Person:
        """The person of a sign-in."""
        request = pb.UpsertPersonRequest(issuer=issuer, subject=subject, name=name)
        return pb.UpsertPersonResponse.FromString(await self._call(subject, "UpsertPerson", request)).person

    async def open(self, request: pb.OpenSessionRequest) -> pb.OpenSessionResponse:
        """A new session."""
        return pb.OpenSessionResponse.FromString(await self._call(request.person, "OpenSession", request))

    async def renew(self, request: pb.RenewSessionRequest) -> pb.RenewSessionResponse:
        """A session renewed."""
        return pb.RenewSessionResponse.FromString(await self._call(self._key, "RenewSession", request))

    async def revoke(self, refresh_token: str, *, everywhere: bool) -> int:
        """Ends a session or all of its person; how many ended."""
        request = pb.RevokeSessionRequest(refresh_token=refresh_token, all=everywhere)
        return pb.RevokeSessionResponse.FromString(await self._call(self._key, "RevokeSession", request)).revoked

    async def revocations(self, request: pb.ListRevocationsRequest) -> pb.ListRevocationsResponse:
        """A page of what was revoked."""
        answer = await self._call(self._key, "ListRevocations", request, LOOK_S)
        return pb.ListRevocationsResponse.FromString(answer)

    async def _call(self, key: str, method: str, request: Message, timeout_s: float = ASK_S) -> bytes:
        return await self._peers.call(key, _SERVICE + method, request.SerializeToString(), timeout_s, resend=True)
