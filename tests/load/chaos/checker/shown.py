"""What clients were shown, against the log: every commit as it stands there, in order and once; no second history."""

from __future__ import annotations

import hashlib
from typing import Any

from .model import Model, Money
from .reading import Findings, Run
from .silence import Silence


class _Stream:
    """One stream, as far as it was read."""

    def __init__(self, version: int, epoch: int) -> None:
        self.version = version
        self.epoch = epoch
        """Where it stands; version 0: nowhere yet."""


def check(run: Run, models: dict[str, Model], found: Findings) -> None:
    """Every journal's streams."""
    digests = {
        (row.table, row.version): (hashlib.sha256(row.body).hexdigest()[:24], row.epoch)
        for rows in run.log.values()
        for row in rows
    }
    silence = Silence(run, found)
    for journal, lines in run.journals.items():
        silence.read(journal, lines)
        streams: dict[int, _Stream] = {}
        last: dict[tuple[str, int], tuple[int, int]] = {}
        """(epoch, version) that a tab has come to, by table and tab."""
        for line in lines:
            kind = line["k"]
            if kind == "follow":
                found.count("streams")
                streams[line["s"]] = _Stream(line["version"], line["epoch"])
                if not line["version"]:  # from nothing: a picture may be a little old, what follows brings it on
                    last.pop((line["table"], line["s"] // 1000), None)
            elif kind in {"commit", "picture", "level"}:
                stream = streams[line["s"]]
                said = f"{journal}, stream {line['s']}: {line['table']} {line['version']}"
                _take(kind, line, stream, digests, models, said, found)
                tab = (line["table"], line["s"] // 1000)
                now = (line["epoch"], line["version"])
                if now < last.get(tab, (0, 0)):
                    found.fault("history", f"{said} of epoch {now[0]} after {last[tab]}")
                last[tab] = now
            elif kind == "look":
                _picture(line, models, f"{journal} looked at {line['table']} {line['version']}", found)


def _take(
    kind: str,
    line: dict[str, Any],
    stream: _Stream,
    digests: dict[tuple[str, int], tuple[str, int]],
    models: dict[str, Model],
    said: str,
    found: Findings,
) -> None:
    version, epoch = line["version"], line["epoch"]
    if kind == "picture":
        found.count("pictures shown")
        _picture(line, models, said, found)
    elif kind == "level":
        if version != stream.version:
            found.fault("gap", f"{said} is said to be all, {stream.version} was shown")
        return
    else:
        found.count("commits shown")
        logged = digests.get((line["table"], version))
        if logged is None:
            found.fault("unlogged", f"{said} is not in the log")
        elif logged != (line["sha"], epoch):
            found.fault("unlogged", f"{said} is another one in the log")
        if version != stream.version + 1:
            found.fault("gap" if version > stream.version else "doubled", f"{said} after {stream.version}")
    stream.version, stream.epoch = version, epoch


def _picture(line: dict[str, Any], models: dict[str, Model], said: str, found: Findings) -> None:
    model = models.get(line["table"])
    wanted: Money | None = model.money.get(line["version"]) if model is not None else None
    if wanted is None:
        found.fault("unlogged", f"{said} is a picture of what is not in the log")
        return
    owned = tuple(sorted((int(field), owner) for field, owner in line["owner"].items()))
    shown = (tuple(line["cash"]), owned, line["casino"], line["bank"])
    if shown != wanted:
        found.fault("unlogged", f"{said} is a picture of {shown}, the log makes {wanted}")
