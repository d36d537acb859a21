"""Page tokens: where the page before ended, as an opaque text without anything secret, checked when it returns."""

from __future__ import annotations

import base64
import binascii

from omnipoly.rules.codes import Code
from omnipoly.runtime.refusals import failure


def encode(*parts: str | int) -> str:
    """The token of a place: texts without blanks, and numbers."""
    return base64.urlsafe_b64encode(" ".join(str(part) for part in parts).encode()).decode()


def decode(token: str, parts: int) -> list[str]:
    """The parts of a token that `encode` made. Raises `Failure` ``bad_request`` for any other."""
    try:
        found = base64.b64decode(token, altchars=b"-_", validate=True).decode().split(" ")
    except (ValueError, binascii.Error):
        found = []
    if len(found) != parts:
        raise failure(Code.BAD_REQUEST, "That page token is not one of ours.")
    return found


def decode_number(text: str) -> int:
    """A whole number in a token. Raises `Failure` ``bad_request`` for anything else."""
    if not text.isascii() or not text.isdecimal() or len(text) > 18:
        raise failure(Code.BAD_REQUEST, "That page token is not one of ours.")
    return int(text)
