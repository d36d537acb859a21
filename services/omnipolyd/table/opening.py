"""Opening a table: its id, its secret seed, its first commit."""

from __future__ import annotations

import base64
import hashlib
import secrets
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import msgspec

from omnipoly.rules import engine, lobby
from omnipoly.rules.codes import Code
from omnipoly.rules.entropy import commitment
from omnipoly.rules.events import SeatTaken, TableOpened
from omnipoly.runtime import failures
from omnipoly.runtime.database import FAULTS
from omnipoly.runtime.refusals import failure
from omnipoly.wire import commits

from . import summaries
from .commands import Answer, content_digest
from .store import Entry
from .table import platform_due_ms

if TYPE_CHECKING:
    from omnipoly.rules.actions import SetOptions
    from omnipoly.rules.events import Event
    from omnipoly.rules.ring import Game

    from .publishing import Publisher
    from .store import Store
    from .tables import HasEpoch

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


class Opener:
    """Opens tables. An id derived from person and command makes a repeat find the first table again."""

    def __init__(self, store: Store, publisher: Publisher, epoch: HasEpoch, *, most_open: int) -> None:
        self._store = store
        self._publisher = publisher
        self._epoch = epoch
        self._most_open = most_open

    async def open(self, asked: Opening) -> tuple[str, Answer]:
        """(table id, answer). Raises ``Failure``: ``bad_option``, ``too_many_tables``, ``key_reused``, …."""
        new_id = table_id(asked.person, asked.command_id)
        try:
            return new_id, await self._open(new_id, asked)
        except FAULTS as error:
            raise failures.unavailable("The log cannot be reached; try again.") from error

    async def _open(self, new_id: str, asked: Opening) -> Answer:
        digest = content_digest(asked.content, 0, 0)
        found = await self._store.command(new_id, asked.person, asked.command_id)
        if found is None:
            if await self._store.open_tables(asked.person, summaries.OPEN) >= self._most_open:
                raise failure(Code.TOO_MANY_TABLES)
            entry, seed = self._entry(new_id, asked, digest)
            edition = asked.game.edition
            if await self._store.open(
                entry,
                edition=edition.id,
                digest=edition.digest,
                text=edition.text,
                seed=seed,
                persons=[asked.person] if asked.seated else [],
            ):
                due_ms = round(entry.due_at.timestamp() * 1000) if entry.due_at is not None else 0
                self._publisher.commit(new_id, 1, entry.epoch, due_ms, asked.traceparent, entry.body)
                return Answer(1, [entry.body])
            found = await self._store.command(new_id, asked.person, asked.command_id)
        if found is None or found.digest != digest:
            raise failure(Code.KEY_REUSED)
        return Answer(found.version, [found.body], duplicate=True)

    def _entry(self, new_id: str, asked: Opening, digest: bytes) -> tuple[Entry, bytes]:
        """The first commit, and the secret seed."""
        game, defaults = asked.game, lobby.default_options(asked.game)
        options = lobby.with_changes(game, defaults, asked.options)
        if options is None:
            raise failure(Code.BAD_OPTION)
        seed = secrets.token_bytes(SEED_BYTES)
        edition = game.edition
        events: list[Event] = [
            TableOpened(new_id, edition.id, edition.digest, asked.person, options, commitment(seed), asked.dev)
        ]
        if asked.seated:
            events.append(SeatTaken(0, asked.person, asked.name, bot=False))
        at_ms = round(time.time() * 1000)
        at = datetime.fromtimestamp(at_ms / 1000, UTC)
        s = engine.blank(game.first)
        engine.enter(s, at_ms, asked.person)
        for event in events:
            engine.apply(s, event)
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
            digest=digest,
            at=at,
            traceparent=asked.traceparent,
            body=body,
            status=summaries.status(s),
            due_at=datetime.fromtimestamp(due_ms / 1000, UTC) if due_ms else None,
            presence_revision=0,
            summary=summaries.summary(s, at),
        )
        return entry, seed
