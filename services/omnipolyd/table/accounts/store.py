"""Persons and sessions in Postgres: each statement or transaction a method, which may be repeated without harm."""

from __future__ import annotations

import hmac
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple

from ..statements import Statements
from . import refreshing, sql
from .refreshing import Token

if TYPE_CHECKING:
    from omnipoly.runtime.database import Record

AGAIN = timedelta(seconds=60)
"""So long a renewal whose answer was lost has the same answer again."""
KEPT = timedelta(days=1)
"""A session that has ended is kept so long; a guest without a session likewise."""
SWEPT = 1000
"""Rows deleted at once."""


class Person(NamedTuple):
    """Somebody who has signed in."""

    person: str
    name: str
    guest: bool
    roles: list[str]
    created_at: datetime
    banned_until: datetime | None
    ban_reason: str
    stamp: int


class Ended(NamedTuple):
    """A session that has just ended."""

    session: str
    person: str
    at: datetime


class Renewed(NamedTuple):
    """What came of a refresh token that was shown."""

    person: Person | None
    """Whose session it is; ``None``: nobody's that goes on."""
    token: Token | None = None
    """The next one; ``None`` when it was not good, or its person is banned."""
    ended: tuple[Ended, ...] = ()
    """The session, when it ended because a used token was shown again."""
    refused: str = ""
    """Why not, for the log."""


class Revocation(NamedTuple):
    """Why tokens are not good any more."""

    person: str
    session: str
    """"": it is about the person."""
    at: datetime
    banned_until: datetime | None
    stamp: int


class AccountStore(Statements):
    """The statements."""

    async def upsert(self, person: str, issuer: str, subject: str, name: str) -> tuple[Person, bool]:
        """A person, found or made, under the name they have now; whether they were made."""
        row = await self._row(sql.UPSERT, person, issuer, subject, name, not issuer)
        assert row is not None
        return _person(row), row["created"]

    async def person(self, person: str) -> Person | None:
        """A person; ``None`` for nobody."""
        row = await self._row(sql.PERSON, person)
        return None if row is None else _person(row)

    async def open(
        self, person: str, request_id: str, sign_in: str, expires_at: datetime, now: datetime
    ) -> tuple[Person | None, Token | None]:
        """Opens a session, once for each ``request_id`` and ``sign_in``; its person and first token.

        No person: there is none. No token: they are banned, or the sign-in was used.
        """
        session, salt = refreshing.new_session()
        token = refreshing.first(session, salt, request_id)
        opened_by = refreshing.hash_of(request_id.encode())
        async with self._connection() as connection, connection.transaction():
            row = await connection.fetchrow(sql.LOCK_PERSON, person)
            if row is None:
                return None, None
            found = _person(row)
            if banned(found, now):
                return found, None
            opened = await connection.fetchval(
                sql.OPEN, session, person, salt, token.hash(), opened_by, sign_in or None, expires_at
            )
            if opened is not None:
                return found, token
            before = await connection.fetchrow(sql.OPENED, opened_by, person)
            return found, None if before is None else refreshing.first(before["session"], before["salt"], request_id)

    async def renew(self, shown: Token, request_id: str, expires_at: datetime, guest_expires_at: datetime) -> Renewed:
        """Takes a refresh token and gives the next one; one that was used before ends its session."""
        renewed_by = refreshing.hash_of(request_id.encode())
        async with self._connection() as connection, connection.transaction():
            row = await connection.fetchrow(sql.LOCK_SESSION, shown.session)
            if row is None or not refreshing.ours(shown, row["salt"]):
                return Renewed(None, refused="unknown")
            person, now = _person(row), row["now"]
            if banned(person, now):
                return Renewed(person, refused="banned")
            if row["ended_at"] is not None or row["expires_at"] <= now:
                return Renewed(None, refused="ended")
            following = refreshing.after(shown, row["salt"])
            if _good(shown, row):
                ends_at = guest_expires_at if person.guest else expires_at
                await connection.execute(
                    sql.RENEW, shown.session, following.generation, following.hash(), renewed_by, ends_at
                )
                return Renewed(person, following)
            if _good(following, row) and row["renewed_by"] == renewed_by and now - row["renewed_at"] < AGAIN:
                return Renewed(person, following)
            ended = await connection.fetch(sql.END, shown.session, "reused")
            return Renewed(None, ended=tuple(Ended(*one) for one in ended), refused="reused")

    async def revoke(self, shown: Token, *, everywhere: bool) -> list[Ended]:
        """Ends the session of a token that was ever good, or for one that still is all of its person."""
        async with self._connection() as connection, connection.transaction():
            row = await connection.fetchrow(sql.LOCK_SESSION, shown.session)
            if row is None or not refreshing.ours(shown, row["salt"]):
                return []
            goes_on = row["ended_at"] is None and row["expires_at"] > row["now"]
            if everywhere and goes_on and _good(shown, row):
                ended = await connection.fetch(sql.END_ALL, row["person"], "revoked")
            else:
                ended = await connection.fetch(sql.END, shown.session, "revoked")
            return [Ended(*one) for one in ended]

    async def ban(
        self, person: str, until: datetime | None, reason: str
    ) -> tuple[Person, datetime, list[Ended]] | None:
        """Bans a person and ends their sessions, or lifts a ban (``until``: None); ``None`` for nobody.

        The person, when it was given, and what it has ended.
        """
        async with self._connection() as connection, connection.transaction():
            row = await connection.fetchrow(sql.BAN, person, until, reason)
            if row is None:
                return None
            ended = await connection.fetch(sql.END_ALL, person, "banned") if until is not None else []
            return _person(row), row["changed_at"], [Ended(*one) for one in ended]

    async def set_roles(self, person: str, roles: Sequence[str]) -> tuple[Person, datetime | None] | None:
        """Gives a person these roles and no others; when that changed something; ``None`` for nobody."""
        row = await self._row(sql.SET_ROLES, person, list(roles))
        if row is not None:
            return _person(row), row["changed_at"]
        found = await self.person(person)
        return None if found is None else (found, None)

    async def revocations(
        self, since: datetime, after: tuple[datetime, str], limit: int, *, bans: bool
    ) -> list[Revocation]:
        """Revocations given since, and with ``bans`` every ban that holds, the oldest first, after (at, key)."""
        return [Revocation(*row) for row in await self._rows(sql.REVOCATIONS, since, bans, *after, limit)]

    async def sweep(self) -> bool:
        """Deletes some of what nobody needs any more; whether there may be more of it."""
        deleted: list[int] = [await self._value(text, KEPT, SWEPT) for text in (sql.OLD_SESSIONS, sql.OLD_GUESTS)]
        return max(deleted) == SWEPT


def banned(person: Person, now: datetime) -> bool:
    """Whether a ban holds."""
    return person.banned_until is not None and person.banned_until > now


def _good(token: Token, row: Record) -> bool:
    return bool(row["generation"] == token.generation and hmac.compare_digest(token.hash(), row["hash"]))


def _person(row: Record) -> Person:
    return Person(*(row[field] for field in Person._fields))
