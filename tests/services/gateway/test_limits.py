from __future__ import annotations

import asyncio

import grpc
import pytest

from omnipoly.rules import actions as act
from omnipoly.runtime.failures import Failure, from_status
from omnipoly.wire.gen.gateway.v1 import lobby_pb2, play_pb2, sessions_pb2
from omnipolyd.gateway import limits, playing
from omnipolyd.gateway.callers import Caller
from omnipolyd.gateway.config import GatewaySettings
from omnipolyd.gateway.limits import Limits
from omnipolyd.gateway.tokens import Claims
from tests.services.conftest import MakeDatabase
from tests.services.gateway.calling import Client, Stack, game, gateway, retry_after_ms, stack, unique_id
from tests.services.waiting import eventually


def caller(person: str, *roles: str) -> Caller:
    return Caller(Claims(person, "Somebody", False, roles, 2e9))


async def test_a_bucket_of_commands() -> None:
    limits = Limits(GatewaySettings(commands_per_second=20, commands_burst=40))
    ann, bob = caller("ann"), caller("bob")
    for _ in range(40):
        limits.command(ann)
    with pytest.raises(Failure) as caught:
        limits.command(ann)
    failure = caught.value
    assert (failure.status, failure.reason) == (grpc.StatusCode.RESOURCE_EXHAUSTED, "rate_limited")
    assert failure.sentence == "Too many requests; wait a moment."
    assert failure.retry_after_s is not None
    assert 0 < failure.retry_after_s <= 1 / 20
    # Somebody else, and the platform's bots, have nothing to do with it.
    limits.command(bob)
    bots = caller("service:bots", "bots")
    for _ in range(1000):
        limits.command(bots)
    # It fills again, up to the burst and no further.
    limits._persons["ann"].at -= 1
    for _ in range(20):
        limits.command(ann)
    limits._persons["ann"].at -= 1000
    for _ in range(40):
        limits.command(ann)
    with pytest.raises(Failure, match="Too many requests"):
        limits.command(ann)


async def test_persons_are_forgotten() -> None:
    limits = Limits(GatewaySettings())
    limits.command(caller("ann"))
    limits.open_stream(caller("bob"), "here")
    for person in limits._persons.values():
        person.at -= 120
    limits._swept -= 120
    limits.command(caller("cay"))
    assert set(limits._persons) == {"bob", "via here", "cay"}
    limits.close_stream(caller("bob"), "here")


@pytest.fixture
async def strict(running: Stack, nats_url: str):
    limits = {"commands_per_second": 1, "commands_burst": 5, "streams_per_identity": 2, "followed_tables": 2}
    async with gateway(running.table, nats_url, **limits) as strict:
        yield strict


async def test_too_many_commands_on_a_stream_and_in_plain_calls(
    strict: Stack, ann: Client, bob: Client, unique: str
) -> None:
    table = await game(ann, bob)
    async with strict.client(f"guest:ann-{unique}") as hasty:
        stream = hasty.play()
        answers = [await stream.act(table, act.EndTurn()) for _ in range(6)]
        assert [from_status(answer.status).reason for answer in answers] == ["not_your_turn"] * 5 + ["rate_limited"]
        assert 0 < retry_after_ms(answers[-1].status) <= 1000
        with pytest.raises(Failure) as caught:
            await hasty.act(table, act.Roll())
        assert (caught.value.reason, caught.value.status) == ("rate_limited", grpc.StatusCode.RESOURCE_EXHAUSTED)
        assert caught.value.retry_after_s
        with pytest.raises(Failure, match="Too many requests"):
            await hasty.call("Lobby/ListTables", lobby_pb2.ListTablesRequest())
    assert (await ann.view(table)).version == 3


async def test_so_many_streams_a_person(strict: Stack, ann: Client, unique: str) -> None:
    table = await ann.create()
    async with strict.client(f"guest:ann-{unique}") as client:
        streams = [client.play(), client.play()]
        await eventually(lambda: len(strict.hub.streams) == 2)
        for more in (client.play(), client.watch(table)):
            failure = await more.ended()
            assert failure is not None
            assert (failure.reason, failure.status) == ("rate_limited", grpc.StatusCode.RESOURCE_EXHAUSTED)
            assert failure.sentence == "One person has at most 2 streams."
        # One that ends makes room.
        streams[0].raw.cancel()
        await eventually(lambda: len(strict.hub.streams) == 1)
        again = client.watch(table)
        await again.next("progress")
        async with strict.client("service:bots", guest=False, roles=["bots"]) as bots:
            many = [bots.play() for _ in range(10)]
            await eventually(lambda: len(strict.hub.streams) == 12)
            assert len(many) == 10


async def test_so_many_tables_a_stream(strict: Stack, ann: Client, unique: str) -> None:
    tables = [await ann.create() for _ in range(3)]
    async with strict.client(f"guest:ann-{unique}") as client:
        stream = client.play()
        for table in tables[:2]:
            await stream.follow(table)
            await stream.next("progress")
        await stream.follow(tables[2])
        refused = await stream.next("refused")
        assert refused.table == tables[2]
        assert from_status(refused.status).sentence == "One stream follows at most 2 tables."
        await stream.follow(tables[1])
        await stream.next("progress")


async def test_tables_a_person_may_have_open(nats_url: str, make_database: MakeDatabase) -> None:
    url = await make_database("omnipolyd.table.migrations")
    async with stack(url, nats_url, table={"open_tables": 2}) as small, small.client("guest:ann") as ann:
        for _ in range(2):
            await ann.create()
        with pytest.raises(Failure) as caught:
            await ann.create()
        assert (caught.value.status, caught.value.reason) == (
            grpc.StatusCode.RESOURCE_EXHAUSTED,
            "too_many_tables",
        )


async def test_a_stream_has_only_so_much_under_way(
    running: Stack, ann: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(playing, "IN_FLIGHT", 2)
    table = await ann.create()
    stream = ann.play()
    sent = [await stream.send_act(table, act.SetOptions(round_limit=n + 1)) for n in range(20)]
    assert {(await stream.next("accepted")).command_id for _ in sent} == set(sent)


async def test_so_many_streams_a_connection(running: Stack, nats_url: str, unique: str) -> None:
    async with (
        gateway(running.table, nats_url, streams_per_connection=3, max_concurrent_streams=5) as strict,
        strict.client(f"guest:ann-{unique}") as one,
        strict.client(f"guest:zoe-{unique}") as other,
    ):
        info = await one.call("Sessions/GetServerInfo", sessions_pb2.GetServerInfoRequest())
        assert info.limits.streams_per_connection == 3
        streams = []
        for number in range(3):  # each another person's
            one.metadata = (("authorization", f"Bearer {strict.token(f'guest:{number}-{unique}', guest=True)}"),)
            streams.append(one.play())
        await eventually(lambda: len(strict.hub.streams) == 3)
        failure = await one.play().ended()
        assert failure is not None
        assert (failure.reason, failure.status) == ("rate_limited", grpc.StatusCode.RESOURCE_EXHAUSTED)
        assert failure.sentence == "One connection has at most 3 streams."
        # Calls come beside the streams, and another connection has its own.
        await one.call("Lobby/ListTables", lobby_pb2.ListTablesRequest())
        more = other.play()
        await eventually(lambda: len(strict.hub.streams) == 4)
        streams[0].raw.cancel()
        await eventually(lambda: len(strict.hub.streams) == 3)
        streams.append(one.play())
        await eventually(lambda: len(strict.hub.streams) == 4)
        more.raw.cancel()


@pytest.mark.parametrize("header", ["", "x-forwarded-for"])
async def test_so_many_calls_a_connection(running: Stack, nats_url: str, unique: str, header: str) -> None:
    """Whoever calls, with a session, without one, or a bad one; behind a proxy a client's address counts."""
    few = {"connection_calls_per_second": 0.01, "connection_calls_burst": 3, "client_address_header": header}
    async with (
        gateway(running.table, nats_url, **few) as strict,
        strict.client(f"guest:ann-{unique}") as one,
        strict.client(f"guest:bob-{unique}") as other,
    ):
        there = ((header, "203.0.113.7"),) if header else ()
        one.metadata += there
        await one.call("Lobby/ListTables", lobby_pb2.ListTablesRequest())
        one.metadata = (("authorization", "Bearer nonsense"), *there)
        with pytest.raises(Failure) as caught:
            await one.call("Lobby/ListTables", lobby_pb2.ListTablesRequest())
        assert caught.value.reason == "sign_in_required"
        one.metadata = there
        await one.call("Sessions/GetServerInfo", sessions_pb2.GetServerInfoRequest())
        for method, request in (
            ("Sessions/GetServerInfo", sessions_pb2.GetServerInfoRequest()),
            ("Lobby/ListTables", lobby_pb2.ListTablesRequest()),
        ):
            with pytest.raises(Failure) as caught:
                await one.call(method, request)
            assert (caught.value.reason, caught.value.status) == (
                "rate_limited",
                grpc.StatusCode.RESOURCE_EXHAUSTED,
            )
        failure = await one.play().ended()
        assert failure is not None
        assert failure.reason == "rate_limited"
        await other.call("Lobby/ListTables", lobby_pb2.ListTablesRequest())


async def test_refusals_for_too_much_take_their_time(running: Stack, nats_url: str) -> None:
    """So that a flood of calls gets few of them: the more are held back, the longer each."""
    loop = asyncio.get_running_loop()
    few = {"commands_per_second": 0.01, "commands_burst": 1}
    async with gateway(running.table, nats_url, **few) as strict, strict.client("guest:hasty") as hasty:
        ask = lobby_pb2.ListTablesRequest()
        await hasty.call("Lobby/ListTables", ask)
        began = loop.time()
        with pytest.raises(Failure, match="Too many requests"):
            await hasty.call("Lobby/ListTables", ask)
        assert loop.time() - began >= 0.9 * limits.HOLD_S
        began = loop.time()
        many = [hasty.call("Lobby/ListTables", ask) for _ in range(4)]
        refused = await asyncio.gather(*many, return_exceptions=True)
        assert [one.reason for one in refused if isinstance(one, Failure)] == 4 * ["rate_limited"]
        assert loop.time() - began >= 0.9 * 4 * limits.HOLD_S
        assert not strict.hub.limits._held
        # But they come before the caller gives up.
        with pytest.raises(Failure, match="Too many requests"):
            await hasty.call("Lobby/ListTables", ask, timeout_s=0.3)


async def test_a_stream_that_asks_for_too_much_is_not_read_for_a_while(running: Stack, nats_url: str) -> None:
    few = {"commands_per_second": 4, "commands_burst": 1}
    async with gateway(running.table, nats_url, **few) as strict, strict.client("guest:hasty") as hasty:
        stream = hasty.play()
        loop = asyncio.get_running_loop()
        began = loop.time()
        for _ in range(6):
            await stream.send(unfollow=play_pb2.Unfollow(table="t"))
        kinds = [(await stream.read()).WhichOneof("response") for _ in range(6)]
        # One is taken, one refused; then there is a pause after which the next is taken, and so on.
        assert kinds == ["left", "refused"] * 3
        assert loop.time() - began >= 0.4


async def test_who_goes_on_asking_for_too_much_waits_longer_each_time() -> None:
    pace = limits.Pace(Limits(GatewaySettings(commands_per_second=20)))
    pace.given()
    assert pace.due_s == 0

    def waits_s(retry_after_s: float) -> float:
        pace.refused(retry_after_s)
        due_s, pace.due_s = pace.due_s, 0.0
        return due_s

    assert [waits_s(0.04) for _ in range(4)] == [0.04, 0.08, 0.16, 0.32]
    # What is within the limits takes back as much as it takes itself.
    for _ in range(4):
        pace.given()
    assert waits_s(0.04) == pytest.approx(0.24)
    assert [waits_s(0.04) for _ in range(8)][-2:] == [limits.LONGEST_PAUSE_S] * 2
    for _ in range(round(20 * limits.LONGEST_PAUSE_S)):
        pace.given()
    assert waits_s(0.04) == pytest.approx(0.04)


async def test_a_new_pin_counts_for_ten(running: Stack, nats_url: str, unique: str) -> None:
    """It is hashed, slowly, and few at once: nobody is to keep everybody else's waiting."""
    few = {"commands_per_second": 0.1, "commands_burst": 25}
    async with gateway(running.table, nats_url, **few) as strict, strict.client(f"guest:ann-{unique}") as ann:
        table = await ann.create()
        for _ in range(2):
            await ann.call("Lobby/SetPin", lobby_pb2.SetPinRequest(table=table, command_id=unique_id(), pin="4815"))
        with pytest.raises(Failure, match="Too many requests"):
            await ann.call("Lobby/SetPin", lobby_pb2.SetPinRequest(table=table, command_id=unique_id(), pin="4815"))
        with pytest.raises(Failure, match="Too many requests"):
            await ann.create(pin="4815")
        await ann.view(table)
