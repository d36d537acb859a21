"""The log itself: versions without a gap, every command once, columns that say what the bodies say."""

from __future__ import annotations

from .reading import Commit, Findings, Run


def check(run: Run, found: Findings) -> None:
    """Each table's rows, one by one and in a row."""
    for table, head in run.heads.items():
        found.count("tables")
        rows = run.log.get(table, [])
        versions = [row.version for row in rows]
        if versions != list(range(1, len(rows) + 1)):
            found.fault("gap", f"{table} has the versions {_told(versions)}")
        if head["version"] != len(rows):
            found.fault("gap", f"the head of {table} is at {head['version']}, its log has {len(rows)} commits")
        _table(table, rows, found)
    for table in run.log.keys() - run.heads.keys():
        found.fault("gap", f"{table} has commits and no head")
    for row in run.rows["quarantined"]:
        found.fault("quarantined", f"{row['table_id']}: {row['reason']}")


def _table(table: str, rows: list[Commit], found: Findings) -> None:
    ids: dict[tuple[str, str], int] = {}
    before: Commit | None = None
    for row in rows:
        found.count("commits")
        message = row.message
        said = (message.table, message.version, message.epoch, message.actor, message.command_id)
        if said != (table, row.version, row.epoch, row.actor, row.command_id):
            found.fault("columns", f"{row}: the row is of {row.actor} {row.command_id}, its body says {said}")
        if message.at.ToMilliseconds() != row.at_ms:
            found.fault("columns", f"{row}: the row is of {row.at_ms}, its body of {message.at.ToMilliseconds()}")
        if row.command_id:
            found.count("commands in the log")
            key = (row.actor, row.command_id)
            if key in ids:
                found.fault("doubled", f"{table}: {row.actor} {row.command_id} at {ids[key]} and at {row.version}")
            ids[key] = row.version
        if before is not None:
            if row.at_ms < before.at_ms:
                found.fault("order", f"{row} is of {row.at_ms}, the one before it of {before.at_ms}")
            if row.stored_ms < before.stored_ms - 1:
                found.fault("order", f"{row} was stored at {row.stored_ms}, the one before it at {before.stored_ms}")
            if row.epoch < before.epoch:
                found.fault("order", f"{row} is of epoch {row.epoch}, the one before it of {before.epoch}")
        before = row


def _told(versions: list[int]) -> str:
    for at, version in enumerate(versions, start=1):
        if version != at:
            return f"{version} in the place of {at}"
    return f"1 to {len(versions)}"
