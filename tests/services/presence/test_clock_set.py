"""The wall clock of a presence host is set: nobody is gone for it, and nothing lasts longer for it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from omnipolyd.presence.picture import Picture, Row
from omnipolyd.presence.telling import FIRST_PAUSE_MS, GRACE_MS, LONGEST_PAUSE_MS, QUIET_MS
from tests.services.playing import ANN, BOB, Tables
from tests.services.presence.driving import (
    BROKEN,
    CLOSED,
    CONNECTED,
    MOVING,
    DrivenClock,
    Gateway,
    Presence,
    all_there,
    presence,
)
from tests.services.presence.test_telling import Table
from tests.services.waiting import eventually

T = 1_800_000_000_000
HOUR_MS = 3_600_000
LEASE_S = 30
LEASE_MS = LEASE_S * 1000


@pytest.fixture
async def service(tables: Tables, nats_url: str, unique: str, clock: DrivenClock) -> AsyncIterator[Presence]:
    async with presence(tables, nats_url, unique, clock, lease_s=LEASE_S) as service:
        clock.advance(LEASE_MS)  # NATS has been up for a lease period
        yield service


async def connected(tables: Tables, table: str) -> list[bool]:
    """Who is connected, by seat."""
    return [seat.connected for seat in (await tables.view(table)).seats]


# --- What is told, pure


def test_set_back_a_return_is_told_two_seconds_after_the_departure_as_ever() -> None:
    table = Table()
    table.see(CONNECTED, T)
    table.at(T)
    table.see(CLOSED, T + 5000)
    table.at(T + 5000)
    now_ms = T + 5000 - HOUR_MS
    table.telling.set_back(now_ms)
    table.see(CONNECTED, now_ms + 1)
    assert table.at(now_ms + QUIET_MS - 1) == {}
    assert table.telling.next_ms() == now_ms + QUIET_MS
    assert table.at(now_ms + QUIET_MS) == {"p": CONNECTED}


def test_set_back_a_grace_and_a_pause_after_a_failure_are_no_longer_than_ever() -> None:
    table = Table()
    table.see(CONNECTED, T)
    table.at(T)
    table.see(BROKEN, T + 5000)
    table.telling.set_back(T - HOUR_MS)
    assert table.telling.next_ms() == T - HOUR_MS + GRACE_MS
    table.answers = False
    assert table.at(T - HOUR_MS + GRACE_MS) == {}
    assert table.telling.next_ms() == T - HOUR_MS + GRACE_MS + FIRST_PAUSE_MS
    table.telling.set_back(T - 2 * HOUR_MS)
    assert table.telling.next_ms() == T - 2 * HOUR_MS + LONGEST_PAUSE_MS


@pytest.mark.parametrize("how", [BROKEN, MOVING])
def test_a_departure_on_a_clock_that_is_ahead_has_a_grace_like_any_other(how: int) -> None:
    table = Table()
    table.see(CONNECTED, T)
    table.at(T)
    table.see(how, T + HOUR_MS, now_ms=T + 5000)
    assert table.telling.next_ms() == T + 5000 + GRACE_MS


def test_set_back_an_old_departure_is_not_the_latest_one() -> None:
    picture = Picture()
    one, other = picture.lease("one", "r"), picture.lease("other", "r")
    key = ("t", "p")
    picture.put(one, key, Row(CLOSED, T))
    picture.set_back(T - HOUR_MS)
    picture.put(other, key, Row(CONNECTED, T - HOUR_MS + 1))
    picture.put(other, key, Row(BROKEN, T - HOUR_MS + 2))
    assert picture.standing(*key) == Row(BROKEN, T - HOUR_MS + 2)
    picture.forget(T - HOUR_MS + 1)
    assert list(one.rows) == []
    assert list(other.rows) == [key]


# --- A replica


async def test_set_back_a_gateway_that_is_dead_ends_as_soon_as_ever(
    service: Presence, tables: Tables, clock: DrivenClock
) -> None:
    gateway = Gateway(service, "gateway")
    table = await all_there(gateway, tables)
    await service.set_clock(clock, -HOUR_MS)
    for _ in range(2):
        clock.advance(LEASE_MS)
        await service.settled()
    await eventually(lambda: not service.service.picture.leases)
    clock.advance(GRACE_MS)
    await service.settled()
    assert await connected(tables, table) == [False] * 3


async def test_set_back_who_is_back_is_told_of_soon(service: Presence, tables: Tables, clock: DrivenClock) -> None:
    gateway = Gateway(service, "gateway")
    table = await all_there(gateway, tables)
    clock.advance(5000)
    await gateway.report((table, BOB, CLOSED))
    await service.settled()
    assert await connected(tables, table) == [True, False, True]
    await service.set_clock(clock, -HOUR_MS)
    await gateway.report((table, BOB, CONNECTED))
    clock.advance(QUIET_MS)
    await service.settled()
    assert await connected(tables, table) == [True] * 3


@pytest.mark.parametrize("set_ms", [HOUR_MS, -HOUR_MS], ids=["forward", "back"])
async def test_whose_connection_is_broken_when_the_clock_is_set_has_their_time_to_come_back(
    service: Presence, tables: Tables, clock: DrivenClock, set_ms: int
) -> None:
    gateway = Gateway(service, "gateway")
    table = await all_there(gateway, tables)
    await gateway.report((table, ANN, BROKEN), (table, BOB, BROKEN))
    await service.settled()
    await service.set_clock(clock, set_ms)
    clock.advance(GRACE_MS - 1)
    await gateway.report((table, BOB, CONNECTED))
    await service.settled()
    assert await connected(tables, table) == [True] * 3
    for _ in range(2):
        clock.advance(LEASE_MS // 2)
        await gateway.report()
        await service.settled()
    assert await connected(tables, table) == [False, True, True]


async def test_set_forward_no_gateway_is_dead_for_it(service: Presence, tables: Tables, clock: DrivenClock) -> None:
    gateway = Gateway(service, "gateway")
    table = await all_there(gateway, tables)
    await service.set_clock(clock, HOUR_MS)
    clock.advance(GRACE_MS)
    await service.settled()
    assert list(service.service.picture.leases) == ["gateway"]
    await gateway.report()
    clock.advance(LEASE_MS)
    await service.settled()
    assert await connected(tables, table) == [True] * 3


async def test_set_back_what_replicas_share_is_written_anew_before_it_expires(
    service: Presence, tables: Tables, clock: DrivenClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else one that begins finds a lease whose people cannot be read."""
    gateway = Gateway(service, "gateway")
    await all_there(gateway, tables)
    written: list[str] = []
    put = service.app.bus.put

    async def noted(bucket: str, key: str, value: bytes) -> Any:
        written.append(key.partition(".")[0])
        return await put(bucket, key, value)

    monkeypatch.setattr(service.app.bus, "put", noted)
    await service.set_clock(clock, -HOUR_MS)
    clock.advance(LEASE_MS // 3)
    await gateway.report()
    assert "people" in written
