"""Tables set up from positions, and throws by script: what somebody stands on is the test's choice."""

from __future__ import annotations

import time
from typing import Any

from google.protobuf.duration_pb2 import Duration

from omnipoly.rules.state import State
from omnipoly.scenarios import position
from omnipoly.scenarios.model import Given, Position, TableOptions
from omnipoly.scenarios.script import Script
from omnipoly.wire import views
from omnipoly.wire.gen.game.v1 import script_pb2
from omnipoly.wire.gen.table.v1 import table_pb2 as pb
from tests.services.table.calling import Caller, identity, unique_id


def state(
    players: tuple[str, ...] = ("A", "B", "C"),
    *,
    turn: str = "A",
    edition: str = "tubbypoly",
    options: TableOptions | None = None,
    **given: Any,
) -> State:
    """The state of a position in which `turn` is about to throw, now."""
    wanted = Position(
        edition=edition, players=players, options=options or TableOptions(), given=Given(turn=turn, **given)
    )
    return position.state_of(wanted, now_ms=time.time_ns() // 1_000_000, entropy=Script())


async def set_up(caller: Caller, table: str, s: State, **more: Any) -> Any:
    """Set a table up from a state."""
    more = {"identity": identity("op"), "command_id": unique_id(), **more}
    return await caller.call("SetUp", pb.SetUpRequest(table=table, view=views.to_view(s, 0, 0), **more))


async def staged(caller: Caller, players: tuple[str, ...] = ("A", "B", "C"), **given: Any) -> str:
    """A table that was opened for it and set up; its clock stands still."""
    table = await caller.open(players[0], dev=True)
    await set_up(caller, table, state(players, **given))
    return table


async def advance(caller: Caller, table: str, seconds: float, *throws: tuple[int, int], **more: Any) -> Any:
    """Let time pass at a table."""
    by = Duration()
    by.FromMilliseconds(round(seconds * 1000))
    more = {"identity": identity("op"), "command_id": unique_id(), **more}
    if throws:
        more["script"] = script(*throws)
    return await caller.call("Advance", pb.AdvanceRequest(table=table, by=by, **more))


def script(*throws: tuple[int, int], **decks: list[str]) -> script_pb2.Script:
    """Throws and cards to come."""
    return script_pb2.Script(
        throws=[script_pb2.ScriptedThrow(dice=dice) for dice in throws],
        decks=[script_pb2.ScriptedDeck(deck=deck, cards=cards) for deck, cards in decks.items()],
    )
