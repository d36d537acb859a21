"""Who is where, pure."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnipolyd.presence.picture import (
    BROKEN,
    CLOSED,
    CONNECTED,
    GONE_FOR_MS,
    MOVING,
    THERE,
    WATCHING,
    Key,
    Lease,
    Picture,
    Row,
)

T = 1_000_000
KEY: Key = ("t", "p")


@pytest.fixture
def picture() -> Picture:
    return Picture()


def standing(picture: Picture, key: Key = KEY) -> int | None:
    row = picture.standing(*key)
    return None if row is None else row.status


def gateway(picture: Picture, name: str = "g") -> Lease:
    return picture.lease(name, "me")


def test_several_gateways_of_one_person_count_as_one(picture: Picture) -> None:
    one, other = gateway(picture, "g"), gateway(picture, "h")
    picture.put(one, KEY, Row(CONNECTED, T))
    picture.put(other, KEY, Row(CONNECTED, T + 5))
    picture.put(one, KEY, Row(CLOSED, T + 10))
    assert picture.standing(*KEY) == Row(CONNECTED, T + 5)
    picture.put(other, KEY, Row(BROKEN, T + 20))
    assert picture.standing(*KEY) == Row(BROKEN, T + 20)  # the last to go counts
    picture.put(one, KEY, Row(CONNECTED, T + 25))
    assert standing(picture) == CONNECTED


def test_news_is_what_changes_something(picture: Picture) -> None:
    lease = gateway(picture)
    assert picture.put(lease, KEY, Row(CONNECTED, T))
    assert not picture.put(lease, KEY, Row(CONNECTED, T + 9))
    assert picture.standing(*KEY) == Row(CONNECTED, T)
    assert picture.put(lease, KEY, Row(BROKEN, T + 10))
    assert picture.put(lease, KEY, Row(BROKEN, T + 20))  # was back and broke again between two reports
    assert not picture.put(lease, KEY, Row(BROKEN, T + 15))
    assert picture.standing(*KEY) == Row(BROKEN, T + 20)


def test_a_full_report_lacks_who_is_gone(picture: Picture) -> None:
    lease = gateway(picture)
    for person, status in (("a", CONNECTED), ("b", CONNECTED), ("c", WATCHING), ("d", CLOSED), ("e", MOVING)):
        picture.put(lease, ("t", person), Row(status, T))
    changed = picture.replace(lease, [(("t", "a"), Row(CONNECTED, T)), (("t", "f"), Row(CONNECTED, T))], T + 100)
    assert sorted(changed) == [("t", "b"), ("t", "c"), ("t", "e"), ("t", "f")]
    assert picture.standing("t", "b") == Row(BROKEN, T + 100)
    assert picture.standing("t", "c") == Row(BROKEN, T + 100, watched=True)
    assert picture.standing("t", "d") == Row(CLOSED, T)
    assert picture.standing("t", "e") == Row(BROKEN, T)  # since it was told to move
    assert picture.replace(lease, [], T + 200, shard=-1) == []  # of another part nothing is lacking


def test_draining_moves_people_and_the_end_breaks_them(picture: Picture) -> None:
    lease = gateway(picture)
    picture.put(lease, ("t", "a"), Row(CONNECTED, T))
    picture.put(lease, ("t", "w"), Row(WATCHING, T))
    assert picture.drain(lease, T + 10) == [("t", "a")]
    assert picture.standing("t", "a") == Row(MOVING, T + 10)
    assert sorted(picture.end(lease, T + 500)) == [("t", "a"), ("t", "w")]
    assert picture.standing("t", "a") == Row(BROKEN, T + 10)
    assert picture.standing("t", "w") == Row(BROKEN, T + 500, watched=True)
    assert picture.leases == {}


def test_the_end_of_one_lease_leaves_others_be(picture: Picture) -> None:
    one, other = gateway(picture, "g"), gateway(picture, "h")
    picture.put(one, KEY, Row(CONNECTED, T))
    picture.put(other, KEY, Row(CONNECTED, T))
    picture.end(one, T + 10)
    assert standing(picture) == CONNECTED
    picture.put(other, KEY, Row(CLOSED, T + 5))
    assert picture.standing(*KEY) == Row(BROKEN, T + 10)
    third = gateway(picture, "i")
    picture.put(third, KEY, Row(CLOSED, T + 20))
    picture.end(third, T + 30)
    assert picture.standing(*KEY) == Row(CLOSED, T + 20)


def test_departures_are_forgotten_after_a_while(picture: Picture) -> None:
    lease = gateway(picture)
    picture.put(lease, ("t", "a"), Row(CLOSED, T))
    picture.put(lease, ("t", "b"), Row(CLOSED, T))
    picture.put(lease, ("t", "b"), Row(CONNECTED, T + 5))
    picture.put(lease, ("t", "c"), Row(CLOSED, T + 1000))
    assert picture.forget(T + 1) == [(lease, ("t", "a"))]
    assert sorted(picture._tables["t"]) == ["b", "c"]
    picture.end(lease, T + 2000)
    picture.forget(T + GONE_FOR_MS)
    assert picture._tables == {}


@given(st.integers(0, 2**32), st.integers(1, 80))
def test_somebody_is_there_when_a_live_lease_says_so(seed: int, steps: int) -> None:
    dice = random.Random(seed)
    picture = Picture()
    says: dict[tuple[str, Key], int] = {}
    now_ms = T
    for _ in range(steps):
        now_ms += dice.randrange(5000)
        name, key = dice.choice("gh"), (dice.choice("tu"), dice.choice("pq"))
        what = dice.randrange(6)
        if what == 0 and name in picture.leases:
            picture.end(picture.leases[name], now_ms)
            says = {where: status for where, status in says.items() if where[0] != name}
        elif what == 1:
            picture.replace(gateway(picture, name), [(key, Row(CONNECTED, now_ms))], now_ms)
            says = {where: status for where, status in says.items() if where[0] != name}
            says[name, key] = CONNECTED
        elif what == 2:
            picture.forget(now_ms - GONE_FOR_MS)
        else:
            status = dice.choice([CONNECTED, CONNECTED, CLOSED, BROKEN, MOVING])
            picture.put(gateway(picture, name), key, Row(status, now_ms))
            says[name, key] = status
        for table in "tu":
            for person in "pq":
                there = any(where[1] == (table, person) and status == CONNECTED for where, status in says.items())
                assert (standing(picture, (table, person)) == CONNECTED) == there
    for lease in picture.leases.values():
        for key, row in lease.rows.items():
            assert picture._tables[key[0]][key[1]][lease.lease] == row
            assert row.status not in THERE or says[lease.lease, key] == row.status
