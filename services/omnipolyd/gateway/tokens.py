"""Access tokens: who somebody is, until when, in a form that every gateway can check by itself.

A token is a JWT, HS256, whose header names the key it is signed with, so that keys can rotate, and in a file without a
restart: put the new secret last, then, when every gateway has it, first, and drop the old one when the last access
token it signed has ended. Sessions go on: what renews them is not signed with these keys.
"""

from __future__ import annotations

import asyncio
import functools
import hashlib
import hmac
import math
import secrets
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import jwt
from prometheus_client import Counter

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
LOOK_S = 2.0
"""How often a file of secrets is looked at."""
REMEMBERED = 4096
"""Tokens that were found to be ours lately: looking into one costs a third of a small call."""

TAKEN = Counter(
    "omnipoly_gateway_tokens_total", "Access tokens taken, by the id of the key that signed them.", ("key",)
)

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
    session: str = ""
    """The session it belongs to, at most 64 characters; "": none, as a service signs for itself."""
    stamp: int = 0
    """Counts the changes of the person's roles."""


class Keys:
    """The secrets that sign and check tokens."""

    def __init__(self, secrets_: Sequence[str]) -> None:
        """``secrets_``: at least one, the first signs. Raises ``ConfigError`` for one that is too short."""
        self._file: Path | None = None
        self._seen: tuple[int, int, int] | None = None
        self._take(secrets_)

    @classmethod
    def of(cls, settings: GatewaySettings) -> Keys:
        """The keys that the settings name; without any a new one, which other gateways do not know.

        Raises ``ConfigError``.
        """
        if settings.session_key_file:
            file = Path(settings.session_key_file)
            seen = _stamp(file)
            keys = cls(_read(file))
            keys._file, keys._seen = file, seen
            return keys
        given = [part.strip() for part in settings.session_key.get_secret_value().split(",")]
        given = [secret for secret in given if secret]
        if not given:
            log.warning("session_key_made", remedy="set OMNIPOLY_SESSION_KEY: sessions end with this process")
            given = [new_secret()]
        return cls(given)

    def _take(self, secrets_: Sequence[str]) -> None:
        if not secrets_:
            raise ConfigError("OMNIPOLY_SESSION_KEY names no secret")
        if any(len(secret) < SHORTEST_SECRET for secret in secrets_):
            raise ConfigError(f"OMNIPOLY_SESSION_KEY: each secret needs at least {SHORTEST_SECRET} characters")
        self._keys = {_key_id(secret): secret for secret in secrets_}
        self._taken = {key: TAKEN.labels(key) for key in self._keys}
        self.signs = _key_id(secrets_[0])
        """The id of the key that signs."""
        # Anew with the keys: what a key has signed that is gone holds no more. What does not hold is not remembered.
        self._known = functools.lru_cache(REMEMBERED)(self._open)

    async def watch(self) -> None:
        """Reads the file anew whenever it changes, for ever; one that cannot be read changes nothing."""
        while self._file is not None:
            await asyncio.sleep(LOOK_S)
            self.look()

    def look(self) -> None:
        """Reads the file anew if it has changed."""
        file = self._file
        if file is None or (seen := _stamp(file)) == self._seen:
            return
        try:
            self._take(_read(file))
        except ConfigError as error:
            if seen is not None:  # a file that is being replaced is not there for a moment
                log.error("session_keys_not_read", error=str(error))  # noqa: TRY400 - one line, no trace
        else:
            log.info("session_keys_read", keys=list(self._keys), signs=self.signs)
        self._seen = seen

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
        if claims.session:
            payload["sid"] = claims.session
        if claims.stamp:
            payload["stamp"] = claims.stamp
        return self.seal(payload)

    def seal(self, payload: dict[str, Any]) -> str:
        """A signed token of any payload; whose ``aud`` says what it is for."""
        return jwt.encode(payload, self._keys[self.signs], ALGORITHM, headers={"kid": self.signs})

    def derive(self, key: str, label: str) -> bytes:
        """32 bytes that only who knows a key, by its id, can make of a label. Raises ``LookupError``."""
        return hmac.digest(self._keys[key].encode(), b"omnipoly derived " + label.encode(), "sha256")

    def unseal(self, token: str, audience: str, require: Sequence[str]) -> tuple[dict[str, Any], str]:
        """The payload of a token that was sealed for this audience, and the id of its key. ``exp`` is checked.

        Raises ``jwt.PyJWTError``, ``LookupError``, ``TypeError`` or ``ValueError``.
        """
        if len(token) > LONGEST_TOKEN:
            raise jwt.InvalidTokenError
        key = jwt.get_unverified_header(token)["kid"]
        payload = jwt.decode(
            token, self._keys[key], [ALGORITHM], audience=audience, options={"require": ["aud", "exp", *require]}
        )
        return payload, key

    def verify(self, token: str) -> Claims:
        """What a token says.

        Raises ``Failure`` UNAUTHENTICATED: ``token_expired`` for one of ours that has ended, ``sign_in_required`` for
        everything else, in one sentence whatever is wrong with it.
        """
        try:
            claims, key = self._known(token)
        except jwt.ExpiredSignatureError:
            raise expired() from None
        except (jwt.PyJWTError, LookupError, TypeError, ValueError):
            raise sign_in_required() from None
        if claims.expires_s <= time.time():
            raise expired()
        self._taken[key].inc()
        return claims

    def _open(self, token: str) -> tuple[Claims, str]:
        """What a token says, and the id of its key. Raises as ``unseal``."""
        payload, key = self.unseal(token, AUDIENCE, ["sub", "iat"])
        return _claims(payload), key


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


def sign_in_required(sentence: str = "") -> Failure:
    """The refusal of a call without a token that holds."""
    return refusals.failure(Code.SIGN_IN_REQUIRED, sentence)


def expired() -> Failure:
    """The refusal of a token that has ended, and the end of a stream that outlives its token."""
    return refusals.failure(Code.TOKEN_EXPIRED)


def _key_id(secret: str) -> str:
    """Names a secret without telling it."""
    return hashlib.sha256(b"omnipoly key " + secret.encode()).hexdigest()[:8]


def _read(file: Path) -> list[str]:
    try:
        return file.read_text(encoding="utf-8").split()
    except (OSError, ValueError) as error:
        raise ConfigError(f"OMNIPOLY_SESSION_KEY_FILE cannot be read: {error}") from None


def _stamp(file: Path) -> tuple[int, int, int] | None:
    """What changes with a file; ``None`` when it is not there."""
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_ino, found.st_size


def _claims(payload: dict[str, Any]) -> Claims:
    person, name, roles = payload["sub"], payload["name"], payload.get("roles", [])
    session, stamp = payload.get("sid", ""), payload.get("stamp", 0)
    if not (isinstance(person, str) and 1 <= len(person) <= 64 and isinstance(name, str) and 1 <= len(name) <= 40):
        raise ValueError
    if not (isinstance(roles, list) and len(roles) <= 8 and all(isinstance(role, str) for role in roles)):
        raise TypeError
    if not (isinstance(session, str) and len(session) <= 64 and isinstance(stamp, int)):
        raise TypeError
    guest = bool(payload.get("guest", False))
    return Claims(person, name, guest, tuple(roles), float(payload["exp"]), session, stamp)
