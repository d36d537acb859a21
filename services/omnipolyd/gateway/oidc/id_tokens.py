"""ID tokens: what is looked at before one is believed (OpenID Connect Core, 3.1.3.7). Pure."""

from __future__ import annotations

import hmac
from typing import Any

import jwt

from .faults import NotVouched

SKEW_S = 60
"""How far an issuer's clock may be from ours."""


def header(token: str, algorithms: tuple[str, ...]) -> tuple[str, str]:
    """(algorithm, key id or "") that a token names. Raises ``NotVouched`` for an algorithm that is not to be used."""
    try:
        found = jwt.get_unverified_header(token)
    except jwt.PyJWTError:
        raise NotVouched("the ID token is none") from None
    algorithm, key = found.get("alg"), found.get("kid", "")
    if algorithm not in algorithms:
        raise NotVouched("the ID token is signed in a way that is not allowed")
    if not isinstance(key, str):
        raise NotVouched("the ID token names no key")
    return str(algorithm), key


def choose(keys: list[dict[str, Any]], algorithm: str, key: str) -> jwt.PyJWK | None:
    """The key of an issuer's that a token names; without a name, the only one that fits. ``None``: there is none."""
    fitting = [
        one
        for one in keys
        if (not key or one.get("kid") == key)
        and one.get("use", "sig") == "sig"
        and one.get("alg", algorithm) == algorithm
    ]
    made = []
    for one in fitting:
        try:
            made.append(jwt.PyJWK(one, algorithm))
        except (jwt.PyJWTError, TypeError, ValueError):
            continue  # of another kind than the algorithm wants
    return made[0] if len(made) == 1 or (made and key) else None


def claims(token: str, key: jwt.PyJWK, *, issuer: str, client_id: str, nonce: str) -> dict[str, Any]:
    """What a token says, once it is believed. Raises ``NotVouched``."""
    try:
        found: dict[str, Any] = jwt.decode(
            token,
            key,
            [key.algorithm_name],
            audience=client_id,
            issuer=issuer,
            leeway=SKEW_S,
            options={"require": ["iss", "sub", "aud", "exp", "iat", "nonce"], "enforce_minimum_key_length": True},
        )
    except (jwt.PyJWTError, TypeError, ValueError) as error:
        raise NotVouched(f"the ID token does not hold: {type(error).__name__}") from None
    audience, party = found["aud"], found.get("azp", client_id)
    if party != client_id or (isinstance(audience, list) and len(audience) > 1 and "azp" not in found):
        raise NotVouched("the ID token is for another client")
    if not isinstance(found["nonce"], str) or not hmac.compare_digest(found["nonce"].encode(), nonce.encode()):
        raise NotVouched("the ID token belongs to another sign-in")
    if not isinstance(found["sub"], str) or not 1 <= len(found["sub"]) <= 255:
        raise NotVouched("the ID token names nobody")
    return found
