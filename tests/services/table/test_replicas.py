"""Two replicas of the service over one log: whichever is asked, the game is one."""

from __future__ import annotations

import asyncio
from collections import Counter

from omnipoly.rules import actions as act
from omnipoly.rules.ring import Game
from omnipoly.rules.state import Phase
from omnipoly.runtime.failures import Failure
from omnipoly.wire import commits, views
from omnipoly.wire.gen.table.v1 import table_pb2 as pb
from tests.services.table.calling import identity, replay
from tests.services.table.conftest import Serve
from tests.services.table.playing import Picture, play
from tests.services.table.staging import script, staged

ANN = "guest:ann"


async def outcome(asked: asyncio.Future[object]) -> str:
    """ "ok", or why it was refused."""
    try:
        await asked
    except Failure as failure:
        return failure.reason
    return "ok"


async def raced(*asked: object) -> Counter[str]:
    return Counter(await asyncio.gather(*(outcome(one) for one in asked)))  # type: ignore[arg-type]


async def test_every_other_command_elsewhere(serve: Serve, game: Game) -> None:
    """A whole game, its commands by turns through two replicas: each knows what the other has stored."""
    one, two = await serve(), await serve()
    table = await one.caller.open(ANN, unseated=True)
    for _ in range(3):
        await two.caller.act(table, ANN, act.AddBot())
    await one.caller.act(table, ANN, act.SetOptions(round_limit=4))
    await two.caller.act(table, ANN, act.Start())
    picture = await Picture.take(one.caller, table, game)
    await play([one.caller, two.caller], picture)
    assert replay(await two.caller.log(table), game) == picture.state
    for replica in (one, two):
        assert views.from_view(await replica.caller.view(table), game) == picture.state


async def test_one_that_is_behind_shows_and_refuses_nothing_old(serve: Serve) -> None:
    one, two = await serve(), await serve()
    table = await staged(one.caller)
    behind = (await two.caller.view(table)).version
    landed = (await one.caller.act(table, "A", act.Roll(), script=script((1, 2)))).version
    assert two.memory(table).version == behind < landed
    # what it would have refused in its old state
    bought = (await two.caller.act(table, "A", act.Buy())).version
    assert one.memory(table).version == landed < bought
    # what the other would have taken in its own
    assert (await one.caller.refused(table, "A", act.Buy())).reason == "wrong_phase"
    ended = (await one.caller.act(table, "A", act.EndTurn())).version
    # and what it shows
    assert two.memory(table).version == bought < ended
    legal = await two.caller.call("Legal", pb.LegalRequest(table=table, person="B"))
    assert legal.version == ended
    assert "roll" in {action.kind for action in legal.prompt.actions}
    thrown = (await two.caller.act(table, "B", act.Roll(), script=script((4, 6)))).version
    assert (await one.caller.view(table)).version == thrown
    answer = await two.caller.call("Admit", pb.AdmitRequest(table=table, identity=identity("B"), purpose=1))
    assert (answer.seat, answer.version) == (1, thrown)


async def test_many_who_want_the_same_lot(serve: Serve) -> None:
    """Row 16 of the known faults: one deed, one payment, whoever asks how often and where."""
    one, two = await serve(), await serve()
    for _ in range(4):
        table = await staged(one.caller)
        await two.caller.act(table, "A", act.Roll(), script=script((1, 2)))
        await one.caller.view(table)
        said = await raced(
            *(replica.caller.act(table, who, act.Buy()) for replica in 3 * [one, two] for who in ("A", "B"))
        )
        assert said["ok"] == 1
        assert said["not_your_turn"] == 6
        assert sum(said.values()) == 12
        view = await one.caller.view(table)
        assert [seat.cash for seat in view.seats] == [1440, 1500, 1500]
        assert [field.owner for field in view.fields].count(0) == 1


async def test_the_turn_is_ended_once(serve: Serve) -> None:
    """Row 46: five who end the turn at once; the next one's is still on."""
    one, two = await serve(), await serve()
    table = await staged(one.caller)
    await one.caller.act(table, "A", act.Roll(), script=script((4, 6)))
    await two.caller.view(table)
    said = await raced(*(replica.caller.act(table, "A", act.EndTurn()) for replica in (one, two, one, two, one)))
    assert said == {"ok": 1, "not_your_turn": 4}
    assert (await one.caller.view(table)).turn == 1


async def test_one_asset_in_two_hands(serve: Serve, game: Game) -> None:
    """Row 18: what two accept at once goes to one of them."""
    one, two = await serve(), await serve()
    table = await staged(one.caller, owns={"A": (39,), "B": (1,)})
    # A asks for B's lot, B offers it to C: only one of them can have it
    await one.caller.act(table, "A", act.Offer(1, act.Side(cash=50), act.Side(fields=(1,))))
    await two.caller.act(table, "B", act.Offer(2, act.Side(fields=(1,)), act.Side(cash=70)))
    await one.caller.view(table)
    said = await raced(one.caller.act(table, "B", act.Accept(1)), two.caller.act(table, "C", act.Accept(2)))
    assert said["ok"] == 1
    assert said.keys() - {"ok"} <= {"asset_changed", "not_owner", "offer_gone"}
    state = views.from_view(await one.caller.view(table), game)
    assert sum(state.cash) == 4500
    assert state.owner[1] in (0, 2)
    assert state.cash[state.owner[1]] < 1500
    assert state.cash[2 - state.owner[1]] == 1500


async def test_a_crowd_at_one_table(serve: Serve, game: Game) -> None:
    """Everything that is answered is in the log once, in the order of its versions, and nothing else is."""
    one, two = await serve(), await serve()
    table = await one.caller.open(ANN)
    persons = [f"guest:{number}" for number in range(14)]
    callers = [one.caller, two.caller]

    async def come_and_go(number: int, person: str) -> list[int]:
        versions = []
        for step, action in enumerate((act.Join(person), act.Contribute(person), act.Leave())):
            answer = await callers[(number + step) % 2].act(table, person, action)
            assert not answer.duplicate
            versions.append(answer.version)
        return versions

    versions = await asyncio.gather(*(come_and_go(number, person) for number, person in enumerate(persons)))
    assert all(row == sorted(row) for row in versions)
    log = await two.caller.log(table)
    assert sorted(version for row in versions for version in row) == list(range(2, len(log) + 1))
    state = replay(log, game)
    assert state.phase is Phase.LOBBY
    assert state.holder == [ANN]
    assert sorted(state.contributions) == sorted(persons)
    times = [commits.decode(body, game).at_ms for body in log]
    assert times == sorted(times)


async def test_many_tables_appended_by_both_at_once(serve: Serve) -> None:
    """Rows of an append are locked in one order: nobody waits in a ring."""
    one, two = await serve(), await serve()
    tables = await asyncio.gather(*(one.caller.open(ANN) for _ in range(60)))
    for replica in (one, two):
        await asyncio.gather(*(replica.caller.view(table) for table in tables))
    for number in range(6):
        # the same tables, from both ends
        said = await raced(
            *(one.caller.act(table, ANN, act.Contribute(f"one {number}")) for table in tables),
            *(two.caller.act(table, ANN, act.Contribute(f"two {number}")) for table in reversed(tables)),
        )
        assert said == {"ok": 120}
    heads = await one.caller.call("Heads", pb.HeadsRequest(tables=tables))
    assert {head.version for head in heads.heads} == {13}
    (row,) = await one.sql("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()")
    assert row["deadlocks"] == 0


async def test_a_read_may_name_the_version_it_needs(serve: Serve) -> None:
    one, two = await serve(), await serve()
    table = await one.caller.open(ANN)
    await two.caller.view(table)
    version = (await one.caller.act(table, ANN, act.AddBot())).version
    answer = await two.caller.call("Read", pb.ReadRequest(table=table, at_least=version))
    assert answer.view.version == version
    # one that never was: what there is
    answer = await two.caller.call("Read", pb.ReadRequest(table=table, at_least=version + 100))
    assert answer.view.version == version
