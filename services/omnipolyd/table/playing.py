"""The way of a command whose turn has come: decided in memory, stored, and answered once it is in the log.

A command that nothing stands in the way of has no task of its own: it is decided, handed to the log, and answered in
the log's callback. Whatever has to wait (a load, a look-up, a refusal whose state has to be shown to be current) goes
on in a task. Whatever happens, a command ends with ``_end``: its table goes on.
"""

from __future__ import annotations

import asyncio
import uuid
from typing import TYPE_CHECKING

from prometheus_client import Counter

from omnipoly.rules import engine
from omnipoly.rules.codes import Code, Refused
from omnipoly.runtime import failures, logging, tracing
from omnipoly.runtime.failures import Failure
from omnipoly.runtime.refusals import failure, refused
from omnipoly.wire import commits
from omnipoly.wire.malformed import Malformed

from .asking import RETRY_S, ask
from .chance import ScriptRanOut
from .commands import Answer
from .counting import count
from .deciding import Decided, decide
from .log import Outcome
from .prompts import prompts
from .table import platform_due_ms

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine

    from omnipoly.rules.state import State

    from .commands import Command
    from .freshness import Freshness
    from .loading import Epoch, Loader
    from .log import Log
    from .outages import Outages
    from .publishing import Publisher
    from .snapshots import Snapshots
    from .store import Entry, Found, Store
    from .table import Table

log = logging.get(__name__)

STOPPING = "This replica is stopping."
RACES = 16
"""How often a command is decided anew because another replica was faster, before its caller is told."""

CONFLICTS = Counter("omnipoly_commit_conflicts_total", "Commands decided anew because another replica was faster.")
UNKNOWN = Counter("omnipoly_commits_unknown_total", "Appends whose outcome had to be looked up.")


class Player:
    """Plays one command of a table at a time; who calls ``play`` sees to that."""

    def __init__(
        self,
        store: Store,
        writer: Log,
        loader: Loader,
        freshness: Freshness,
        outages: Outages,
        publisher: Publisher,
        snapshots: Snapshots,
        epoch: Epoch,
        ended: Callable[[Table, Command, str], None],
    ) -> None:
        """``ended``: called once for each command, with its outcome, after it was answered."""
        self._store = store
        self._log = writer
        self._loader = loader
        self._freshness = freshness
        self._outages = outages
        self._publisher = publisher
        self._snapshots = snapshots
        self._epoch = epoch
        self._ended = ended
        self._tasks: set[asyncio.Task[None]] = set()
        self._closed = False
        self._loop = asyncio.get_running_loop()

    def play(self, table: Table, command: Command) -> None:
        """Begin with a command whose turn has come."""
        if command.anew:
            table.forget()
            table.broken = ""
        with tracing.within(command.span):
            if table.state is None or not self._outages.fresh:
                self._go_on(table, command, self._prepare(table, command, 0))
            else:
                self._decide(table, command, 0)

    async def close(self) -> None:
        """Cut short what still waits for the database; those commands end as unavailable."""
        self._closed = True
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    # --- the end of a command -----------------------------------------------------------------------------------------

    def _answer(self, table: Table, command: Command, answer: Answer, state: State) -> None:
        answer.epoch, answer.presence_revision = table.epoch, table.presence_revision
        try:
            reply = command.reply(answer, state)
        except Failure as error:
            self._end(table, command, error)
            return
        except Exception as error:
            log.exception("reply_failed", table=table.table_id, error=repr(error))
            self._end(table, command, _internal(table, command, error))
            return
        if not command.ended:
            command.answer(reply)
            self._ended(table, command, "ok")

    def _end(self, table: Table, command: Command, error: Failure) -> None:
        if not command.ended:
            command.fail(error)
            self._ended(table, command, error.reason)

    # --- what has to wait ---------------------------------------------------------------------------------------------

    def _go_on(self, table: Table, command: Command, coroutine: Coroutine[None, None, None]) -> None:
        if self._closed:
            coroutine.close()
            self._end(table, command, failures.unavailable(STOPPING))
            return
        task = self._loop.create_task(self._to_its_end(table, command, coroutine))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _to_its_end(self, table: Table, command: Command, work: Coroutine[None, None, None]) -> None:
        try:
            await work
        except Failure as error:
            self._end(table, command, error)
        except asyncio.CancelledError:
            self._end(table, command, failures.unavailable(STOPPING))
            raise
        except Exception as error:
            log.exception("playing_failed", table=table.table_id, error=repr(error))
            self._end(table, command, _internal(table, command, error))

    async def _within(self, command: Command, work: Awaitable[None]) -> None:
        """Do something for a command within its time."""
        try:
            async with asyncio.timeout_at(command.deadline):
                await work
        except TimeoutError:
            raise failures.unavailable("The log cannot be reached; try again.") from None

    async def _ready(self, table: Table) -> None:
        """Return with the table in memory and a fresh pulse, both at the same moment: a load may outlast a pulse."""
        while table.state is None or not self._outages.fresh:
            await self._outages.wait_fresh()
            if table.state is None:
                found = await self._loader.load(table)
                if found is not None:
                    self._publish_late(table, found)

    async def _prepare(self, table: Table, command: Command, races: int) -> None:
        """Bring the table up to what the log says, then decide."""
        stale = table.state is None
        await self._within(command, self._ready(table))
        # what was read after the command came is current for it: it need not be shown to be
        self._decide(table, command, races, loaded=stale)

    async def _look_up(self, table: Table, command: Command, *, unknown: bool, races: int) -> None:
        """A command that may be in the log already: give the answer it led to, or decide it anew.

        ``unknown``: its own append may have put it there.
        """
        found: list[Found | None] = [None]

        async def find() -> None:
            if unknown:
                await asyncio.sleep(RETRY_S)  # a database that goes away at every append is not to be worn down
            await self._ready(table)
            if command.command_id:
                found[0] = await self._loader.find(table, command)
                await self._ready(table)  # it may have been dropped again meanwhile

        await self._within(command, find())
        if found[0] is None:
            self._decide(table, command, races)
        else:
            self._again(table, command, found[0])

    def _again(self, table: Table, command: Command, found: Found) -> None:
        """The first answer again."""
        if found.digest != command.digest:
            raise failure(Code.KEY_REUSED)
        assert table.state is not None
        self._answer(table, command, Answer(found.version, [found.body], duplicate=True), table.state)

    async def _confirm(self, table: Table, command: Command, said: Refused | None, races: int, *, loaded: bool) -> None:
        """Nothing happened: show that this was decided on the log's last version before anybody is told so.

        A refusal besides asks the log for a command that was accepted before what this replica remembers.
        """
        version, epoch = table.version, table.epoch
        current: list[bool] = [loaded]
        found: list[Found | None] = [None]

        async def look() -> None:
            revision = command.presence_revision
            if revision > table.presence_revision:
                note = self._store.note_presence
                current[0] = await ask(lambda: note(table.table_id, version, epoch, revision))
                return
            if not loaded:
                current[0] = await ask(lambda: self._freshness.ask(table.table_id)) == (version, epoch)
            if current[0] and said is not None and command.command_id and not table.all_ids:
                found[0] = await self._loader.find(table, command)

        await self._within(command, look())
        state = table.state
        if not current[0] or state is None:
            table.forget()
            await self._race(table, command, races)
        elif found[0] is not None:
            self._again(table, command, found[0])
        elif said is not None:
            raise _refusal(state, said)
        else:
            table.presence_revision = max(table.presence_revision, command.presence_revision)
            self._answer(table, command, Answer(version, []), state)

    async def _refuse(self, table: Table, command: Command, refusal: Failure) -> None:
        """What fell due is in the log, the command is not for it: unless it was accepted before what this replica
        remembers."""
        found: list[Found | None] = [None]

        async def find() -> None:
            found[0] = await self._loader.find(table, command)
            await self._ready(table)  # the log may have another history by now

        await self._within(command, find())
        if found[0] is None:
            raise refusal
        self._again(table, command, found[0])

    async def _race(self, table: Table, command: Command, races: int) -> None:
        CONFLICTS.inc()
        if races >= RACES:
            raise failure(Code.STALE_VERSION, retry_after_s=0.1)
        await self._prepare(table, command, races + 1)

    async def _broken(self, table: Table, error: engine.Broken) -> None:
        """An invariant failed: nothing of it is stored, and the table is looked at before it goes on."""
        await self._loader.quarantine(table, f"an invariant fails: {error}")
        raise failure(Code.TABLE_BROKEN)

    # --- deciding and storing -----------------------------------------------------------------------------------------

    def _decide(self, table: Table, command: Command, races: int, *, loaded: bool = False) -> None:
        """Decide a command, and hand what happened to the log; what it is a repeat of is looked up first.

        ``loaded``: the table was, since the command came.
        """
        if command.command_id:
            known = table.ids.get((command.actor, command.command_id))
            if known is not None:
                if known[1] != command.digest:
                    self._end(table, command, failure(Code.KEY_REUSED))
                else:
                    self._go_on(table, command, self._look_up(table, command, unknown=False, races=races))
                return
        if table.version < command.at_least and not races and not loaded:
            table.forget()
            self._go_on(table, command, self._prepare(table, command, 1))
            return
        if command.only_looks:
            self._go_on(table, command, self._confirm(table, command, None, races, loaded=loaded))
            return
        try:
            decided = decide(table, command, self._outages, self._epoch.epoch)
        except (ScriptRanOut, Malformed) as error:
            self._end(table, command, failure(Code.BAD_REQUEST, _sentence(error)))
        except Failure as error:
            self._end(table, command, error)
        except engine.Broken as error:
            self._go_on(table, command, self._broken(table, error))
        except Exception as error:
            log.exception("deciding_failed", table=table.table_id, error=repr(error))
            self._end(table, command, _internal(table, command, error))
        else:
            if decided.entry is None:
                self._go_on(table, command, self._confirm(table, command, decided.said, races, loaded=loaded))
            else:
                self._append(table, command, decided, decided.entry, races)

    def _append(self, table: Table, command: Command, decided: Decided, entry: Entry, races: int) -> None:
        span = None
        if command.span is not None:
            span = tracing.begin(command.traceparent, "postgres.append", kind="client", version=entry.version)

        def done(outcome: Outcome) -> None:
            if span is not None:
                tracing.end(span, outcome=outcome.value)
            with tracing.within(command.span):
                appended(outcome)

        def appended(outcome: Outcome) -> None:
            if outcome is Outcome.MOVED:
                self._moved(table, command, decided, entry)
                return
            if outcome is Outcome.DENIED and entry.denied is not None:
                # as the last version of the log: it would have been moved on, and was not
                self._end(table, command, entry.denied)
                return
            table.forget()
            if outcome is Outcome.REFUSED:
                self._end(table, command, _internal(table, command, RuntimeError("the log does not take this commit")))
            elif outcome is Outcome.BEHIND:
                self._go_on(table, command, self._race(table, command, races))
            else:
                unknown = outcome is Outcome.UNKNOWN
                if unknown:
                    UNKNOWN.inc()
                    table.unsure_after = table.unsure_after or entry.version - 1
                self._go_on(table, command, self._look_up(table, command, unknown=unknown, races=races))

        self._log.append(entry, done)

    def _moved(self, table: Table, command: Command, decided: Decided, entry: Entry) -> None:
        """It is in the log: now it may be published, answered and shown."""
        s = decided.draft.state
        table.state = s
        table.version, table.epoch = entry.version, entry.epoch
        table.presence_revision = max(table.presence_revision, entry.presence_revision)
        table.unsure_after = 0
        if entry.command_id:
            table.remember(entry.actor, entry.command_id, entry.version, entry.digest)
        traceparent = entry.traceparent
        if command.span is not None:
            handed = tracing.begin(traceparent, "nats.publish", kind="producer", version=entry.version)
            if handed is not None:
                traceparent = tracing.traceparent_of(handed)
                tracing.end(handed)
        self._publisher.commit(entry.table_id, entry.version, entry.epoch, decided.due_ms, traceparent, entry.body)
        count(s.rules.edition.id, decided.draft.events)
        answer = Answer(entry.version, [entry.body])
        try:
            answer.prompts = prompts(s, decided.draft.events, entry.actor)
        except Exception as error:  # they can be asked for
            log.exception("prompts_failed", table=table.table_id, error=repr(error))
        if answer.prompts:
            self._publisher.prompts(entry.table_id, entry.version, answer.prompts)
        if table.version - table.snapshot_version >= self._snapshots.every:
            table.snapshot_version = table.version
            self._snapshots.take(table.table_id, s, table.version, table.epoch)
        if decided.said is None:
            self._answer(table, command, answer, s)
        elif command.command_id and not table.all_ids:
            self._go_on(table, command, self._refuse(table, command, _refusal(s, decided.said)))
        else:
            self._end(table, command, _refusal(s, decided.said))

    def _publish_late(self, table: Table, body: bytes) -> None:
        """A commit that a load has found behind an append of unknown outcome: nobody may have been told of it.

        Readers that have it pass it over by its version.
        """
        s = table.state
        assert s is not None
        commit = commits.decode(body, s.rules.game)
        due_ms = platform_due_ms(s) if commit.version == table.version else 0
        self._publisher.commit(table.table_id, commit.version, commit.epoch, due_ms, commit.traceparent, body)
        if commit.version == table.version:
            asked = prompts(s, commit.events, commit.actor)
            if asked:
                self._publisher.prompts(table.table_id, commit.version, asked)


def _refusal(s: State, said: Refused) -> Failure:
    """A refusal by the rules; a throw that comes too early is told how long to wait."""
    if said.code is Code.TOO_EARLY and s.claims:
        hold_ms = max(claim.hold_until_ms for claim in s.claims) - s.now_ms
        return refused(said, retry_after_s=max(0, hold_ms) / 1000)
    return refused(said)


def _internal(table: Table, command: Command, error: Exception) -> Failure:
    """A fault of ours: its text stays in the log, under an id that the caller is told."""
    error_id = uuid.uuid4().hex[:12]
    fields = {"trace_id": command.traceparent[3:35]} if command.traceparent else {}  # of whoever asked, untraced here
    log.error(
        "command_failed", table=table.table_id, command=command.name, error_id=error_id, error=repr(error), **fields
    )
    return failures.internal(error_id)


def _sentence(error: Exception) -> str:
    text = str(error)
    return f"{text[:1].upper()}{text[1:]}."
