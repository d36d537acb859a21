"""Calling ``AccountService`` over a real link, and hearing what it publishes."""

from __future__ import annotations

import time
import uuid
from typing import Any

from google.protobuf.message import Message

from omnipoly.runtime.link import Link
from omnipoly.wire.gen.table.v1 import accounts_pb2 as pb

SERVICE = "/omnipoly.table.v1.AccountService/"
ISSUER = "https://issuer.example"


class Accounts:
    """One link to one table service."""

    def __init__(self, link: Link) -> None:
        self.link = link

    async def call(self, method: str, request: Message) -> Any:
        body = await self.link.call(SERVICE + method, request.SerializeToString(), 20)
        return getattr(pb, f"{method}Response").FromString(body)

    async def person(self, subject: str = "", name: str = "Ann", issuer: str = ISSUER) -> pb.Person:
        """Somebody who signs in; a new one unless a subject is named."""
        request = pb.UpsertPersonRequest(issuer=issuer, subject=subject or uuid.uuid4().hex, name=name)
        answer: pb.UpsertPersonResponse = await self.call("UpsertPerson", request)
        return answer.person

    async def open(self, person: str, request_id: str = "", ends_in_s: float = 600, sign_in: str = "") -> Any:
        """A new session."""
        request = pb.OpenSessionRequest(person=person, request_id=request_id or uuid.uuid4().hex, sign_in=sign_in)
        request.expires.FromMilliseconds(round((time.time() + ends_in_s) * 1000))
        return await self.call("OpenSession", request)

    async def renew(self, refresh_token: str, request_id: str = "", ends_in_s: float = 600) -> Any:
        """A renewal, one of its own unless its id is named."""
        request = pb.RenewSessionRequest(refresh_token=refresh_token, request_id=request_id or uuid.uuid4().hex)
        request.expires.FromMilliseconds(round((time.time() + ends_in_s) * 1000))
        request.guest_expires.FromMilliseconds(round((time.time() + ends_in_s / 2) * 1000))
        return await self.call("RenewSession", request)

    async def revoke(self, refresh_token: str, *, all_: bool = False) -> int:
        """Ends a session; how many ended."""
        request = pb.RevokeSessionRequest(refresh_token=refresh_token, all=all_)
        return int((await self.call("RevokeSession", request)).revoked)

    async def ban(self, person: str, **more: Any) -> pb.Person:
        """Bans somebody, or lifts the ban."""
        request = pb.BanRequest(person=person, by="oidc:admin", request_id=uuid.uuid4().hex, **more)
        answer: pb.BanResponse = await self.call("Ban", request)
        return answer.person

    async def set_roles(self, person: str, *roles: str) -> pb.Person:
        """Gives somebody roles."""
        request = pb.SetRolesRequest(person=person, by="oidc:admin", request_id=uuid.uuid4().hex, roles=roles)
        answer: pb.SetRolesResponse = await self.call("SetRoles", request)
        return answer.person

    async def revocations(self, since_s: float | None = None, page_size: int = 0) -> list[pb.Revocation]:
        """All that is listed, page by page."""
        found: list[pb.Revocation] = []
        request = pb.ListRevocationsRequest(page_size=page_size)
        if since_s is not None:
            request.since.FromMilliseconds(round(since_s * 1000))
        while True:
            page = await self.call("ListRevocations", request)
            found += page.revocations
            request.page_token = page.next_page_token
            if not request.page_token:
                return found
