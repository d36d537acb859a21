"""What falls due: played once, at its time or as soon as anybody comes, before whatever brought it up."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from google.protobuf.timestamp_pb2 import Timestamp

from omnipoly.rules import actions as act
from omnipoly.rules.events import DiceThrown, Event, GameEnded, SeedRevealed, WentAway
from omnipoly.rules.ring import Game
from omnipoly.runtime.failures import Failure
from omnipoly.wire import commits, views
from omnipoly.wire.gen.table.v1 import table_pb2 as pb
from tests.services.table.calling import Caller, replay
from tests.services.table.conftest import Serve
from tests.services.table.past import Past, begun, now_ms
from tests.services.table.replicas import Replica
from tests.services.table.staging import staged

ANN, BOB = "guest:ann", "guest:bob"
CLOCK_MS = 45_000


def wake(table: str, due_ms: int, at_least: int = 0) -> pb.WakeRequest:
    due = Timestamp()
    due.FromMilliseconds(due_ms)
    return pb.WakeRequest(table=table, due=due, at_least=at_least)


def happened(bodies: Any, game: Game) -> list[Event]:
    return [event for body in bodies for event in commits.decode(body, game).events]


def of_kind(kind: type[Event], events: list[Event]) -> int:
    return sum(type(event) is kind for event in events)


async def test_too_early(replica: Replica, caller: Caller, game: Game) -> None:
    """More than a second: refused with the time left, and nothing is waited for."""
    past = await begun(replica, game, started_ms=now_ms() - 40_000)
    due_ms = past.state.deadline_ms[0]
    with pytest.raises(Failure) as caught:
        await caller.call("Wake", wake(past.table, due_ms))
    assert (caught.value.status.name, caught.value.reason) == ("FAILED_PRECONDITION", "too_early")
    assert caught.value.retry_after_s == pytest.approx((due_ms - now_ms()) / 1000, abs=2)
    assert (await caller.view(past.table)).version == past.version
    with pytest.raises(Failure) as caught:
        await caller.call("Wake", wake(past.table, 253_402_300_799_000))  # the year 9999
    assert caught.value.retry_after_s == 86_400


async def test_a_little_early(replica: Replica, caller: Caller, game: Game) -> None:
    past = await begun(replica, game, started_ms=now_ms() - CLOCK_MS + 250)
    due_ms = past.state.deadline_ms[0]
    answer = await caller.call("Wake", wake(past.table, due_ms, past.version))
    assert now_ms() >= due_ms
    assert answer.version == past.version + 1
    events = happened(answer.commits, game)
    assert of_kind(DiceThrown, events) >= 2
    assert of_kind(WentAway, events) == 2
    assert commits.decode(answer.commits[0], game).at_ms >= due_ms
    assert commits.decode(answer.commits[0], game).actor == ""
    state = replay(await caller.log(past.table), game)
    assert answer.next_deadline.ToMilliseconds() == min(at for at in state.deadline_ms if at)


async def test_late_twice_and_after_the_table_has_moved_on(replica: Replica, caller: Caller, game: Game) -> None:
    past = await begun(replica, game, started_ms=now_ms() - CLOCK_MS - 500)
    due_ms = past.state.deadline_ms[0]
    first = await caller.call("Wake", wake(past.table, due_ms, past.version))
    assert len(first.commits) == 1
    for _ in range(2):
        again = await caller.call("Wake", wake(past.table, due_ms, past.version))
        assert not again.commits
        assert again.version == first.version
        assert again.next_deadline == first.next_deadline
    assert len(await caller.log(past.table)) == first.version


async def test_on_two_replicas_at_once(serve: Serve, game: Game) -> None:
    one, two = await serve(), await serve()
    for _ in range(6):
        past = await begun(one, game, started_ms=now_ms() - CLOCK_MS - 100)
        for replica in (one, two):
            await replica.caller.call("Legal", pb.LegalRequest(table=past.table, person=ANN))
        asked = wake(past.table, past.state.deadline_ms[0], past.version)
        answers = await asyncio.gather(*(replica.caller.call("Wake", asked) for replica in 3 * [one, two]))
        assert sorted(len(answer.commits) for answer in answers) == [0, 0, 0, 0, 0, 1]
        assert {answer.version for answer in answers} == {past.version + 1}
        assert of_kind(WentAway, happened(await one.caller.log(past.table), game)) == 2


async def test_a_replica_that_has_not_heard_of_the_deadline(serve: Serve, game: Game) -> None:
    """It is told the version that set it, and loads it; without, it sees by itself that it is behind."""
    one, two = await serve(), await serve()
    for at_least in (True, False):
        past = await begun(one, game, started_ms=now_ms() - CLOCK_MS - 100)
        await two.caller.view(past.table)
        # somebody has thrown in time: only the other one is late
        await past.act(past.state.started_ms + 1000, ANN, act.Roll())
        assert two.memory(past.table).version == past.version - 1
        answer = await two.caller.call(
            "Wake", wake(past.table, past.state.deadline_ms[1], past.version if at_least else 0)
        )
        events = happened(answer.commits, game)
        assert of_kind(WentAway, events) == 1
        assert answer.version == past.version + 1


async def test_a_command_that_comes_late(replica: Replica, caller: Caller, game: Game) -> None:
    """A deadline has passed at its very second, whoever comes first; the refusal leaves what fell due."""
    past = await begun(replica, game, started_ms=now_ms() - CLOCK_MS - 100)
    failure = await caller.refused(past.table, BOB, act.EndTurn(), command_id="late")
    assert failure.reason in {"wrong_phase", "not_your_turn"}
    log = await caller.log(past.table)
    assert len(log) == past.version + 1
    last = commits.decode(log[-1], game)
    assert (last.actor, last.command_id) == ("", "")
    assert of_kind(WentAway, list(last.events)) == 2
    # the refused command's id is free
    state = replay(log, game)
    asked = next(seat for seat in (1, 0) if state.prompt[seat])
    answer = await caller.act(past.table, state.holder[asked], act.Roll(), command_id="late")
    assert not answer.duplicate


async def test_a_late_command_that_is_taken_goes_with_what_fell_due(
    replica: Replica, caller: Caller, game: Game
) -> None:
    past = await begun(replica, game, started_ms=now_ms() - CLOCK_MS - 100)
    answer = await caller.act(past.table, ANN, act.ProposeEnd())
    assert len(answer.commits) == 1
    commit = commits.decode(answer.commits[0], game)
    kinds = [type(event).__name__ for event in commit.events]
    assert commit.actor == ANN
    assert kinds.index("WentAway") < kinds.index("VoteOpened")


async def test_a_version_that_what_fell_due_has_passed(replica: Replica, caller: Caller, game: Game) -> None:
    """Row 47: decided on a picture that is no more, and told so; what fell due stays."""
    past = await begun(replica, game, started_ms=now_ms() - CLOCK_MS - 100)
    failure = await caller.refused(past.table, ANN, act.ProposeEnd(), if_version=past.version)
    assert failure.reason == "stale_version"
    assert (await caller.view(past.table)).version == past.version + 1
    prompt = past.state.prompt[0]
    assert (await caller.refused(past.table, ANN, act.Roll(), prompt_id=prompt)).reason == "stale_prompt"


async def test_looking_plays_nothing(replica: Replica, caller: Caller, game: Game) -> None:
    past = await begun(replica, game, started_ms=now_ms() - CLOCK_MS - 100)
    assert (await caller.view(past.table)).version == past.version
    await caller.call("Legal", pb.LegalRequest(table=past.table, person=ANN))
    assert len(await caller.log(past.table)) == past.version


async def test_a_table_that_nobody_moved_for_an_hour(replica: Replica, caller: Caller, game: Game) -> None:
    """Row 49 of the known faults."""
    past = await begun(replica, game, started_ms=now_ms() - 3_601_000)
    answer = await caller.call("Wake", wake(past.table, past.state.deadline_ms[0]))
    assert not answer.HasField("next_deadline")
    events = happened(answer.commits, game)
    assert of_kind(GameEnded, events) == 1
    assert isinstance(events[-1], SeedRevealed)
    assert bytes.fromhex(events[-1].seed) == past.seed
    (head,) = (await caller.call("Heads", pb.HeadsRequest(tables=[past.table]))).heads
    assert not head.HasField("next_deadline")
    lobby = Past(replica, game)
    await lobby.open(now_ms() - 3_601_000)
    await caller.call("Wake", wake(lobby.table, now_ms()))
    assert replay(await caller.log(lobby.table), game).ended == "abandoned"


async def test_where_the_clock_stands_still(caller: Caller, game: Game) -> None:
    table = await staged(caller)
    answer = await caller.call("Wake", wake(table, now_ms() - 1000))
    assert not answer.commits
    assert not answer.HasField("next_deadline")
    (head,) = (await caller.call("Heads", pb.HeadsRequest(tables=[table]))).heads
    assert not head.HasField("next_deadline")
    assert views.from_view(await caller.view(table), game).deadline_ms[0] > 0
