"""What gRPC brings itself, health and reflection, at a gateway that answers both: odd messages, and floods of them.

Nobody needs a session for them: they are bounded by what they come over.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from grpc_health.v1 import health_pb2
from grpc_reflection.v1alpha import reflection_pb2

from omnipoly.runtime.failures import Failure, from_rpc_error
from omnipolyd.gateway import limits
from omnipolyd.gateway.checks import COMMAND_BYTES
from omnipolyd.gateway.config import GatewaySettings
from omnipolyd.up.options import Options
from omnipolyd.up.plan import plan
from omnipolyd.up.ports import Ports
from tests.services.conftest import MakeDatabase
from tests.services.gateway.calling import WITHIN_S, Client, Stack, gateway, stack
from tests.services.hostile import mutating
from tests.services.hostile.http2 import Connection, End
from tests.services.hostile.methods import BESIDE, FAULTS, Rpc
from tests.services.hostile.test_connections import PREFACE, connected, served
from tests.services.waiting import eventually

CHECK, LIST, WATCH, REFLECT = (
    BESIDE[name] for name in ("Health.Check", "Health.List", "Health.Watch", "ServerReflection.ServerReflectionInfo")
)
SERVICE = "omnipoly.gateway.v1.PlayService"
MANY = 150
BURST = 60
STREAMS = 3


@pytest.fixture(scope="module")
async def running(make_module_database: MakeDatabase, nats_url: str) -> AsyncIterator[Stack]:
    """With limits that bound nothing that comes here."""
    url = await make_module_database("omnipolyd.table.migrations")
    async with stack(url, nats_url, reflection=True, connection_calls_burst=1_000_000) as up:
        yield up


@pytest.fixture
async def strict(running: Stack, nats_url: str) -> AsyncIterator[Stack]:
    """With tight ones."""
    tight = {
        "connection_calls_per_second": 0.01,
        "connection_calls_burst": BURST,
        "streams_per_connection": STREAMS,
    }
    async with gateway(running.table, nats_url, reflection=True, **tight) as up:
        yield up


@pytest.fixture
async def ann(running: Stack) -> AsyncIterator[Client]:
    """Somebody who only wants to play."""
    async with running.client("guest:ann") as client:
        yield client
        await served(client)


def asked(client: Client, rpc: Rpc, data: bytes = b"") -> Any:
    """The call of somebody without a session; of a two-way stream nothing is said yet."""
    if rpc.streams_in:
        return client.channel.stream_stream(rpc.path)()
    if rpc.streams_out:
        return client.channel.unary_stream(rpc.path)(data)
    return client.channel.unary_unary(rpc.path)(data, timeout=WITHIN_S)


async def answered(call: Any, rpc: Rpc) -> Failure | None:
    """The next answer of a call is one; or with which failure it ends."""
    try:
        async with asyncio.timeout(WITHIN_S):
            rpc.response.FromString(await (call.read() if rpc.streams_out else call))
    except grpc.aio.AioRpcError as error:
        return from_rpc_error(error)
    return None


async def refusal(call: Any, rpc: Rpc) -> Failure:
    """With which a call ends instead."""
    failure = await answered(call, rpc)
    assert failure is not None
    return failure


def assert_too_much(failure: Failure) -> None:
    assert (failure.status, failure.reason) == (grpc.StatusCode.RESOURCE_EXHAUSTED, "rate_limited")
    assert failure.retry_after_s


def question(**fields: Any) -> bytes:
    return reflection_pb2.ServerReflectionRequest(**fields).SerializeToString()


def odd(rpc: Rpc, rng: random.Random) -> Iterator[bytes]:
    """Odd messages, some of them about what is there."""
    known = [rpc.request().SerializeToString()]
    if rpc is REFLECT:
        for kind in (SERVICE, "google.protobuf.FieldOptions", "google.protobuf.Any", "omnipoly.game.v1.Commit"):
            extension = reflection_pb2.ExtensionRequest(containing_type=kind, extension_number=2**31 - 1)
            known += [
                question(file_containing_symbol=kind),
                question(all_extension_numbers_of_type=kind),
                question(file_containing_extension=extension),
            ]
    elif rpc is not LIST:
        known.append(rpc.request(service=SERVICE).SerializeToString())
    yield from known
    for _ in range(MANY):
        yield mutating.odd(rpc.request, rng, known)


# --- where reflection is on


def test_reflection_is_off_unless_it_was_switched_on() -> None:
    assert not GatewaySettings.model_fields["reflection"].default


@pytest.mark.parametrize(
    ("options", "given", "reflection"),
    [
        (Options(port=0), {}, "true"),
        (Options(port=0, dev=True, host="0.0.0.0"), {}, "true"),
        (Options(port=0, host="0.0.0.0"), {}, None),
        (Options(port=0), {"OMNIPOLY_REFLECTION": "false"}, "false"),
    ],
)
def test_up_switches_it_on_where_only_this_machine_asks(
    options: Options, given: dict[str, str], reflection: str | None, tmp_path: Path
) -> None:
    with contextlib.closing(Ports()) as ports:
        for instance in plan(options, ports, session_key_file=tmp_path / "key", environment=given):
            assert instance.environment.get("OMNIPOLY_REFLECTION") == reflection


# --- odd messages


@pytest.mark.parametrize("rpc", [CHECK, LIST, WATCH], ids=lambda rpc: rpc.name)
async def test_whatever_health_is_asked_is_answered_properly(
    running: Stack, ann: Client, rpc: Rpc, request: pytest.FixtureRequest
) -> None:
    rng = random.Random(int(request.config.getoption("hypothesis_seed")))
    async with running.anonymous() as client:
        for data in odd(rpc, rng):
            call = asked(client, rpc, data)
            failure = await answered(call, rpc)
            assert failure is None or failure.status not in FAULTS, data
            call.cancel()
    await eventually(lambda: not streams(running))


async def test_whatever_reflection_is_asked_is_answered_properly(
    running: Stack, ann: Client, request: pytest.FixtureRequest
) -> None:
    """On one stream, and on another once one has ended: it does with a message that cannot be read."""
    rng = random.Random(int(request.config.getoption("hypothesis_seed")))
    answers = 0
    async with running.anonymous() as client:
        call = asked(client, REFLECT)
        for data in odd(REFLECT, rng):
            await call.write(data)
            failure = await answered(call, REFLECT)
            if failure is None:
                answers += 1
            else:
                assert failure.status not in FAULTS, data
                call = asked(client, REFLECT)
        call.cancel()
    assert answers > 20
    await eventually(lambda: not streams(running))


def streams(stack: Stack) -> int:
    """Those that are counted."""
    return sum(one.streams for one in stack.hub.limits._persons.values())


# --- too much of it


@pytest.mark.parametrize("rpc", [CHECK, LIST], ids=lambda rpc: rpc.name)
async def test_so_many_calls_a_connection(strict: Stack, rpc: Rpc) -> None:
    async with strict.anonymous() as hasty, strict.client("guest:ann") as ann:
        for _ in range(BURST):
            await asked(hasty, rpc)
        assert_too_much(await refusal(asked(hasty, rpc), rpc))
        assert_too_much(await refusal(asked(hasty, REFLECT), REFLECT))
        await served(ann)  # over a connection of her own


@pytest.mark.parametrize("rpc", [WATCH, REFLECT], ids=lambda rpc: rpc.name)
async def test_so_many_streams_a_connection(strict: Stack, rpc: Rpc) -> None:
    async with strict.anonymous() as hasty, strict.anonymous() as other:
        calls = [asked(hasty, rpc) for _ in range(STREAMS)]
        await eventually(lambda: streams(strict) == STREAMS)
        for more in (WATCH, REFLECT):
            failure = await refusal(asked(hasty, more), more)
            assert_too_much(failure)
            assert failure.sentence == f"One connection has at most {STREAMS} streams."
        await asked(hasty, CHECK)  # calls come beside them
        calls.append(asked(other, rpc))
        await eventually(lambda: streams(strict) == STREAMS + 1)
        calls[0].cancel()
        await eventually(lambda: streams(strict) == STREAMS)
        calls.append(asked(hasty, rpc))  # one that ends makes room
        await eventually(lambda: streams(strict) == STREAMS + 1)
        for call in calls:
            call.cancel()
        await eventually(lambda: not streams(strict))


async def test_so_many_questions_on_a_stream(strict: Stack) -> None:
    """Each counts for several calls: its answer is long."""
    async with strict.anonymous() as hasty, strict.client("guest:ann") as ann:
        call = asked(hasty, REFLECT)
        for _ in range((BURST - 1) // limits.REFLECTED):  # the stream itself has counted for one
            await call.write(question(file_containing_symbol=SERVICE))
            assert len(await call.read()) > COMMAND_BYTES
        for more in (call, asked(hasty, REFLECT)):
            await more.write(question(file_containing_symbol=SERVICE))
            assert_too_much(await refusal(more, REFLECT))
        await served(ann)
    await eventually(lambda: not streams(strict))


async def test_a_flood_of_both_costs_nobody_else_anything(running: Stack, nats_url: str) -> None:
    """Within the limits that stand when nothing is set: some answers, then refusals; everybody else is served."""
    async with (
        gateway(running.table, nats_url, reflection=True) as usual,
        usual.client("guest:ann") as ann,
    ):
        settings = usual.service.settings
        connection = await Connection.open(usual.gateway.address)
        answers: list[int] = []
        ends: list[End] = []
        stream = connection.start(REFLECT.path, None, lambda data: answers.append(len(data)), ends.append)
        for _ in range(2_000):
            connection.say(stream, question(file_containing_symbol=SERVICE))
        for _ in range(150):
            connection.start(WATCH.path, b"", lambda _: None, ends.append)
        checks = [asyncio.ensure_future(connection.ask(CHECK.path, b"")) for _ in range(2_000)]
        for _ in range(20):
            await served(ann)
        await eventually(lambda: len(ends) > 1)
        assert {(end.status, end.reason) for end in ends} == {(grpc.StatusCode.RESOURCE_EXHAUSTED, "rate_limited")}
        assert len(answers) <= settings.connection_calls_burst / limits.REFLECTED
        assert streams(usual) <= settings.streams_per_connection
        connection.close()
        for check in checks:
            check.cancel()
        await asyncio.wait(checks)
        await eventually(lambda: not streams(usual))


# --- who reads nothing


async def test_who_watches_health_and_reads_nothing_keeps_nobody_from_knowing(running: Stack, ann: Client) -> None:
    """Its connection takes not one byte of any answer; all others are told at once, and the server could stop."""
    server = running.gateway.server
    _, writer = await connected(running)
    writer.write(PREFACE + bytes.fromhex("000006040000000000000400000000"))  # the first window of a stream: 0
    headers = b"".join(
        b"\0" + bytes((len(name),)) + name + bytes((len(value),)) + value
        for name, value in (
            (b":method", b"POST"),
            (b":scheme", b"http"),
            (b":path", WATCH.path.encode()),
            (b":authority", b"x"),
            (b"content-type", b"application/grpc"),
            (b"te", b"trailers"),
        )
    )
    writer.write(len(headers).to_bytes(3, "big") + b"\1\4\0\0\0\1" + headers)
    writer.write(bytes.fromhex("0000050001000000010000000000"))  # an empty message, and no more
    await eventually(lambda: streams(running) == 1)
    async with running.anonymous() as client:
        watch = asked(client, WATCH)
        assert await told(watch) == health_pb2.HealthCheckResponse.SERVING
        async with asyncio.timeout(WITHIN_S):
            await server.set_all_serving(False)
        assert await told(watch) == health_pb2.HealthCheckResponse.NOT_SERVING
        async with asyncio.timeout(WITHIN_S):
            await server.set_all_serving(True)
        assert await told(watch) == health_pb2.HealthCheckResponse.SERVING
        watch.cancel()
    writer.close()
    await eventually(lambda: not streams(running))


async def told(watch: Any) -> Any:
    async with asyncio.timeout(WITHIN_S):
        return health_pb2.HealthCheckResponse.FromString(await watch.read()).status
