"""Old and new programs over one schema: the database is migrated first, then the processes are replaced one by one."""

from __future__ import annotations

import re
from pathlib import Path

import asyncpg
import pytest

from omnipoly.rules import actions as act
from omnipoly.rules.ring import Game
from omnipoly.runtime import migrations
from omnipoly.runtime.errors import SchemaError
from tests.services.table import next_revision
from tests.services.table.conftest import Serve
from tests.services.table.next_revision import PACKAGE

SCRIPTS = sorted(migrations._versions(PACKAGE).glob("[0-9]*.sql"))
FIRST_HELD = 7
"""Revisions up to here came before anything was released."""

VERSION = f"UPDATE {migrations.version_table(PACKAGE)} SET version_num = $1"  # noqa: S608

CHANGES = r"\b(?:ALTER\s+TABLE|INDEX\s+\w+\s+ON)"
"""Locks are kept to a migration's end. An append takes commits, then heads, then what belongs to a game's end: a
migration that takes them in another order waits for an append that waits for it."""

BREAKS = {
    "drops a table": r"\bDROP\s+TABLE\b",
    "drops a column": r"\bDROP\s+COLUMN\b",
    "renames": r"\bRENAME\b",
    "changes a type": r"\bALTER\s+COLUMN\s+\w+\s+(SET\s+DATA\s+)?TYPE\b",
    "asks for what was not asked for": r"\bSET\s+NOT\s+NULL\b",
    "adds a column that the old program does not fill": r"\bADD\s+COLUMN\s+(?![^;,]*\bDEFAULT\b)[^;,]*\bNOT\s+NULL\b",
    "adds a condition to what is there": r"\bALTER\s+TABLE\s+\w+\s+ADD\s+(CONSTRAINT|CHECK|UNIQUE)\b",
    "makes rows unique that were not": r"\bCREATE\s+UNIQUE\s+INDEX\s+\w+\s+ON\s+(?!new_)",
    "changes another table before commits": rf"{CHANGES} (?!commits\b|new_)[\s\S]*{CHANGES} commits\b",
    "changes another table before heads": rf"{CHANGES} (?!commits\b|heads\b|new_)[\s\S]*{CHANGES} heads\b",
}
"""What an old program that still runs may trip over. A file that may all the same, because the program before does not
use what it changes, says so: `-- unused since NNNN`."""


def breaks(sql: str) -> list[str]:
    """Why an old program could not go on over a revision."""
    bare = re.sub(r"--[^\n]*", "", sql)
    made = set(re.findall(r"\bCREATE\s+TABLE\s+(\w+)", bare, re.IGNORECASE))
    for table in made:  # what it makes itself nobody uses yet
        bare = re.sub(rf"\bON\s+{table}\b", "ON new_", bare)
        bare = re.sub(rf"\bALTER\s+TABLE\s+{table}\b[^;]*;", "", bare)
    return [what for what, pattern in BREAKS.items() if re.search(pattern, bare, re.IGNORECASE)]


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_a_revision_lets_the_program_before_it_go_on(script: Path) -> None:
    sql = script.read_text("utf-8")
    if int(script.name[:4]) > FIRST_HELD and not re.search(r"^-- unused since \d{4}$", sql, re.MULTILINE):
        assert breaks(sql) == []


def test_what_would_break_an_old_program_is_found() -> None:
    assert breaks(next_revision.SQL) == []
    assert breaks("ALTER TABLE heads DROP COLUMN host;") == ["drops a column"]
    assert breaks("ALTER TABLE heads ADD COLUMN x text NOT NULL;") != []
    assert breaks("CREATE UNIQUE INDEX i ON commits (actor);") != []
    assert breaks("CREATE INDEX i ON heads (host); ALTER TABLE commits ADD COLUMN x int;") != []
    assert breaks("ALTER TABLE results ADD COLUMN x int; ALTER TABLE heads ADD COLUMN x int;") != []
    assert (
        breaks("CREATE TABLE x (a int); CREATE UNIQUE INDEX i ON x (a); ALTER TABLE x ALTER COLUMN a SET NOT NULL;")
        == []
    )


async def test_a_game_goes_on_over_the_next_schema_under_old_replicas_and_new_ones(
    serve: Serve, log_url: str, game: Game
) -> None:
    newest = migrations.revisions(PACKAGE)[-1]
    old = await serve()
    table = await old.caller.started(game)
    connection = await asyncpg.connect(log_url)
    try:
        # As a newer `omnipolyd migrate` does it, while games are played: in one transaction.
        async with connection.transaction():
            await connection.execute(next_revision.SQL)
            await connection.execute(VERSION, f"{int(newest) + 1:04}")
        await old.caller.act(table, "guest:ann", act.Roll())
        # One that restarts meanwhile comes up again, and both write.
        again = await serve()
        at = len(await again.caller.log(table))
        await again.caller.act(table, "guest:ann", act.Leave())
        assert len(await old.caller.log(table)) > at
        # Never over an older schema: what this program writes does not fit there.
        await connection.execute(VERSION, f"{int(newest) - 1:04}")
        with pytest.raises(SchemaError, match=f"this program needs {newest}: run omnipolyd migrate"):
            await serve()
        # Nor over one that is two ahead: what this program reads may be gone from there.
        await connection.execute(VERSION, f"{int(newest) + 2:04}")
        with pytest.raises(SchemaError, match="start a newer Omnipoly"):
            await serve()
    finally:
        await connection.close()
