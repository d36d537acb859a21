"""Stored snapshots against the log: each is of a commit, and shows what the log makes of the game up to there.

Snapshots are written from what the services hold in memory, so that this is where a state that has gone another way
than its log is found, whoever was shown it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from omnipoly.wire.gen.game.v1 import types_pb2, view_pb2

from .model import Model
from .reading import Commit, Findings

_RUNNING = {"prompt": "prompts", "throw": "thrown", "debt": "debts_n", "auction": "auctions", "offer": "offers_n"}


class Kept:
    """The snapshots of a run."""

    def __init__(self, snapshots: list[dict[str, Any]], log: Mapping[str, list[Commit]], found: Findings) -> None:
        """snapshots: rows with their body as bytes. log: by table."""
        self._found = found
        self._snapshots = {(row["table_id"], row["version"]): row for row in snapshots}
        stored = {(row.table, row.version): row.epoch for rows in log.values() for row in rows}
        for (table, version), row in self._snapshots.items():
            if stored.get((table, version)) != row["epoch"]:
                found.fault("kept", f"{table}: the snapshot of {version} in epoch {row['epoch']} is of no commit")

    def look(self, row: Commit, model: Model) -> None:
        """A commit of which there may be a snapshot; the model stands behind it."""
        kept = self._snapshots.get((row.table, row.version))
        if kept is None:
            return
        self._found.count("snapshots")
        view = view_pb2.TableView.FromString(kept["body"])
        log, shown = _wanted(model), _shown(view, model)
        for what in log:
            if log[what] != shown[what]:
                self._found.fault("kept", f"{row}: {what} of its snapshot: {shown[what]}, the log makes {log[what]}")


def _wanted(model: Model) -> dict[str, Any]:
    lots = model.lots
    return {
        "seats": model.holders,
        "cash": model.cash,
        "casino": model.casino,
        "bank": model.bank,
        "owners": {field: owner for field, owner in lots.owner.items() if owner >= 0},
        "buildings": {field: level for field, level in lots.level.items() if level},
        "mortgages": sorted(field for field, mortgaged in lots.mortgaged.items() if mortgaged),
        "figures": model.at,
        "seats out": sorted(model.out),
        "round": model.round,
        "draws": {deck: number for deck, number in model.draws.items() if number},
        "offers": sorted(lots.offers),
        "debts": sorted(model.debts),
        "auction": 0 if model.ended else lots.auction,
        **{what: model.numbers[what] for what in _RUNNING},
    }


def _shown(view: view_pb2.TableView, model: Model) -> dict[str, Any]:
    seats, fields = view.seats, view.fields
    figures = [None if at is None else seat.position for seat, at in zip(seats, model.at, strict=False)]
    auction = view.HasField("auction") and not model.ended
    return {
        "seats": [seat.holder for seat in seats],
        "cash": [seat.cash for seat in seats] if view.in_play else [],
        "casino": view.casino,
        "bank": view.bank,
        "owners": {at: field.owner for at, field in enumerate(fields) if field.owner >= 0},
        "buildings": {at: field.level for at, field in enumerate(fields) if field.level},
        "mortgages": [at for at, field in enumerate(fields) if field.mortgaged],
        "figures": figures,
        "seats out": [at for at, seat in enumerate(seats) if seat.out != types_pb2.OUT_IN],
        "round": view.round,
        "draws": {deck.deck: deck.draws for deck in view.decks if deck.draws},
        "offers": sorted(offer.offer for offer in view.offers),
        "debts": sorted(debt.debt for debt in view.debts),
        "auction": view.auctions if auction else 0,
        **{what: getattr(view, name) for what, name in _RUNNING.items()},
    }
