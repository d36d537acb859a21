"""Finished games to files and out of the database; persons' names out of everything that is kept."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from pathlib import Path

import pytest

from omnipoly.client import exports, verify
from omnipoly.rules import actions as act
from omnipoly.rules.codes import Code
from omnipoly.runtime.failures import Failure
from omnipoly.wire.gen.table.v1 import chat_pb2, table_pb2
from omnipolyd.table.upkeep.archive import archive
from omnipolyd.table.upkeep.erase import ERASED, NO_TEXT, Unknown, erase
from tests.services.table.calling import identity, unique_id
from tests.services.table.conftest import Serve
from tests.services.table.replicas import Replica
from tests.services.table.test_results import results
from tests.system.stack import call

NONE = timedelta()


async def played(replica: Replica, *names: str, leave: bool = True) -> str:
    """A game of `guest:<name>`s, called so; by all but the first leaving, won by the first."""
    first, *others = names
    opened = table_pb2.OpenRequest(
        identity=identity(f"guest:{first}", name=first), command_id=unique_id(), edition="tubbypoly"
    )
    table = str((await replica.caller.call("Open", opened)).table)
    for name in others:
        await replica.caller.act(table, f"guest:{name}", act.Join(name))
    await replica.caller.act(table, f"guest:{first}", act.Start())
    if leave:
        for name in reversed(others):
            await replica.caller.act(table, f"guest:{name}", act.Leave())
    return table


async def rows(replica: Replica) -> dict[str, int]:
    """How many each table of the database has."""
    names = await replica.sql("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
    return {name: (await replica.sql(f'SELECT count(*) FROM "{name}"'))[0][0] for (name,) in names}  # noqa: S608


async def where(replica: Replica, text: str) -> set[str]:
    """The columns of the database that hold a text anywhere, whether as text or as bytes."""
    columns = await replica.sql(
        "SELECT table_name, column_name, data_type FROM information_schema.columns WHERE table_schema = 'public'"
    )
    found = set()
    for table, column, kind in columns:
        value = f'"{column}"' if kind == "bytea" else f"convert_to(\"{column}\"::text, 'UTF8')"
        query = f'SELECT count(*) FROM "{table}" WHERE position($1 IN {value}) > 0'  # noqa: S608
        if (await replica.sql(query, text.encode()))[0][0]:
            found.add(f"{table}.{column}")
    return found


@pytest.fixture
async def replica(serve: Serve) -> Replica:
    """One of this test alone: what is archived are all games."""
    return await serve()


def files(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.*"))


async def test_a_finished_game_becomes_a_file_that_can_be_replayed(replica: Replica, tmp_path: Path) -> None:
    over, running = await played(replica, "Ann", "Bob", "Cid"), await played(replica, "Dan", "Eve", leave=False)
    whole = await replica.caller.log(over)
    before = await results(replica.caller)

    kept = await archive(replica.app.database, tmp_path, older_than=timedelta(days=1), most=9, by="command:op")
    assert (kept.tables, files(tmp_path)) == (0, [])
    done = await archive(replica.app.database, tmp_path, older_than=NONE, most=9, by="command:op")
    assert (done.tables, done.commits, done.left) == (1, len(whole), [])

    (file,) = files(tmp_path)
    assert file.name == f"{over}.omnipoly"
    exported = exports.read(exports.parse(file.read_bytes()))
    assert [commit.version for commit in exported.log] == list(range(1, len(whole) + 1))
    assert verify.check(exported.game, exported.log).holds
    *_, (_, state) = exports.told(exported)
    assert state.places

    # Gone are the game and what stood beside it; not its result, and nothing of another's.
    replica.forget(over)
    with pytest.raises(Failure) as refused:
        await replica.caller.view(over)
    assert refused.value.reason == Code.UNKNOWN_TABLE
    assert await results(replica.caller) == before
    counts = await rows(replica)
    assert counts["heads"] == counts["secrets"] == 1
    assert (await replica.sql("SELECT DISTINCT table_id FROM commits"))[0][0] == running
    assert await where(replica, over) == {
        "results.table_id",
        "results.body",
        "results_of_persons.table_id",
    }
    await replica.caller.act(running, "guest:Eve", act.Leave())
    again = await archive(replica.app.database, tmp_path, older_than=NONE, most=9, by="command:op")
    assert again.tables == 1
    audit = await replica.sql("SELECT by, what, outcome FROM audit ORDER BY number")
    assert [tuple(row) for row in audit] == [("command:op", "Archive", "ok")] * 3


async def test_a_log_that_is_not_whole_stays(replica: Replica, tmp_path: Path) -> None:
    good, bad = await played(replica, "Ann", "Bob"), await played(replica, "Ann", "Bob")
    await replica.sql("DELETE FROM commits WHERE table_id = $1 AND version = 3", bad)
    done = await archive(replica.app.database, tmp_path, older_than=NONE, most=9, by="command:op")
    assert (done.tables, [table for table, _ in done.left]) == (1, [bad])
    assert [path.name for path in files(tmp_path)] == [f"{good}.omnipoly"]
    assert [row[0] for row in await replica.sql("SELECT table_id FROM heads")] == [bad]


async def test_a_file_that_cannot_be_written_leaves_the_game(replica: Replica, tmp_path: Path) -> None:
    table = await played(replica, "Ann", "Bob")
    (tmp_path / "file").write_text("no folder")
    with pytest.raises(OSError, match="Not a directory"):
        await archive(replica.app.database, tmp_path / "file", older_than=NONE, most=9, by="command:op")
    assert await replica.caller.view(table)
    assert (await replica.sql("SELECT outcome FROM audit"))[0][0] == "failed"


async def test_a_person_is_erased_everywhere(replica: Replica) -> None:
    name, text = "Zebulon", "my street is Elm"
    over = await played(replica, name, "Bob")
    other = await played(replica, "Bob", "Cid")
    person = f"guest:{name}"
    say = chat_pb2.SayRequest(table=over, identity=identity(person, name=name), command_id=unique_id(), text=text)
    await replica.caller.chat("Say", say)
    await replica.sql(
        "INSERT INTO persons (person, issuer, subject, name, guest)"
        " VALUES ($1, 'https://i.example', 'sub-77', $2, false)",
        person,
        name,
    )
    await replica.sql(
        "INSERT INTO sessions (session, person, salt, hash, opened_by, expires_at)"
        " VALUES ('s', $1, '', '', '\\x01', now() + interval '1 hour')",
        person,
    )
    before = await where(replica, name)
    assert {"commits.body", "results.body", "standings.name", "chat_lines.name", "persons.name"} <= before
    others_log = await replica.caller.log(other)

    done = await erase(replica.app.database, person, by="command:op")
    assert (done.tables, done.running) == (1, [])
    assert done.commits == 1
    # What is left is the id, and only where ids stand.
    for word in (text, "sub-77", "i.example"):
        assert await where(replica, word) == set()
    named = await where(replica, name)
    assert await where(replica, person) == named
    assert not named & {"standings.name", "chat_lines.name", "persons.name"}
    for column in sorted(named):
        table, _, field = column.partition(".")
        for (value,) in await replica.sql(f'SELECT "{field}" FROM "{table}"'):  # noqa: S608
            data = value if isinstance(value, bytes) else str(value).encode()
            assert data.count(name.encode()) == data.count(person.encode()), column

    replica.forget(over)
    view = await replica.caller.view(over)
    assert [(seat.holder, seat.name) for seat in view.seats] == [(person, ERASED), ("guest:Bob", "Bob")]
    assert (await replica.caller.chat("ChatLines", chat_pb2.ChatLinesRequest(table=over))).lines[0].text == NO_TEXT
    assert [seat.name for result in await results(replica.caller, person=person) for seat in result.seats] == [
        ERASED,
        "Bob",
    ]
    assert await replica.caller.log(other) == others_log
    assert (await replica.sql("SELECT ended_why FROM sessions"))[0][0] == "erased"
    assert tuple((await replica.sql("SELECT by, what, person, outcome FROM audit"))[0]) == (
        "command:op",
        "Erase",
        person,
        "ok",
    )
    # As often as one likes.
    again = await erase(replica.app.database, person, by="command:op")
    assert again.commits == 0


async def test_games_that_go_on_are_erased_after_their_end(replica: Replica) -> None:
    table = await played(replica, "Zebulon", "Bob", leave=False)
    done = await erase(replica.app.database, "guest:Zebulon", by="command:op")
    assert (done.tables, done.running) == (0, [table])
    assert (await replica.sql("SELECT outcome FROM audit"))[0][0] == "running"
    await replica.caller.act(table, "guest:Bob", act.Leave())
    done = await erase(replica.app.database, "guest:Zebulon", by="command:op")
    assert (done.tables, done.running) == (1, [])


async def test_of_somebody_unknown_there_is_nothing_to_erase(replica: Replica) -> None:
    with pytest.raises(Unknown):
        await erase(replica.app.database, "guest:nobody", by="command:op")
    assert await replica.sql("SELECT * FROM audit") == []


async def test_as_commands(replica: Replica, log_url: str, tmp_path: Path) -> None:
    table = await played(replica, "Zebulon", "Bob")
    where_to = {"OMNIPOLY_DATABASE_URL": log_url}
    erased = await call("erase", "guest:Bob", **where_to)
    assert (erased.code, erased.output) == (0, "erased at 1 tables, 1 commits written anew\n")
    archived = await call("archive", str(tmp_path), "--older-than-days", "0", **where_to)
    assert archived.code == 0
    assert archived.output.startswith("1 games, ")
    (file,) = files(tmp_path)
    assert file.stem == table
    assert exports.parse(await asyncio.to_thread(file.read_bytes)).commits
