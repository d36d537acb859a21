"""What clients were answered, against the log: nothing acknowledged is missing, nothing refused has happened, what is
tried again once it is done is not refused, and what was asked for after an answer comes behind it, whoever asked.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import Any

from .reading import Commit, Findings, Run

UNKNOWN = frozenset((1, 2, 4, 14))
"""gRPC's codes after which nobody knows what became of a call: CANCELLED, UNKNOWN, DEADLINE_EXCEEDED, UNAVAILABLE."""
BUSY, INTERNAL = 8, 13
LATE_MS = 3000
"""A command may be started so long after its time is up: clocks, and a process that is slow to look at its own."""
SEEN_MS = 200
"""So long after its row was made a commit may not be there for others yet: it is made before it is committed."""
OUTAGE_MS = 1000
"""So long after the end of an outage of Postgres that came between."""


class _Command:
    """All tries of one command, and all that was said to them."""

    def __init__(self, who: str, name: str) -> None:
        self.who = who
        self.name = name
        self.table = ""
        self.opens = False
        self.tries: list[tuple[int, int]] = []
        """(when, until when)."""
        self.sent: dict[int, int] = {}
        """When, by the number of the try."""
        self.versions: list[tuple[int, int]] = []
        """(when, version) of acceptances."""
        self.no: list[tuple[int, str]] = []
        """(try, code) of refusals that say that nothing was done: of that try or a later one; 0: of any."""
        self.heard = 0
        """Tries to which something was said."""

    def __str__(self) -> str:
        return f"{self.table or 'a new table'} {self.who} {self.name}"


def check(run: Run, found: Findings) -> None:
    """Every journal's commands, then all of them in the order of time."""
    stored = {
        (row.table, row.actor, row.command_id): row for rows in run.log.values() for row in rows if row.command_id
    }
    openings = {(rows[0].actor, rows[0].command_id): rows[0] for rows in run.log.values() if rows}
    commands: list[_Command] = []
    outages = [
        (begin, end)
        for begin, end, subject in run.spans("stop", "away", "swallow", "refuse", "kill")
        if subject == "postgres"
    ]
    for journal, lines in run.journals.items():
        commands += _read(run.who(journal), lines, found)
    for command in commands:
        row = openings.get((command.who, command.name)) if command.opens else None
        row = row or stored.get((command.table, command.who, command.name))
        _one(command, row, found)
        if row is not None:
            _when(command, row, found)
            _again(command, row, _there(row, outages), found)
    _in_time(commands, stored, run, found)


def _read(who: str, lines: list[dict[str, Any]], found: Findings) -> list[_Command]:
    commands: dict[str, _Command] = {}
    for line in lines:
        kind = line["k"]
        if kind not in {"try", "opened", "accepted", "refused", "lost"}:
            continue
        name = str(line["id"])
        command = commands.setdefault(name, _Command(who, name))
        command.table = command.table or line["table"]
        if kind in {"try", "opened"}:
            command.opens = kind == "opened"
            command.tries.append((line["t"], line["t"] + line["wait_ms"]))
            command.sent[line["n"]] = line["t"]
        elif kind == "accepted":
            command.heard += 1
            command.versions.append((line["t"], line["version"]))
        elif kind == "refused":
            if line["status"] == INTERNAL:
                found.fault("internal", f"{command} was answered {line['code']}")
            if line["status"] in UNKNOWN:
                found.count("answers that nobody knows the outcome of")
            elif line["status"] != BUSY:
                command.no.append((line.get("n", 0), line["code"]))
                command.heard += 1
            else:
                command.heard += 1
    return list(commands.values())


def _one(command: _Command, row: Commit | None, found: Findings) -> None:
    found.count("commands")
    found.count("tries", len(command.tries))
    versions = {version for _, version in command.versions}
    if len(versions) > 1:
        found.fault("answers", f"{command} was accepted at {sorted(versions)}")
    if versions:
        found.count("commands acknowledged")
        if row is None:
            found.fault("missing", f"{command} was accepted at {sorted(versions)} and is not in the log")
        elif row.version not in versions:
            found.fault("missing", f"{command} was accepted at {sorted(versions)}, in the log it is at {row.version}")
    elif command.no:
        found.count("commands refused")
        if row is not None and command.heard >= len(command.tries):
            found.fault("answers", f"{command} was refused ({command.no[-1][1]}) and is in the log at {row.version}")
    else:
        found.count("commands given up")


def _there(row: Commit, outages: list[tuple[int, int]]) -> int:
    """When a commit is there for everybody at the latest."""
    ends = [end + OUTAGE_MS for begin, end in outages if begin - SEEN_MS <= row.stored_ms <= end]
    return max((row.stored_ms + SEEN_MS, *ends))


def _again(command: _Command, row: Commit, there_ms: int, found: Findings) -> None:
    """What is tried again once it is there gets the answer that it had, whatever else has happened since.

    So only a try of the time before can have been refused, and not where there was but one: that has done it.
    """
    before = {number for number, sent in command.sent.items() if sent <= there_ms}
    found.count("tries of what was stored already", len(command.sent) - len(before))
    for number, code in command.no:
        if len(before) == 1 or (number in command.sent and number not in before):
            which = f"try {number} or a later one" if number else "a try"
            found.fault("refused", f"{command} is in the log at {row.version}, and {which} was answered {code}")


def _when(command: _Command, row: Commit, found: Findings) -> None:
    """Not before it was sent, not after its time was up, and stored before it was answered."""
    first, last = command.tries[0][0], command.tries[-1][1]
    if row.stored_ms < first - 50:
        found.fault("order", f"{command} was stored at {row.stored_ms}, first sent at {first}")
    if row.stored_ms > last + LATE_MS:
        found.fault("late", f"{command} was stored {(row.stored_ms - last) / 1000:.1f} s after its time was up")
    for at, _ in command.versions:
        if at < row.stored_ms - 50:
            found.fault("order", f"{command} was answered at {at} and stored at {row.stored_ms}")


def _in_time(commands: list[_Command], stored: dict[Any, Commit], run: Run, found: Findings) -> None:
    """What begins after an answer comes behind it: a command of anybody, and a picture."""
    moments: dict[str, list[tuple[int, int, int, str]]] = defaultdict(list)
    for command in commands:
        row = stored.get((command.table, command.who, command.name))
        if row is None or not command.tries:
            continue
        moments[row.table].append((command.tries[0][0], 1, row.version, str(command)))
        if command.versions:
            at = min(at for at, _ in command.versions)
            moments[row.table].append((at, 0, row.version, str(command)))
    looks: Counter[str] = Counter()
    for journal, lines in run.journals.items():
        for line in lines:
            if line["k"] == "look":
                looks[line["table"]] += 1
                what = f"a picture that {journal} asked for"
                moments[line["table"]].append((line["began"], 2, line["version"], what))
    found.count("pictures asked for", sum(looks.values()))
    for rows in moments.values():
        acknowledged = [0, 0]
        # an answer counts from the next millisecond on
        for at, kind, version, what in sorted(rows, key=lambda row: (row[0] + (row[1] == 0), row[1] != 0)):
            if kind == 0:
                if version > acknowledged[1]:
                    acknowledged = [at, version]
            elif version < acknowledged[1] or (kind == 1 and version == acknowledged[1]):
                found.fault(
                    "order", f"{what} is of version {version}, {acknowledged[1]} was acknowledged before it was sent"
                )
