"""Sessions as signed tokens: who somebody is, until when, in a form that every gateway can check by itself.

A token is a JWT, HS256, whose header names the key it is signed with, so that keys can rotate: put the new secret
first, drop the old one once its last session has ended.
"""

from __future__ import annotations

import hashlib
import math
import secrets
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import jwt

from omnipoly.rules.codes import Code
from omnipoly.runtime import logging, refusals
from omnipoly.runtime.errors import ConfigError
from omnipoly.runtime.failures import Failure

if TYPE_CHECKING:
    from .config import GatewaySettings

log = logging.get(__name__)

ALGORITHM = "HS256"
AUDIENCE = "omnipoly"
LONGEST_TOKEN = 4096
SHORTEST_SECRET = 32

BOTS = "bots"
"""The role of the platform's own bots: they act as any bot, see every table, and are not slowed down."""


class Claims(NamedTuple):
    """What a token says."""

    person: str
    """1 to 64 characters: ``guest:…``, ``oidc:…``, or a service's own name."""
    name: str
    """1 to 40 characters."""
    guest: bool
    roles: tuple[str, ...]
    expires_s: float
    """When it ends: seconds since 1970 UTC."""


class Keys:
    """The secrets that sign and check tokens."""

    def __init__(self, secrets_: Sequence[str]) -> None:
        """``secrets_``: at least one, the first signs. Raises ``ConfigError`` for one that is too short."""
        if not secrets_:
            raise ConfigError("OMNIPOLY_SESSION_KEY names no secret")
        if any(len(secret) < SHORTEST_SECRET for secret in secrets_):
            raise ConfigError(f"OMNIPOLY_SESSION_KEY: each secret needs at least {SHORTEST_SECRET} characters")
        self._keys = {_key_id(secret): secret for secret in secrets_}
        self._signs = _key_id(secrets_[0])

    @classmethod
    def of(cls, settings: GatewaySettings) -> Keys:
        """The keys that the settings name; without any a new one, which other gateways do not know.

        Raises ``ConfigError``.
        """
        given = [part.strip() for part in settings.session_key.get_secret_value().split(",")]
        if settings.session_key_file:
            try:
                given = Path(settings.session_key_file).read_text(encoding="utf-8").split()
            except (OSError, ValueError) as error:
                raise ConfigError(f"OMNIPOLY_SESSION_KEY_FILE cannot be read: {error}") from None
        given = [secret for secret in given if secret]
        if not given and not settings.session_key_file:
            log.warning("session_key_made", remedy="set OMNIPOLY_SESSION_KEY: sessions end with this process")
            given = [new_secret()]
        return cls(given)

    def sign(self, claims: Claims) -> str:
        """The token that says so."""
        payload: dict[str, Any] = {
            "aud": AUDIENCE,
            "sub": claims.person,
            "name": claims.name,
            "iat": int(time.time()),
            "exp": math.ceil(claims.expires_s),  # whole seconds: never less than was promised
        }
        if claims.guest:
            payload["guest"] = True
        if claims.roles:
            payload["roles"] = list(claims.roles)
        return jwt.encode(payload, self._keys[self._signs], ALGORITHM, headers={"kid": self._signs})

    def verify(self, token: str) -> Claims:
        """What a token says.

        Raises ``Failure`` UNAUTHENTICATED: ``token_expired`` for one of ours that has ended, ``sign_in_required`` for
        everything else, in one sentence whatever is wrong with it.
        """
        try:
            if len(token) > LONGEST_TOKEN:
                raise jwt.InvalidTokenError
            key = self._keys[jwt.get_unverified_header(token)["kid"]]
            payload = jwt.decode(
                token, key, [ALGORITHM], audience=AUDIENCE, options={"require": ["aud", "sub", "iat", "exp"]}
            )
            return _claims(payload)
        except jwt.ExpiredSignatureError:
            raise expired() from None
        except (jwt.PyJWTError, LookupError, TypeError, ValueError):
            raise sign_in_required() from None


def issue(
    secret: str, person: str, name: str, *, roles: Sequence[str] = (), guest: bool = False, lifetime_s: float
) -> str:
    """A token signed with a secret that the gateways know: for the platform's own services, operators and tests.

    secret: what ``OMNIPOLY_SESSION_KEY`` says; of several, the first signs. roles: ``BOTS`` for the bots. Raises
    ``ConfigError`` for a secret that is too short.
    """
    keys = Keys([part.strip() for part in secret.split(",") if part.strip()])
    return keys.sign(Claims(person, name, guest, tuple(roles), time.time() + lifetime_s))


def new_secret() -> str:
    """A secret to sign with: 43 characters."""
    return secrets.token_urlsafe(32)


def new_guest() -> str:
    """A person id that nobody has."""
    return f"guest:{secrets.token_urlsafe(16)}"


def sign_in_required() -> Failure:
    """The refusal of a call without a token that holds."""
    return refusals.failure(Code.SIGN_IN_REQUIRED)


def expired() -> Failure:
    """The refusal of a token that has ended, and the end of a stream that outlives its token."""
    return refusals.failure(Code.TOKEN_EXPIRED)


def _key_id(secret: str) -> str:
    """Names a secret without telling it."""
    return hashlib.sha256(b"omnipoly key " + secret.encode()).hexdigest()[:8]


def _claims(payload: dict[str, Any]) -> Claims:
    person, name, roles = payload["sub"], payload["name"], payload.get("roles", [])
    if not (isinstance(person, str) and 1 <= len(person) <= 64 and isinstance(name, str) and 1 <= len(name) <= 40):
        raise ValueError
    if not (isinstance(roles, list) and len(roles) <= 8 and all(isinstance(role, str) for role in roles)):
        raise TypeError
    return Claims(person, name, bool(payload.get("guest", False)), tuple(roles), float(payload["exp"]))
