"""Sessions that were ended, persons who were banned, roles that have changed: known within seconds on every gateway.

What is given is published at once, and asked for every two seconds, so that a message that was lost does not matter. It
is remembered for as long as an access token given out before could still hold; bans for as long as they last.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

from google.protobuf import timestamp_pb2
from google.protobuf.message import DecodeError
from prometheus_client import Counter, Gauge

from omnipoly.rules.codes import Code
from omnipoly.runtime import failures, logging, refusals
from omnipoly.runtime.failures import Failure
from omnipoly.wire.gen.table.v1 import accounts_pb2

from . import tokens

if TYPE_CHECKING:
    from omnipoly.runtime.bus import Message

    from .accounts import Accounts
    from .tokens import Claims

log = logging.get(__name__)

SUBJECT = "omnipoly.accounts"
MARGIN_S = 30
"""Asked again so far back: what was given then may have been on its way when it was last asked for."""
REMEMBERED_S = 2 * 3600.0
"""No access token of a session lives longer than half of it."""
SWEEP_S = 60.0
FIRST_S = 0.25
"""How often they are asked for until something is known."""
WAIT_S = 3.0
"""How long somebody who comes in earlier waits for that."""

ENDED = Counter("omnipoly_gateway_revoked_streams_total", "Streams ended by a revocation, a ban or a changed role.")
AGE = Gauge("omnipoly_gateway_revocations_age_seconds", "Time since revocations were last asked for and told.")


class Revocations:
    """What is revoked, as far as this gateway knows; nobody comes in before it knows anything."""

    def __init__(self, accounts: Accounts, every_s: float) -> None:
        """every_s: how often they are asked for."""
        self._accounts = accounts
        self._every_s = every_s
        self._sessions: dict[str, float] = {}
        """Sessions that have ended, and until when that is of interest, by the clock of the process."""
        self._stamps: dict[str, tuple[int, float]] = {}
        """Persons whose roles have changed: the least count that holds, and likewise."""
        self._banned: dict[str, float] = {}
        """Until when, seconds since 1970 UTC."""
        self._said: dict[str, tuple[int, float]] = {}
        """Persons of whom something was said: when that was given, nanoseconds since 1970, and when it was learned, by
        the clock of the process.
        """
        self._since: timestamp_pb2.Timestamp | None = None
        self._told_at = time.monotonic()
        self._swept = 0.0
        self._hurry = asyncio.Event()
        self._first = asyncio.Event()
        self.changed: Callable[[], None] = lambda: None
        """Called when something new is known."""
        AGE.set_function(lambda: time.monotonic() - self._told_at)

    @property
    def known(self) -> bool:
        """Whether anything was told yet."""
        return self._since is not None

    async def wait_known(self) -> None:
        """Waits until anything was told: a gateway that has just started. Raises ``Failure`` when that takes long."""
        try:
            async with asyncio.timeout(WAIT_S):
                await self._first.wait()
        except TimeoutError:
            raise failures.unavailable("This gateway has just started; try again.", retry_after_s=0.5) from None

    def check(self, claims: Claims) -> None:
        """Looks at what a token says, once anything is known. Raises the ``Failure`` of one that does not hold."""
        failure = self.verdict(claims)
        if failure is not None:
            raise failure

    def verdict(self, claims: Claims) -> Failure | None:
        """Why a token is not good any more; ``None``: as far as is known, it is."""
        until_s = self._banned.get(claims.person)
        if until_s is not None and until_s > time.time():
            return refusals.failure(Code.BANNED)
        if not claims.session:
            return None
        if claims.session in self._sessions:
            return tokens.sign_in_required("This session was ended; sign in again.")
        if claims.stamp < self._stamps.get(claims.person, (0, 0.0))[0]:
            return tokens.expired()
        return None

    async def hear(self, message: Message) -> None:
        """Takes in what was published."""
        try:
            revocation = accounts_pb2.Revocation.FromString(message.data)
        except DecodeError:
            log.warning("revocation_unreadable", size_bytes=len(message.data))
            return
        if self._learn(revocation):
            self.changed()

    async def look_now(self) -> None:
        """Asks at once: something may have been missed."""
        self._hurry.set()

    async def watch(self) -> None:
        """Asks, for ever."""
        while True:
            try:
                await self.ask()
            except Failure as failure:
                log.warning("revocations_not_told", cause=str(failure))
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._every_s if self.known else FIRST_S):
                    await self._hurry.wait()
            self._hurry.clear()

    async def ask(self) -> None:
        """Asks for what is new since the last time, or for all. Raises ``Failure``."""
        request = accounts_pb2.ListRevocationsRequest(since=self._since)
        news, told, asked_at = False, None, time.monotonic()
        while True:
            page = await self._accounts.revocations(request)
            told = told or page.server_time  # of the first page: what is given meanwhile is asked for next time
            for revocation in page.revocations:
                news = self._learn(revocation, asked_at) or news
            if not page.next_page_token:
                break
            request.page_token = page.next_page_token
        self._since = timestamp_pb2.Timestamp(seconds=max(0, told.seconds - MARGIN_S), nanos=told.nanos)
        self._told_at = time.monotonic()
        self._first.set()
        self._sweep()
        if news:
            self.changed()

    def _learn(self, revocation: accounts_pb2.Revocation, asked_at: float = 0.0) -> bool:
        """Whether it was news.

        asked_at: when the table service was asked for it, by the clock of the process; 0: it was published, who knows
        when. Of a person what was given last counts; but what the store says counts in any case for more than what
        was learned before it was asked: its clock may have been set.
        """
        now = time.monotonic()
        forget_at = now + REMEMBERED_S
        if revocation.session:
            news = revocation.session not in self._sessions
            self._sessions[revocation.session] = forget_at
            return news
        person, given_ns = revocation.person, revocation.at.ToNanoseconds()
        newest_ns, learned_at = self._said.get(person, (0, 0.0))
        if given_ns < newest_ns and learned_at > asked_at:
            return False
        self._said[person] = (given_ns, now)
        until_s = float(revocation.banned_until.seconds) if revocation.HasField("banned_until") else 0.0
        news = self._banned.get(person, 0.0) != until_s
        if until_s:
            self._banned[person] = until_s
        else:
            self._banned.pop(person, None)
        if revocation.stamp > self._stamps.get(person, (0, 0.0))[0]:
            self._stamps[person] = (revocation.stamp, forget_at)
            news = True
        return news

    def _sweep(self) -> None:
        now = time.monotonic()
        if now - self._swept < SWEEP_S:
            return
        self._swept, wall = now, time.time()
        self._sessions = {key: at for key, at in self._sessions.items() if at > now}
        self._stamps = {key: one for key, one in self._stamps.items() if one[1] > now}
        self._said = {key: one for key, one in self._said.items() if one[1] > now - REMEMBERED_S}
        self._banned = {key: until for key, until in self._banned.items() if until > wall}
