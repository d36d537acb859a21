"""A process that stood still: it finds out, and what it reads then has waited."""

from __future__ import annotations

import pytest

from omnipoly.runtime import app
from omnipoly.runtime.failures import Failure
from omnipoly.runtime.link import Link
from omnipoly.runtime.standstill import LATELY_S, LEAST_S, TICK_S, Standstill
from tests.services.runtime.examples import ExampleService
from tests.services.waiting import eventually


class Clock:
    def __init__(self) -> None:
        self.now = 100.0
        self.apart = 1_800_000_000.0
        """What the wall clock says beyond it."""

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def watched(clock: Clock) -> Standstill:
    standstill = Standstill(clock, lambda: clock.now + clock.apart)
    standstill._watching = True
    return standstill


def test_who_ticks_did_not_stand_still(clock: Clock, watched: Standstill) -> None:
    for _ in range(20):
        clock.now += TICK_S + 0.3  # a busy loop
        watched.look()
        assert watched.lately_s() == 0.0
    assert not watched.times


@pytest.mark.parametrize("asked_first", [True, False])
def test_a_standstill_is_known_for_a_moment(clock: Clock, watched: Standstill, *, asked_first: bool) -> None:
    """Whoever reads first after it finds out, before the tick does."""
    clock.now += LEAST_S + 11
    if not asked_first:
        watched.look()
    assert watched.lately_s() == LEAST_S + 11
    for _ in range(3):
        clock.now += TICK_S
        watched.look()
        assert watched.lately_s() == LEAST_S + 11
    clock.now += LATELY_S
    watched.look()
    assert watched.lately_s() == 0.0
    assert watched.times == 1


@pytest.mark.parametrize("by_s", [-3600.0, -1.1, 1.1, 3600.0])
def test_a_wall_clock_that_is_set_is_no_standstill(clock: Clock, watched: Standstill, by_s: float) -> None:
    for _ in range(3):
        clock.now += TICK_S
        watched.look()
    assert not watched.sets
    clock.apart += by_s
    for _ in range(3):
        watched.look()
        assert (watched.sets, watched.times, watched.lately_s()) == (1, 0, 0.0)
        clock.now += TICK_S


def test_a_wall_clock_that_is_brought_in_line_is_not_set(clock: Clock, watched: Standstill) -> None:
    for _ in range(4):
        clock.now += TICK_S
        clock.apart += 0.2
        watched.look()
    assert not watched.sets


def test_nobody_who_does_not_watch_knows() -> None:
    clock = Clock()
    standstill = Standstill(clock)
    clock.now += 60
    assert standstill.lately_s() == 0.0


async def test_an_app_watches() -> None:
    async with app.running(ExampleService()) as running:
        await eventually(lambda: running.standstill._watching)
        assert running.standstill.lately_s() == 0.0


async def test_what_has_waited_is_started_with_what_is_left_of_its_time() -> None:
    """Seen from the caller, who has gone on counting; what nobody waits for any more is not started."""
    async with app.running(ExampleService()) as running:
        link = Link(running.address)
        try:
            running.service.link.stood_still_s = lambda: 13.0
            with pytest.raises(Failure) as caught:
                await link.call("Echo", b"late", 10)
            assert caught.value.status.name == "DEADLINE_EXCEEDED"
            assert not running.service.seen
            assert await link.call("Echo", b"in time", 20) == b"in time"
            (call,) = running.service.calls
            assert 5 < call.remaining_s() <= 7
        finally:
            await link.close()
