"""Names of calls: a call sent twice under one name is done once."""

from __future__ import annotations

import secrets


def fresh() -> str:
    """A name that no other call has: 26 characters."""
    return f"c-{secrets.token_hex(12)}"
