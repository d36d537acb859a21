"""Sessions: opened by a sign-in, renewed by a refresh token, shown by access tokens that live for minutes."""

from __future__ import annotations

import math
import secrets
import time
from typing import TYPE_CHECKING

from omnipoly.wire.gen.gateway.v1 import sessions_pb2
from omnipoly.wire.gen.table.v1 import accounts_pb2

from .tokens import Claims

if TYPE_CHECKING:
    from google.protobuf.timestamp_pb2 import Timestamp

    from .accounts import Accounts
    from .config import GatewaySettings
    from .tokens import Keys


class Sessions:
    """Makes what clients are given. Each method raises ``Failure``."""

    def __init__(self, accounts: Accounts, keys: Keys, settings: GatewaySettings) -> None:
        self._accounts = accounts
        self._keys = keys
        self._settings = settings

    async def guest(self, name: str) -> sessions_pb2.Session:
        """A session of somebody nobody knows."""
        return await self._open(await self._accounts.upsert("", secrets.token_urlsafe(32), name), "")

    async def vouched(self, issuer: str, subject: str, name: str, sign_in: str) -> sessions_pb2.Session:
        """A session of whom an issuer vouches for; one for each sign-in."""
        return await self._open(await self._accounts.upsert(issuer, subject, name), sign_in)

    async def renew(self, refresh_token: str, request_id: str) -> sessions_pb2.Session:
        """A session renewed."""
        request = accounts_pb2.RenewSessionRequest(refresh_token=refresh_token, request_id=request_id)
        _in(request.expires, self._settings.session_s)
        _in(request.guest_expires, self._settings.guest_session_s)
        renewed = await self._accounts.renew(request)
        return self._session(renewed.person, renewed.session, renewed.refresh_token, renewed.expires)

    async def revoke(self, refresh_token: str, *, everywhere: bool) -> int:
        """Ends a session, or all of its person; how many ended."""
        return await self._accounts.revoke(refresh_token, everywhere=everywhere)

    async def _open(self, person: accounts_pb2.Person, sign_in: str) -> sessions_pb2.Session:
        request = accounts_pb2.OpenSessionRequest(
            person=person.person, request_id=secrets.token_urlsafe(32), sign_in=sign_in
        )
        _in(request.expires, self._settings.guest_session_s if person.guest else self._settings.session_s)
        opened = await self._accounts.open(request)
        return self._session(person, opened.session, opened.refresh_token, request.expires)

    def _session(
        self, person: accounts_pb2.Person, session: str, refresh_token: str, session_expires: Timestamp
    ) -> sessions_pb2.Session:
        expires_s = min(time.time() + self._settings.access_s, session_expires.seconds)
        claims = Claims(person.person, person.name, person.guest, tuple(person.roles), expires_s, session, person.stamp)
        made = sessions_pb2.Session(
            access_token=self._keys.sign(claims),
            refresh_token=refresh_token,
            session_expires=session_expires,
            person=person.person,
            name=person.name,
            guest=person.guest,
            roles=person.roles,
        )
        made.expires.FromSeconds(math.ceil(expires_s))
        return made


def _in(at: Timestamp, seconds: float) -> None:
    at.FromSeconds(math.ceil(time.time() + seconds))
