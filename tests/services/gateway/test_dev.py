from __future__ import annotations

import grpc
import pytest

from omnipoly.rules import actions as act
from omnipoly.runtime.failures import Failure, from_status
from omnipoly.wire.gen.game.v1 import script_pb2, types_pb2
from omnipoly.wire.gen.gateway.v1 import dev_pb2
from tests.services.gateway.calling import Client, Stack, game, gateway, unique_id

THROW = script_pb2.Script(throws=[script_pb2.ScriptedThrow(dice=[1, 2])])


async def test_a_table_is_set_up(running: Stack, ann: Client, bob: Client) -> None:
    table = await game(ann, bob, edition="rugpull", dev=True)
    stream = ann.play()
    await stream.follow(table)
    await stream.next("progress")
    view = await ann.view(table)
    view.seats[0].cash -= 123
    view.bank -= 123
    request = dev_pb2.SetUpRequest(table=table, command_id=unique_id(), view=view)
    answer = await ann.call("Dev/SetUp", request)
    assert (answer.version, [commit.version for commit in answer.commits]) == (4, [4])
    assert (await ann.view(table)).seats[0].cash == 1377
    # Those who follow see it like everything else, the decision that is open now included.
    assert (await stream.next("commit")).version == 4
    again = await ann.call("Dev/SetUp", request)
    assert (again.version, again.duplicate) == (4, True)


async def test_a_clock_is_driven(running: Stack, ann: Client, bob: Client) -> None:
    table = await game(ann, bob, edition="rugpull", dev=True)
    stream = ann.play()
    await stream.follow(table)
    await stream.next("progress")
    request = dev_pb2.AdvanceRequest(table=table, command_id=unique_id(), script=THROW)
    request.by.FromSeconds(61)
    answer = await ann.call("Dev/Advance", request)
    assert answer.version > 3
    assert await stream.up_to(answer.version)
    view = await ann.view(table)
    assert view.seats[0].position == 3
    assert view.phases[-1] != types_pb2.PHASE_THROW


@pytest.mark.parametrize("by_ms", [0, -1, 30 * 86_400_000 + 1])
async def test_a_clock_is_not_driven_back_or_too_far(running: Stack, ann: Client, by_ms: int) -> None:
    table = await ann.create(dev=True)
    request = dev_pb2.AdvanceRequest(table=table, command_id=unique_id())
    request.by.FromMilliseconds(by_ms)
    with pytest.raises(Failure) as caught:
        await ann.call("Dev/Advance", request)
    assert (caught.value.status, caught.value.reason) == (grpc.StatusCode.INVALID_ARGUMENT, "bad_request")


async def test_ordinary_tables_are_not_touched(running: Stack, ann: Client, bob: Client) -> None:
    table = await game(ann, bob)
    view = await ann.view(table)
    with pytest.raises(Failure, match="Only a table opened for it"):
        await ann.call("Dev/SetUp", dev_pb2.SetUpRequest(table=table, command_id="c", view=view))
    failure = await ann.play().refused(table, act.Roll(), script=THROW)
    assert (failure.status, failure.reason) == (grpc.StatusCode.INVALID_ARGUMENT, "bad_request")
    assert (await ann.view(table)).version == 3


async def test_without_dev_there_is_nothing_of_it(running: Stack, nats_url: str, unique: str) -> None:
    async with gateway(running.table, nats_url, dev=False) as far_away, far_away.client(f"guest:ann-{unique}") as ann:
        for method in ("SetUp", "Advance"):
            with pytest.raises(Failure) as caught:
                await ann.raw(f"DevService/{method}", b"")
            assert caught.value.status is grpc.StatusCode.UNIMPLEMENTED
        with pytest.raises(Failure, match="does not run under --dev"):
            await ann.create(dev=True)
        table = await ann.create()
        stream = ann.play()
        answer = await stream.act(table, act.Start(), script=THROW)
        assert from_status(answer.status).sentence == "script: this server does not run under --dev."
