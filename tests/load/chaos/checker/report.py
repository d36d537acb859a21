"""All checks of a run, and what they come to."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from . import answers, chance, ends, ledger, log, shown
from .clocks import Clocks
from .editions import Editions
from .kept import Kept
from .model import Model
from .presence import Watch
from .reading import Findings, Run


class Report(NamedTuple):
    """What was found."""

    good: bool
    lines: list[str]
    faults: dict[str, int]
    """By kind, how many."""


def check(folder: Path) -> Report:
    """Checks the run in a folder."""
    run, found = Run(folder), Findings()
    log.check(run, found)
    models: dict[str, Model] = {}
    watch, kept = Watch(run, found), Kept(run.rows["snapshots"], run.log, found)
    editions = Editions(run.rows["editions"])
    for table in run.heads:
        model = models[table] = Model(table, found, editions)
        clocks = Clocks(run, found)
        rows = run.log.get(table, [])
        for row in rows:
            try:
                model.play(row)
                clocks.play(row)
                watch.look(row, model)
                kept.look(row, model)
            except (LookupError, ValueError) as error:  # an event that does not fit what was before it
                found.fault("order", f"{row} does not fit: {error!r}")
                break
        chance.check(rows, found)
    answers.check(run, found)
    shown.check(run, models, found)
    ledger.check(run, found)
    ends.check(run, models, found)
    lines = [f"{number:>9} {what}" for what, number in found.counts.items()]
    lines += found.told
    total = sum(found.faults.values())
    kinds = ", ".join(f"{kind} {number}" for kind, number in sorted(found.faults.items()))
    lines.append(f"{total} faults: {kinds}" if total else "0 faults")
    return Report(not total, lines, dict(found.faults))
