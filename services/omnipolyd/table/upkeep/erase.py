"""A person's name out of everything that is kept: their games keep the seat and the id, and lose who it was.

The id is a hash of issuer and subject, which are erased: it says nothing by itself, and the log, the ledger and the
audit log stay whole under it. Games that still go on hold the name in the memory of replicas; they are named, and
erased when the command is run again after their end.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from google.protobuf.descriptor import FieldDescriptor

from omnipoly.wire.gen.game.v1 import commit_pb2, table_pb2

from ..admin.audit import Audit, Call
from . import sql

if TYPE_CHECKING:
    from google.protobuf.message import Message

    from omnipoly.runtime.database import Connection, Database

ERASED = "erased"
"""What stands in the place of a name. Engine and clients show it as any other."""
NO_TEXT = "…"
"""What stands in the place of a chat line's text, which is never empty."""

_NAMED = {"holder": "name", "person": "name", "host": "host_name"}
"""Fields with a person's id, and the field beside each that has their name."""


class Unknown(Exception):
    """Nothing is known of that person."""


@dataclass
class Erased:
    """What was done."""

    tables: int = 0
    commits: int = 0
    """Commits written anew, without the name."""
    running: list[str] = field(default_factory=list)
    """Tables that are not over: to be erased after their end, by running it again."""


async def erase(database: Database, person: str, *, by: str) -> Erased:
    """Erases a person. May be repeated. by: who does, for the audit log.

    Raises `Unknown`, and one of `database.FAULTS`.
    """
    if not await database.fetchval(sql.KNOWN, person):
        raise Unknown(person)
    audit, done = Audit(database), Erased()
    number = await audit.begin(by, [], Call("Erase", person=person))
    outcome = "failed"
    try:
        async with database.acquire() as connection, connection.transaction():
            await _account(connection, person)
        over = []
        async with database.acquire() as connection:
            rows = await connection.fetch(sql.TABLES, person)
        for table_id, status in rows:
            if status == sql.OVER:
                over.append(table_id)
            else:
                done.running.append(table_id)
        for table_id in over:
            async with database.acquire() as connection, connection.transaction():
                done.commits += await _table(connection, table_id, person)
            done.tables += 1
        async with database.acquire() as connection, connection.transaction():
            for table_id, body in await connection.fetch(sql.RESULTS, person, over):
                result = table_pb2.GameResult.FromString(body)
                if nameless(result, person):
                    await connection.execute(sql.RETELL, table_id, result.SerializeToString())
        outcome = "running" if done.running else "ok"
    finally:
        await audit.end(number, outcome)
    return done


async def _account(connection: Connection, person: str) -> None:
    await connection.execute(sql.SESSIONS, person)
    await connection.execute(sql.PERSON, person)
    await connection.execute(sql.STANDINGS, person, ERASED)
    await connection.execute(sql.LINES, person, ERASED, NO_TEXT)
    await connection.execute(sql.WRITER, person)
    await connection.execute(sql.TRIES, person)


async def _table(connection: Connection, table_id: str, person: str) -> int:
    """The commits of one table that were written anew."""
    written = 0
    for version, body in await connection.fetch(sql.BODIES, table_id):
        commit = commit_pb2.Commit.FromString(body)
        if nameless(commit, person):
            await connection.execute(sql.REWRITE, table_id, version, commit.SerializeToString())
            written += 1
    summary = table_pb2.TableSummary.FromString(await connection.fetchval(sql.SUMMARY, table_id))
    if nameless(summary, person):
        await connection.execute(sql.RESUMMARIZE, table_id, summary.SerializeToString())
    if written:
        await connection.execute(sql.NO_SNAPSHOTS, table_id)
    return written


def nameless(message: Message, person: str) -> bool:
    """Takes a person's name out of a message, wherever it stands beside their id; whether it stood anywhere."""
    found = False
    for identity, name in _NAMED.items():
        fields = message.DESCRIPTOR.fields_by_name
        theirs = identity in fields and name in fields and getattr(message, identity) == person
        if theirs and getattr(message, name) not in {"", ERASED}:
            setattr(message, name, ERASED)
            found = True
    for descriptor, value in message.ListFields():
        if descriptor.type == FieldDescriptor.TYPE_MESSAGE:
            for inner in _messages(descriptor, value):
                found |= nameless(inner, person)
    return found


def _messages(descriptor: Any, value: Any) -> list[Any]:
    """The messages in a field."""
    if descriptor.message_type.GetOptions().map_entry:
        return [inner for inner in value.values() if hasattr(inner, "DESCRIPTOR")]
    return list(value) if descriptor.is_repeated else [value]
