"""The same command again: once it takes effect, ever after it has its first answer."""

from __future__ import annotations

import asyncio
import itertools
import time
from types import SimpleNamespace

import pytest

from omnipoly.rules import actions as act
from omnipoly.rules.ring import Game
from omnipoly.runtime.failures import Failure
from omnipoly.wire import commits
from omnipoly.wire.gen.table.v1 import table_pb2 as pb
from omnipolyd.table import deciding
from omnipolyd.table import table as tables_memory
from tests.services.table.calling import Caller, identity, unique_id
from tests.services.table.conftest import Serve
from tests.services.table.operators import close
from tests.services.table.playing import Picture, play
from tests.services.table.replicas import Replica

ANN, BOB = "guest:ann", "guest:bob"
CLOCK_S = 60
"""Longer than any decision's."""


async def _version(caller: Caller, table: str) -> int:
    return int((await caller.view(table)).version)


async def test_twice_one_after_the_other(caller: Caller) -> None:
    table = await caller.open(ANN)
    first = await caller.act(table, ANN, act.AddBot("Robin"), command_id="once")
    again = await caller.act(table, ANN, act.AddBot("Robin"), command_id="once")
    assert not first.duplicate
    assert again.duplicate
    assert (again.version, list(again.commits)) == (first.version, list(first.commits))
    await caller.act(table, ANN, act.AddBot())
    late = await caller.act(table, ANN, act.AddBot("Robin"), command_id="once")
    assert (late.duplicate, late.version, list(late.commits)) == (True, first.version, list(first.commits))
    assert await _version(caller, table) == 3


async def test_twenty_times_at_once(caller: Caller) -> None:
    table = await caller.open(ANN)
    answers = await asyncio.gather(*(caller.act(table, ANN, act.AddBot(), command_id="at-once") for _ in range(20)))
    assert sorted(answer.duplicate for answer in answers) == [False] + 19 * [True]
    assert len({(answer.version, bytes(answer.commits[0])) for answer in answers}) == 1
    assert await _version(caller, table) == 2


async def test_other_content_is_refused(caller: Caller, game: Game) -> None:
    table = await caller.started(game)
    await caller.act(table, ANN, act.Roll(), command_id="roll")
    for wrong in (
        caller.refused(table, ANN, act.EndTurn(), command_id="roll"),
        caller.refused(table, ANN, act.Roll(), command_id="roll", prompt_id=7),
        caller.refused(table, ANN, act.Roll(), command_id="roll", if_version=7),
    ):
        failure = await wrong
        assert (failure.status.name, failure.reason) == ("INVALID_ARGUMENT", "key_reused")
        assert failure.sentence
    assert (await caller.act(table, ANN, act.Roll(), command_id="roll")).duplicate


async def test_an_id_is_its_actors_alone(caller: Caller) -> None:
    table, other = await caller.open(ANN), await caller.open(ANN)
    ann = await caller.act(table, ANN, act.Contribute("mine"), command_id="same")
    await caller.act(table, BOB, act.Join("Bob"))
    bob = await caller.act(table, BOB, act.Contribute("his"), command_id="same")
    elsewhere = await caller.act(other, ANN, act.Contribute("another table"), command_id="same")
    assert not any(answer.duplicate for answer in (ann, bob, elsewhere))
    # nor is somebody's as an admin their own
    await close(caller, table, by=ANN, command_id="same")


async def test_an_id_of_a_refused_command_may_be_used_again(caller: Caller, game: Game) -> None:
    table = await caller.open(ANN)
    assert (await caller.refused(table, ANN, act.Start(), command_id="again")).reason == "bad_partner"
    assert (await caller.refused(table, ANN, act.Roll(), command_id="again")).reason == "wrong_phase"
    answer = await caller.act(table, ANN, act.AddBot(), command_id="again")
    assert not answer.duplicate
    assert (await caller.act(table, ANN, act.AddBot(), command_id="again")).duplicate


async def test_on_two_replicas_at_once(serve: Serve) -> None:
    one, two = await serve(), await serve()
    table = await one.caller.open(ANN)
    for replica in (one, two):
        await replica.caller.view(table)  # both have it in memory
    for turn in range(5):
        action, command_id = act.Contribute(f"turn {turn}"), f"both-{turn}"
        answers = await asyncio.gather(
            *(replica.caller.act(table, ANN, action, command_id=command_id) for replica in 3 * [one, two])
        )
        assert sorted(answer.duplicate for answer in answers) == [False] + 5 * [True]
        assert {answer.version for answer in answers} == {turn + 2}
        assert len({bytes(answer.commits[0]) for answer in answers}) == 1


async def test_after_a_restart(serve: Serve, game: Game) -> None:
    one = await serve()
    table = await one.caller.started(game)
    first = await one.caller.act(table, ANN, act.Roll(), command_id="before")
    two = await serve()
    again = await two.caller.act(table, ANN, act.Roll(), command_id="before")
    assert (again.duplicate, list(again.commits)) == (True, list(first.commits))
    reused = await two.caller.refused(table, ANN, act.Pay(), command_id="before")
    assert reused.reason == "key_reused"


@pytest.mark.parametrize("how", ["fell out of memory", "loaded from a snapshot"])
@pytest.mark.parametrize("due", [False, True])
async def test_older_than_what_memory_keeps(
    serve: Serve, game: Game, monkeypatch: pytest.MonkeyPatch, how: str, due: bool
) -> None:
    """Also where the rules would refuse the command by now, and where something has fallen due before it: what was
    accepted once has its answer."""
    if how == "fell out of memory":
        monkeypatch.setattr(tables_memory, "KNOWN_IDS", 2)
        replica = await serve()
    else:
        replica = await serve(snapshot_every=3)
    caller = replica.caller
    table = await caller.open(ANN, command_id="the-first")
    first = {
        "bot": (act.AddBot(), await caller.act(table, ANN, act.AddBot(), command_id="bot")),
        "start": (act.Start(), await caller.act(table, ANN, act.Start(), command_id="start")),
    }
    picture = await Picture.take(caller, table, game)
    await play([caller], picture, most=10)
    if how == "loaded from a snapshot":
        await replica.tables.drained()
        replica.forget(table)
    if due:
        ticks = itertools.count(time.time() + CLOCK_S, CLOCK_S)  # each time it is looked at, a decision's clock is up
        monkeypatch.setattr(deciding, "time", SimpleNamespace(time=lambda: next(ticks)))
    for command_id, (action, answer) in first.items():
        again = await caller.act(table, ANN, action, command_id=command_id)
        assert (again.duplicate, again.version, list(again.commits)) == (True, answer.version, list(answer.commits))
        failure = await caller.refused(table, ANN, act.Roll(), command_id=command_id)
        assert failure.reason == "key_reused"
    new = await caller.refused(table, ANN, act.Start(), command_id="never-accepted")
    assert new.reason == "table_started"
    version = await _version(caller, table)
    assert version > picture.version if due else version == picture.version


async def test_a_repeat_that_the_rules_would_take_again(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    """The log itself refuses it, and only it: others in the same batch go through."""
    monkeypatch.setattr(tables_memory, "KNOWN_IDS", 1)
    replica = await serve()
    caller = replica.caller
    tables = [await caller.open(ANN) for _ in range(8)]
    old = await caller.act(tables[0], ANN, act.AddBot(), command_id="old")
    for _ in range(3):
        await caller.act(tables[0], ANN, act.AddBot())
    answers = await asyncio.gather(
        caller.act(tables[0], ANN, act.AddBot(), command_id="old"),
        *(caller.act(table, ANN, act.AddBot(), command_id="new") for table in tables[1:]),
    )
    assert [answer.duplicate for answer in answers] == [True] + 7 * [False]
    assert list(answers[0].commits) == list(old.commits)
    assert await _version(caller, tables[0]) == 5


async def test_opening_twice_is_one_table(replica: Replica, caller: Caller) -> None:
    command_id = unique_id()
    tables = await asyncio.gather(*(caller.open(ANN, command_id=command_id) for _ in range(8)))
    assert len(set(tables)) == 1
    assert len(await replica.sql("SELECT FROM secrets WHERE table_id = $1", tables[0])) == 1
    request = pb.OpenRequest(identity=identity(ANN), command_id=command_id, edition="tubbypoly")
    assert (await caller.call("Open", request)).duplicate
    with pytest.raises(Failure) as caught:
        await caller.open(ANN, command_id=command_id, unseated=True)
    assert caught.value.reason == "key_reused"
    assert await caller.open(BOB, command_id=command_id) != tables[0]


async def test_the_command_id_is_in_the_commit(caller: Caller, game: Game) -> None:
    table = await caller.open(ANN, command_id="o-1")
    await caller.act(table, ANN, act.AddBot(), command_id="a-1", traceparent=f"00-{'1' * 32}-{'2' * 16}-01")
    first, second = (commits.decode(body, game) for body in await caller.log(table))
    assert (first.actor, first.command_id, first.traceparent) == (ANN, "o-1", "")
    assert (second.actor, second.command_id, second.traceparent[:4]) == (ANN, "a-1", "00-1")
