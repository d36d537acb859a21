"""The bots' own session: a token signed with the key that the gateways check sessions with.

Its shape is the gateway's (a JWT, HS256, the header naming the key); a test signs here and has a gateway read it.
"""

from __future__ import annotations

import hashlib
import time
from pathlib import Path
from typing import TYPE_CHECKING

import jwt

from omnipoly.runtime import logging
from omnipoly.runtime.errors import ConfigError
from omnipoly.wire.gen.gateway.v1 import sessions_pb2

if TYPE_CHECKING:
    from .config import BotsSettings

log = logging.get(__name__)

PERSON = "service:bots"
NAME = "Bots"
ROLE = "bots"
"""Acts as any bot, sees every table, is not slowed down."""
LIVES_S = 3600
SHORTEST_SECRET = 32


def secret(settings: BotsSettings) -> str:
    """The secret that signs. Raises ``ConfigError`` when there is none, or one that is too short."""
    given = [part.strip() for part in settings.session_key.get_secret_value().split(",")]
    if settings.session_key_file:
        try:
            given = Path(settings.session_key_file).read_text(encoding="utf-8").split()
        except (OSError, ValueError) as error:
            raise ConfigError(f"OMNIPOLY_SESSION_KEY_FILE cannot be read: {error}") from None
    given = [one for one in given if one]
    if not given:
        raise ConfigError("OMNIPOLY_SESSION_KEY is not set: bots sign in with the key that the gateways have")
    if len(given[0]) < SHORTEST_SECRET:
        raise ConfigError(f"OMNIPOLY_SESSION_KEY: a secret has at least {SHORTEST_SECRET} characters")
    return given[0]


class Key:
    """The secret that signs, read anew whenever a session is made: it may have changed in its file."""

    def __init__(self, settings: BotsSettings) -> None:
        """Raises ``ConfigError``."""
        self._settings = settings
        self._secret = secret(settings)

    def session(self) -> sessions_pb2.Session:
        """A session of the bots, an hour long."""
        try:
            self._secret = secret(self._settings)
        except ConfigError as error:
            log.warning("session_key_not_read", error=str(error))
        return session(self._secret)


def session(key: str) -> sessions_pb2.Session:
    """A session of the bots, an hour long."""
    now = int(time.time())
    payload = {
        "aud": "omnipoly",
        "sub": PERSON,
        "name": NAME,
        "iat": now,
        "exp": now + LIVES_S,
        "roles": [ROLE],
    }
    key_id = hashlib.sha256(b"omnipoly key " + key.encode()).hexdigest()[:8]
    token = jwt.encode(payload, key, "HS256", headers={"kid": key_id})
    made = sessions_pb2.Session(access_token=token, person=PERSON, name=NAME, roles=[ROLE])
    made.expires.FromSeconds(now + LIVES_S)
    return made
