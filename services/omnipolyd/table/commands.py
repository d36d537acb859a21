"""What can be asked of a table: each kind decides on a draft, or looks at a state; none does I/O.

The queue, the log and the cache are the same for all of them (``tables``).
"""

from __future__ import annotations

import asyncio
import hashlib
from typing import TYPE_CHECKING, Any

from omnipoly.rules import actions as act
from omnipoly.rules import engine
from omnipoly.rules.actions import kind_of
from omnipoly.rules.codes import Code, Refused
from omnipoly.rules.events import PositionSet
from omnipoly.runtime import tracing
from omnipoly.wire import views
from omnipoly.wire.gen.table.v1 import table_pb2
from omnipoly.wire.malformed import Malformed

from .chance import Scripted, ScriptRanOut
from .ledger.moving import NO_GUESTS, is_guest
from .table import platform_due_ms

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from opentelemetry.trace import Span

    from omnipoly.rules.actions import Action
    from omnipoly.rules.draft import Draft
    from omnipoly.rules.entropy import Entropy
    from omnipoly.rules.state import State
    from omnipoly.runtime.failures import Failure
    from omnipoly.wire.gen.game.v1 import script_pb2, view_pb2

    from .store import Beside

GRACE_MS = 10_000
"""So long somebody whose connection broke has to come back, without the time in which nothing could be committed."""


class Answer:
    """What a command led to."""

    __slots__ = ("commits", "duplicate", "epoch", "presence_revision", "prompts", "version")

    def __init__(self, version: int, commits: list[bytes], *, duplicate: bool = False) -> None:
        self.version = version
        self.commits = commits
        self.duplicate = duplicate
        self.epoch = 0
        self.presence_revision = 0
        self.prompts: list[tuple[str, bytes]] = []
        """(person, serialized Prompt) of the decisions of persons that it opened or changed."""


class Command:
    """One thing asked of one table."""

    name = ""
    """For metrics: an action's kind, or what else is asked."""
    actor = ""
    """The actor id that goes into the log; "" for the platform's own."""
    command_id = ""
    digest = b""
    """Of the content: the same id with another digest is refused as ``key_reused``."""
    presence_revision = 0
    """The revision of a presence report; 0 for everything else."""
    script: script_pb2.Script | None = None
    """Throws and cards to come, under ``--dev``."""
    at_least = 0
    """The least version it has to be decided on."""
    beside: Beside | None = None
    """Rows that belong to its commit."""
    catches_up = True
    """Whether time that did not count is made up for first."""
    only_looks = False
    """Whether there is nothing to decide."""
    anew = False
    """Whether the table is loaded for it, whatever is in memory."""

    def __init__(self, *, deadline: float, traceparent: str = "") -> None:
        self.deadline = deadline
        """When the caller gives up, by the event loop's clock."""
        self.traceparent = traceparent
        self.future: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        """Ends with the reply, or a ``Failure``."""
        self.span: Span | None = None
        """Where it is traced: from its arrival to its end."""
        self.ended = False
        """It has, whether anybody still waited or not: its table goes on with the next one, once."""
        self._scripted: Scripted | None = None

    def trace(self, table_id: str) -> None:
        """Begin its span; what it commits goes on with that one's trace."""
        self.span = tracing.begin(
            self.traceparent, f"table.{self.name}", kind="server", table=table_id, command_id=self.command_id
        )
        if self.span is not None:
            self.traceparent = tracing.traceparent_of(self.span)

    def answer(self, reply: bytes) -> None:
        """End with a reply."""
        self.ended = True
        if not self.future.done():
            self.future.set_result(reply)

    def fail(self, error: Failure) -> None:
        """End with a refusal or a fault."""
        self.ended = True
        if not self.future.done():
            self.future.set_exception(error)
            self.future.exception()  # whoever asked may be gone

    def scripted(self, state: State) -> Entropy | None:
        """Where this command's chance comes from when it brings its own; ``None``: from the table's seed."""
        if self.script is None:
            return None
        self._scripted = Scripted(self.script, state)
        return self._scripted

    def no_throws_left(self) -> None:
        """Raises ``ScriptRanOut`` when the script has throws that nothing took."""
        if self._scripted is not None and self._scripted.left_over():
            raise ScriptRanOut(f"{self._scripted.left_over()} scripted throws are left over")

    def look_at(self, wall_ms: int, missed_ms: Callable[[int], int]) -> None:
        """Before it is decided: the platform's time, and how much of what passed since a time did not count."""

    def decide(self, draft: Draft, now_ms: int, version: int) -> Refused | None:
        """Play it on the draft. What has fallen due stays in the draft also when the command is refused."""
        raise TypeError(type(self).__name__)

    def reply(self, answer: Answer, state: State) -> bytes:
        """The answer as it travels; ``state`` is how the table stands once the command is done."""
        return b""


class Act(Command):
    """A person's, a bot's or an admin's action."""

    def __init__(
        self,
        action: Action,
        *,
        actor: str,
        command_id: str,
        content: bytes,
        deadline: float,
        prompt: int = 0,
        if_version: int = 0,
        script: script_pb2.Script | None = None,
        traceparent: str = "",
    ) -> None:
        """``content``: the action as it came, for the digest."""
        super().__init__(deadline=deadline, traceparent=traceparent)
        self.action = action
        self.name = kind_of(action)
        self.actor = actor
        self.command_id = command_id
        self.prompt = prompt
        self.if_version = if_version
        self.script = script
        if script is not None:
            content += script.SerializeToString(deterministic=True)
        self.digest = content_digest(content, prompt, if_version)

    def decide(self, draft: Draft, now_ms: int, version: int) -> Refused | None:
        if self.script is not None and not draft.state.dev:
            return Refused(Code.BAD_REQUEST, "Only a table opened for it takes scripted throws.")
        if self.if_version:
            # what falls due moves the table on from the version that was meant
            before = len(draft.events)
            engine.play_due(draft, now_ms=now_ms)
            if self.if_version != version or len(draft.events) > before:
                return Refused.because(Code.STALE_VERSION)
        s = draft.state
        if s.options.entry_fee and not s.started_ms and isinstance(self.action, act.Join) and is_guest(self.actor):
            return Refused(Code.SIGN_IN_REQUIRED, NO_GUESTS)
        refused = engine.act(draft, self.actor, self.action, now_ms=now_ms, prompt=self.prompt)
        if refused is None:
            self.no_throws_left()
        return refused

    def reply(self, answer: Answer, state: State) -> bytes:
        message = table_pb2.ActResponse(version=answer.version, commits=answer.commits, duplicate=answer.duplicate)
        return _with_prompts(message, answer)


def _with_prompts(message: Any, answer: Answer) -> bytes:
    for person, prompt in answer.prompts:
        message.prompts.add(person=person, prompt=prompt)
    return message.SerializeToString()  # type: ignore[no-any-return]


class Wake(Command):
    """Something may have fallen due."""

    name = "wake"

    def __init__(self, *, at_least: int, deadline: float, traceparent: str = "") -> None:
        super().__init__(deadline=deadline, traceparent=traceparent)
        self.at_least = at_least

    def decide(self, draft: Draft, now_ms: int, version: int) -> Refused | None:
        engine.play_due(draft, now_ms=now_ms)
        return None

    def reply(self, answer: Answer, state: State) -> bytes:
        message = table_pb2.WakeResponse(version=answer.version, commits=answer.commits)
        due_ms = platform_due_ms(state)
        if due_ms:
            message.next_deadline.FromMilliseconds(due_ms)
        return _with_prompts(message, answer)


class Report(Command):
    """Presence: who came and who is gone."""

    name = "report"

    def __init__(
        self, changes: Sequence[tuple[str, Action, int]], *, revision: int, deadline: float, traceparent: str = ""
    ) -> None:
        """``changes``: (person, ``Connect`` or ``Disconnect``, since when their connection has been broken, ms since
        1970, or 0).
        """
        super().__init__(deadline=deadline, traceparent=traceparent)
        self.changes = changes
        self.presence_revision = revision
        self._again_ms = 0
        """After so long those are to be reported again whose time to come back is not over; 0: there are none."""
        self._early: set[str] = set()

    def look_at(self, wall_ms: int, missed_ms: Callable[[int], int]) -> None:
        self._early.clear()
        self._again_ms = 0
        for person, _, since_ms in self.changes:
            missed = missed_ms(since_ms) if since_ms else 0
            left_ms = GRACE_MS - (wall_ms - since_ms - missed)
            if missed and left_ms > 0:
                self._early.add(person)
                self._again_ms = max(self._again_ms, left_ms)

    def decide(self, draft: Draft, now_ms: int, version: int) -> Refused | None:
        for person, action, _ in self.changes:
            # somebody without a seat counts in nothing: there is nothing to refuse either
            if person not in self._early:
                engine.act(draft, person, action, now_ms=now_ms)
        return None

    def reply(self, answer: Answer, state: State) -> bytes:
        message = table_pb2.ReportResponse(
            version=answer.version, commits=answer.commits, revision=answer.presence_revision
        )
        if self._again_ms:
            message.again_in.FromMilliseconds(self._again_ms)
        return _with_prompts(message, answer)


class SetUp(Command):
    """Under ``--dev``: the table stands as the position says."""

    name = "set_up"
    catches_up = False

    def __init__(self, view: view_pb2.TableView, *, actor: str, command_id: str, deadline: float) -> None:
        super().__init__(deadline=deadline)
        self.view = view
        self.actor = actor
        self.command_id = command_id
        self.digest = content_digest(view.SerializeToString(deterministic=True), 0, 0)

    def decide(self, draft: Draft, now_ms: int, version: int) -> Refused | None:
        if not draft.state.dev:
            return Refused(Code.BAD_REQUEST, "Only a table opened for it can be set up.")
        state = views.from_view(self.view, draft.state.rules.game)
        try:
            engine.check(state)
        except engine.Broken as error:
            raise Malformed(f"no such position: {error}") from error
        draft.emit(PositionSet(state))
        return None

    def reply(self, answer: Answer, state: State) -> bytes:
        return _with_prompts(
            table_pb2.SetUpResponse(version=answer.version, commits=answer.commits, duplicate=answer.duplicate), answer
        )


class Advance(Command):
    """Under ``--dev``: time passes at this table."""

    name = "advance"

    def __init__(
        self,
        *,
        by_ms: int,
        actor: str,
        command_id: str,
        deadline: float,
        script: script_pb2.Script | None = None,
    ) -> None:
        super().__init__(deadline=deadline)
        self.by_ms = by_ms
        self.actor = actor
        self.command_id = command_id
        self.script = script
        content = script.SerializeToString(deterministic=True) if script is not None else b""
        self.digest = content_digest(content, by_ms, 0)

    def decide(self, draft: Draft, now_ms: int, version: int) -> Refused | None:
        if not draft.state.dev:
            return Refused(Code.BAD_REQUEST, "Only a table opened for it has a clock that can be moved.")
        refused = engine.act(draft, engine.PLATFORM, act.Advance(self.by_ms), now_ms=now_ms)
        self.no_throws_left()
        return refused

    def reply(self, answer: Answer, state: State) -> bytes:
        return _with_prompts(
            table_pb2.AdvanceResponse(version=answer.version, commits=answer.commits, duplicate=answer.duplicate),
            answer,
        )


class Look(Command):
    """A picture of the table; changes nothing."""

    name = "look"
    only_looks = True

    def __init__(self, see: Callable[[State, Answer], bytes], *, at_least: int = 0, deadline: float) -> None:
        """``see``: makes the reply of a state; it may raise ``Failure``."""
        super().__init__(deadline=deadline)
        self.see = see
        self.at_least = at_least

    def reply(self, answer: Answer, state: State) -> bytes:
        return self.see(state, answer)


def content_digest(content: bytes, prompt: int, if_version: int) -> bytes:
    """What a command id stands for: 16 bytes of SHA-256 over the content and what it was tied to."""
    tied = prompt.to_bytes(8, "big", signed=True) + if_version.to_bytes(8, "big", signed=True)
    return hashlib.sha256(tied + content).digest()[:16]
