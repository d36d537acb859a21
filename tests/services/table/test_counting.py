"""What operators are told of games: counted as it is committed, and asked of the database."""

from __future__ import annotations

from prometheus_client import REGISTRY

from omnipoly.rules import actions as act
from omnipoly.rules.ring import Game
from omnipolyd.table.counting import Census
from tests.services.table.conftest import Serve


def value(name: str, **labels: str) -> float:
    """A time series now."""
    return REGISTRY.get_sample_value(name, labels) or 0.0


async def test_games_are_counted_when_they_start_and_when_they_end(serve: Serve, game: Game) -> None:
    replica = await serve()
    edition = game.edition.id
    before = {
        what: value("omnipoly_games_total", edition=edition, what=what)
        for what in ("started", "alone", "last_standing")
    }
    acted = value("omnipoly_commands_total", edition=edition, action="leave", outcome="ok")
    table = await replica.caller.open("guest:ann")
    await replica.caller.act(table, "guest:bob", act.Join("Bob"))
    await replica.caller.act(table, "guest:ann", act.Start())
    await Census(replica.app.database).take()
    assert value("omnipoly_tables", status="playing") == 1
    assert value("omnipoly_seated_persons") == 2
    assert value("omnipoly_tables_out_of_play") == 0
    await replica.caller.act(table, "guest:bob", act.Leave())
    after = {what: value("omnipoly_games_total", edition=edition, what=what) for what in before}
    assert after["started"] == before["started"] + 1
    assert sum(after.values()) == sum(before.values()) + 2
    assert value("omnipoly_commands_total", edition=edition, action="leave", outcome="ok") == acted + 1
    await replica.sql("INSERT INTO quarantined (table_id, reason) VALUES ($1, 'a test')", table)
    await Census(replica.app.database).take()
    assert value("omnipoly_tables", status="playing") == 0
    assert value("omnipoly_seated_persons") == 0
    assert value("omnipoly_tables_out_of_play") == 1


async def test_the_census_reads_an_index_of_what_is_in_play_alone(serve: Serve) -> None:
    """A platform's finished games are many; they cost it nothing."""
    from omnipolyd.table.counting import CENSUS

    replica = await serve()
    async with replica.app.database.acquire() as connection, connection.transaction():
        await connection.execute("SET LOCAL enable_seqscan = off")
        plan = "\n".join(row[0] for row in await connection.fetch(f"EXPLAIN {CENSUS}"))
    assert "heads_in_play" in plan
