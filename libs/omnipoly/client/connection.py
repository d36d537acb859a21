"""A connection to a gateway: one channel, calls with a deadline, refusals as one exception."""

from __future__ import annotations

import asyncio
import hashlib
import json
import math
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import grpc
import grpc.aio

from omnipoly.client.refused import Refused, unanswered
from omnipoly.wire.channels import channel_options
from omnipoly.wire.gen.gateway.v1 import sessions_pb2, sessions_pb2_grpc

if TYPE_CHECKING:
    from grpc.aio import UnaryUnaryMultiCallable

T = TypeVar("T")
Request = TypeVar("Request")
Response = TypeVar("Response")


class _Listing(Protocol):
    page_token: str


class _Listed(Protocol):
    next_page_token: str


Listing = TypeVar("Listing", bound=_Listing)
Listed = TypeVar("Listed", bound=_Listed)

TIMEOUT_S = 10.0
"""How long a call waits for its answer unless it is said otherwise."""
EARLY_S = 60.0
"""A token is renewed so long before it ends."""
LEAST_LIFE = 2 / 3
"""But not before so much of its life is over."""

_SERVICES = ("Sessions", "Lobby", "Play", "Watch", "Chat", "Wallet", "Trades", "Admin", "Dev")
_STREAMS = (("Play", "Play"), ("Watch", "Watch"))
"""Methods that find their own way back: a stream resumes, it is not repeated."""


def _service_config() -> str:
    """Plain calls are tried again where nobody answered: each names itself, so that nothing is done twice."""
    package = "omnipoly.gateway.v1"
    retry = {
        "maxAttempts": 5,
        "initialBackoff": "0.1s",
        "maxBackoff": "2s",
        "backoffMultiplier": 2,
        "retryableStatusCodes": ["UNAVAILABLE"],
    }
    return json.dumps(
        {
            "methodConfig": [
                {"name": [{"service": f"{package}.{name}Service", "method": method} for name, method in _STREAMS]},
                {"name": [{"service": f"{package}.{name}Service"} for name in _SERVICES], "retryPolicy": retry},
            ]
        }
    )


class Connection:
    """A channel, and calls on it without a session."""

    def __init__(self, address: str, credentials: grpc.ChannelCredentials | None = None, *, name: str = "") -> None:
        """``address``: host:port, or any name gRPC resolves. ``credentials``: for TLS; none: plain text. ``name``: what
        the server's certificate bears; empty: the address.
        """
        self.address = address
        self.behind_s = 0.0
        """By how much our clock is behind the server's; known once it has told its time."""
        options: Any = [*channel_options(), ("grpc.service_config", _service_config())]
        if name:
            options.append(("grpc.ssl_target_name_override", name))
        self.channel: grpc.aio.Channel = (
            grpc.aio.insecure_channel(address, options)
            if credentials is None
            else grpc.aio.secure_channel(address, credentials, options)
        )

    async def call(
        self,
        method: UnaryUnaryMultiCallable[Request, Response],
        request: Request,
        *,
        timeout_s: float = TIMEOUT_S,
        token: str = "",
    ) -> Response:
        """One call of a stub's method. Raises ``Refused``."""
        metadata = (("authorization", f"Bearer {token}"),) if token else ()
        try:
            return await method(request, timeout=timeout_s, metadata=metadata)
        except grpc.aio.AioRpcError as error:
            if error.code() is grpc.StatusCode.DEADLINE_EXCEEDED:
                raise unanswered("The call") from error
            raise Refused.of_rpc(error) from error

    async def close(self) -> None:
        """Ends everything on the channel."""
        await self.channel.close(None)


class Tokens:
    """Access tokens, renewed in time; used by everything that belongs to a session."""

    def __init__(self, session: sessions_pb2.Session, behind_s: float) -> None:
        """``behind_s``: by how much our clock is behind the server's."""
        self._behind_s = behind_s
        self._take(session)

    def _take(self, session: sessions_pb2.Session) -> None:
        self.session = session
        """The session as it was last given."""
        left_s = session.expires.seconds - self._behind_s - time.time() if session.HasField("expires") else math.inf
        self._due = time.monotonic() + max(left_s - EARLY_S, left_s * LEAST_LIFE)

    @property
    def renewable(self) -> bool:
        """Whether a new token can be had when one ends."""
        raise TypeError(type(self).__name__)

    @property
    def due_in_s(self) -> float:
        """When the present token is to be renewed, in seconds; infinite where it cannot be."""
        return max(0.0, self._due - time.monotonic()) if self.renewable else math.inf

    async def current(self) -> str:
        """An access token that holds for a while. Raises ``Refused`` when none can be had."""
        if self.due_in_s == 0:
            await self.renew(self.session.access_token)
        return self.session.access_token

    async def renew(self, known: str) -> None:
        """Take a new token, unless somebody has done so since ``known``. Raises ``Refused``."""
        raise TypeError(type(self).__name__)

    async def with_token(self, work: Callable[[str], Awaitable[T]]) -> T:
        """Do something with a token, and once more with a new one where the server says that it has ended."""
        token = await self.current()
        try:
            return await work(token)
        except Refused as refused:
            if refused.status is not grpc.StatusCode.UNAUTHENTICATED or not self.renewable:
                raise
        await self.renew(token)
        return await work(await self.current())


class GivenTokens(Tokens):
    """The tokens of a session that the server gave, or an access token alone, which cannot be renewed."""

    def __init__(self, connection: Connection, session: sessions_pb2.Session) -> None:
        super().__init__(session, connection.behind_s)
        self._connection = connection
        self._stub = sessions_pb2_grpc.SessionsServiceStub(connection.channel)
        self._renewing = asyncio.Lock()

    @property
    def renewable(self) -> bool:
        return bool(self.session.refresh_token)

    async def renew(self, known: str) -> None:
        async with self._renewing:
            if self.session.access_token != known:
                return
            # Each refresh token is good once: a renewal is named after it, so that one tried again is the same one.
            refresh_token = self.session.refresh_token
            name = hashlib.sha256(refresh_token.encode()).hexdigest()[:32]
            request = sessions_pb2.RefreshRequest(refresh_token=refresh_token, request_id=name)
            self._take((await self._connection.call(self._stub.Refresh, request)).session)


class MadeTokens(Tokens):
    """Tokens of one's own making: of a service that holds the key."""

    def __init__(self, make: Callable[[], sessions_pb2.Session]) -> None:
        super().__init__(make(), 0.0)
        self._make = make

    @property
    def renewable(self) -> bool:
        return True

    async def renew(self, known: str) -> None:
        if self.session.access_token == known:
            self._take(self._make())


class Calls:
    """Calls in the name of a session."""

    def __init__(self, connection: Connection, tokens: Tokens) -> None:
        self.connection = connection
        self.tokens = tokens

    async def call(
        self, method: UnaryUnaryMultiCallable[Request, Response], request: Request, *, timeout_s: float = TIMEOUT_S
    ) -> Response:
        """One call of a stub's method with the session's token. Raises ``Refused``."""
        return await self.tokens.with_token(
            lambda token: self.connection.call(method, request, timeout_s=timeout_s, token=token)
        )

    async def pages(self, method: UnaryUnaryMultiCallable[Listing, Listed], request: Listing) -> AsyncIterator[Listed]:
        """The pages of a list, each asked for when it is read; ``request`` moves on with them. Raises ``Refused``."""
        while True:
            page = await self.call(method, request)
            request.page_token = page.next_page_token
            yield page
            if not request.page_token:
                return
