"""What operators ask of a table that no player's action is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnipoly.rules import engine
from omnipoly.rules.codes import Code, Refused
from omnipoly.rules.state import Phase
from omnipoly.wire.gen.table.v1 import admin_pb2 as pb

from .. import summaries
from ..commands import Answer, Command, Look, content_digest

if TYPE_CHECKING:
    from collections.abc import Callable

    from omnipoly.rules.draft import Draft
    from omnipoly.rules.state import State


class Freeze(Command):
    """Keep a table as it is, or let it go on."""

    name = "freeze_table"

    def __init__(self, *, thaw: bool, actor: str, command_id: str, deadline: float) -> None:
        super().__init__(deadline=deadline)
        self.thaw = thaw
        self.actor = actor
        self.command_id = command_id
        self.digest = content_digest(b"thaw" if thaw else b"freeze", 0, 0)

    def decide(self, draft: Draft, now_ms: int, version: int) -> Refused | None:
        (engine.thaw if self.thaw else engine.freeze)(draft, now_ms=now_ms)
        if draft.state.phases[-1] is Phase.OVER:
            return Refused.because(Code.GAME_OVER)
        return None

    def reply(self, answer: Answer, state: State) -> bytes:
        return pb.FreezeResponse(
            status=summaries.status(state), version=answer.version, commits=answer.commits
        ).SerializeToString()


class Reload(Look):
    """A picture of a table that is read anew from its log."""

    name = "reload_table"
    anew = True

    def __init__(self, see: Callable[[State, Answer], bytes], *, deadline: float) -> None:
        super().__init__(see, deadline=deadline)
