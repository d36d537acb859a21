"""Who is let in to a table, and who has to go (TUB-PRIVATE, TUB-VIEWERS)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import TYPE_CHECKING, NamedTuple, TypeVar
from weakref import WeakValueDictionary

from omnipoly.rules.codes import Code
from omnipoly.runtime import failures
from omnipoly.runtime.refusals import failure

from ..asking import ask
from ..commands import Look

if TYPE_CHECKING:
    from omnipoly.rules.state import State

    from ..commands import Answer
    from ..tables import Tables
    from .pins import Hasher
    from .store import DoorStore, Entry

T = TypeVar("T")

SENT_AWAY = "The host has sent you away from this table."
HAS_A_PIN = "This table has a PIN."


class Standing(NamedTuple):
    """Who somebody is at a table."""

    seat: int
    """Theirs, also one that a bot holds for them; -1: none."""
    host: bool
    name: str
    """The one their seat shows; "" without a seat."""
    viewers_chat: bool
    version: int

    @property
    def belongs(self) -> bool:
        """They need nobody's leave."""
        return self.seat >= 0 or self.host


def standing_of(s: State, person: str, version: int = 0) -> Standing:
    """Who somebody is at a table."""
    seat = -1
    if person in s.holder:
        seat = s.holder.index(person)
    elif person and person in s.stands_in_for:
        seat = s.stands_in_for.index(person)
    name = s.name[seat] if seat >= 0 else ""
    return Standing(seat, person == s.host, name, s.options.viewers_chat, version)


class Keeping:
    """Looks people in the face. Each method raises ``Failure``; ``until`` is when its caller gives up, by the loop's
    clock."""

    def __init__(self, tables: Tables, store: DoorStore, hasher: Hasher) -> None:
        self._tables = tables
        self._store = store
        self._hasher = hasher
        self._trying: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def standing(self, table_id: str, person: str, until: float) -> Standing:
        """Who somebody is at a table as it stands now."""
        found: list[Standing] = []

        def see(s: State, answer: Answer) -> bytes:
            found.append(standing_of(s, person, answer.version))
            return b""

        await self._tables.submit(table_id, Look(see, deadline=until))
        return found[-1]

    async def admit(self, table_id: str, person: str, pin: str, until: float, *, admin: bool) -> Standing:
        """Let somebody follow or sit, and say who they are. Refused as ``wrong_pin``, ``viewers_closed`` for who was
        sent away, ``rate_limited`` for too many tries."""
        standing = await self.standing(table_id, person, until)
        if not standing.belongs and not admin:
            await self._knock(table_id, person, pin, until, await self.entry(table_id, person, until))
        return standing

    async def may_sit(self, table_id: str, person: str, pin: str, until: float) -> None:
        """The same for somebody who sits down, where mostly the door is open."""
        entry = await self.entry(table_id, person, until)
        if not entry.open and not (await self.standing(table_id, person, until)).belongs:
            await self._knock(table_id, person, pin, until, entry)

    async def entry(self, table_id: str, person: str, until: float) -> Entry:
        """How the door stands for somebody."""
        return await within(until, lambda: self._store.entry(table_id, person))

    async def _knock(self, table_id: str, person: str, pin: str, until: float, entry: Entry) -> None:
        if not entry.barred and entry.pin is not None and not entry.admitted and pin:
            # One at a time, so that tries that are right do not count while they are looked at.
            lock = self._trying.setdefault(table_id, asyncio.Lock())
            try:
                async with asyncio.timeout_at(until), lock:
                    entry = await self._try(table_id, person, pin, until)
            except TimeoutError:
                raise failures.unavailable("Too many try their PIN at this table.") from None
        if entry.barred:
            raise failure(Code.VIEWERS_CLOSED, SENT_AWAY)
        if not entry.open:
            raise failure(Code.WRONG_PIN, "" if pin else HAS_A_PIN)

    async def _try(self, table_id: str, person: str, digits: str, until: float) -> Entry:
        """The door as it stands once a PIN was tried."""
        entry = await self.entry(table_id, person, until)
        if entry.open or entry.barred or entry.pin is None:
            return entry
        number = entry.pin_number
        with self._hasher.trying(person):
            tried = await within(until, lambda: self._store.begin_try(table_id, number, person))
            if isinstance(tried, timedelta):
                raise failure(
                    Code.RATE_LIMITED, "Too many wrong PINs; wait a while.", retry_after_s=tried.total_seconds()
                )
            if not await self._hasher.fits(digits, entry.pin):
                return entry
        admitted = await within(until, lambda: self._store.let_in(table_id, person, number, tried))
        return entry._replace(admitted=admitted)


async def within(until: float, query: Callable[[], Awaitable[T]]) -> T:
    """A query's answer, asked for until the caller gives up. Raises ``Failure`` UNAVAILABLE."""
    try:
        async with asyncio.timeout_at(until):
            return await ask(query)
    except TimeoutError:
        raise failures.unavailable("The log cannot be reached; try again.") from None
