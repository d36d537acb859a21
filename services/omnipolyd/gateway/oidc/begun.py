"""A sign-in that has begun: kept by the client, sealed, so that any gateway can end it.

What has to stay between us and the issuer (state, nonce, PKCE's verifier) is derived from the sign-in's number with a
key that gateways alone have: the sealed token itself tells nobody anything.
"""

from __future__ import annotations

import base64
import hmac
import secrets
import time
from typing import TYPE_CHECKING, NamedTuple

import jwt

if TYPE_CHECKING:
    from ..tokens import Keys

AUDIENCE = "omnipoly sign-in"
LIVES_S = 600
LONGEST = 2048


class Begun(NamedTuple):
    """One sign-in."""

    number: str
    """Names it; 22 characters."""
    issuer: str
    """The issuer's id."""
    redirect_uri: str
    expires_s: int
    """When it is too late: seconds since 1970 UTC."""
    state: str
    """Comes back with the redirect; 43 characters, like the two that follow."""
    nonce: str
    """Comes back in the ID token."""
    verifier: str
    """PKCE: shown with the code; only its hash is in the address."""

    def answers(self, state: str) -> bool:
        """Whether the redirect belongs to it."""
        return hmac.compare_digest(self.state.encode(), state.encode())


def begin(keys: Keys, issuer: str, redirect_uri: str) -> tuple[Begun, str]:
    """A new sign-in, and what its client keeps of it."""
    number, expires_s = secrets.token_urlsafe(16), int(time.time()) + LIVES_S
    payload = {"aud": AUDIENCE, "jti": number, "iss": issuer, "redirect": redirect_uri, "exp": expires_s}
    return _begun(keys, keys.signs, number, issuer, redirect_uri, expires_s), keys.seal(payload)


def resume(keys: Keys, sealed: str) -> Begun | None:
    """The sign-in that a client has kept; ``None`` for what is none, or too late."""
    try:
        payload, key = keys.unseal(sealed, AUDIENCE, ["jti", "iss"])
        return _begun(
            keys, key, str(payload["jti"]), str(payload["iss"]), str(payload["redirect"]), int(payload["exp"])
        )
    except (jwt.PyJWTError, LookupError, TypeError, ValueError):
        return None


def _begun(keys: Keys, key: str, number: str, issuer: str, redirect_uri: str, expires_s: int) -> Begun:
    state, nonce, verifier = (
        base64.urlsafe_b64encode(keys.derive(key, f"{what} {number}")).decode().rstrip("=")
        for what in ("state", "nonce", "verifier")
    )
    return Begun(number, issuer, redirect_uri, expires_s, state, nonce, verifier)
