"""Tables followed from outside the table service: the engine's own state, moved by published commits.

A reader goes by version: older, ignored; next, applied; beyond, the missing commits are fetched; of another epoch, a
fresh picture is taken. Messages are a plain subscription's and may be lost; the heads of all followed tables are
compared every 2 s, so that a lost last message is found too. Nothing here is the truth, all of it may be dropped.
"""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

from prometheus_client import Counter, Gauge

from omnipoly.rules import engine
from omnipoly.rules.codes import Code
from omnipoly.rules.events import Event
from omnipoly.rules.ring import Game
from omnipoly.rules.state import State
from omnipoly.runtime import failures, logging
from omnipoly.runtime.bus import Message
from omnipoly.runtime.failures import Failure
from omnipoly.runtime.games import Games
from omnipoly.runtime.refusals import failure
from omnipoly.runtime.table_client import EPOCH, MOST_HEADS, VERSION, TableClient, table_of
from omnipoly.wire import commits, views
from omnipoly.wire.commits import Commit
from omnipoly.wire.gen.table.v1 import table_pb2
from omnipoly.wire.malformed import Malformed

log = logging.get(__name__)

LOOK_S = 2.0
FAR = 1000
"""So many commits behind, a picture is cheaper."""
TRIES = 4

FOLLOWED = Gauge("omnipoly_followed_tables", "Tables followed by version, by the service that does.", ("service",))
PICTURES = Counter("omnipoly_followed_pictures_total", "Whole pictures of tables read.", ("why",))
GAPS = Counter("omnipoly_followed_gaps_total", "Gaps in published commits that were closed by reading.")
UNREADABLE = Counter("omnipoly_followed_unreadable_total", "Commits or pictures that could not be read here.")


class Followed:
    """A table at one version. A service derives from it what it keeps beside the state."""

    def __init__(self, table: str) -> None:
        self.table = table
        self.version = 0
        self.epoch = 0
        self.stale = True
        """The state is no use: a picture has to be taken first."""
        self.used = 0.0
        """When somebody last asked for it, by the event loop's clock."""
        self._state: State | None = None

    @property
    def state(self) -> State:
        """The state, live: it changes with each commit. Only of a table that was read once."""
        if self._state is None:
            raise RuntimeError(f"the table {self.table} has not been read yet")
        return self._state

    @property
    def read(self) -> bool:
        """Whether there is a state at all."""
        return self._state is not None

    @property
    def game(self) -> Game:
        """The table's edition."""
        return self.state.rules.game

    def now_ms(self) -> int:
        """The table's clock now; never before its last commit's. Where dice are scripted it stands still."""
        state = self.state
        if state.dev and not state.commitment:
            return state.now_ms
        return max(time.time_ns() // 1_000_000 + state.offset_ms, state.now_ms)

    def pinned(self) -> bool:
        """Whether it has to stay in memory."""
        return False

    def pictured(self) -> None:
        """A fresh picture stands in place of everything known before."""

    def play(self, commit: Commit, event: Event) -> None:
        """One event happens."""
        event.apply(self.state)

    def moved(self, commit: Commit) -> None:
        """A whole commit has been applied."""

    def take_picture(self, state: State, version: int, epoch: int) -> None:
        """Stands where a picture says."""
        self._state, self.version, self.epoch, self.stale = state, version, epoch, False
        self.pictured()

    def take_commit(self, commit: Commit) -> None:
        """Moves on by the next commit."""
        engine.enter(self.state, commit.at_ms, commit.actor)
        for event in commit.events:
            self.play(commit, event)
        self.version = commit.version
        self.moved(commit)


F = TypeVar("F", bound=Followed)


class Follower(Generic[F]):
    """The tables that a process follows: those that somebody asked for, until nobody has for a while."""

    def __init__(
        self, service: str, tables: TableClient, make: Callable[[str], F], *, keep_s: float = 600.0, most: int = 10_000
    ) -> None:
        """make: a new `Followed` for a table's id. keep_s, most: how long and how many are followed unasked."""
        self._followed = FOLLOWED.labels(service)
        self._client = tables
        self._games = Games(tables)
        self._make = make
        self._keep_s = keep_s
        self._most = most
        self._tables: OrderedDict[str, F] = OrderedDict()
        self._targets: dict[str, tuple[int, int]] = {}
        """(epoch, version) to reach, of tables that are being brought up."""
        self._bringing: dict[str, asyncio.Task[F]] = {}
        self._asked: dict[str, list[asyncio.Future[tuple[int, int]]]] = {}
        self._to_confirm = asyncio.Event()
        self._to_look = asyncio.Event()

    async def close(self) -> None:
        """Ends what is being read."""
        for task in self._bringing.values():
            task.cancel()
        await asyncio.gather(*self._bringing.values(), return_exceptions=True)
        self._followed.set(0)

    # --- who asks

    def known(self, table: str) -> F | None:
        """What is known of a table now, without waiting; None when it is not followed (yet), or has to be read anew."""
        followed = self._tables.get(table)
        if followed is None or followed.stale:
            return None
        self._use(followed)
        return followed

    def want(self, table: str) -> None:
        """Begins to follow a table, in the background."""
        if self.known(table) is None:
            self._bring(table)

    async def get(self, table: str, at_least: int = 0) -> F:
        """The table at that version or later. Raises the table's `Failure`, or UNAVAILABLE."""
        for _ in range(TRIES):
            followed = self.known(table)
            if followed is not None and followed.version >= at_least:
                return followed
            # versions of different epochs do not compare: one is aimed at in the epoch that is known
            await asyncio.shield(self._bring(table, 0 if followed is None else followed.epoch, at_least))
        raise failures.unavailable("The table cannot be read as far as it should have got.")

    async def current(self, table: str) -> F:
        """The table as its head stands after this call began: one query is shared by all that wait."""
        future: asyncio.Future[tuple[int, int]] = asyncio.get_running_loop().create_future()
        self._asked.setdefault(table, []).append(future)
        self._to_confirm.set()
        epoch, version = await future
        for _ in range(TRIES):
            followed = self.known(table)
            if followed is not None and (followed.epoch, followed.version) >= (epoch, version):
                return followed
            await asyncio.shield(self._bring(table, epoch, version))
        raise failures.unavailable("The table cannot be read as far as it should have got.")

    # --- who tells

    async def hear(self, message: Message) -> None:
        """A published commit; the handler of the subscription."""
        table = table_of(message.subject)
        followed = self._tables.get(table)
        if followed is None:
            return
        if self._under_way(table) is not None or followed.stale:
            headers = message.headers
            self._aim(table, int(headers.get(EPOCH, 0)), int(headers.get(VERSION, 0)))
        else:
            self._take(followed, message.data)

    def saw(self, table: str, bodies: Iterable[bytes]) -> None:
        """Commits that came with an answer."""
        followed = self.known(table)
        if followed is not None and self._under_way(table) is None:
            for body in bodies:
                self._take(followed, body)

    def look(self) -> None:
        """Has the heads compared at once: something may have been missed."""
        self._to_look.set()

    # --- for ever

    async def confirm(self) -> None:
        """Answers `current`, for ever; to be spawned."""
        while True:
            await self._to_confirm.wait()
            self._to_confirm.clear()
            asked, self._asked = self._asked, {}
            try:
                heads = await self._heads(list(asked))
            except Failure as error:
                _fail(asked, error)
                continue
            except BaseException:
                _fail(asked, failures.unavailable("this replica is stopping"))
                raise
            for table, futures in asked.items():
                for future in futures:
                    if future.done():
                        continue
                    if table in heads:
                        future.set_result(heads[table])
                    else:
                        future.set_exception(failure(Code.UNKNOWN_TABLE))

    async def keep_looking(self) -> None:
        """Compares all heads every 2 s and drops what nobody asks for, for ever; to be spawned."""
        while True:
            try:
                async with asyncio.timeout(LOOK_S):
                    await self._to_look.wait()
            except TimeoutError:
                self._drop_idle()
            self._to_look.clear()
            try:
                heads = await self._heads(list(self._tables))
            except Failure as error:
                log.info("heads_unread", error=str(error))
                continue
            for table, (epoch, version) in heads.items():
                followed = self._tables.get(table)
                if followed is not None and (followed.stale or (followed.epoch, followed.version) < (epoch, version)):
                    self._bring(table, epoch, version)

    # --- within

    def _use(self, followed: F) -> None:
        followed.used = asyncio.get_running_loop().time()
        self._tables.move_to_end(followed.table)

    def _drop_idle(self) -> None:
        before = asyncio.get_running_loop().time() - self._keep_s
        for followed in list(self._tables.values()):
            if followed.used > before and len(self._tables) <= self._most:
                break
            if followed.table not in self._bringing and not followed.pinned():
                del self._tables[followed.table]
        self._followed.set(len(self._tables))

    def _aim(self, table: str, epoch: int, version: int) -> None:
        if (epoch, version) > self._targets.get(table, (0, 0)):
            self._targets[table] = (epoch, version)

    def _under_way(self, table: str) -> asyncio.Task[F] | None:
        """The task that brings a table up; one that has ended goes by no target any more, though it may not have been
        cleared away yet.
        """
        task = self._bringing.get(table)
        return None if task is None or task.done() else task

    def _bring(self, table: str, epoch: int = 0, version: int = 0) -> asyncio.Task[F]:
        """Brings a table up to a version: one task for all that wait for it."""
        task = self._under_way(table)
        if task is None:
            self._targets.pop(table, None)  # of one that has just ended
        self._aim(table, epoch, version)
        if task is None:
            task = asyncio.create_task(self._bring_up(table), name="bring-up")
            self._bringing[table] = task
            task.add_done_callback(lambda done: self._brought(table, done))
        return task

    def _brought(self, table: str, done: asyncio.Task[F]) -> None:
        another = self._bringing.get(table) is not done
        if not another:
            del self._bringing[table]
            self._targets.pop(table, None)
        if done.cancelled() or (error := done.exception()) is None:
            return
        if isinstance(error, Failure):
            log.info("table_unread", table=table, error=str(error))
        else:
            log.error("bring_up_failed", table=table, exc_info=error)
        followed = self._tables.get(table)
        if followed is not None and not another and not followed.pinned():
            del self._tables[table]

    async def _bring_up(self, table: str) -> F:
        followed = self._tables.get(table)
        if followed is None:
            followed = self._tables[table] = self._make(table)
            self._followed.set(len(self._tables))
        for _ in range(TRIES):
            epoch, version = self._targets.get(table, (0, 0))
            if followed.stale:
                await self._picture(followed, version, "gone wrong" if followed.read else "first")
            elif followed.epoch < epoch:
                await self._picture(followed, version, "epoch")
            elif followed.version < version:
                await self._catch_up(followed)
            else:
                return followed
        raise failures.unavailable("The table cannot be read as far as it should have got.")

    async def _picture(self, followed: F, at_least: int, why: str) -> None:
        PICTURES.labels(why).inc()
        view = await self._client.read(followed.table, at_least)
        try:
            game = await self._games.of(followed.table, view.edition, view.digest)
            state = views.from_view(view, game)
        except Malformed as error:
            UNREADABLE.inc()
            log.error("table_unreadable", table=followed.table, error=error.sentence)  # noqa: TRY400
            raise failures.unavailable("This replica cannot read that table.") from error
        followed.take_picture(state, view.version, view.epoch)

    async def _catch_up(self, followed: F) -> None:
        GAPS.inc()
        page = await self._client.commits(followed.table, followed.version)
        if page.epoch > followed.epoch or page.version - followed.version > FAR:
            followed.stale = True
            return
        for body in page.commits:
            self._take(followed, body)

    def _take(self, followed: F, body: bytes) -> None:
        """A commit, whichever it is."""
        try:
            message = commits.parse(body)
            epoch, version = message.epoch, message.version
            if epoch == followed.epoch and version == followed.version + 1:
                followed.take_commit(commits.decode(body, followed.game))
            elif epoch > followed.epoch or (epoch == followed.epoch and version > followed.version):
                self._bring(followed.table, epoch, version)
        except (Malformed, ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            # Half a commit may stand in the state: it is dropped as a whole.
            UNREADABLE.inc()
            log.error("commit_unreadable", table=followed.table, error=repr(error))  # noqa: TRY400
            followed.stale = True

    async def _heads(self, tables: list[str]) -> dict[str, tuple[int, int]]:
        found: dict[str, tuple[int, int]] = {}
        for at in range(0, len(tables), MOST_HEADS):
            answer: table_pb2.HeadsResponse = await self._client.heads(tables[at : at + MOST_HEADS])
            found.update((head.table, (head.epoch, head.version)) for head in answer.heads)
        return found


def _fail(asked: dict[str, list[asyncio.Future[tuple[int, int]]]], error: Failure) -> None:
    for futures in asked.values():
        for future in futures:
            if not future.done():
                future.set_exception(error)
                future.exception()  # whoever waited may be gone
