"""The tables of a replica: one command at a time for each, decided in memory, answered once it is in the log.

The way of a command that nothing stands in the way of has no task of its own: it is decided when its turn comes, handed
to the log, and answered in the log's callback. Whatever has to wait (a load, a look-up, a refusal whose state has to be
shown to be current) goes on in a task.
"""

from __future__ import annotations

import asyncio
import time
import uuid
from collections import OrderedDict
from typing import TYPE_CHECKING, Protocol

from prometheus_client import Counter, Gauge

from omnipoly.rules import actions as act
from omnipoly.rules import engine
from omnipoly.rules.codes import Code, Refused
from omnipoly.rules.draft import Draft
from omnipoly.rules.events import SeedRevealed
from omnipoly.rules.state import Phase
from omnipoly.runtime import failures, logging
from omnipoly.runtime.database import FAULTS
from omnipoly.runtime.failures import Failure
from omnipoly.runtime.refusals import failure, refused
from omnipoly.wire import views
from omnipoly.wire.malformed import Malformed

from .chance import ScriptRanOut
from .commands import Answer, Command
from .committing import check, entry_of
from .loading import ask
from .log import Outcome
from .prompts import prompts
from .table import QUEUE, Table

if TYPE_CHECKING:
    from collections.abc import Awaitable, Coroutine

    from omnipoly.rules.state import State

    from .freshness import Freshness
    from .loading import Loader
    from .log import Log
    from .outages import Outages
    from .publishing import Publisher
    from .store import Entry, Found, Store

log = logging.get(__name__)

IN_FLIGHT = 4096
"""Commands that may wait in one replica."""
RACES = 16
"""How often a command is decided anew because another replica was faster, before its caller is told."""
EVICT_EVERY_S = 5.0

COMMANDS = Counter(
    "omnipoly_commands_total", "Commands by edition, action and outcome.", ("edition", "action", "outcome")
)
IN_MEMORY = Gauge("omnipoly_tables_in_memory", "Tables in this replica's memory.")
CONFLICTS = Counter("omnipoly_commit_conflicts_total", "Commands decided anew because another replica was faster.")
UNKNOWN = Counter("omnipoly_commits_unknown_total", "Appends whose outcome had to be looked up.")


class HasEpoch(Protocol):
    """What knows the log's epoch (the ``Database``)."""

    @property
    def epoch(self) -> int:
        """The log's epoch as last read."""


class Tables:
    """The cache and the queues. ``submit`` is the only way in."""

    def __init__(
        self,
        store: Store,
        writer: Log,
        loader: Loader,
        freshness: Freshness,
        outages: Outages,
        publisher: Publisher,
        epoch: HasEpoch,
        *,
        snapshot_every: int,
        cached: int,
        evict_after_s: float,
    ) -> None:
        self._store = store
        self._log = writer
        self._loader = loader
        self._freshness = freshness
        self._outages = outages
        self._publisher = publisher
        self._epoch = epoch
        self._snapshot_every = snapshot_every
        self._cached = cached
        self._evict_after_s = evict_after_s
        self._tables: OrderedDict[str, Table] = OrderedDict()
        self._waiting = 0
        self._idle = asyncio.Event()
        self._idle.set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._counters: dict[tuple[str, str, str], Counter] = {}
        self._loop = asyncio.get_running_loop()

    # --- in and out ---------------------------------------------------------------------------------------------------

    def submit(self, table_id: str, command: Command) -> asyncio.Future[bytes]:
        """Queue a command; its future ends with the reply or a ``Failure``. Raises ``Failure`` when a queue is full."""
        table = self._tables.get(table_id)
        if table is None:
            table = self._tables[table_id] = Table(table_id)
        else:
            self._tables.move_to_end(table_id)
        if self._waiting >= IN_FLIGHT or len(table.queue) >= QUEUE:
            raise failure(Code.RATE_LIMITED, "Too many commands wait here.", retry_after_s=0.2)
        table.used = self._loop.time()
        self._waiting += 1
        self._idle.clear()
        table.queue.append(command)
        if not table.busy:
            self._pump(table)
        return command.future

    async def drained(self) -> None:
        """Return when every command that came has been answered and is in the log."""
        await self._idle.wait()
        await self._log.drained()

    def epoch_changed(self, old: int, new: int) -> None:
        """The log has another history: nothing known of it holds any more."""
        for table in self._tables.values():
            table.forget()

    async def evict(self) -> None:
        """Drop tables that had no command for a while, until cancelled."""
        while True:
            await asyncio.sleep(min(self._evict_after_s, EVICT_EVERY_S))
            before = self._loop.time() - self._evict_after_s
            while self._tables:
                table = next(iter(self._tables.values()))
                if table.busy or table.queue or (table.used > before and len(self._tables) <= self._cached):
                    break
                del self._tables[table.table_id]
            IN_MEMORY.set(len(self._tables))

    def _pump(self, table: Table) -> None:
        while table.queue and not table.busy:
            command = table.queue.popleft()
            if self._loop.time() >= command.deadline:
                self._fail(table, command, failures.deadline_passed())
                continue
            table.busy = True
            if table.state is None or not self._outages.fresh:
                self._go_on(self._prepare(table, command, 0))
            else:
                self._decide(table, command, 0)

    def _next(self, table: Table) -> None:
        table.busy = False
        if table.queue:
            self._loop.call_soon(self._pump, table)

    def _answer(self, table: Table, command: Command, answer: Answer, state: State) -> None:
        answer.epoch = table.epoch
        try:
            reply = command.reply(answer, state)
        except Failure as error:
            self._fail(table, command, error)
            return
        if not command.future.done():
            command.future.set_result(reply)
        self._left(table, command, "ok")

    def _fail(self, table: Table, command: Command, error: Failure) -> None:
        if not command.future.done():
            command.future.set_exception(error)
            command.future.exception()  # whoever asked may be gone
        self._left(table, command, error.reason)

    def _end(self, table: Table, command: Command, error: Failure) -> None:
        self._fail(table, command, error)
        self._next(table)

    def _left(self, table: Table, command: Command, outcome: str) -> None:
        self._waiting -= 1
        if not self._waiting:
            self._idle.set()
        edition = table.state.rules.edition.id if table.state is not None else ""
        key = (edition, command.name, outcome)
        counter = self._counters.get(key)
        if counter is None:
            counter = self._counters[key] = COMMANDS.labels(*key)
        counter.inc()

    # --- what has to wait ---------------------------------------------------------------------------------------------

    def _go_on(self, coroutine: Coroutine[None, None, None]) -> None:
        task = self._loop.create_task(coroutine)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _within(self, table: Table, command: Command, work: Awaitable[None]) -> bool:
        """Do something for a command within its time; false when that ended it."""
        try:
            async with asyncio.timeout_at(command.deadline):
                await work
        except TimeoutError:
            self._end(table, command, failures.unavailable("The log cannot be reached; try again."))
        except Failure as error:
            self._end(table, command, error)
        except Exception as error:
            log.exception("preparing_failed", table=table.table_id, error=repr(error))
            self._end(table, command, _internal(table, command, error))
        else:
            return True
        return False

    async def _ready(self, table: Table) -> None:
        await self._outages.wait_fresh()
        while table.state is None:
            await self._loader.load(table)

    async def _prepare(self, table: Table, command: Command, races: int) -> None:
        """Bring the table up to what the log says, then decide."""
        if await self._within(table, command, self._ready(table)):
            self._decide(table, command, races)

    async def _look_up(self, table: Table, command: Command, *, unknown: bool, races: int) -> None:
        """A command that may be in the log already: give the answer it led to, or decide it anew.

        ``unknown``: its own append may have put it there, and nobody has been told.
        """
        found: list[Found | None] = []

        async def find() -> None:
            await self._ready(table)
            found.append(await self._loader.find(table, command) if command.command_id else None)

        if not await self._within(table, command, find()):
            return
        if found[0] is None:
            self._decide(table, command, races)
            return
        if unknown:
            # readers that have it pass it over by its version
            self._publisher.commit(
                table.table_id, found[0].version, table.epoch, table.due_ms(), command.traceparent, found[0].body
            )
        self._again(table, command, found[0])

    def _again(self, table: Table, command: Command, found: Found) -> None:
        """The first answer again."""
        if found.digest != command.digest:
            self._end(table, command, failure(Code.KEY_REUSED))
            return
        assert table.state is not None
        self._answer(table, command, Answer(found.version, [found.body], duplicate=True), table.state)
        self._next(table)

    async def _confirm(self, table: Table, command: Command, said: Refused | None, races: int) -> None:
        """Nothing happened: show that this was decided on the log's last version before anybody is told so."""
        heads: list[tuple[int, int] | None] = []

        async def head() -> None:
            heads.append(await ask(lambda: self._freshness.ask(table.table_id)))

        if not await self._within(table, command, head()):
            return
        state = table.state
        if state is None or heads[0] != (table.version, table.epoch):
            table.forget()
            await self._race(table, command, races)
        elif said is not None:
            self._end(table, command, _refusal(state, said))
        else:
            table.presence_revision = max(table.presence_revision, command.presence_revision)
            self._answer(table, command, Answer(table.version, []), state)
            self._next(table)

    async def _race(self, table: Table, command: Command, races: int) -> None:
        CONFLICTS.inc()
        if races >= RACES:
            self._end(table, command, failure(Code.STALE_VERSION, retry_after_s=0.1))
        else:
            await self._prepare(table, command, races + 1)

    # --- deciding -----------------------------------------------------------------------------------------------------

    def _decide(self, table: Table, command: Command, races: int) -> None:
        """Decide a command on a draft, and hand what happened to the log."""
        state = table.state
        assert state is not None
        if command.command_id:
            known = table.ids.get((command.actor, command.command_id))
            if known is not None and known[1] != command.digest:
                self._end(table, command, failure(Code.KEY_REUSED))
                return
            if known is not None:
                self._go_on(self._look_up(table, command, unknown=False, races=races))
                return
        if table.version < command.at_least and not races:
            table.forget()
            self._go_on(self._prepare(table, command, 1))
            return
        drafted = state.copy()
        draft = Draft(drafted, command.entropy(table.seed, drafted))
        at_ms = table.now_ms(round(time.time() * 1000))
        try:
            drafted.now_ms = at_ms
            if 0 < command.presence_revision <= table.presence_revision:
                said = None  # overtaken by a later report
            else:
                self._catch_up(table, draft, command, state)
                said = command.decide(draft, at_ms, table.version)
            if drafted.phases[-1] is Phase.OVER and not drafted.seed and drafted.commitment:
                draft.emit(SeedRevealed(table.seed.hex()))
            check(drafted)
        except (ScriptRanOut, Malformed) as error:
            self._end(table, command, failure(Code.BAD_REQUEST, str(error)))
        except engine.Broken as error:
            self._go_on(self._broken(table, command, error))
        except Exception as error:
            log.exception("deciding_failed", table=table.table_id, error=repr(error))
            self._end(table, command, _internal(table, command, error))
        else:
            if draft.events:
                self._append(table, command, draft, said, at_ms, races)
            else:
                self._go_on(self._confirm(table, command, said, races))

    def _catch_up(self, table: Table, draft: Draft, command: Command, before: State) -> None:
        """Time that did not count is made up for before anything falls due (CORE-CLOCK)."""
        if not command.catches_up or table.scripted or before.phases[-1] is Phase.OVER:
            return
        missed = (self._outages.missed_ms(before.now_ms - before.offset_ms) or 0) + table.catch_up_ms
        if missed:
            engine.act(draft, engine.PLATFORM, act.MoveClocks(missed), now_ms=draft.state.now_ms)

    async def _broken(self, table: Table, command: Command, error: engine.Broken) -> None:
        """An invariant failed: nothing of it is stored, and the table is looked at before it goes on."""
        await self._loader.quarantine(table, f"an invariant fails: {error}")
        self._end(table, command, failure(Code.TABLE_BROKEN))

    # --- committing ---------------------------------------------------------------------------------------------------

    def _append(
        self, table: Table, command: Command, draft: Draft, said: Refused | None, at_ms: int, races: int
    ) -> None:
        entry, due_ms = entry_of(table, command, draft, accepted=said is None, at_ms=at_ms, epoch=self._epoch.epoch)

        def done(outcome: Outcome) -> None:
            if outcome is Outcome.MOVED:
                self._moved(table, command, entry, draft, said, due_ms)
            elif outcome is Outcome.REFUSED:
                self._end(table, command, _internal(table, command, RuntimeError("the log does not take this commit")))
            elif outcome is Outcome.BEHIND:
                table.forget()
                self._go_on(self._race(table, command, races))
            else:
                table.forget()
                UNKNOWN.inc()
                self._go_on(self._look_up(table, command, unknown=outcome is Outcome.UNKNOWN, races=races))

        self._log.append(entry, done)

    def _moved(
        self, table: Table, command: Command, entry: Entry, draft: Draft, said: Refused | None, due_ms: int
    ) -> None:
        """It is in the log: now it may be published, answered and shown."""
        s = draft.state
        table.state = s
        table.version, table.epoch = entry.version, entry.epoch
        table.presence_revision = entry.presence_revision
        table.catch_up_ms = 0
        if entry.command_id:
            table.remember(entry.actor, entry.command_id, entry.version, entry.digest)
        self._publisher.commit(entry.table_id, entry.version, entry.epoch, due_ms, entry.traceparent, entry.body)
        asked = prompts(s, draft.events, entry.actor)
        if asked:
            self._publisher.prompts(entry.table_id, entry.version, asked)
        if said is not None:
            self._fail(table, command, _refusal(s, said))
        else:
            answer = Answer(entry.version, [entry.body])
            answer.prompts = asked
            self._answer(table, command, answer, s)
        if table.version - table.snapshot_version >= self._snapshot_every:
            table.snapshot_version = table.version
            self._go_on(self._snapshot(table.table_id, s, table.version, table.epoch))
        self._next(table)

    async def _snapshot(self, table_id: str, s: State, version: int, epoch: int) -> None:
        """Beside the way of a command: a load that finds no newer snapshot reads more commits, nothing else."""
        try:
            await self._store.keep_snapshot(table_id, version, epoch, views.encode(s, version, epoch))
        except FAULTS as error:
            log.warning("snapshot_failed", table=table_id, version=version, error=repr(error))


def _refusal(s: State, said: Refused) -> Failure:
    """A refusal by the rules; a throw that comes too early is told how long to wait."""
    if said.code is Code.TOO_EARLY and s.claims:
        hold_ms = max(claim.hold_until_ms for claim in s.claims) - s.now_ms
        return refused(said, retry_after_s=max(0, hold_ms) / 1000)
    return refused(said)


def _internal(table: Table, command: Command, error: Exception) -> Failure:
    """A fault of ours: its text stays in the log, under an id that the caller is told."""
    error_id = uuid.uuid4().hex[:12]
    log.error("command_failed", table=table.table_id, command=command.name, error_id=error_id, error=repr(error))
    return failures.internal(error_id)
