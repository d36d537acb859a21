"""Another history of the log, said by the number that the operator raises: nothing old is believed any more."""

from __future__ import annotations

import asyncio

from prometheus_client import REGISTRY

from omnipoly.rules import actions as act
from omnipoly.rules.ring import Game
from omnipoly.runtime.database import EPOCH_SHIFT
from omnipoly.wire import commits
from omnipoly.wire.gen.table.v1 import table_pb2 as pb
from tests.services.proxy import Proxy, Way
from tests.services.table.calling import replay
from tests.services.table.conftest import Serve
from tests.services.table.hearing import Ear
from tests.services.table.replicas import Replica
from tests.services.waiting import eventually

ANN = "guest:ann"
RAISED = (1 << EPOCH_SHIFT) + 1


def conflicts() -> float:
    return REGISTRY.get_sample_value("omnipoly_commit_conflicts_total") or 0.0


async def raise_number(replica: Replica) -> None:
    await replica.sql("UPDATE epochs SET number = number + 1")


async def test_a_new_epoch_empties_what_is_in_memory(serve: Serve, proxy: Proxy, ear: Ear, game: Game) -> None:
    replica = await serve(proxy.url)
    caller = replica.caller
    table = await caller.started(game, bots=1)
    first = await caller.view(table)
    assert first.epoch == 1
    assert replica.memory(table).state is not None
    await raise_number(replica)
    proxy.cut_all()
    await eventually(lambda: replica.app.database.epoch == RAISED)
    assert replica.memory(table).state is None
    # what was committed stays what it was; what follows is of the new epoch
    answer = await caller.act(table, ANN, act.Roll())
    assert commits.decode(answer.commits[0], game).epoch == RAISED
    view = await caller.view(table)
    assert (view.epoch, view.version) == (RAISED, first.version + 1)
    (head,) = (await caller.call("Heads", pb.HeadsRequest(tables=[table]))).heads
    assert (head.epoch, head.version) == (RAISED, view.version)
    assert (await caller.call("Commits", pb.CommitsRequest(table=table))).epoch == RAISED
    log = [commits.decode(body, game) for body in await caller.log(table)]
    assert [commit.epoch for commit in log] == [1, 1, 1, RAISED]
    await eventually(lambda: view.version in ear.headers[table])
    assert ear.headers[table][view.version]["Omnipoly-Epoch"] == str(RAISED)
    assert (await caller.view(await caller.open(ANN))).epoch == RAISED


async def test_what_was_decided_in_the_old_epoch_is_not_stored(serve: Serve, proxy: Proxy, game: Game) -> None:
    """Decided anew, on what the log says now."""
    replica = await serve(proxy.url)
    caller = replica.caller
    table, other = await caller.open(ANN), await caller.open(ANN)
    for one in (table, other):
        await caller.view(one)
    held = proxy.hold(b"holds-all-up")
    first = asyncio.create_task(caller.act(other, ANN, act.AddBot(), command_id="holds-all-up"))
    await held.sprung.wait()
    second = asyncio.create_task(caller.act(table, ANN, act.AddBot(), command_id="of-the-old"))
    await eventually(lambda: replica.tables._log.waiting == 1)
    # the log goes back in time, and another table has taken that version; a new connection finds out
    await raise_number(replica)
    before = conflicts()
    assert await replica.app.database.read_epoch() == RAISED
    held.released.set()
    await first
    answer = await second
    assert conflicts() > before  # one; more where the heads are raised in the very middle of it
    assert commits.decode(answer.commits[0], game).epoch == RAISED
    assert not answer.duplicate
    for one in (table, other):
        assert len(await caller.log(one)) == 2  # opened, and once the bot


async def test_a_replica_that_hears_of_it_last(serve: Serve, game: Game) -> None:
    """Its own connections are old: it learns from a head that another replica has moved on."""
    one, two = await serve(), await serve()
    table = await one.caller.started(game, bots=1)
    await two.caller.view(table)
    await raise_number(one)
    await one.app.database.read_epoch()
    assert two.app.database.epoch == 1
    # in the old one it goes on, as long as nobody has moved the table to the new one
    await two.caller.act(table, "bot:0", act.Roll())
    answer = await one.caller.act(table, ANN, act.ProposeEnd())
    assert commits.decode(answer.commits[0], game).epoch == RAISED
    elsewhere = await two.caller.open(ANN)
    assert (await two.caller.refused(table, ANN, act.Roll())).reason == "game_over"
    assert two.app.database.epoch == RAISED
    answer = await two.caller.act(elsewhere, ANN, act.AddBot())
    assert commits.decode(answer.commits[0], game).epoch == RAISED
    replay(await one.caller.log(table), game)


async def test_rewritten_versions_do_not_look_old(serve: Serve, game: Game) -> None:
    """The log went back by some commits and took other ones: whoever had them in memory shows them no more."""
    replica = await serve()
    caller = replica.caller
    table = await caller.open(ANN)
    for name in ("first", "second", "third"):
        await caller.act(table, ANN, act.AddBot(name), command_id=name)
    # as a restore to a point in time does, with the number raised as the operator is told to
    await replica.sql("DELETE FROM commits WHERE table_id = $1 AND version > 2", table)
    await replica.sql("UPDATE heads SET version = 2 WHERE table_id = $1", table)
    await raise_number(replica)
    await replica.app.database.read_epoch()
    view = await caller.view(table)
    assert [seat.name for seat in view.seats][1:] == ["first"]
    answer = await caller.act(table, ANN, act.AddBot("third"), command_id="third")
    assert not answer.duplicate
    assert answer.version == 3
    assert (await caller.act(table, ANN, act.AddBot("first"), command_id="first")).duplicate


async def test_what_was_read_before_the_log_went_back_is_not_gone_on_from(
    serve: Serve, proxy: Proxy, game: Game
) -> None:
    """A load that lasts over it: another history has the same version by the time that it ends."""
    late, prompt = await serve(proxy.url), await serve()
    table = await late.caller.open(ANN)
    for name in ("first", "second", "third"):
        await late.caller.act(table, ANN, act.AddBot(name))
    late.forget(table)
    held = proxy.hold(b"third", Way.BACK)
    looking = asyncio.create_task(late.caller.view(table))
    await held.sprung.wait()
    await late.sql("DELETE FROM commits WHERE table_id = $1 AND version > 2", table)
    await late.sql("UPDATE heads SET version = 2 WHERE table_id = $1", table)
    await raise_number(late)
    for replica in (late, prompt):
        assert await replica.app.database.read_epoch() == RAISED
    for name in ("other", "others"):
        await prompt.caller.act(table, ANN, act.AddBot(name))
    held.released.set()
    expected = ["first", "other", "others"]
    assert [seat.name for seat in (await looking).seats][1:] == expected
    await late.caller.act(table, ANN, act.AddBot("last"))
    assert [seat.name for seat in (await prompt.caller.view(table)).seats][1:] == [*expected, "last"]
