"""Refresh tokens: what they are made of, and what one that is shown is worth. Pure.

A token is ``session.generation.secret.mark``. Each secret is made from the one before and the session's salt, so that a
call that is repeated gets the same answer, although of the secret itself only a hash is kept. The mark shows that a
token, however old, was once given out: an old one that is shown again ends the session, one that was made up does not.
Who reads the rows has salts and hashes, and can make no token of them; who has an old token has no salt.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import secrets
from typing import NamedTuple

SALT_BYTES = 32
LONGEST = 256
_SECRET_BYTES = 32
_MARK_BYTES = 16


class Token(NamedTuple):
    """A refresh token, taken apart."""

    session: str
    """22 characters."""
    generation: int
    """From 1."""
    secret: bytes
    mark: bytes

    def text(self) -> str:
        """As clients have it, about 100 characters."""
        return f"{self.session}.{self.generation}.{_encode(self.secret)}.{_encode(self.mark)}"

    def hash(self) -> bytes:
        """What is kept of it."""
        return hash_of(self.secret)


def new_session() -> tuple[str, bytes]:
    """An id that nobody can guess, and a salt."""
    return secrets.token_urlsafe(16), secrets.token_bytes(SALT_BYTES)


def first(session: str, salt: bytes, request_id: str) -> Token:
    """A session's first token; ``request_id``: of its opening, which nobody else can guess."""
    return _made(session, salt, 1, _mac(salt, b"open " + request_id.encode()))


def after(token: Token, salt: bytes) -> Token:
    """The token that takes the place of a good one."""
    return _made(token.session, salt, token.generation + 1, _mac(salt, b"next " + token.secret))


def parse(text: str) -> Token | None:
    """What may be a token; ``None`` for what cannot be one."""
    parts = text.split(".") if len(text) <= LONGEST and text.isascii() else []
    if len(parts) != 4 or not parts[1].isdecimal() or len(parts[1]) > 18:
        return None
    try:
        token = Token(parts[0], int(parts[1]), _decode(parts[2]), _decode(parts[3]))
    except (binascii.Error, ValueError):
        return None
    return token if len(token.secret) == _SECRET_BYTES and len(token.mark) == _MARK_BYTES else None


def ours(token: Token, salt: bytes) -> bool:
    """Whether it was ever given out."""
    return hmac.compare_digest(token.mark, _mark(token.session, salt, token.generation, token.secret))


def hash_of(value: bytes) -> bytes:
    """What is kept of something that nobody can guess: a plain hash is enough."""
    return hashlib.sha256(value).digest()


def _made(session: str, salt: bytes, generation: int, secret: bytes) -> Token:
    return Token(session, generation, secret, _mark(session, salt, generation, secret))


def _mark(session: str, salt: bytes, generation: int, secret: bytes) -> bytes:
    return _mac(salt, f"mark {session} {generation} ".encode() + secret)[:_MARK_BYTES]


def _mac(key: bytes, message: bytes) -> bytes:
    return hmac.digest(key, message, "sha256")


def _encode(value: bytes) -> str:
    return base64.urlsafe_b64encode(value).decode().rstrip("=")


def _decode(text: str) -> bytes:
    return base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
