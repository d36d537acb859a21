"""Clients and sessions: the way in."""

from __future__ import annotations

import time
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Self

from omnipoly.client import names
from omnipoly.client.admin import Admin
from omnipoly.client.connection import TIMEOUT_S, Calls, Connection, GivenTokens, MadeTokens, Tokens
from omnipoly.client.dev import Dev
from omnipoly.client.editions import Editions
from omnipoly.client.games import Games
from omnipoly.client.lobby import Lobby
from omnipoly.client.play import Play
from omnipoly.client.signing_in import SignIn, brought
from omnipoly.client.wallet import Wallet
from omnipoly.client.watch import Watch
from omnipoly.wire.gen.gateway.v1 import sessions_pb2, sessions_pb2_grpc

if TYPE_CHECKING:
    import grpc

    from omnipoly.client.record import Tell


class Session:
    """Somebody who is signed in, and what they can do."""

    def __init__(self, connection: Connection, editions: Editions, tokens: Tokens) -> None:
        """For ``Client`` alone."""
        self._connection = connection
        self._editions = editions
        self._tokens = tokens
        calls = Calls(connection, tokens)
        self.calls = calls
        """For calls that have no method here: any stub's method, with the session's token."""
        self.lobby = Lobby(calls, editions)
        """Editions, and tables before their start."""
        self.games = Games(calls)
        """Games of the past."""
        self.wallet = Wallet(calls)
        """Credits, for paid tables."""
        self.admin = Admin(calls)
        """What those who run the site do."""
        self.dev = Dev(calls)
        """Positions and a driven clock, on a server under ``--dev``."""

    @property
    def person(self) -> str:
        """The person's id; "" where only a token is known."""
        return self._tokens.session.person

    @property
    def name(self) -> str:
        """The name shown; "" where only a token is known."""
        return self._tokens.session.name

    @property
    def guest(self) -> bool:
        """A guest: may play, but neither watch nor sit down at a paid table."""
        return self._tokens.session.guest

    @property
    def refresh_token(self) -> str:
        """What renews the session, as it is now; good once. "" where it cannot be renewed."""
        return self._tokens.session.refresh_token

    def play(self, *, tell: Tell = False) -> Play:
        """A playing connection; ``async with session.play() as play``. ``tell``: with a record of each commit,
        in the edition's own language or in the one that is named."""
        return Play(self.calls, self._editions, tell=tell)

    def watch(self, table: str, *, pin: str = "", tell: Tell = False) -> Watch:
        """A viewer's connection to one table; ``async with session.watch(table) as watch``."""
        return Watch(self.calls, self._editions, table, pin=pin, tell=tell)

    async def revoke(self, *, everywhere: bool = False) -> int:
        """End this session, or all of the person's; how many ended. Raises ``Refused``."""
        stub = sessions_pb2_grpc.SessionsServiceStub(self._connection.channel)
        request = sessions_pb2.RevokeRequest(
            refresh_token=self._tokens.session.refresh_token, all=everywhere, request_id=names.fresh()
        )
        return (await self.calls.call(stub.Revoke, request)).revoked


class Client:
    """A connection to a gateway, and the sessions on it. An async context manager."""

    def __init__(self, connection: Connection, server: sessions_pb2.GetServerInfoResponse, token: str) -> None:
        """For ``connect`` alone."""
        self._connection = connection
        self._stub = sessions_pb2_grpc.SessionsServiceStub(connection.channel)
        self._editions = Editions(connection.channel)
        self.server = server
        """What the server said of itself: version, limits, editions, issuers, whether it runs under ``--dev``."""
        self._session = self.with_token(token) if token else None

    @classmethod
    async def connect(
        cls,
        address: str,
        token: str | None = None,
        *,
        credentials: grpc.ChannelCredentials | None = None,
        name: str = "",
        timeout_s: float = TIMEOUT_S,
    ) -> Client:
        """Connect to a gateway and ask what it is.

        ``address``: host:port. ``token``: an access token, if there is one already. ``credentials``: for TLS; ``name``:
        what the gateway's certificate bears, where that is not its address. Raises ``Refused``, ``unavailable`` when
        nobody answers.
        """
        connection = Connection(address, credentials, name=name)
        stub = sessions_pb2_grpc.SessionsServiceStub(connection.channel)
        try:
            server = await connection.call(stub.GetServerInfo, sessions_pb2.GetServerInfoRequest(), timeout_s=timeout_s)
        except BaseException:
            await connection.close()
            raise
        connection.behind_s = server.server_time.seconds - time.time()
        return cls(connection, server, token or "")

    @property
    def session(self) -> Session:
        """The session of the token that ``connect`` was given. Raises ``LookupError`` when there was none."""
        if self._session is None:
            raise LookupError("sign in first: connect was given no token")
        return self._session

    def with_token(self, token: str) -> Session:
        """A session known by its access token alone: it cannot be renewed."""
        return self._make(sessions_pb2.Session(access_token=token))

    def with_tokens(self, make: Callable[[], sessions_pb2.Session]) -> Session:
        """The session of somebody who makes their own tokens, as the platform's services do: ``make`` gives one."""
        return Session(self._connection, self._editions, MadeTokens(make))

    async def sign_in_guest(self, name: str) -> Session:
        """Sign in without an account. Raises ``Refused``."""
        request = sessions_pb2.SignInGuestRequest(name=name, request_id=names.fresh())
        return self._make((await self._connection.call(self._stub.SignInGuest, request)).session)

    async def sign_in_oidc(self, issuer: str, redirect_uri: str) -> SignIn:
        """Begin a sign-in with an OpenID Connect issuer, one of ``server.issuers``: its ``url`` is for a browser.

        ``redirect_uri``: where the issuer sends the browser afterwards; ``finish`` takes the address it went to. Raises
        ``Refused``.
        """
        request = sessions_pb2.StartOidcSignInRequest(
            issuer=issuer, redirect_uri=redirect_uri, request_id=names.fresh()
        )
        begun = await self._connection.call(self._stub.StartOidcSignIn, request)
        return SignIn(begun, self.finish_sign_in)

    async def finish_sign_in(self, kept: str, redirected: str) -> Session:
        """End a sign-in that was begun here or elsewhere. Raises ``Refused``.

        ``kept``: what its beginning gave to keep. ``redirected``: the address that the browser was sent to.
        """
        request = sessions_pb2.FinishOidcSignInRequest(sign_in=kept, request_id=names.fresh(), **brought(redirected))
        return self._make((await self._connection.call(self._stub.FinishOidcSignIn, request)).session)

    def with_refresh_token(self, refresh_token: str) -> Session:
        """The session that a refresh token renews, e.g. one kept since the program last ran; renewed at its first use.

        The token is good once: keep ``session.refresh_token`` when the program ends.
        """
        session = sessions_pb2.Session(refresh_token=refresh_token)
        session.expires.FromSeconds(0)
        return self._make(session)

    async def close(self) -> None:
        """Ends everything on the connection."""
        await self._connection.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def _make(self, session: sessions_pb2.Session) -> Session:
        return Session(self._connection, self._editions, GivenTokens(self._connection, session))
