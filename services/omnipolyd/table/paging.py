"""Page tokens: where the page before ended, as an opaque text that is checked when it returns."""

from __future__ import annotations

import base64
import binascii
from datetime import UTC, datetime

from omnipoly.rules.codes import Code
from omnipoly.runtime.refusals import failure


def token(at: datetime | None, key: str) -> str:
    """The token of a page that ended at a row's time and key."""
    stamp = "" if at is None else str(int(at.timestamp() * 1_000_000))
    return base64.urlsafe_b64encode(f"{stamp} {key}".encode()).decode()


def position(page_token: str, first: datetime) -> tuple[datetime, str]:
    """(time, key) after which a page begins; ``first`` for an empty token. Raises ``Failure`` ``bad_request``."""
    if not page_token:
        return first, ""
    try:
        stamp, _, key = base64.urlsafe_b64decode(page_token.encode()).decode().partition(" ")
        seconds, micros = divmod(int(stamp), 1_000_000)
        return datetime.fromtimestamp(seconds, UTC).replace(microsecond=micros), key
    except (ValueError, binascii.Error, OverflowError, OSError) as error:
        raise failure(Code.BAD_REQUEST, "That page token is not one of ours.") from error
