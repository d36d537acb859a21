"""The one timer, and which replica this is."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

import pytest
import uvloop

from omnipoly.runtime.peers import Peers
from omnipolyd.clock.standing import STEP_MS, Standing
from omnipolyd.clock.timer import Timer
from tests.services.playing import free_port
from tests.services.waiting import eventually


def now_ms() -> int:
    return time.time_ns() // 1_000_000


async def test_it_keeps_the_earliest_time() -> None:
    fired: asyncio.Queue[int] = asyncio.Queue()
    timer = Timer(lambda: fired.put_nowait(now_ms()))
    begun = now_ms()
    timer.at(begun + 60_000)
    timer.at(begun + 20)
    timer.at(begun + 900)
    assert await fired.get() >= begun + 19
    assert timer._handle is None
    timer.soon()
    assert await fired.get() < begun + 60_000
    timer.at(begun)
    timer.cancel()
    assert timer._handle is None


async def test_it_looks_at_the_wall_clock_once_a_second() -> None:
    timer = Timer(lambda: None)
    timer.at(now_ms() + 3_600_000)
    assert timer._handle is not None
    assert timer.when_s - asyncio.get_running_loop().time() <= 1
    timer.cancel()


@pytest.mark.parametrize("make_loop", [asyncio.new_event_loop, uvloop.new_event_loop])
def test_times_that_have_passed_by_any_event_loop(make_loop: Callable[[], asyncio.AbstractEventLoop]) -> None:
    """A deadline of a moment ago, and what is heard while its call waits for its turn."""

    async def overdue() -> list[int]:
        fired: asyncio.Queue[int] = asyncio.Queue()
        timer = Timer(lambda: fired.put_nowait(now_ms()))
        for _ in range(3):
            for late_ms in (0, 1, 1000, -1):
                timer.at(now_ms() - late_ms)
                timer.soon()
            await fired.get()
        timer.at(now_ms() + 60_000)
        timer.at(now_ms())
        await fired.get()
        timer.cancel()
        return [fired.qsize()]

    with asyncio.Runner(loop_factory=make_loop) as runner:
        assert runner.run(overdue()) == [0]


class At:
    """All that is asked of a running app here."""

    def __init__(self, port: int) -> None:
        self.port = port


async def found(members: str, port: int, own: str = "") -> Standing:
    standing = Standing(Peers(members), At(port), own)  # type: ignore[arg-type]
    task = asyncio.create_task(standing.keep())
    if port:
        await eventually(lambda: standing.own)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    return standing


async def test_a_replica_finds_itself_among_the_members() -> None:
    port = free_port()
    for host in ("127.0.0.1", "localhost", "[::1]"):
        standing = await found(f"192.0.2.7:{port},{host}:{port},127.0.0.1:{port + 1}", port)
        assert standing.own == f"{host}:{port}"
        places = {standing.delay_ms(f"t{number}") for number in range(100)}
        assert places == {0, STEP_MS, 2 * STEP_MS}
    assert (await found("a:1,b:2", 0, "b:2")).own == "b:2"


async def test_one_that_is_no_member_comes_last_and_an_only_one_first() -> None:
    stranger = Standing(Peers("192.0.2.7:1,192.0.2.8:1"), At(2))  # type: ignore[arg-type]
    assert stranger.delay_ms("t") == 2 * STEP_MS
    alone = Standing(Peers("192.0.2.7:1"), At(2))  # type: ignore[arg-type]
    assert alone.delay_ms("t") == 0


@pytest.mark.parametrize("tables", [["a", "b", "c"]])
async def test_each_table_has_each_place_once(tables: list[str]) -> None:
    members = ["10.0.0.1:1", "10.0.0.2:1", "10.0.0.3:1"]
    standings = [Standing(Peers(",".join(members)), At(1), own) for own in members]  # type: ignore[arg-type]
    for table in tables:
        assert sorted(standing.delay_ms(table) for standing in standings) == [0, STEP_MS, 2 * STEP_MS]
