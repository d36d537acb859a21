"""Signing in with an OpenID Connect issuer: the address for a browser, and what came back from it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlsplit

import grpc

from omnipoly.client.refused import Refused

if TYPE_CHECKING:
    from omnipoly.client.session import Session
    from omnipoly.wire.gen.gateway.v1 import sessions_pb2


class SignIn:
    """A sign-in that has begun."""

    def __init__(
        self, begun: sessions_pb2.StartOidcSignInResponse, finish: Callable[[str, str], Awaitable[Session]]
    ) -> None:
        """For ``Client.sign_in_oidc`` alone."""
        self.url = begun.authorization_url
        """For a browser."""
        self.kept = begun.sign_in
        """What ends it, from another program too (``Client.finish_sign_in``); keep it secret."""
        self.expires = begun.expires.ToDatetime(UTC)
        """When it is too late."""
        self._finish = finish

    @property
    def too_late(self) -> bool:
        """Whether another one has to be begun."""
        return datetime.now(UTC) >= self.expires

    async def finish(self, redirected: str) -> Session:
        """End it with the whole address that the browser was sent to. Raises ``Refused``."""
        return await self._finish(self.kept, redirected)


def brought(redirected: str) -> dict[str, str]:
    """What an issuer's redirect has brought: code, state, and who it is from. Raises ``Refused`` for its refusal."""
    found = {name: values[0] for name, values in parse_qs(urlsplit(redirected).query).items()}
    if "error" in found:
        said = found.get("error_description", found["error"])[:200]
        raise Refused("sign_in_required", f"The issuer says: {said}", status=grpc.StatusCode.UNAUTHENTICATED)
    return {"code": found.get("code", ""), "state": found.get("state", ""), "iss": found.get("iss", "")}
