"""Every game that was begun goes on once nothing is broken any more, and ends."""

from __future__ import annotations

from omnipoly.wire.gen.game.v1 import table_pb2, types_pb2

from .model import Model
from .reading import Findings, Run

_ENDING = frozenset(("vote_opened", "voted", "vote_closed", "game_ended", "seed_revealed", "connected", "disconnected"))

_AGREED = frozenset((types_pb2.ENDING_VOTE, types_pb2.ENDING_ALONE))
"""Endings that need no game that goes on; every other one comes of a move."""


def check(run: Run, models: dict[str, Model], found: Findings) -> None:
    """All tables of the dump."""
    for table, head in run.heads.items():
        model = models[table]
        if model.started:
            found.count("games")
        if not model.ended or head["status"] != table_pb2.TABLE_STATUS_OVER:
            found.fault("end", f"{table} has not ended: version {head['version']}, status {head['status']}")
            continue
        found.count("games ended", int(model.started))
        if not model.started or not run.calm_ms:
            continue
        after = [event for row in run.log[table] if row.stored_ms >= run.calm_ms for event in row.events()]
        agreed = any(kind == "game_ended" and event.why in _AGREED for kind, event in after)
        if agreed and _ENDING.issuperset(kind for kind, _ in after):
            found.fault("end", f"{table} was ended and did not go on before")
