"""Access tokens for those who have no issuer to sign in with: operators, services of one's own, scenarios."""

from __future__ import annotations

import os
from pathlib import Path

from omnipoly.runtime import roles as operators
from omnipoly.runtime.errors import ConfigError
from omnipolyd.gateway import tokens

ROLES = (*operators.ROLES, tokens.BOTS)


def secret(key_file: Path | None) -> str:
    """The secrets of a file, or of the environment as the gateways read it. Raises ``ConfigError``."""
    named = key_file or os.environ.get("OMNIPOLY_SESSION_KEY_FILE", "")
    if not named:
        given = os.environ.get("OMNIPOLY_SESSION_KEY", "")
        if not given:
            raise ConfigError(
                "with which key? Give --key-file (of `omnipolyd up`: DIR/session.key), or set OMNIPOLY_SESSION_KEY"
            )
        return given
    try:
        return ",".join(Path(named).read_text(encoding="utf-8").split())
    except (OSError, ValueError) as error:
        raise ConfigError(f"the key file cannot be read: {error}") from None


def token(key_file: Path | None, person: str, name: str, roles: list[str], minutes: int) -> str:
    """A token signed as the gateways sign, and accepted by them for as long as they know the key.

    Raises ``ConfigError``.
    """
    unknown = sorted(set(roles) - set(ROLES))
    if unknown:
        raise ConfigError(f"{', '.join(unknown)}: roles are {', '.join(ROLES)}")
    return tokens.issue(secret(key_file), person, name, roles=roles, lifetime_s=minutes * 60)
