"""The checker's model of games against whole games of every edition: it holds, and misses no payment that is wrong.

A short run of chaos has few trades, mortgages or bankruptcies; games that bots play on the rules alone have all of it.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pytest

from omnipoly.bots.random_bot import RandomBot
from omnipoly.bots.strategy import Bot
from omnipoly.bots.table import Table
from omnipoly.editions import loader
from omnipoly.rules.actions import Action
from omnipoly.rules.events import Event
from omnipoly.rules.ring import Game
from omnipoly.wire import commits, views
from omnipoly.wire.gen.game.v1 import types_pb2

from .checker.editions import Editions
from .checker.kept import Kept
from .checker.model import Model
from .checker.reading import Commit, Findings
from .planting import Row, changed, message

SEATS = {"tubbypoly": (4, 9), "rugpull": (4,), "globopoly/classic": (4,), "globopoly/quick": (3,), "laspoly": (4,)}
MOST = 60
"""Games; it takes far fewer until everything has been paid for once."""
NEVER = {types_pb2.REASON_UNSPECIFIED, types_pb2.REASON_POSITION}
REASONS = set(types_pb2.Reason.values()) - NEVER


class Paid(NamedTuple):
    """A payment of some reason: which of a game's rows it stands in, and which event it is."""

    rows: list[Row]
    row: int
    event: int


class Played(NamedTuple):
    """Games that are over."""

    editions: Editions
    games: list[list[Row]]
    snapshots: list[Row]
    """One of each game, somewhere in the middle."""
    paid: dict[int, Paid]
    """The first payment of each reason."""


@pytest.fixture(scope="module")
def played() -> Played:
    """Games of bots until money has moved for every reason there is."""
    games = {name: Game(loader.edition(name)) for name in SEATS}
    texts = [
        {"digest": game.edition.digest, "edition": game.edition.id, "body": game.edition.text}
        for game in games.values()
    ]
    all_ = Played(Editions(texts), [], [], {})
    for number in range(MOST):
        for name, seats in SEATS.items():
            rows, snapshots = _play(games[name], seats[number % len(seats)], f"{name}-{number}")
            all_.games.append(rows)
            all_.snapshots.append(snapshots[len(snapshots) // 2])
            for at, row in enumerate(rows):
                for event, happened in enumerate(message(row).events):
                    if happened.HasField("paid"):
                        all_.paid.setdefault(happened.paid.reason, Paid(rows, at, event))
        if all_.paid.keys() == REASONS:
            break
    return all_


def _play(game: Game, seats: int, seed: str) -> tuple[list[Row], list[Row]]:
    rows: list[Row] = []
    snapshots: list[Row] = []

    def watch(now_ms: int, actor: str, _: Action | None, happened: list[Event]) -> None:
        if not happened:
            return
        version = len(rows) + 1
        row = {"table_id": seed, "version": version, "epoch": 1, "actor": actor, "command_id": "", "at": now_ms}
        body = commits.encode(seed, version, 1, now_ms, happened, actor=actor)
        rows.append({**row, "stored_at": now_ms, "body": base64.b64encode(body).decode()})
        if version % 50 == 0:
            snapshots.append({**row, "body": views.encode(table.state, version, 1)})

    table = Table(game, [RandomBot(seed), *(Bot(number) for number in range(1, seats))], seed, watch=watch)
    table.play()
    return rows, snapshots


def _check(editions: Editions, rows: list[Row], snapshots: list[Row], until: int) -> Findings:
    found = Findings()
    stored = [Commit(row) for row in rows[: until + 1]]
    model = Model(rows[0]["table_id"], found, editions)
    kept = Kept(snapshots, {rows[0]["table_id"]: stored}, found)
    for row in stored:
        model.play(row)
        kept.look(row, model)
    return found


def test_what_happens_in_games_holds(played: Played) -> None:
    assert played.paid.keys() == REASONS
    for rows, snapshot in zip(played.games, played.snapshots, strict=True):
        found = _check(played.editions, rows, [snapshot], len(rows))
        assert not found.faults, found.told
        assert found.counts["snapshots"] == 1


def _doubled(commit: Any, at: int) -> None:
    commit.events.add().CopyFrom(commit.events[at])


def _dropped(commit: Any, at: int) -> None:
    del commit.events[at]


def _one_more(commit: Any, at: int) -> None:
    commit.events[at].paid.amount += 1


def _to_another(commit: Any, at: int) -> None:
    """The other end of the payment that is a seat, or the bank, is another one."""
    paid = commit.events[at].paid
    if paid.payee >= 0:
        paid.payee = next(seat for seat in range(3) if seat not in (paid.payer, paid.payee))
    else:
        paid.payee = next(seat for seat in range(2) if seat != paid.payer)


@pytest.mark.parametrize("wrong", [_doubled, _dropped, _one_more, _to_another])
def test_a_wrong_payment_of_any_reason_is_found(played: Played, wrong: Callable[[Any, int], None]) -> None:
    for reason, (rows, at, event) in played.paid.items():
        planted = list(rows)
        planted[at] = changed(rows[at], lambda commit, event=event: wrong(commit, event))
        found = _check(played.editions, planted, [], at)
        assert "paid" in found.faults, (types_pb2.Reason.Name(types_pb2.Reason.ValueType(reason)), found.told)


def test_a_payment_out_of_the_blue_is_found(played: Played) -> None:
    """A payment of each reason in a commit to which it does not belong."""
    for reason, (rows, at, event) in played.paid.items():
        paid = message(rows[at]).events[event]
        for later in _quiet(rows, at):
            planted = list(rows)
            planted[later] = changed(rows[later], lambda commit, paid=paid: commit.events.add().CopyFrom(paid))
            found = _check(played.editions, planted, [], later)
            assert "paid" in found.faults, (types_pb2.Reason.Name(types_pb2.Reason.ValueType(reason)), found.told)


def _quiet(rows: list[Row], at: int) -> Iterator[int]:
    """The next commit in which nothing is paid."""
    for later in range(at + 1, len(rows)):
        if not any(event.HasField("paid") for event in message(rows[later]).events):
            yield later
            return
