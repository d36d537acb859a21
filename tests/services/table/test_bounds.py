"""Queues have ends: what does not fit is refused at once, with a time to try again, and nothing else suffers."""

from __future__ import annotations

import asyncio

import pytest

from omnipoly.rules import actions as act
from omnipoly.runtime.failures import Failure
from omnipoly.wire.gen.table.v1 import table_pb2 as pb
from omnipolyd.table import tables
from omnipolyd.table.table import QUEUE
from tests.services.proxy import Proxy
from tests.services.table.conftest import Serve
from tests.services.waiting import eventually

ANN = "guest:ann"


def full(failure: object) -> bool:
    assert isinstance(failure, Failure)
    assert (failure.status.name, failure.reason) == ("RESOURCE_EXHAUSTED", "rate_limited")
    assert failure.retry_after_s is not None
    assert 0 < failure.retry_after_s <= 1
    return True


async def test_a_tables_queue(serve: Serve, proxy: Proxy) -> None:
    assert QUEUE == 32
    replica = await serve(proxy.url)
    caller = replica.caller
    table, other = await caller.open(ANN), await caller.open(ANN)
    held = proxy.hold(b"holds-all-up")
    first = asyncio.create_task(caller.act(table, ANN, act.AddBot(), command_id="holds-all-up"))
    await held.sprung.wait()
    waiting = [asyncio.create_task(caller.act(table, ANN, act.Contribute("x"))) for _ in range(QUEUE)]
    await eventually(lambda: len(replica.memory(table).queue) == QUEUE)
    for asked in (
        caller.act(table, ANN, act.Leave()),
        caller.view(table),
        caller.call("Wake", pb.WakeRequest(table=table)),
    ):
        (said,) = await asyncio.gather(asked, return_exceptions=True)
        assert full(said)
    # another table has a queue of its own
    elsewhere = asyncio.create_task(caller.view(other))
    await elsewhere
    held.released.set()
    await first
    said = await asyncio.gather(*waiting, return_exceptions=True)
    assert sum(isinstance(answer, Failure) for answer in said) == QUEUE - 16  # sixteen may contribute
    assert not any(isinstance(answer, Failure) and answer.reason == "rate_limited" for answer in said)
    await caller.act(table, ANN, act.Leave())


async def test_a_replicas_queues(serve: Serve, proxy: Proxy, monkeypatch: pytest.MonkeyPatch) -> None:
    assert tables.IN_FLIGHT == 4096
    monkeypatch.setattr(tables, "IN_FLIGHT", 40)
    replica = await serve(proxy.url)
    caller = replica.caller
    ids = [await caller.open(ANN) for _ in range(50)]
    await asyncio.gather(*(caller.view(table) for table in ids[:40]))
    held = proxy.hold(b"holds-all-up")
    waiting = [asyncio.create_task(caller.act(ids[0], ANN, act.AddBot(), command_id="holds-all-up"))]
    await held.sprung.wait()
    waiting += [asyncio.create_task(caller.act(table, ANN, act.AddBot())) for table in ids[1:40]]
    await eventually(lambda: replica.tables._waiting == 40)
    said = await asyncio.gather(*(caller.act(table, ANN, act.AddBot()) for table in ids[40:]), return_exceptions=True)
    assert all(full(failure) for failure in said)
    assert all(table not in replica.tables._tables for table in ids[40:])
    held.released.set()
    await asyncio.gather(*waiting)
    await replica.tables.drained()
    assert replica.tables._waiting == 0
    await asyncio.gather(*(caller.act(table, ANN, act.AddBot()) for table in ids[40:]))


async def test_what_a_stop_finds_waiting(serve: Serve, proxy: Proxy) -> None:
    """It is finished as long as that is possible, and after that it is told so: nobody waits for ever."""
    replica = await serve(proxy.url, drain_s=0.3)
    caller = replica.caller
    table = await caller.open(ANN)
    await caller.view(table)
    await proxy.stop()
    waiting = [asyncio.create_task(caller.act(table, ANN, act.AddBot(), command_id=f"late-{n}")) for n in range(4)]
    await eventually(lambda: len(replica.memory(table).queue) == 3)
    stopping = asyncio.create_task(replica.app._down())
    said = await asyncio.gather(*waiting, return_exceptions=True)
    assert all(getattr(failure, "status", None) is None or failure.status.name == "UNAVAILABLE" for failure in said)
    await stopping
    assert not replica.tables._player._tasks
