from __future__ import annotations

import asyncio
import contextlib
import io
import json

import grpc
import grpc.aio
import prometheus_client
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

from omnipoly.runtime import app, failures, link_server, logging, metrics, server
from omnipoly.runtime.errors import StartError
from tests.services.proxy import Proxy
from tests.services.runtime.examples import NAME, SECRET, ExampleService, ExampleSettings
from tests.services.waiting import eventually

SERVING = health_pb2.HealthCheckResponse.SERVING
NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING


@pytest.fixture
async def example():
    async with app.running(ExampleService()) as running:
        yield running


@pytest.fixture
async def channel(example):
    async with grpc.aio.insecure_channel(example.address, options=server.channel_options()) as channel:
        yield channel


@pytest.fixture
def log_lines():
    stream = io.StringIO()
    logging.configure("example", stream=stream)
    yield lambda: [json.loads(line) for line in stream.getvalue().splitlines()]
    logging.configure("test")


async def _several(*bodies: bytes):
    for body in bodies:
        yield body


def _calls(channel):
    """The four kinds, and reading and writing by hand: each a function from a body to its call."""
    return {
        "UnaryUnary": channel.unary_unary(f"/{NAME}/UnaryUnary"),
        "UnaryStream": channel.unary_stream(f"/{NAME}/UnaryStream"),
        "StreamUnary": lambda body: channel.stream_unary(f"/{NAME}/StreamUnary")(_several(body)),
        "StreamStream": lambda body: channel.stream_stream(f"/{NAME}/StreamStream")(_several(body)),
        "ReadWrite": lambda body: channel.stream_stream(f"/{NAME}/ReadWrite")(_several(body)),
    }


async def _outcome(call) -> object:
    """What a call answers: its last message."""
    if isinstance(call, grpc.aio.UnaryUnaryCall | grpc.aio.StreamUnaryCall):
        return await call
    return [message async for message in call][-1]


KINDS = ["UnaryUnary", "UnaryStream", "StreamUnary", "StreamStream", "ReadWrite"]


@pytest.mark.parametrize("kind", KINDS)
async def test_answers(channel, kind: str) -> None:
    assert await _outcome(_calls(channel)[kind](b"hello")) == b"hello"


@pytest.mark.parametrize("kind", KINDS)
async def test_a_failure_is_a_rich_status(channel, kind: str) -> None:
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await _outcome(_calls(channel)[kind](b"refuse"))
    assert caught.value.code() is grpc.StatusCode.FAILED_PRECONDITION
    failure = failures.from_rpc_error(caught.value)
    assert (failure.reason, failure.sentence, failure.retry_after_s) == ("not_your_turn", "Wait.", 2)


@pytest.mark.parametrize("kind", KINDS)
async def test_the_text_of_an_unknown_exception_stays_here(channel, kind: str, log_lines) -> None:
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await _outcome(_calls(channel)[kind](b"crash"))
    assert caught.value.code() is grpc.StatusCode.INTERNAL
    assert SECRET not in repr(caught.value)
    assert SECRET not in repr(caught.value.trailing_metadata())
    error_id = failures.from_rpc_error(caught.value).metadata["error_id"]
    (line,) = [line for line in log_lines() if line.get("error_id") == error_id]
    assert line["event"] == "unexpected_error"
    assert SECRET in json.dumps(line)


@pytest.mark.parametrize("kind", ["Parsed", "ParsedStream", "ParsedReads"])
async def test_what_cannot_be_read_or_written_tells_nothing(channel, kind: str) -> None:
    def call(body: bytes):
        if kind == "Parsed":
            return channel.unary_unary(f"/{NAME}/{kind}")(body)
        return channel.stream_stream(f"/{NAME}/{kind}")(_several(body))

    assert await _outcome(call(b"hello")) == b"hello"
    codes = []
    for body in (b"malformed", b"unwritable"):
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await _outcome(call(body))
        codes.append((caught.value.code(), failures.from_rpc_error(caught.value).reason))
        assert SECRET not in repr(caught.value)
    assert codes == [(grpc.StatusCode.INVALID_ARGUMENT, "bad_request"), (grpc.StatusCode.INTERNAL, "internal")]


@pytest.mark.parametrize("kind", KINDS)
async def test_a_client_that_leaves_cancels_its_rpc(example, channel, kind: str, log_lines) -> None:
    service = example.service
    call = _calls(channel)[kind](b"wait")
    asking = asyncio.create_task(_outcome(call))
    await service.started.wait()
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    await eventually(lambda: _sample("grpc_server_handled_total", grpc_method=kind, grpc_code="Canceled") > 0)
    assert not [line for line in log_lines() if line["level"] == "error"]


def _sample(name: str, **labels: str) -> float:
    kinds = {"UnaryUnary": "unary", "UnaryStream": "server_stream", "StreamUnary": "client_stream"}
    labels = {"grpc_type": kinds.get(labels["grpc_method"], "bidi_stream"), "grpc_service": NAME, **labels}
    return prometheus_client.REGISTRY.get_sample_value(name, labels) or 0.0


@pytest.mark.parametrize("kind", KINDS)
async def test_rpc_metrics(channel, kind: str) -> None:
    def samples() -> dict[str, float]:
        return {
            "started": _sample("grpc_server_started_total", grpc_method=kind),
            "ok": _sample("grpc_server_handled_total", grpc_method=kind, grpc_code="OK"),
            "refused": _sample("grpc_server_handled_total", grpc_method=kind, grpc_code="FailedPrecondition"),
            "crashed": _sample("grpc_server_handled_total", grpc_method=kind, grpc_code="Internal"),
            "received": _sample("grpc_server_msg_received_total", grpc_method=kind),
            "sent": _sample("grpc_server_msg_sent_total", grpc_method=kind),
            "timed": _sample("grpc_server_handling_seconds_count", grpc_method=kind),
        }

    before = samples()
    await _outcome(_calls(channel)[kind](b"hello"))
    for body in (b"refuse", b"crash"):
        with pytest.raises(grpc.aio.AioRpcError):
            await _outcome(_calls(channel)[kind](body))
    # A server stream had its first message out before it was refused.
    sent = {"UnaryStream": 4}.get(kind, 1)
    wanted = {"started": 3, "ok": 1, "refused": 1, "crashed": 1, "received": 3, "sent": sent, "timed": 3}
    # A client has its answer a moment before the server has counted it.
    await eventually(lambda: {name: value - before[name] for name, value in samples().items()} == wanted)


async def test_an_unknown_method_is_unimplemented(channel) -> None:
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await channel.unary_unary(f"/{NAME}/Nothing")(b"")
    assert caught.value.code() is grpc.StatusCode.UNIMPLEMENTED


async def test_a_message_beyond_the_limit_is_refused() -> None:
    class Small(ExampleService):
        async def start(self, running: app.App) -> None:
            await super().start(running)
            running.server._max_request_bytes = self.max_request_bytes  # without the frames' own bound

    async with (
        app.running(Small()) as running,
        grpc.aio.insecure_channel(running.address) as channel,
    ):
        echo = channel.unary_unary(f"/{NAME}/UnaryUnary")
        assert len(await echo(bytes(server.MAX_REQUEST_BYTES))) == server.MAX_REQUEST_BYTES
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await echo(bytes(server.MAX_REQUEST_BYTES + 1))
        assert caught.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED


async def test_health_of_the_server_and_of_each_service(example, channel) -> None:
    stub = health_pb2_grpc.HealthStub(channel)
    for name in ("", NAME, link_server.SERVICE):
        assert (await stub.Check(health_pb2.HealthCheckRequest(service=name))).status == SERVING
    watch = stub.Watch(health_pb2.HealthCheckRequest(service=NAME))
    assert (await watch.read()).status == SERVING
    await example.set_serving(False, NAME)
    assert (await watch.read()).status == NOT_SERVING
    assert (await stub.Check(health_pb2.HealthCheckRequest(service=""))).status == SERVING
    with pytest.raises(grpc.aio.AioRpcError) as caught:
        await stub.Check(health_pb2.HealthCheckRequest(service="example.Nothing"))
    assert caught.value.code() is grpc.StatusCode.NOT_FOUND


async def test_those_who_watch_health_do_not_hold_up_a_stop() -> None:
    async with contextlib.AsyncExitStack() as stack:
        running = await stack.enter_async_context(app.running(ExampleService()))
        channel = await stack.enter_async_context(grpc.aio.insecure_channel(running.address))
        watch = health_pb2_grpc.HealthStub(channel).Watch(health_pb2.HealthCheckRequest())
        assert (await watch.read()).status == SERVING
        stopping = asyncio.create_task(running._down())
        assert (await watch.read()).status == NOT_SERVING
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await watch.read()
        assert caught.value.code() is grpc.StatusCode.UNAVAILABLE
        await stopping


async def _listed(address: str) -> list[str]:
    async with grpc.aio.insecure_channel(address) as channel:
        stub = reflection_pb2_grpc.ServerReflectionStub(channel)
        call = stub.ServerReflectionInfo(_several(reflection_pb2.ServerReflectionRequest(list_services="")))
        answer = await call.read()
        return [service.name for service in answer.list_services_response.service]


async def test_reflection_can_be_switched(example) -> None:
    names = await _listed(example.address)
    assert {NAME, link_server.SERVICE, "grpc.health.v1.Health"} <= set(names)
    async with app.running(ExampleService(ExampleSettings(reflection=False))) as without:
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await _listed(without.address)
        assert caught.value.code() is grpc.StatusCode.UNIMPLEMENTED


async def test_an_address_of_another_machine_is_one_line() -> None:
    with pytest.raises(StartError, match=r"cannot listen on 192\.0\.2\.1:0: cannot assign"):
        async with app.running(ExampleService(ExampleSettings(host="192.0.2.1"))):
            pytest.fail("it listens there")


async def test_a_taken_port_is_one_line(example) -> None:
    with pytest.raises(
        StartError, match=rf"cannot listen on 127.0.0.1:{example.port}: address already in use; set OMNIPOLY_PORT"
    ) as caught:
        async with app.running(ExampleService(ExampleSettings(port=example.port))):
            pytest.fail("two servers share a port")
    assert "\n" not in str(caught.value)


async def test_a_client_that_stands_still_is_given_up() -> None:
    """Its stream ends, and with it whatever is kept for it."""
    service = ExampleService(ExampleSettings(keepalive_s=1))
    async with (
        app.running(service) as running,
        Proxy(f"tcp://{running.address}") as proxy,
        grpc.aio.insecure_channel(proxy.address) as channel,
    ):
        call = channel.stream_stream(f"/{NAME}/ReadWrite")()
        await call.write(b"hello")
        assert await call.read() == b"hello"
        ended = _handled("ReadWrite")
        proxy.freeze()
        await eventually(lambda: _handled("ReadWrite") == ended + 1)


def _handled(method: str) -> float:
    """How many RPCs of a method have ended."""
    (metric,) = metrics.RPC_HANDLED.collect()
    return sum(
        sample.value
        for sample in metric.samples
        if sample.name.endswith("_total") and sample.labels["grpc_method"] == method
    )


async def test_clients_that_vanish_in_the_middle_of_a_write_are_no_errors(example, log_lines) -> None:
    """grpc.aio may hear of it first by the write that fails."""
    for _ in range(20):
        async with grpc.aio.insecure_channel(example.address) as channel:
            ended = _handled("ReadWrite")
            calls = [channel.stream_stream(f"/{NAME}/ReadWrite")() for _ in range(16)]
            for call in calls:
                await call.write(b"flood")
                assert await call.read()
            for call in calls[::2]:
                call.cancel()
        await eventually(lambda ended=ended: _handled("ReadWrite") == ended + 16)
    assert [line for line in log_lines() if line["level"] == "error"] == []
