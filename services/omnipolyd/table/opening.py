"""Opening a table: its id, its secret seed, its first commit."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import secrets
import time
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING

import msgspec

from omnipoly.rules import engine, lobby
from omnipoly.rules.codes import Code
from omnipoly.rules.entropy import commitment
from omnipoly.rules.events import SeatTaken, TableOpened
from omnipoly.runtime import failures
from omnipoly.runtime.refusals import failure
from omnipoly.wire import commits

from . import summaries
from .asking import ask
from .commands import Answer, content_digest
from .doors.store import set_pin
from .ledger.moving import NO_GUESTS, is_guest
from .store import Entry
from .table import platform_due_ms

if TYPE_CHECKING:
    from collections.abc import Iterable

    from omnipoly.rules.actions import SetOptions
    from omnipoly.rules.events import Event
    from omnipoly.rules.ring import Game
    from omnipoly.rules.state import State

    from .doors.pins import Pin
    from .loading import Epoch
    from .publishing import Publisher
    from .store import Found, Store

SEED_BYTES = 32


def table_id(person: str, command_id: str) -> str:
    """The id of the table that a person opens by a command: the same again is the same table, whoever is asked."""
    digest = hashlib.sha256(f"{len(person)}:{person}{command_id}".encode()).digest()
    return base64.b32encode(digest[:15]).decode().lower()


class Opening(msgspec.Struct, frozen=True):
    """What somebody asks for when they open a table."""

    game: Game
    options: SetOptions
    person: str
    name: str
    command_id: str
    content: bytes
    """The request as it came, for the digest."""
    seated: bool
    """The opener takes the first seat."""
    dev: bool
    traceparent: str = ""
    pin: Pin | None = None
    """Of a private table."""


class Opener:
    """Opens tables. An id derived from person and command makes a repeat find the first table again."""

    def __init__(self, store: Store, publisher: Publisher, epoch: Epoch, *, most_open: int) -> None:
        self._store = store
        self._publisher = publisher
        self._epoch = epoch
        self._most_open = most_open

    async def open(self, asked: Opening, deadline: float) -> tuple[str, Answer]:
        """(table id, answer); ``deadline`` by the event loop's clock.

        Raises ``Failure``: ``bad_option``, ``too_many_tables``, ``key_reused``, ….
        """
        new_id = table_id(asked.person, asked.command_id)
        tries = 0

        async def attempt() -> Answer:
            nonlocal tries
            tries += 1
            return await self._open(new_id, asked, again=tries > 1)

        try:
            async with asyncio.timeout_at(deadline):
                return new_id, await ask(attempt)
        except TimeoutError:
            raise failures.unavailable("The log cannot be reached; try again.") from None

    async def _open(self, new_id: str, asked: Opening, *, again: bool) -> Answer:
        """``again``: nobody knows what became of an attempt before."""
        found = await self._store.command(new_id, asked.person, asked.command_id)
        if found is not None:
            return self._found(asked, found, publish=again)
        entry, seed = self._entry(new_id, asked)
        edition = asked.game.edition
        opened = await self._store.open(
            entry,
            edition=edition.id,
            digest=edition.digest,
            text=edition.text,
            seed=seed,
            persons=[asked.person] if asked.seated else [],
            open_statuses=summaries.OPEN,
            most_open=self._most_open,
            beside=partial(set_pin, table_id=new_id, pin=asked.pin) if asked.pin is not None else None,
        )
        if opened:
            self._publish(asked, entry.body)
            return Answer(1, [entry.body])
        found = await self._store.command(new_id, asked.person, asked.command_id)
        if found is not None:
            return self._found(asked, found, publish=again)
        raise failure(Code.TOO_MANY_TABLES)

    def _found(self, asked: Opening, found: Found, *, publish: bool) -> Answer:
        if found.digest != _digest(asked):
            raise failure(Code.KEY_REUSED)
        if publish:
            self._publish(asked, found.body)
        return Answer(found.version, [found.body], duplicate=True)

    def _publish(self, asked: Opening, body: bytes) -> None:
        commit = commits.decode(body, asked.game)
        due_ms = platform_due_ms(_state(asked.game, commit.at_ms, commit.actor, commit.events))
        self._publisher.commit(commit.table, commit.version, commit.epoch, due_ms, commit.traceparent, body)

    def _entry(self, new_id: str, asked: Opening) -> tuple[Entry, bytes]:
        """The first commit, and the secret seed. Under ``--dev`` nothing is promised of the dice: they are scripted."""
        game, defaults = asked.game, lobby.default_options(asked.game)
        changes = msgspec.structs.replace(asked.options, private=asked.pin is not None)
        options = lobby.with_changes(game, defaults, changes)
        if options is None:
            raise failure(Code.BAD_OPTION)
        if options.entry_fee and asked.seated and is_guest(asked.person):
            raise failure(Code.SIGN_IN_REQUIRED, NO_GUESTS)
        seed = secrets.token_bytes(SEED_BYTES)
        edition = game.edition
        events: list[Event] = [
            TableOpened(
                new_id,
                edition.id,
                edition.digest,
                asked.person,
                options,
                "" if asked.dev else commitment(seed),
                asked.dev,
            )
        ]
        if asked.seated:
            events.append(SeatTaken(0, asked.person, asked.name, bot=False))
        at_ms = round(time.time() * 1000)
        at = datetime.fromtimestamp(at_ms / 1000, UTC)
        s = _state(game, at_ms, asked.person, events)
        epoch, due_ms = self._epoch.epoch, platform_due_ms(s)
        body = commits.encode(
            new_id,
            1,
            epoch,
            at_ms,
            events,
            actor=asked.person,
            command_id=asked.command_id,
            traceparent=asked.traceparent,
        )
        entry = Entry(
            table_id=new_id,
            version=1,
            epoch=epoch,
            actor=asked.person,
            command_id=asked.command_id,
            digest=_digest(asked),
            at=at,
            traceparent=asked.traceparent,
            body=body,
            status=summaries.status(s),
            due_at=datetime.fromtimestamp(due_ms / 1000, UTC) if due_ms else None,
            presence_revision=0,
            summary=summaries.summary(s, at),
            free_seats=summaries.has_free_seat(s),
        )
        return entry, seed


def _state(game: Game, at_ms: int, actor: str, events: Iterable[Event]) -> State:
    """The state after a first commit."""
    s = engine.blank(game.first)
    engine.enter(s, at_ms, actor)
    for event in events:
        engine.apply(s, event)
    return s


def _digest(asked: Opening) -> bytes:
    return content_digest(asked.content, 0, 0)
