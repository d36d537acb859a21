"""Postgres away, NATS away, for longer than anything is believed: streams stay, nothing is pretended, nobody is timed
out or taken for gone by it, and all goes on by itself."""

from __future__ import annotations

import asyncio
import shutil
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import grpc
import pytest

from omnipoly.editions import loader
from omnipoly.rules import actions as act
from omnipoly.rules.ring import Game
from omnipoly.runtime import app
from omnipoly.runtime.embedded import EmbeddedNats
from omnipoly.runtime.failures import Failure, from_status
from omnipoly.wire.gen.game.v1 import types_pb2
from omnipoly.wire.gen.gateway.v1 import watch_pb2
from omnipolyd.clock import heads
from omnipolyd.clock.config import ClockSettings
from omnipolyd.clock.service import ClockService
from omnipolyd.presence import telling
from omnipolyd.presence.config import PresenceSettings
from omnipolyd.presence.service import PresenceService
from omnipolyd.table import outages, statements, store
from tests.services.conftest import MakeDatabase
from tests.services.gateway.calling import Client, Playing, Stack, Watching, gateway, stack, unique_id
from tests.services.proxy import Proxy
from tests.services.table.past import begun, now_ms
from tests.services.waiting import eventually

CLOCK_MS = 45_000
LEFT_MS = 4_000
AWAY_S = 5.0
"""Longer than what is left: without the rule that an outage costs nobody time, both would be timed out."""


class Platform(NamedTuple):
    """Table, clock, presence, two gateways."""

    first: Stack
    other: Stack
    presence: PresenceService


@asynccontextmanager
async def platform(database_url: str, nats_url: str, bucket: str) -> AsyncIterator[Platform]:
    async with AsyncExitStack() as up:
        inner = await up.enter_async_context(stack(database_url, nats_url))
        shared: dict[str, Any] = {"port": 0, "nats_url": nats_url, "table_addr": inner.table.address}
        await up.enter_async_context(app.running(ClockService(ClockSettings(**shared))))
        presence = PresenceService(PresenceSettings(lease_s=1, presence_bucket=bucket, **shared))
        told = await up.enter_async_context(app.running(presence))
        first, other = [
            await up.enter_async_context(
                gateway(inner.table, nats_url, presence_addr=told.address, heads_every_s=0.2, progress_after_s=600)
            )
            for _ in range(2)
        ]
        yield Platform(first, other, presence)


class Reader:
    """What one stream shows, as long as it stands."""

    def __init__(self, stream: Watching) -> None:
        self.stream = stream
        self.versions: list[int] = []
        self.answers: dict[str, Any] = {}
        self.prompts: list[Any] = []
        self.pictures = 0
        self.caught_up = asyncio.Event()
        self.task = asyncio.create_task(self._read())

    async def _read(self) -> None:
        while (whole := await _read(self.stream)) is not None:
            for message in (whole, *whole.along):
                self._take(message)

    def _take(self, message: Any) -> None:
        kind = str(message.WhichOneof("response"))
        body = getattr(message, kind)
        if kind == "commit":
            self.versions.append(body.version)
        elif kind == "snapshot":
            self.pictures += 1
            self.versions.append(body.view.version)
        elif kind in {"accepted", "refused"}:
            self.answers[body.command_id] = body
        elif kind == "prompt":
            self.prompts.append(body)
        elif kind == "progress":
            self.caught_up.set()

    def whole(self) -> bool:
        """It stands, and has shown every version once, after one picture."""
        first = self.versions[0]
        return (
            not self.task.done()
            and self.pictures == 1
            and self.versions == list(range(first, first + len(self.versions)))
        )


async def _read(stream: Watching) -> Any:
    """Waits for as long as it takes: what is silent is not broken."""
    data = await stream.raw.read()
    return stream.response.FromString(data) if isinstance(data, bytes) else None


async def follow(client: Client, table: str) -> Reader:
    stream: Playing = client.play()
    await stream.follow(table)
    reader = Reader(stream)
    await reader.caught_up.wait()
    return reader


async def events(client: Client, table: str) -> list[tuple[int, str, Any]]:
    """(when, kind, body) of everything in the log, on the table's clock."""
    page = await client.call("Watch/History", watch_pb2.HistoryRequest(table=table))
    return [
        (commit.at.ToMilliseconds(), str(event.WhichOneof("kind")), getattr(event, event.WhichOneof("kind")))
        for commit in page.commits
        for event in commit.events
    ]


async def kinds(client: Client, table: str) -> list[str]:
    return [kind for _, kind, _ in await events(client, table)]


async def short_of_its_end(up: Platform) -> str:
    """A game whose two players, ann and bob, have four seconds left to throw for the order; its table."""
    served = SimpleNamespace(app=up.first.table)
    game = Game(loader.edition("tubbypoly"))
    return (await begun(served, game, started_ms=now_ms() - CLOCK_MS + LEFT_MS)).table  # type: ignore[arg-type]


@pytest.fixture
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """An outage of a second is one, and whoever is away is so after half a second."""
    monkeypatch.setattr(outages, "GAP_S", 0.5)
    monkeypatch.setattr(outages, "PULSE_S", 0.05)
    monkeypatch.setattr(store, "PULSE_S", 0.3)
    monkeypatch.setattr(statements, "ANSWER_S", 0.5)
    monkeypatch.setattr(store, "ANSWER_S", 0.5)
    monkeypatch.setattr(heads, "EVERY_S", 0.2)
    monkeypatch.setattr(heads, "FORGOTTEN_MS", 200)
    monkeypatch.setattr(telling, "GRACE_MS", 500)


@pytest.mark.usefixtures("_quick")
@pytest.mark.parametrize("how", ["refused", "swallowed"])
async def test_postgres_is_away(make_database: MakeDatabase, nats_url: str, unique: str, how: str) -> None:
    url = await make_database("omnipolyd.table.migrations")
    async with (
        Proxy(url) as proxy,
        platform(proxy.url, nats_url, unique) as up,
        up.first.client("guest:ann") as ann,
        up.other.client("guest:bob") as bob,
        up.other.client("oidc:vic", guest=False) as viewer,
    ):
        table = await short_of_its_end(up)
        readers = [await follow(ann, table), await follow(bob, table), Reader(viewer.watch(table))]
        await readers[2].caught_up.wait()
        version = (await ann.view(table)).version
        await eventually(lambda: all(reader.versions[-1:] == [version] for reader in readers))

        await proxy.stop() if how == "refused" else proxy.freeze()
        away_since = time.monotonic()
        asked = await readers[0].stream.send_act(table, act.Roll())  # type: ignore[attr-defined]
        with pytest.raises(Failure) as hasty:
            await bob.call("Lobby/Join", _join(table), 0.3)
        assert hasty.value.status.name in {"UNAVAILABLE", "DEADLINE_EXCEEDED"}
        await eventually(lambda: time.monotonic() > away_since + AWAY_S)
        assert all(reader.versions[-1] == version for reader in readers)
        await proxy.start() if how == "refused" else proxy.thaw()

        # Who has waited within their deadline is answered; nobody was timed out meanwhile.
        await eventually(lambda: asked in readers[0].answers)
        assert readers[0].answers[asked].DESCRIPTOR.name == "Accepted"
        found = await events(ann, table)
        assert {"went_away", "disconnected"}.isdisjoint(kind for _, kind, _ in found)
        moved = sum(body.by.ToMilliseconds() for _, kind, body in found if kind == "clocks_moved")
        assert moved >= (AWAY_S - 0.7) * 1000
        # The other one has what they had: the clock plays their decision when that is over, unasked.
        await eventually(lambda: _timed_out(ann, table))
        found = await events(ann, table)
        asked_ms = next(at for at, kind, _ in found if kind == "game_started")
        missed_ms = next(at for at, kind, body in found if kind == "went_away")
        assert missed_ms - asked_ms >= CLOCK_MS + moved - 50
        last = (await ann.view(table)).version
        await eventually(lambda: all(reader.versions[-1] >= last for reader in readers))
        assert all(reader.whole() for reader in readers)
        for reader in readers:
            reader.task.cancel()


def _join(table: str) -> Any:
    from omnipoly.wire.gen.gateway.v1 import lobby_pb2

    return lobby_pb2.JoinRequest(table=table, command_id=unique_id())


async def _timed_out(client: Client, table: str) -> bool:
    return any(
        kind == "went_away" and body.why == types_pb2.AWAY_MISSED for _, kind, body in await events(client, table)
    )


@pytest.mark.usefixtures("_quick")
@pytest.mark.parametrize("robbed", [False, True], ids=["kept", "robbed"])
async def test_nats_is_away(
    make_database: MakeDatabase, own_nats: EmbeddedNats, unique: str, tmp_path: Path, *, robbed: bool
) -> None:
    url = await make_database("omnipolyd.table.migrations")
    async with (
        platform(url, own_nats.url, unique) as up,
        up.first.client("guest:ann") as ann,
        up.other.client("guest:bob") as bob,
        up.other.client("oidc:vic", guest=False) as viewer,
    ):
        table = await short_of_its_end(up)
        readers = [await follow(ann, table), await follow(bob, table), Reader(viewer.watch(table))]
        await readers[2].caught_up.wait()
        await eventually(lambda: len(up.presence.picture.leases) == 2)
        await asyncio.to_thread(own_nats.kill)
        away_since = time.monotonic()
        if robbed:
            shutil.rmtree(tmp_path / "nats" / "store")
        # Commands are taken, everybody is shown them, whoever is to decide is asked, and what falls due is played.
        version = await _accepted(readers[0], table, act.Roll())
        await eventually(lambda: all(reader.versions[-1] >= version for reader in readers))
        await eventually(lambda: _timed_out(ann, table))
        await eventually(lambda: time.monotonic() > away_since + AWAY_S)
        await asyncio.to_thread(own_nats.start)

        await eventually(lambda: up.presence.sharing.in_sight)
        asked_before = len(readers[1].prompts)
        await eventually(lambda: _bob_is_asked_again(readers, table, asked_before))
        version = (await viewer.view(table)).version
        await eventually(lambda: all(reader.versions[-1] >= version for reader in readers))
        assert "disconnected" not in await kinds(ann, table)
        assert all(reader.whole() for reader in readers)
        # And presence knows: whoever goes now is found out.
        readers[1].stream.raw.cancel()
        await eventually(lambda: _is_gone(ann, table))
        for reader in readers:
            reader.task.cancel()
            await asyncio.gather(reader.task, return_exceptions=True)


async def _accepted(reader: Reader, table: str, action: act.Action) -> int:
    """In which version; the same command again when Postgres did not answer within the half second of this test."""
    stream: Any = reader.stream
    command_id = unique_id()
    while True:
        await stream.send_act(table, action, command_id=command_id)
        await eventually(lambda: command_id in reader.answers)
        answer = reader.answers.pop(command_id)
        if answer.DESCRIPTOR.name == "Accepted":
            return int(answer.version)
        assert from_status(answer.status).status is grpc.StatusCode.UNAVAILABLE, answer


async def _bob_is_asked_again(readers: list[Reader], table: str, asked_before: int) -> bool:
    """Both go on, each on their stream, until it is his turn; they buy, for auctions take their time."""
    for reader in readers[:2]:
        stream: Any = reader.stream
        asked = await stream.send_act(table, act.Roll())
        await eventually(lambda reader=reader, asked=asked: asked in reader.answers)
        for action in (act.Buy(), act.Pay(), act.EndTurn()):
            await stream.send_act(table, action)
    return len(readers[1].prompts) > asked_before


async def _is_gone(client: Client, table: str) -> bool:
    return "disconnected" in await kinds(client, table)
