"""Finished games to files, and out of the database.

A game's file is what an export is: `omnipoly replay` and `omnipoly verify` read it. Rows go only when the file has been
written through to the disk and read back: its commits are complete and can be played from nothing. Killed at any
moment, it is run again: a file that stands already is written over with the same bytes.
"""

from __future__ import annotations

import asyncio
import os
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from omnipoly.client import exports
from omnipoly.client.exports import Unfit
from omnipoly.runtime import logging
from omnipoly.wire.gen.table.v1 import table_pb2
from omnipoly.wire.malformed import Malformed

from ..admin.audit import Audit, Call
from . import sql

if TYPE_CHECKING:
    from omnipoly.runtime.database import Connection, Database

log = logging.get(__name__)

PAGE = 100
SUFFIX = ".omnipoly"


@dataclass
class Archived:
    """What was done."""

    tables: int = 0
    commits: int = 0
    size_bytes: int = 0
    left: list[tuple[str, str]] = field(default_factory=list)
    """Tables whose log is not whole, and what is wrong; they stay as they are."""


async def archive(database: Database, folder: Path, *, older_than: timedelta, most: int, by: str) -> Archived:
    """Writes at most so many games that ended before `older_than` ago into `folder`, one a month, and removes them.

    by: who does, for the audit log. Raises one of `database.FAULTS`, and OSError when a file cannot be written; what
    was archived by then is.
    """
    audit, done = Audit(database), Archived()
    number = await audit.begin(by, [], Call("Archive", note=f"older than {older_than.days} days, to {folder.name}"))
    outcome = "failed"
    try:
        after = ""
        while done.tables < most:
            rows = await database.fetch(sql.FINISHED, older_than, after, min(PAGE, most - done.tables))
            for table_id, version, ended in rows:
                after = table_id
                await _one(database, folder, table_id, version, ended, done)
            if not rows:
                break
        outcome = "ok"
    finally:
        await audit.end(number, outcome)
    return done


async def _one(database: Database, folder: Path, table_id: str, version: int, ended: datetime, done: Archived) -> None:
    edition, digest, text = await database.fetchrow(sql.EDITION, table_id) or ("", "", "")
    bodies = [row[0] for row in await database.fetch(sql.LOG, table_id)]
    data = table_pb2.ExportResponse(
        edition=edition, digest=digest, edition_text=text, commits=bodies
    ).SerializeToString()
    file = folder / f"{ended:%Y-%m}" / f"{table_id}{SUFFIX}"
    try:
        await asyncio.to_thread(_write, file, data)
        await asyncio.to_thread(_require_whole, file, version)
    except (Malformed, Unfit) as error:
        log.error("not_archived", table=table_id, cause=str(error))  # noqa: TRY400 - its log says what is wrong
        file.unlink()
        done.left.append((table_id, str(error)))
        return
    async with database.acquire() as connection, connection.transaction():
        if await _remove(connection, table_id, version):
            done.tables += 1
            done.commits += len(bodies)
            done.size_bytes += len(data)


def _write(file: Path, data: bytes) -> None:
    """A file that is there whole or not at all, also after the power went."""
    file.parent.mkdir(parents=True, exist_ok=True)
    new = file.with_name(f".{file.name}.{os.getpid()}")
    with new.open("wb") as output:
        output.write(data)
        output.flush()
        os.fsync(output.fileno())
    new.replace(file)
    for folder in (file.parent, file.parent.parent):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _require_whole(file: Path, version: int) -> None:
    """Raises `Malformed` or `Unfit` when the file is no game that can be played from nothing to its last version."""
    exported = exports.read(exports.parse(file.read_bytes()))
    if len(exported.log) != version:
        raise Unfit(f"{len(exported.log)} commits of {version}")
    for _ in exports.told(exported):
        """Each commit is played."""


async def _remove(connection: Connection, table_id: str, version: int) -> bool:
    """Whether its rows are gone; not when it has moved meanwhile."""
    head = await connection.fetchrow(sql.LOCK, table_id)
    if head is None or head["version"] != version or head["status"] != sql.OVER:
        return False
    for statement in sql.REMOVE:
        await connection.execute(statement, table_id)
    return True
