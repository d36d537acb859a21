"""Which credits a commit moves (RUG-WIN): fees as the game starts, the prize or the refund as it ends.

What is held, and whose it was, the ledger itself says: a prize is all that is held for the table, a refund all that was
taken. A commit that moves credits is one transaction with its lines in the ledger.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from omnipoly.rules.codes import Code
from omnipoly.rules.events import GameEnded, GameStarted
from omnipoly.runtime.refusals import failure

from . import store

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from omnipoly.rules.events import Event
    from omnipoly.rules.state import State
    from omnipoly.runtime.database import Connection

    from ..store import Beside

NO_WINNER = ("closed", "idle", "abandoned")
"""Endings after which nobody has won: by an admin, by the hour, before the start."""
NO_GUESTS = "Guests do not play at paid tables: sign in with an account."


def is_guest(person: str) -> bool:
    """Whether somebody has no account, and so no wallet."""
    return person.startswith("guest:")


def moved_by(happened: Iterable[Event], s: State) -> Beside | None:
    """What a commit moves, of its events and the state behind them; ``None``: nothing."""
    if not s.options.entry_fee:
        return None
    for event in happened:
        if type(event) is GameStarted:
            persons = dict(zip(s.holder, s.name, strict=True))
            return partial(_hold, table_id=s.table, fee=event.options.entry_fee, persons=persons)
        if type(event) is GameEnded and s.started_ms:
            if event.why in NO_WINNER:
                return partial(_refund, table_id=s.table)
            winners = [s.holder[seat] for seat, place in enumerate(event.places) if place == 1]
            return partial(store.pay, table_id=s.table, winners=winners)
    return None


async def _hold(connection: Connection, *, table_id: str, fee: int, persons: Mapping[str, str]) -> None:
    guests = [name for person, name in persons.items() if is_guest(person)]
    if guests:
        raise failure(Code.SIGN_IN_REQUIRED, f"{NO_GUESTS} That is asked of: {', '.join(guests)}.")
    await store.hold(connection, table_id=table_id, fee=fee, persons=persons)


async def _refund(connection: Connection, *, table_id: str) -> None:
    await store.refund(connection, table_id=table_id)
