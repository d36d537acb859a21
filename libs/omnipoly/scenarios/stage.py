"""Where scenarios are played: what a stage does, and the one that is the pure engine.

The runner knows nothing but this protocol, so that the same files are played on the engine and over the wire. There,
``wire_stage.stages(gateway)`` is an async context manager that holds the connection and gives a ``MakeStage``; it
raises ``OSError`` when nobody answers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from omnipoly.rules import actions, engine, events, listing
from omnipoly.rules.actions import Action
from omnipoly.rules.codes import Code
from omnipoly.rules.state import State

from . import position as positions
from .model import Position
from .script import Script

EPOCH_MS = 1_700_000_000_000
"""When a scenario begins on the engine's stage. Nothing depends on it."""


class Stage(Protocol):
    """One table that one scenario is played at.

    Chance comes from the script that each call takes: a stage uses its throws in order and raises ``Unscripted`` for
    what it does not have. A call that is refused, or raises, changes nothing.
    """

    async def set_up(self, position: Position, script: Script) -> None:
        """Set the table up. Raises ``Unreachable`` for what the rules cannot reach."""
        ...

    async def do(self, by: str, action: Action, script: Script) -> Code | None:
        """Somebody acts; the code when it is refused.

        ``by`` is a person's id (the name in the scenario), that of a bot (``bot:0``), or ``admin:<name>``.
        """
        ...

    async def wait(self, by_ms: int, script: Script) -> None:
        """The table's clock moves forward, and what falls due meanwhile is played when it does."""
        ...

    async def state(self) -> State:
        """The state as it now stands."""
        ...

    async def can(self, seat: int) -> frozenset[str]:
        """The kinds of action of which at least one would now be accepted from that seat."""
        ...

    async def log(self) -> tuple[str, ...]:
        """The kinds of events of the last call of ``set_up``, ``do`` or ``wait``, in order."""
        ...

    async def check(self) -> None:
        """Raise ``engine.Broken`` when an invariant does not hold; a stage that cannot look inside does nothing."""
        ...

    async def close(self) -> None:
        """Give up the table."""
        ...


MakeStage = Callable[[], Stage]
"""What makes a stage for each scenario."""


class EngineStage:
    """A table that is nothing but a state and the engine."""

    def __init__(self) -> None:
        self._state: State | None = None
        self._log: tuple[str, ...] = ()

    async def set_up(self, position: Position, script: Script) -> None:
        """Set the table up. Raises ``Unreachable`` and ``Unscripted``."""
        self._keep(positions.draft(position, now_ms=EPOCH_MS, entropy=script))
        if position.given is not None:
            self._log = ()  # nothing has happened in a position

    async def do(self, by: str, action: Action, script: Script) -> Code | None:
        """Somebody acts at the table's present time. Raises ``Unscripted``."""
        before = await self.state()
        draft = engine.Draft(before.copy(), script)
        refused = engine.act(draft, by, action, now_ms=before.now_ms)
        # what was due has been played even where the action itself is refused
        self._keep(draft)
        return None if refused is None else refused.code

    async def wait(self, by_ms: int, script: Script) -> None:
        """The table's clock moves forward. Raises ``Unscripted``."""
        await self.do("", actions.Advance(by_ms), script)

    async def state(self) -> State:
        """The state as it now stands."""
        if self._state is None:
            raise RuntimeError("the table is not set up")
        return self._state

    async def can(self, seat: int) -> frozenset[str]:
        """The kinds of action that the engine lists for a seat."""
        state = await self.state()
        return frozenset(legal.do for legal in listing.legal_actions(state, seat, state.now_ms))

    async def log(self) -> tuple[str, ...]:
        """The kinds of events of the last step."""
        return self._log

    async def check(self) -> None:
        """Raise ``engine.Broken`` when an invariant of the engine does not hold."""
        engine.check(await self.state())

    async def close(self) -> None:
        """Nothing is held."""

    def _keep(self, draft: engine.Draft) -> None:
        self._state = draft.state
        self._log = tuple(events.kind_of(event) for event in draft.events)
