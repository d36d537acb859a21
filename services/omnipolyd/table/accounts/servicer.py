"""``AccountService``: persons, sessions and bans, as rows and as published revocations."""

from __future__ import annotations

import asyncio
import hashlib
import re
from collections.abc import Awaitable, Callable, Iterable
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, TypeVar

import grpc

from omnipoly.rules.codes import Code
from omnipoly.runtime import failures, logging, page_tokens
from omnipoly.runtime.failures import Failure
from omnipoly.runtime.refusals import failure
from omnipoly.runtime.unary import Asked, Unary
from omnipoly.wire.gen.table.v1 import accounts_pb2 as pb

from .. import requests
from ..asking import ask
from ..store import EARLIEST, LATEST
from . import refreshing
from .store import AccountStore, Ended, Person, Renewed, Revocation, banned

if TYPE_CHECKING:
    from google.protobuf.timestamp_pb2 import Timestamp

    from omnipoly.runtime.bus import Bus

T = TypeVar("T")

log = logging.get(__name__)

SUBJECT = "omnipoly.accounts"
"""NATS: each revocation, as soon as it is given."""
SERVICE = pb.DESCRIPTOR.services_by_name["AccountService"].full_name
ADMIN = "admin"
HOLDS = timedelta(hours=2)
"""What was revoked earlier is of no interest: no access token lives longer than an hour."""
LONGEST_SESSION = timedelta(days=366)
MOST_REVOCATIONS = 1000
MOST_ROLES = 8
LONGEST_REASON = 300
SWEEP_S = 600.0

_REQUEST_ID = re.compile(r"[\x21-\x7e]{16,64}")
_SIGN_IN = re.compile(r"[\x21-\x7e]{0,64}")
_ROLE = re.compile(r"[a-z][a-z0-9_-]{0,31}")
_SERVICES_OWN = frozenset(("bots",))
"""Roles that nobody is given: services sign them for themselves."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class AccountServicer:
    """Requests to statements, and what they found back."""

    def __init__(self, store: AccountStore, bus: Bus, *, admins: Iterable[str]) -> None:
        """admins: persons who have that role whatever their row says: the first ones, who make others."""
        self._store = store
        self._bus = bus
        self._admins = frozenset(admins)

    def methods(self) -> dict[str, Unary]:
        """By name."""
        return {
            "UpsertPerson": Unary(pb.UpsertPersonRequest, self.UpsertPerson),
            "GetPerson": Unary(pb.GetPersonRequest, self.GetPerson),
            "OpenSession": Unary(pb.OpenSessionRequest, self.OpenSession),
            "RenewSession": Unary(pb.RenewSessionRequest, self.RenewSession),
            "RevokeSession": Unary(pb.RevokeSessionRequest, self.RevokeSession),
            "Ban": Unary(pb.BanRequest, self.Ban),
            "SetRoles": Unary(pb.SetRolesRequest, self.SetRoles),
            "ListRevocations": Unary(pb.ListRevocationsRequest, self.ListRevocations),
        }

    async def sweep(self) -> None:
        """Deletes what nobody needs any more, for ever."""
        while True:
            await asyncio.sleep(SWEEP_S)
            while await ask(self._store.sweep):
                continue

    # --- Persons

    async def UpsertPerson(self, request: pb.UpsertPersonRequest, asked: Asked) -> pb.UpsertPersonResponse:
        """Finds the person of a sign-in, or makes one."""
        issuer, subject = request.issuer, request.subject
        if len(issuer) > 256 or not 1 <= len(subject) <= 256 or "\0" in issuer + subject:
            raise requests.bad("An issuer has at most 256 characters, a subject 1 to 256.")
        name = requests.shown_name(request.name)
        person = person_id(issuer, subject)
        kept = subject if issuer else ""
        found, created = await _asked(lambda: self._store.upsert(person, issuer, kept, name), asked)
        return pb.UpsertPersonResponse(person=self._person(found), created=created)

    async def GetPerson(self, request: pb.GetPersonRequest, asked: Asked) -> pb.GetPersonResponse:
        """Reads a person."""
        person = requests.person_id(request.person)
        found = await _asked(lambda: self._store.person(person), asked)
        if found is None:
            raise unknown()
        return pb.GetPersonResponse(person=self._person(found))

    # --- Sessions

    async def OpenSession(self, request: pb.OpenSessionRequest, asked: Asked) -> pb.OpenSessionResponse:
        """Opens a session."""
        person, now = requests.person_id(request.person), datetime.now(UTC)
        if not _REQUEST_ID.fullmatch(request.request_id):
            raise requests.bad("A session is opened by a call of 16 to 64 printable ASCII characters without blanks.")
        if not _SIGN_IN.fullmatch(request.sign_in):
            raise requests.bad("A sign-in's id has at most 64 printable ASCII characters without blanks.")
        expires = _expiry(request.expires, now)
        found, token = await _asked(
            lambda: self._store.open(person, request.request_id, request.sign_in, expires, now), asked
        )
        if found is None:
            raise unknown()
        if token is None:
            raise refusal_of(found, now) or failure(Code.SIGN_IN_REQUIRED, "That sign-in was used before.")
        return pb.OpenSessionResponse(session=token.session, refresh_token=token.text())

    async def RenewSession(self, request: pb.RenewSessionRequest, asked: Asked) -> pb.RenewSessionResponse:
        """Renews a session; a refresh token used twice ends it."""
        now = datetime.now(UTC)
        request_id = requests.command_id(request.request_id)
        expires, guest_expires = _expiry(request.expires, now), _expiry(request.guest_expires, now)
        shown = refreshing.parse(request.refresh_token)
        if shown is None:
            raise failure(Code.SIGN_IN_REQUIRED)
        renewed: Renewed = await _asked(lambda: self._store.renew(shown, request_id, expires, guest_expires), asked)
        if renewed.ended:
            log.warning("refresh_token_reused", session=shown.session, person=renewed.ended[0].person)
            self._tell(renewed.ended)
        if renewed.token is None or renewed.person is None:
            log.info("session_not_renewed", session=shown.session, cause=renewed.refused)
            raise (renewed.person and refusal_of(renewed.person, now)) or failure(Code.SIGN_IN_REQUIRED)
        response = pb.RenewSessionResponse(
            person=self._person(renewed.person), session=shown.session, refresh_token=renewed.token.text()
        )
        response.expires.CopyFrom(request.guest_expires if renewed.person.guest else request.expires)
        return response

    async def RevokeSession(self, request: pb.RevokeSessionRequest, asked: Asked) -> pb.RevokeSessionResponse:
        """Ends one session, or all of its person. What is no token of ours ends nothing."""
        shown = refreshing.parse(request.refresh_token)
        if shown is None:
            return pb.RevokeSessionResponse()
        ended = await _asked(lambda: self._store.revoke(shown, everywhere=request.all), asked)
        self._tell(ended)
        return pb.RevokeSessionResponse(revoked=len(ended))

    # --- What admins give

    async def Ban(self, request: pb.BanRequest, asked: Asked) -> pb.BanResponse:
        """Bans a person, or lifts the ban."""
        person, by = requests.person_id(request.person), requests.person_id(request.by)
        requests.command_id(request.request_id)
        if len(request.reason) > LONGEST_REASON or not (request.reason.isprintable() or not request.reason):
            raise requests.bad(f"A reason has at most {LONGEST_REASON} printable characters.")
        until = None if request.lift else LATEST
        if request.HasField("until") and not request.lift:
            until = min(requests.moment(request.until), LATEST)
            if until <= datetime.now(UTC):
                raise requests.bad("A ban ends in the future; to end one, lift it.")
        reason = "" if request.lift else request.reason
        given = await _asked(lambda: self._store.ban(person, until, reason), asked)
        if given is None:
            raise unknown()
        found, at, ended = given
        log.info("ban_lifted" if request.lift else "banned", person=person, by=by, sessions=len(ended))
        # first the ban, so that those whose streams end hear why
        self._publish(Revocation(person, "", at, found.banned_until, found.stamp))
        self._tell(ended)
        return pb.BanResponse(person=self._person(found))

    async def SetRoles(self, request: pb.SetRolesRequest, asked: Asked) -> pb.SetRolesResponse:
        """Gives a person roles."""
        person, by = requests.person_id(request.person), requests.person_id(request.by)
        requests.command_id(request.request_id)
        roles = role_names(request.roles)
        if _SERVICES_OWN.intersection(roles):
            raise requests.bad("That role is the platform's own.")
        given = await _asked(lambda: self._store.set_roles(person, roles), asked)
        if given is None:
            raise unknown()
        found, at = given
        if at is not None:
            log.info("roles_given", person=person, by=by, roles=roles)
            self._publish(Revocation(person, "", at, found.banned_until, found.stamp))
        return pb.SetRolesResponse(person=self._person(found))

    # --- What those ask who check tokens

    async def ListRevocations(self, request: pb.ListRevocationsRequest, asked: Asked) -> pb.ListRevocationsResponse:
        """Lists what makes tokens void."""
        limit = requests.page_size(request.page_size, MOST_REVOCATIONS, MOST_REVOCATIONS)
        response = pb.ListRevocationsResponse()
        response.server_time.GetCurrentTime()
        everything = not request.HasField("since")
        since = datetime.now(UTC) - HOLDS if everything else requests.moment(request.since)
        after = _position(request.page_token)
        found = await _asked(lambda: self._store.revocations(since, after, limit, bans=everything), asked)
        response.revocations.extend(map(_revocation, found))
        if len(found) == limit:
            last = found[-1]
            response.next_page_token = page_tokens.encode(_micros(last.at), last.person, last.session)
        return response

    def _tell(self, ended: Iterable[Ended]) -> None:
        for one in ended:
            self._publish(Revocation(one.person, one.session, one.at, None, 0))

    def _publish(self, revocation: Revocation) -> None:
        self._bus.publish(SUBJECT, _revocation(revocation).SerializeToString())

    def _person(self, person: Person) -> pb.Person:
        roles = person.roles
        if person.person in self._admins and ADMIN not in roles:
            roles = [ADMIN, *roles[: MOST_ROLES - 1]]
        message = pb.Person(
            person=person.person,
            name=person.name,
            guest=person.guest,
            roles=roles,
            ban_reason=person.ban_reason,
            stamp=person.stamp,
        )
        message.created.FromDatetime(person.created_at)
        if banned(person, datetime.now(UTC)):
            assert person.banned_until is not None
            message.banned_until.FromDatetime(person.banned_until)
        return message


def person_id(issuer: str, subject: str) -> str:
    """The id of who an issuer vouches for, or of a guest: the same for the same, and telling nothing of them."""
    digest = hashlib.sha256(f"omnipoly person\0{issuer}\0{subject}".encode()).hexdigest()[:32]
    return f"{'oidc' if issuer else 'guest'}:{digest}"


def refusal_of(person: Person, now: datetime) -> Failure | None:
    """The refusal of somebody who is banned."""
    if person.banned_until is None or not banned(person, now):
        return None
    until = "" if person.banned_until >= LATEST else f" until {person.banned_until:%Y-%m-%d %H:%M} UTC"
    return failure(Code.BANNED, f"You are banned{until}{f': {person.ban_reason}' if person.ban_reason else ''}.")


def unknown() -> Failure:
    """The refusal of a person nobody knows."""
    return Failure(grpc.StatusCode.NOT_FOUND, Code.BAD_REQUEST, "There is no such person.")


async def _asked(query: Callable[[], Awaitable[T]], asked: Asked) -> T:
    try:
        async with asyncio.timeout_at(min(asked.deadline, requests.usual_deadline(requests.USUAL_WAIT_S))):
            return await ask(query)
    except TimeoutError:
        raise failures.unavailable("Accounts cannot be reached; try again.") from None


def role_names(given: Iterable[str]) -> list[str]:
    """Roles that somebody may be given, each once, in order. Raises ``Failure``."""
    roles = sorted(set(given))
    if len(roles) > MOST_ROLES or not all(_ROLE.fullmatch(role) for role in roles):
        raise requests.bad(f"At most {MOST_ROLES} roles, each of 1 to 32 small letters, digits, hyphens.")
    return roles


def _expiry(at: Timestamp, now: datetime) -> datetime:
    expires = requests.moment(at)
    if not now < expires <= now + LONGEST_SESSION:
        raise requests.bad("A session ends within 366 days.")
    return expires


def _revocation(revocation: Revocation) -> pb.Revocation:
    message = pb.Revocation(person=revocation.person, session=revocation.session, stamp=revocation.stamp)
    message.at.FromDatetime(revocation.at)
    if revocation.banned_until is not None:
        message.banned_until.FromDatetime(revocation.banned_until)
    return message


def _position(page_token: str) -> tuple[datetime, str]:
    if not page_token:
        return EARLIEST, ""
    micros, person, session = page_tokens.decode(page_token, 3)
    return _EPOCH + timedelta(microseconds=page_tokens.decode_number(micros)), f"{person} {session}"


def _micros(at: datetime) -> int:
    return (at - _EPOCH) // timedelta(microseconds=1)
