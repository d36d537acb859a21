"""Tables whose log was written a while ago: what falls due at once, or soon, without anybody waiting for it."""

from __future__ import annotations

import secrets
import time
from datetime import UTC, datetime

from omnipoly.rules import engine
from omnipoly.rules.actions import Action, AddBot, Join, Start
from omnipoly.rules.draft import Draft
from omnipoly.rules.entropy import FairEntropy, commitment
from omnipoly.rules.events import Event, SeatTaken, TableOpened
from omnipoly.rules.lobby import default_options
from omnipoly.rules.ring import Game
from omnipoly.wire import commits
from omnipolyd.table import summaries
from omnipolyd.table.store import Entry, Store
from omnipolyd.table.table import platform_due_ms
from tests.services.table.calling import unique_id
from tests.services.table.replicas import Replica


def now_ms() -> int:
    return time.time_ns() // 1_000_000


class Past:
    """A table's log being written by hand, at times of one's own."""

    def __init__(self, replica: Replica, game: Game, host: str = "guest:ann") -> None:
        self.replica = replica
        self.game = game
        self.host = host
        self.table = unique_id()
        self.seed = secrets.token_bytes(32)
        self.state = engine.blank(game.first)
        self.version = 0
        self._store = Store(replica.app.database)

    async def open(self, at_ms: int) -> None:
        edition = self.game.edition
        events: list[Event] = [
            TableOpened(
                self.table,
                edition.id,
                edition.digest,
                self.host,
                default_options(self.game),
                commitment(self.seed),
                False,
            ),
            SeatTaken(0, self.host, "Ann", bot=False),
        ]
        engine.enter(self.state, at_ms, self.host)
        for event in events:
            engine.apply(self.state, event)
        opened = await self._store.open(
            self._entry(at_ms, self.host, events),
            edition=edition.id,
            digest=edition.digest,
            text=edition.text,
            seed=self.seed,
            persons=[self.host],
            open_statuses=(),
            most_open=1,
        )
        assert opened

    async def act(self, at_ms: int, who: str, action: Action) -> None:
        """One action as the service would have stored it then."""
        drafted = self.state.copy()
        draft = Draft(drafted, FairEntropy(self.seed, drafted.contributions))
        refused = engine.act(draft, who, action, now_ms=at_ms)
        assert refused is None, refused
        self.state = drafted
        await self.write(at_ms, "" if who == engine.PLATFORM else who, draft.events)

    async def write(self, at_ms: int, who: str, events: list[Event]) -> None:
        async with self.replica.app.database.acquire() as connection:
            moved = await self._store.append(connection, [self._entry(at_ms, who, events)])
        assert moved == {self.table}

    def _entry(self, at_ms: int, who: str, events: list[Event]) -> Entry:
        self.version += 1
        s, epoch = self.state, self.replica.app.database.epoch
        due_ms = platform_due_ms(s)
        command_id = unique_id() if who else ""
        at = datetime.fromtimestamp(at_ms / 1000, UTC)
        return Entry(
            table_id=self.table,
            version=self.version,
            epoch=epoch,
            actor=who,
            command_id=command_id,
            digest=b"",
            at=at,
            traceparent="",
            body=commits.encode(self.table, self.version, epoch, at_ms, events, actor=who, command_id=command_id),
            status=summaries.status(s),
            due_at=datetime.fromtimestamp(due_ms / 1000, UTC) if due_ms else None,
            presence_revision=0,
            summary=summaries.summary(s, at),
        )


async def begun(
    replica: Replica,
    game: Game,
    *,
    started_ms: int,
    persons: tuple[str, ...] = ("guest:ann", "guest:bob"),
    bots: int = 0,
) -> Past:
    """A game that was started at a time of the past; everybody still has to throw for the order, 45 s from then."""
    past = Past(replica, game, persons[0])
    await past.open(started_ms - 1000)
    for person in persons[1:]:
        await past.act(started_ms - 900, person, Join(person))
    for _ in range(bots):
        await past.act(started_ms - 800, persons[0], AddBot())
    await past.act(started_ms, persons[0], Start())
    return past
