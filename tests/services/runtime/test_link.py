from __future__ import annotations

import asyncio
import io
import json
import os
import sys
from typing import Self

import grpc
import grpc.aio
import pytest

from omnipoly.runtime import app, link_server, logging
from omnipoly.runtime import link as link_module
from omnipoly.runtime.embedded import _free_port
from omnipoly.runtime.failures import Failure
from omnipoly.runtime.link import Link, LinkLost, LinkServer, State
from omnipoly.runtime.peers import Peers, rendezvous
from omnipoly.runtime.server import Server
from tests.services.proxy import Proxy
from tests.services.runtime.examples import SECRET, ExampleService, ExampleSettings
from tests.services.waiting import eventually


@pytest.fixture
async def example():
    async with app.running(ExampleService()) as running:
        yield running


@pytest.fixture
async def link(example):
    link = Link(example.address)
    yield link
    await link.close()


# --- Items


@pytest.mark.parametrize("method", ["Echo", "Now", "Future"])
async def test_a_handler_answers_with_a_coroutine_bytes_or_a_future(link: Link, method: str) -> None:
    assert await link.call(method, b"hello", 10) == b"hello"


async def test_a_handler_is_told_of_its_caller(example, link: Link) -> None:
    await link.call("Echo", b"hello", 10, "00-trace")
    (call,) = example.service.calls
    assert (call.method, call.traceparent) == ("Echo", "00-trace")
    assert call.peer.startswith("ipv4:127.0.0.1:")
    assert 0 < call.remaining_s() <= 10
    assert call.deadline - asyncio.get_running_loop().time() == pytest.approx(call.remaining_s(), abs=0.5)


@pytest.mark.parametrize("method", ["Echo", "Future"])
async def test_a_refusal_is_an_error_item(link: Link, method: str) -> None:
    with pytest.raises(Failure) as caught:
        await link.call(method, b"refuse", 10)
    failure = caught.value
    assert (failure.status, failure.reason) == (grpc.StatusCode.FAILED_PRECONDITION, "not_your_turn")
    assert (failure.sentence, failure.retry_after_s) == ("Wait.", 2)


@pytest.mark.parametrize("method", ["Echo", "Now"])
async def test_the_text_of_an_unknown_exception_stays_there(link: Link, method: str) -> None:
    stream = io.StringIO()
    logging.configure("example", stream=stream)
    with pytest.raises(Failure) as caught:
        await link.call(method, b"crash", 10)
    logging.configure("test")
    assert caught.value.status is grpc.StatusCode.INTERNAL
    assert SECRET not in str(caught.value)
    lines = [json.loads(line) for line in stream.getvalue().splitlines()]
    (line,) = [line for line in lines if line.get("error_id") == caught.value.metadata["error_id"]]
    assert SECRET in json.dumps(line)


async def test_an_unknown_method(link: Link) -> None:
    with pytest.raises(Failure, match="no method 'Nothing'") as caught:
        await link.call("Nothing", b"", 10)
    assert caught.value.status is grpc.StatusCode.UNIMPLEMENTED


async def test_what_waits_leaves_in_one_frame_and_a_slow_item_delays_nobody(example, link: Link) -> None:
    await link.call("Now", b"connected", 10)
    frames = _frames()
    slow = asyncio.create_task(link.call("Echo", b"wait", 10))
    quick = [link.call(("Echo", "Now", "Future")[n % 3], b"%d" % n, 10) for n in range(600)]
    assert await asyncio.gather(*quick) == [b"%d" % n for n in range(600)]
    assert not slow.done()
    assert link.in_flight == 1
    # All 601 were waiting before the first write: as full as frames get.
    assert _frames() - frames <= 4
    example.service.release.set()
    assert await slow == b"wait"
    assert link.in_flight == 0


def _frames() -> float:
    (metric,) = link_server.FRAME_SIZES.collect()
    return next(sample.value for sample in metric.samples if sample.name.endswith("_count"))


async def test_large_items(link: Link) -> None:
    whole = bytes(1024 * 1024)
    answers = await asyncio.gather(*(link.call("Now", whole, 30) for _ in range(5)))
    assert answers == [whole] * 5
    with pytest.raises(Failure) as caught:
        await link.call("Now", whole + b"x", 10)
    assert caught.value.reason == "too_large"
    with pytest.raises(Failure) as caught:
        await link.call("Big", b"1048577", 10)
    assert caught.value.status is grpc.StatusCode.INTERNAL
    assert len(await link.call("Big", b"1048576", 30)) == 1024 * 1024


async def test_time_that_runs_out(example, link: Link) -> None:
    with pytest.raises(Failure) as caught:
        await link.call("Echo", b"wait 1", 0.05)
    assert caught.value.status is grpc.StatusCode.DEADLINE_EXCEEDED
    with pytest.raises(Failure) as caught:
        await link.call("Echo", b"never", 0)
    assert caught.value.status is grpc.StatusCode.DEADLINE_EXCEEDED
    assert example.service.seen == [b"wait 1"]
    # What was started is finished, whoever still waits; its answer goes to nobody.
    example.service.release.set()
    assert await link.call("Echo", b"next", 10) == b"next"
    await eventually(lambda: example.service.link.in_flight == 0)


async def test_a_caller_who_gives_up_does_not_stop_what_was_sent(example, link: Link) -> None:
    calling = asyncio.create_task(link.call("Echo", b"wait", 10))
    await example.service.started.wait()
    calling.cancel()
    with pytest.raises(asyncio.CancelledError):
        await calling
    assert example.service.link.in_flight == 1
    assert link.in_flight == 0
    example.service.release.set()
    await eventually(lambda: example.service.link.in_flight == 0)


async def test_what_was_given_up_before_it_left_is_never_sent(example, link: Link) -> None:
    """By a caller who was cancelled, or whose time ran out."""
    cancelled = asyncio.create_task(link.call("Echo", b"cancelled", 10))
    late = asyncio.create_task(link.call("Echo", b"late", 10))
    await asyncio.sleep(0)
    assert (link.in_flight, link.state) == (2, State.CONNECTING)
    cancelled.cancel()
    link._time_out(link._calls[2], "Echo", 10)
    assert await link.call("Echo", b"next", 10) == b"next"
    assert example.service.seen == [b"next"]
    with pytest.raises(Failure):
        await late


async def test_beyond_the_bound_items_are_refused_with_a_time_to_come_back() -> None:
    release = asyncio.Event()

    async def wait(body: bytes, call: object) -> bytes:
        await release.wait()
        return body

    served = LinkServer({"Wait": wait}, max_in_flight=8)
    server = Server(ExampleSettings())
    server.serve_generic(served.generic_handler(), frames=True)
    await server.start()
    link = Link(server.address)
    calls = [asyncio.create_task(link.call("Wait", b"x", 10)) for _ in range(12)]
    await eventually(lambda: sum(call.done() for call in calls) == 4)
    for call in [call for call in calls if call.done()]:
        failure = call.exception()
        assert isinstance(failure, Failure)
        assert failure.status is grpc.StatusCode.RESOURCE_EXHAUSTED
        assert failure.retry_after_s
    assert served.in_flight == 8
    taken = [call for call in calls if not call.done()]
    release.set()
    assert await asyncio.gather(*taken) == [b"x"] * 8
    await link.close()
    await server.stop(1)


async def test_a_client_holds_no_more_than_its_bound(example) -> None:
    link = Link(example.address, max_in_flight=2)
    waiting = [asyncio.create_task(link.call("Echo", b"wait", 10)) for _ in range(2)]
    await example.service.started.wait()
    with pytest.raises(Failure) as caught:
        await link.call("Echo", b"x", 10)
    assert caught.value.status is grpc.StatusCode.RESOURCE_EXHAUSTED
    example.service.release.set()
    assert await asyncio.gather(*waiting) == [b"wait"] * 2
    await link.close()


# --- What happens to streams


async def test_nobody_there_is_lost_and_not_sent() -> None:
    link = Link(f"127.0.0.1:{_free_port()}")
    with pytest.raises(LinkLost) as caught:
        await link.call("Echo", b"x", 10)
    assert not caught.value.sent
    assert link.state is State.DOWN
    with pytest.raises(LinkLost):
        await link.call("Echo", b"x", 10)
    await link.close()


async def test_a_link_comes_back_by_itself() -> None:
    port = _free_port()
    states: list[State] = []
    back = asyncio.Event()

    def note() -> None:
        states.append(link.state)
        if states.count(State.CONNECTED) == 2:
            back.set()

    link = Link(f"127.0.0.1:{port}", on_change=note)
    async with app.running(ExampleService(ExampleSettings(port=port))):
        assert await link.call("Now", b"1", 10) == b"1"
    async with app.running(ExampleService(ExampleSettings(port=port))):
        await asyncio.wait_for(back.wait(), 20)
        assert await link.call("Now", b"2", 10) == b"2"
    await link.close()
    assert states[:2] == [State.CONNECTING, State.CONNECTED]
    assert State.DRAINING in states
    assert states[-1] is State.CLOSED


async def test_a_drain_answers_what_is_open_and_takes_nothing_new() -> None:
    service = ExampleService()
    drained = asyncio.Event()

    async def drain() -> None:
        await drained.wait()
        service.release.set()

    service.drain = drain  # type: ignore[method-assign]
    context = app.running(service)
    running = await context.__aenter__()
    link = Link(running.address)
    open_calls = [asyncio.create_task(link.call("Echo", b"wait", 10)) for _ in range(3)]
    await service.started.wait()
    stopping = asyncio.create_task(context.__aexit__(None, None, None))
    await eventually(lambda: link.state is State.DRAINING)
    with pytest.raises(LinkLost) as caught:
        await link.call("Echo", b"late", 10)
    assert not caught.value.sent
    drained.set()
    assert await asyncio.gather(*open_calls) == [b"wait"] * 3
    await stopping
    assert b"late" not in service.seen
    await link.close()


async def test_what_is_no_frame_ends_its_stream_alone(example, link: Link) -> None:
    assert await link.call("Now", b"1", 10) == b"1"
    async with grpc.aio.insecure_channel(example.address) as channel:
        stream = channel.stream_stream(link_server.METHOD)()
        await stream.write(b"\xff\xff")
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await stream.read()
        assert caught.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert await link.call("Now", b"2", 10) == b"2"


async def test_closing_ends_what_is_in_flight(example, link: Link) -> None:
    calling = asyncio.create_task(link.call("Echo", b"wait", 10))
    await example.service.started.wait()
    await link.close()
    with pytest.raises(LinkLost) as caught:
        await calling
    assert caught.value.sent


async def test_a_peer_that_stands_still_is_given_up(example, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a process that was stopped: its machine still takes in what is sent, and nobody answers."""
    monkeypatch.setattr(link_module, "KEEPALIVE_S", 2.0)  # a server has no more often than that
    async with Proxy(f"tcp://{example.address}") as proxy:
        link = Link(proxy.address)
        assert await link.call("Now", b"warm", 10) == b"warm"
        proxy.freeze()
        with pytest.raises(LinkLost) as caught:
            await link.call("Now", b"into the void", 60)
        assert caught.value.sent
        assert link.state is State.DOWN
        await link.close()


async def test_a_replica_that_is_stopping_is_not_taken_for_connected() -> None:
    """A stream that it refuses is no stream: nothing is sent there in vain, and it is asked less and less often."""
    service = ExampleService()
    states: list[State] = []
    async with app.running(service) as leaving:
        await service.link.drain()
        link = Link(leaving.address, on_change=lambda: states.append(link.state))
        for _ in range(3):
            with pytest.raises(LinkLost) as caught:
                await link.call("Now", b"", 10)
            assert not caught.value.sent
            await eventually(lambda: link._runner is None or link.state is State.DOWN)
        await link.close()
    assert State.CONNECTED not in states
    assert service.seen == []


# --- Several replicas


def test_rendezvous_moves_only_the_keys_of_those_who_come_and_go() -> None:
    keys = [f"table-{n}" for n in range(2000)]
    three = {key: rendezvous(key, ["a:1", "b:1", "c:1"]) for key in keys}
    two = {key: rendezvous(key, ["a:1", "c:1"]) for key in keys}
    for key in keys:
        assert two[key] == [member for member in three[key] if member != "b:1"]
    firsts = [three[key][0] for key in keys]
    for member in ("a:1", "b:1", "c:1"):
        assert 500 < firsts.count(member) < 850


class _Process:
    """An example service in a process of its own, to be killed."""

    async def __aenter__(self) -> Self:
        self.process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "tests.services.runtime.examples",
            env={"PATH": os.environ["PATH"], "OMNIPOLY_PLAINTEXT": "all"},
            stderr=asyncio.subprocess.PIPE,
        )
        assert self.process.stderr is not None
        async with asyncio.timeout(30):
            self.address = str(json.loads(await self.process.stderr.readline())["address"])
        return self

    async def __aexit__(self, *_: object) -> None:
        if self.process.returncode is None:
            self.process.kill()
        await self.process.communicate()


def _key_for(peers: Peers, address: str) -> str:
    return next(key for key in map(str, range(1000)) if peers.order(key)[0] == address)


async def test_a_killed_replica_is_resent_to_the_next_once_and_only_if_it_may_be(example) -> None:
    async with _Process() as killed, Peers(f"{killed.address},{example.address}") as peers:
        key = _key_for(peers, killed.address)
        assert await peers.call(key, "Echo", b"warm", 10, resend=True) == b"warm"
        assert example.service.seen == []
        example.service.release.set()
        twice = [asyncio.create_task(peers.call(key, "Echo", b"wait 1", 10, resend=True)) for _ in range(3)]
        once = asyncio.create_task(peers.call(key, "Echo", b"wait 2", 10, resend=False))
        # An answer to a later item says that the earlier ones have arrived there.
        assert await peers.call(key, "Now", b"there", 10, resend=True) == b"there"
        killed.process.kill()
        assert await asyncio.gather(*twice) == [b"wait 1"] * 3
        with pytest.raises(Failure, match="unknown") as caught:
            await once
        assert (caught.value.status, caught.value.reason) == (grpc.StatusCode.UNAVAILABLE, "unavailable")
        assert example.service.seen == [b"wait 1"] * 3
        assert await peers.call(key, "Echo", b"after", 10, resend=False) == b"after"


async def test_the_second_break_is_an_error() -> None:
    async with _Process() as first, _Process() as second, Peers(f"{first.address},{second.address}") as peers:
        key = _key_for(peers, first.address)
        other = _key_for(peers, second.address)
        calling = asyncio.create_task(peers.call(key, "Echo", b"wait", 20, resend=True))
        await peers.call(key, "Now", b"", 10, resend=True)
        await peers.call(other, "Now", b"", 10, resend=True)
        first.process.kill()
        await eventually(lambda: peers._links[second.address].in_flight == 1)
        assert await peers.call(other, "Now", b"", 10, resend=True) == b""
        second.process.kill()
        with pytest.raises(Failure, match="unknown"):
            await calling


async def test_a_draining_replica_is_passed_over(example) -> None:
    service = ExampleService()
    async with app.running(service) as leaving, Peers(f"{leaving.address},{example.address}") as peers:
        key = _key_for(peers, leaving.address)
        assert await peers.call(key, "Echo", b"1", 10, resend=False) == b"1"
        await service.link.drain()
        assert await peers.call(key, "Echo", b"2", 10, resend=False) == b"2"
    assert (service.seen, example.service.seen) == ([b"1"], [b"2"])


async def test_a_call_waits_a_moment_for_a_replica_to_come_back() -> None:
    port = _free_port()
    async with Peers(f"127.0.0.1:{port}") as peers:
        calling = asyncio.create_task(peers.call("key", "Now", b"patience", 10, resend=False))
        await eventually(lambda: peers._links[f"127.0.0.1:{port}"].state is State.DOWN)
        async with app.running(ExampleService(ExampleSettings(port=port))):
            assert await calling == b"patience"
        with pytest.raises(Failure, match=r"no replica of .* can be reached") as caught:
            await peers.call("key", "Now", b"too late", 0.2, resend=True)
        assert caught.value.status is grpc.StatusCode.UNAVAILABLE


async def test_names_are_looked_up(example) -> None:
    async with Peers(f"dns:///localhost:{example.port}") as peers:
        assert f"127.0.0.1:{example.port}" in peers.members
        assert await peers.call("key", "Now", b"found", 10, resend=False) == b"found"
    async with Peers("dns:///no-such-name.invalid:1") as peers:
        assert peers.members == []
        with pytest.raises(Failure, match="no replica"):
            await peers.call("key", "Now", b"", 0.1, resend=True)


async def test_members_that_go_finish_what_they_have(example) -> None:
    async with app.running(ExampleService()) as other, Peers(f"{example.address},{other.address}") as peers:
        key = _key_for(peers, example.address)
        calling = asyncio.create_task(peers.call(key, "Echo", b"wait", 10, resend=False))
        await example.service.started.wait()
        peers._set_members({other.address})
        assert peers.members == [other.address]
        assert await peers.call(key, "Echo", b"moved", 10, resend=False) == b"moved"
        example.service.release.set()
        assert await calling == b"wait"
