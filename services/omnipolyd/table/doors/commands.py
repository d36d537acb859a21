"""Setting a PIN: a command of the table like any other, with the PIN's row beside its commit."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from omnipoly.rules import actions as act
from omnipoly.rules import engine
from omnipoly.wire.gen.table.v1 import table_pb2

from ..commands import Command, content_digest
from . import store

if TYPE_CHECKING:
    from omnipoly.rules.codes import Refused
    from omnipoly.rules.draft import Draft
    from omnipoly.rules.state import State

    from ..commands import Answer
    from .pins import Pin


class SetPin(Command):
    """The host makes the table private, with this PIN from now on, or opens it (TUB-PRIVATE)."""

    name = "set_pin"

    def __init__(
        self, table_id: str, pin: Pin | None, *, actor: str, command_id: str, content: bytes, deadline: float
    ) -> None:
        """``content``: what stands for the PIN in the digest; ``b""`` for none."""
        super().__init__(deadline=deadline)
        self.private = pin is not None
        self.actor = actor
        self.command_id = command_id
        self.digest = content_digest(content, 0, 0)
        self.beside = partial(store.set_pin, table_id=table_id, pin=pin)

    def decide(self, draft: Draft, now_ms: int, version: int) -> Refused | None:
        # also where it is private already: the commit is what the new PIN's row is bound to
        return engine.act(draft, self.actor, act.SetOptions(private=self.private), now_ms=now_ms)

    def reply(self, answer: Answer, state: State) -> bytes:
        return table_pb2.SetPinResponse(
            version=answer.version, commits=answer.commits, duplicate=answer.duplicate
        ).SerializeToString()
