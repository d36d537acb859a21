"""Page tokens: where the page before ended, as an opaque text that is checked when it returns."""

from __future__ import annotations

import base64
import binascii
from datetime import UTC, datetime, timedelta

from . import requests

LONGEST = 256
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def token(at: datetime, table_id: str) -> str:
    """The token of a page that ended at a row's time and table."""
    stamp = (at - _EPOCH) // timedelta(microseconds=1)
    return base64.urlsafe_b64encode(f"{stamp} {table_id}".encode()).decode()


def position(page_token: str, first: datetime) -> tuple[datetime, str]:
    """(time, table id) after which a page begins; ``first`` for an empty token. Raises ``Failure`` ``bad_request``."""
    if not page_token:
        return first, ""
    try:
        if len(page_token) > LONGEST:
            raise ValueError(page_token)
        stamp, _, table_id = (
            base64.b64decode(page_token.encode(), altchars=b"-_", validate=True).decode().partition(" ")
        )
        return _EPOCH + timedelta(microseconds=int(stamp)), requests.table_id(table_id)
    except (ValueError, binascii.Error, OverflowError) as error:
        raise requests.bad("That page token is not one of ours.") from error


def version(page_token: str) -> int:
    """The version after which a page of commits begins; 0 for an empty token. Raises ``Failure`` ``bad_request``."""
    if not page_token:
        return 0
    if not page_token.isascii() or not page_token.isdecimal() or len(page_token) > 18:
        raise requests.bad("That page token is not one of ours.")
    return int(page_token)
