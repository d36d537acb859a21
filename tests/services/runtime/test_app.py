from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
import urllib.request

import grpc.aio
import pytest

from omnipoly.runtime import app, migrations
from omnipoly.runtime.embedded import _free_port
from omnipoly.runtime.errors import SchemaError, StartError
from omnipoly.runtime.tasks import Tasks
from tests.services.runtime.examples import NAME, ExampleService, ExampleSettings

PACKAGE = "tests.services.runtime.example_migrations"


class NeedsAll(ExampleService):
    migrations = PACKAGE
    uses_bus = True


async def test_everything_is_up_before_the_service_starts_and_until_it_has_stopped(make_database, nats_url) -> None:
    class Careful(NeedsAll):
        async def start(self, running: app.App) -> None:
            await super().start(running)
            self.running = running
            await running.bus.wait_connected(20)
            self.steps.append(await running.database.fetchval("SELECT 'database'"))

        async def drain(self) -> None:
            await super().drain()
            assert self.running.stopping.is_set()

        async def stop(self) -> None:
            await super().stop()
            self.steps.append(await self.running.database.fetchval("SELECT 'still'"))
            assert self.running.bus.connected

    service = Careful(ExampleSettings(database_url=await make_database(PACKAGE), nats_url=nats_url))
    async with app.running(service) as running:
        assert running.port > 0
        assert service.steps == ["start", "database"]
    assert service.steps == ["start", "database", "drain", "stop", "still"]


async def test_background_tasks_have_the_database_until_they_end(make_database, nats_url) -> None:
    class Busy(NeedsAll):
        async def start(self, running: app.App) -> None:
            await super().start(running)
            self.running = running
            self.begun = asyncio.Event()
            running.tasks.spawn("busy", self.work)
            await self.begun.wait()

        async def work(self) -> None:
            try:
                self.begun.set()
                await asyncio.Event().wait()
            finally:
                self.steps.append(await self.running.database.fetchval("SELECT 'there'"))

    service = Busy(ExampleSettings(database_url=await make_database(PACKAGE), nats_url=nats_url))
    async with app.running(service):
        pass
    assert service.steps[-2:] == ["stop", "there"]


async def test_several_in_one_loop() -> None:
    async with app.running(ExampleService()) as one, app.running(ExampleService()) as other:
        assert one.port != other.port
        peers = await one.peers(other.address)
        assert await peers.call("key", "Echo", b"hello", 5, resend=False) == b"hello"


async def test_streams_get_their_end_before_the_server_stops() -> None:
    service = ExampleService()
    async with contextlib.AsyncExitStack() as stack:
        running = await stack.enter_async_context(app.running(service))
        async with grpc.aio.insecure_channel(running.address) as channel:
            call = channel.unary_stream(f"/{NAME}/UnaryStream")(b"wait")
            assert await call.read() == b"first"
            await service.started.wait()
            await stack.aclose()
            assert await call.read() == b"wait"
            assert await call.read() is grpc.aio.EOF
            assert await call.code() is grpc.StatusCode.OK


async def test_a_step_that_hangs_or_fails_does_not_hold_up_the_rest() -> None:
    class Stuck(ExampleService):
        async def drain(self) -> None:
            await super().drain()
            await asyncio.Event().wait()

        async def stop(self) -> None:
            await super().stop()
            raise RuntimeError("no")

    service = Stuck(ExampleSettings(drain_s=0.05))
    async with app.running(service):
        pass
    assert service.steps == ["start", "drain", "stop"]


async def test_what_had_started_is_taken_down_when_a_start_fails(make_database) -> None:
    class Failing(NeedsAll):
        async def start(self, running: app.App) -> None:
            self.running = running
            self.steps.append("start")
            raise StartError("it cannot be")

    settings = ExampleSettings(database_url=await make_database(PACKAGE), nats_url="nats://127.0.0.1:1")
    service = Failing(settings)
    with pytest.raises(StartError, match="it cannot be"):
        async with app.running(service):
            pytest.fail("it started")
    assert service.steps == ["start", "stop"]
    with pytest.raises(Exception, match="closed"):
        await service.running.database.fetchval("SELECT 1")


async def test_nats_may_be_away_at_the_start(make_database) -> None:
    settings = ExampleSettings(database_url=await make_database(PACKAGE), nats_url="nats://127.0.0.1:1")
    async with app.running(NeedsAll(settings)) as running:
        assert not running.bus.connected
        running.bus.publish("a", b"dropped in time, without a word to the caller")


async def test_a_server_that_ends_unasked_is_noticed() -> None:
    async with app.running(ExampleService()) as running:
        assert running.server._server is not None
        await running.server._server.stop(0)
        await asyncio.wait_for(running.failed.wait(), 20)


async def test_what_is_missing_is_one_line(database_url: str) -> None:
    with pytest.raises(StartError, match="OMNIPOLY_DATABASE_URL is not set; give postgresql://"):
        async with app.running(NeedsAll()):
            pytest.fail("it started")
    with pytest.raises(StartError, match=r"cannot reach the database at 127\.0\.0\.1:1"):
        async with app.running(NeedsAll(ExampleSettings(database_url="postgresql://o:p@127.0.0.1:1/x"))):
            pytest.fail("it started")
    await migrations.migrate(database_url, PACKAGE, "0001")
    with pytest.raises(SchemaError, match="is at 0001, this program needs 0002: run omnipolyd migrate"):
        async with app.running(NeedsAll(ExampleSettings(database_url=database_url))):
            pytest.fail("it started")


async def test_what_a_service_has_not_asked_for_is_not_there() -> None:
    async with app.running(ExampleService()) as running:
        with pytest.raises(RuntimeError, match="database"):
            _ = running.database
        with pytest.raises(RuntimeError, match="bus"):
            _ = running.bus


async def test_background_tasks_are_restarted_and_end_with_the_app() -> None:
    tries: list[int] = []
    third = asyncio.Event()
    ended: list[str] = []

    async def flaky() -> None:
        tries.append(1)
        if len(tries) < 3:
            raise RuntimeError("once more")
        third.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("cancelled")

    async def failing_once() -> None:
        raise RuntimeError("never again")

    async with app.running(ExampleService()) as running:
        running.tasks.spawn("flaky", flaky)
        once = running.tasks.once("once", failing_once())
        await asyncio.wait_for(third.wait(), 20)
        await once
    assert len(tries) == 3
    assert ended == ["cancelled"]
    with pytest.raises(RuntimeError, match="not open"):
        running.tasks.spawn("late", flaky)


async def test_a_task_that_forgets_a_cancellation_is_cancelled_again() -> None:
    cancelled = 0

    async def forgetful() -> None:
        nonlocal cancelled
        while cancelled < 2:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                cancelled += 1
        raise asyncio.CancelledError

    async with Tasks() as tasks:
        tasks.spawn("forgetful", forgetful)
        await asyncio.sleep(0)
    assert cancelled == 2


# --- As a process of its own


@contextlib.asynccontextmanager
async def _process(**settings: str):
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "tests.services.runtime.examples",
        env={
            "PATH": os.environ["PATH"],
            "OMNIPOLY_PLAINTEXT": "all",
            **{f"OMNIPOLY_{name.upper()}": value for name, value in settings.items()},
        },
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


async def _until(process, event: str) -> dict[str, object]:
    async with asyncio.timeout(30):
        while True:
            raw = await process.stderr.readline()
            assert raw, f"it ended without {event}"
            line = json.loads(raw)
            if line["event"] == event:
                return line


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_stops_it_in_order(number: signal.Signals) -> None:
    metrics_port = _free_port()
    async with _process(metrics_port=str(metrics_port)) as process:
        serving = await _until(process, "serving")
        address = f"http://127.0.0.1:{metrics_port}/metrics"
        text = await asyncio.to_thread(lambda: urllib.request.urlopen(address).read().decode())
        assert 'omnipoly_build_info{service="example"' in text
        async with grpc.aio.insecure_channel(str(serving["address"])) as channel:
            call = channel.unary_unary(f"/{NAME}/UnaryUnary")(b"wait")
            echo = channel.unary_unary(f"/{NAME}/UnaryUnary")
            assert await echo(b"hello") == b"hello"
            process.send_signal(number)
            assert await call == b"wait"
        await _until(process, "stopped")
        assert await asyncio.wait_for(process.wait(), 30) == app.EXIT_OK


async def test_a_signal_also_ends_a_start_that_does_not_come_to_an_end() -> None:
    async with _process(example_stuck="starting") as process:
        await _until(process, "stuck")
        process.send_signal(signal.SIGTERM)
        assert await asyncio.wait_for(process.wait(), 30) == app.EXIT_OK


async def test_a_taken_port_ends_the_process_with_one_line(make_database) -> None:
    async with app.running(ExampleService()) as running, _process(port=str(running.port)) as process:
        line = await _until(process, "cannot_start")
        assert f"cannot listen on 127.0.0.1:{running.port}" in str(line["error"])
        assert "exception" not in line
        assert await asyncio.wait_for(process.wait(), 30) == app.EXIT_CANNOT_START


@pytest.mark.parametrize("stuck", ["waiting", "blocking"])
async def test_the_hard_timer_ends_what_does_not_come_back(stuck: str) -> None:
    async with _process(example_stuck=stuck, drain_s="60", hard_stop_s="0.1") as process:
        await _until(process, "serving")
        process.send_signal(signal.SIGTERM)
        await _until(process, "stop_forced")
        assert await asyncio.wait_for(process.wait(), 30) == app.EXIT_FORCED


async def test_a_second_signal_ends_it_at_once() -> None:
    async with _process(example_stuck="waiting", drain_s="60", hard_stop_s="60") as process:
        await _until(process, "serving")
        process.send_signal(signal.SIGINT)
        await _until(process, "stopping")
        process.send_signal(signal.SIGINT)
        assert await asyncio.wait_for(process.wait(), 30) == app.EXIT_FORCED
