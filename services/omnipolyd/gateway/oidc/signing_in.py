"""Signing in with an issuer, in two calls."""

from __future__ import annotations

from typing import TYPE_CHECKING

from google.protobuf import timestamp_pb2
from prometheus_client import Counter

from omnipoly.runtime import failures, logging
from omnipoly.wire.gen.gateway.v1 import sessions_pb2 as pb

from .. import checks, tokens
from . import begun
from .faults import NotVouched, Unreachable

if TYPE_CHECKING:
    from collections.abc import Iterable

    import httpx

    from omnipoly.runtime.failures import Failure

    from ..sessions import Sessions
    from ..tokens import Keys
    from .issuers import Issuer
    from .provider import Provider

log = logging.get(__name__)

SIGN_INS = Counter("omnipoly_gateway_sign_ins_total", "Sign-ins with an issuer that ended.", ("issuer", "outcome"))


class SigningIn:
    """All issuers. Each method raises ``Failure``."""

    def __init__(self, issuers: Iterable[Issuer], keys: Keys, sessions: Sessions, *, keys_every_s: float) -> None:
        self._keys = keys
        self._sessions = sessions
        self._http: httpx.AsyncClient | None = None
        self._providers: dict[str, Provider] = {}
        for issuer in issuers:
            from . import provider  # its HTTP client takes a quarter of a second to import

            self._http = self._http or provider.client()
            self._providers[issuer.id] = provider.Provider(issuer, self._http, keys_every_s=keys_every_s)
        self.shown = [pb.Issuer(id=one.issuer.id, title=one.issuer.shown) for one in self._providers.values()]
        """Whom clients may choose from."""

    async def close(self) -> None:
        """Asks nobody any more."""
        if self._http is not None:
            await self._http.aclose()

    async def start(self, request: pb.StartOidcSignInRequest) -> pb.StartOidcSignInResponse:
        """Begins a sign-in."""
        provider = self._providers.get(request.issuer)
        if provider is None:
            raise checks.bad("issuer: one that GetServerInfo names.")
        if len(request.redirect_uri) > 512 or not provider.issuer.takes(request.redirect_uri):
            raise checks.bad("redirect_uri: one that this server's operator allows.")
        sign_in, sealed = begun.begin(self._keys, request.issuer, request.redirect_uri)
        try:
            address = await provider.address(sign_in)
        except Unreachable as error:
            raise self._unreachable(request.issuer, error) from None
        expires = timestamp_pb2.Timestamp(seconds=sign_in.expires_s)
        return pb.StartOidcSignInResponse(authorization_url=address, sign_in=sealed, expires=expires)

    async def finish(self, request: pb.FinishOidcSignInRequest) -> pb.Session:
        """Ends it. Whatever is wrong is refused in one sentence; only the log says more, and nothing of what came."""
        sign_in = begun.resume(self._keys, request.sign_in) if len(request.sign_in) <= begun.LONGEST else None
        provider = self._providers.get(sign_in.issuer) if sign_in is not None else None
        if sign_in is None or provider is None:
            raise self._refused("", "no sign-in of ours, or too late")
        if not sign_in.answers(request.state):
            raise self._refused(sign_in.issuer, "the redirect belongs to another sign-in")
        try:
            vouched = await provider.vouch(sign_in, request.code, request.iss)
        except NotVouched as error:
            raise self._refused(sign_in.issuer, str(error)) from None
        except Unreachable as error:
            raise self._unreachable(sign_in.issuer, error) from None
        session = await self._sessions.vouched(provider.issuer.issuer, vouched.subject, vouched.name, sign_in.number)
        SIGN_INS.labels(sign_in.issuer, "done").inc()
        return session

    def _refused(self, issuer: str, cause: str) -> Failure:
        SIGN_INS.labels(issuer, "refused").inc()
        log.info("sign_in_refused", issuer=issuer, cause=cause)
        return tokens.sign_in_required("This sign-in did not succeed; begin another.")

    def _unreachable(self, issuer: str, error: Unreachable) -> Failure:
        SIGN_INS.labels(issuer, "unreachable").inc()
        log.warning("issuer_unreachable", issuer=issuer, cause=str(error))
        return failures.unavailable("The issuer cannot be asked now; try again.", retry_after_s=2)
