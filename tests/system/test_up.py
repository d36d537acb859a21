"""`omnipolyd up` comes up, goes down, comes back, and leaves nothing behind, however it went."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import random
import signal
import socket
import stat
import subprocess
from pathlib import Path
from urllib.request import urlopen

import pytest

from omnipoly.client import Session
from omnipoly.rules import actions as act
from omnipoly.wire.gen.gateway.v1 import play_pb2_grpc
from omnipolyd.roles import ROLES as ROLES_BY_NAME
from omnipolyd.up.plan import Instance
from omnipolyd.up.process import ServiceProcess, Started
from tests.services.waiting import eventually
from tests.system import games
from tests.system.conftest import MakeStack
from tests.system.stack import START_S, STOP_S, Process, Stack, alive, below, call, listing, start

ROLES = {"table", "auction", "trade", "clock", "presence", "gateway", "bots"}


async def gone(began: list[Process]) -> None:
    """Fails unless all these processes end."""
    await eventually(lambda: not any(alive(process) for process in began), STOP_S)


def block_until_gone(pid: int) -> None:
    """The event loop hears of nothing meanwhile."""
    while Path(f"/proc/{pid}").exists():
        os.sched_yield()


async def test_up_and_down(make_stack: MakeStack, data_folder: Path) -> None:
    stack = make_stack()
    assert set(stack.services) == ROLES
    assert stack.gateway == stack.services["gateway"]
    began = below(stack.pid)
    assert {"postgres", "nats-server", *(f"omni-{role}"[:15] for role in ROLES)} <= {one.name for one in began}
    forking = stack.find("fork")
    assert forking is not None
    assert len(listing(Path(f"/proc/{forking.pid.number}/task"))) == 1  # or a fork would not be safe
    assert stack.data.parent == data_folder
    for private in (stack.data / "session.key", *stack.data.glob("logs/*.log")):
        assert stat.S_IMODE(private.stat().st_mode) == 0o600
    for role in ROLES:
        events = [json.loads(line)["event"] for line in (stack.data / f"logs/{role}.log").read_text().splitlines()]
        assert "serving" in events
    assert stack.stop() == 0
    assert not [process for process in began if alive(process)]
    assert not stack.data.exists()
    assert stack.errors == ""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGHUP])
async def test_every_way_to_ask_for_an_end(make_stack: MakeStack, number: signal.Signals) -> None:
    stack = make_stack("--replicas", "bots=0", "--replicas", "presence=0")
    began = below(stack.pid)
    assert stack.stop(number) == 0
    assert not [process for process in began if alive(process)]


async def test_with_the_end_of_standard_input(make_stack: MakeStack) -> None:
    stack = make_stack("--replicas", "bots=0")
    began = below(stack.pid)
    stack.process.stdin.close()  # type: ignore[union-attr]
    assert stack.process.wait(STOP_S) == 0
    assert not [process for process in began if alive(process)]


async def test_asked_twice_it_does_not_wait_for_anybody(make_stack: MakeStack) -> None:
    stack = make_stack("--replicas", "bots=0")
    began = below(stack.pid)
    async with games.client(stack.gateway) as connected:
        session = await connected.sign_in_guest("Stays")
        # A stream that does not go when it is sent away: the gateway would wait for it.
        stub = play_pb2_grpc.PlayServiceStub(session.calls.connection.channel)
        call = stub.Play(metadata=(("authorization", f"Bearer {token(session)}"),))
        await call.wait_for_connection()
        stack.process.send_signal(signal.SIGINT)
        log = stack.data / "logs/gateway.log"
        await eventually(lambda: '"stopping"' in log.read_text(), START_S)
        stack.process.send_signal(signal.SIGINT)
        assert await asyncio.to_thread(stack.process.wait, STOP_S) == 70
    assert not [process for process in began if alive(process)]
    assert stack.errors == "omnipolyd: stopping at once\n"


async def test_who_has_ended_unheard_of_is_sent_a_signal_all_the_same() -> None:
    """And those behind it in the list of whom to kill are not spared for it."""
    started = Started(id, (), talk=False)  # says nothing and ends; the loop does not hear of it before it is waited for
    block_until_gone(started.pid)
    assert not started.ended.done()
    started.signal(signal.SIGKILL)
    assert await started.ended == 0


async def test_killed_it_takes_everything_along_and_the_next_one_cleans_up(
    make_stack: MakeStack, data_folder: Path
) -> None:
    stack = make_stack()
    began = below(stack.pid)
    left = stack.data
    os.kill(stack.pid, signal.SIGKILL)
    await gone(began)
    make_stack("--replicas", "bots=0")
    assert not left.exists()


def token(session: Session) -> str:
    return session.calls.tokens.session.access_token


async def starting(process: subprocess.Popen[bytes]) -> list[Process]:
    """Its processes, while the database is being made and the services' modules are being imported."""
    await eventually(lambda: {"initdb", "omni-fork"} <= {one.name for one in below(process.pid)}, START_S)
    return below(process.pid)


async def test_killed_while_it_starts(data_folder: Path) -> None:
    process = start("--data", str(data_folder / "data"), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    began = await starting(process)
    process.kill()
    process.wait()
    await gone(began)


async def test_asked_to_end_while_it_starts(data_folder: Path) -> None:
    process = start("--data", str(data_folder / "data"), stdout=subprocess.PIPE)
    began = await starting(process)
    process.terminate()
    output, _ = process.communicate(timeout=STOP_S)
    assert process.returncode == 0
    assert output == b""
    assert not [one for one in began if alive(one)]


async def test_a_game_goes_on_after_a_restart(make_stack: MakeStack, data_folder: Path) -> None:
    data = ("--data", str(data_folder / "data"))
    first = make_stack(*data)
    async with games.game(first.gateway, rounds=25) as followed:
        await followed.reach(30)
        table, session_before = followed.table, token(followed.session)
    assert first.stop() == 0

    second = make_stack(*data)
    assert second.data == first.data
    async with games.client(second.gateway) as connected:
        session: Session = connected.with_token(session_before)  # signed with a key that was kept
        async with session.play() as play:
            replica = await play.follow(table, timeout_s=START_S)
            followed = games.Followed(session, play, table, replica)
            await followed.end()
            await games.require_fair_and_whole(followed)


async def test_one_data_folder_has_one_owner(make_stack: MakeStack, data_folder: Path) -> None:
    make_stack("--data", str(data_folder / "data"), "--replicas", "bots=0")
    ended = await call("up", "--data", str(data_folder / "data"), "--port", "0")
    assert ended.code == 1
    assert "in use by another `omnipolyd up`" in ended.errors
    assert ended.errors.count("\n") == 1


async def test_several_processes_of_a_service(make_stack: MakeStack) -> None:
    stack = make_stack("--replicas", "table=2", "--replicas", "gateway=2", "--replicas", "trade=0")
    assert set(stack.services) == ROLES - {"trade"} | {"table-2", "gateway-2"}
    async with games.game(stack.gateway, rounds=3) as followed, games.client(stack.services["gateway-2"]) as other:
        session = other.with_token(token(followed.session))
        async with session.play() as play:
            there = await play.follow(followed.table, timeout_s=START_S)
            await games.Followed(session, play, followed.table, there).end()
        await followed.end()
        assert games.differences(there.state, followed.replica.state) == {}
        await games.require_fair_and_whole(followed)


async def test_the_shared_stack_plays_under_dev(stack: Stack) -> None:
    async with games.client(stack.gateway) as connected:
        assert connected.server.dev
        session = await connected.sign_in_guest("Ann")
        table = await session.lobby.create("tubbypoly", dev=True)
        await session.lobby.add_bot(table)
        await session.lobby.start(table)
        before = (await session.lobby.view(table)).state.offset_ms
        await session.dev.advance(table, 1000)
        assert (await session.lobby.view(table)).state.offset_ms == before + 1000
        await session.lobby.act(table, act.Leave())


async def test_each_process_has_its_metrics(make_stack: MakeStack) -> None:
    base = free_ports(len(ROLES))
    stack = make_stack("--metrics-port-base", str(base))
    assert list(stack.services) == ["table", "auction", "trade", "clock", "presence", "gateway", "bots"]
    for port, role in enumerate(stack.services, start=base):
        page = await asyncio.to_thread(lambda port=port: urlopen(f"http://127.0.0.1:{port}/metrics").read().decode())
        assert f'omnipoly_build_info{{service="{role}"' in page


def free_ports(number: int) -> int:
    """The first of so many ports in a row that nobody has now."""
    while True:
        first = random.randint(10_000, 19_000)
        with contextlib.ExitStack() as held, contextlib.suppress(OSError):
            for port in range(first, first + number):
                held.enter_context(socket.socket()).bind(("127.0.0.1", port))
            return first


async def test_logs_are_shown_when_they_are_asked_for(make_stack: MakeStack) -> None:
    stack = make_stack("--verbose", "--replicas", "bots=0")
    assert stack.stop() == 0
    said = [json.loads(line) for line in stack.errors.splitlines()]
    assert {line["service"] for line in said if line["event"] == "stopped"} == ROLES - {"bots"}


def test_last_words(data_folder: Path) -> None:
    """What is told of a process that has ended: why it could not start, or else its last lines."""
    log = data_folder / "table.log"
    instance = Instance("table", ROLES_BY_NAME["table"], "127.0.0.1:1", {})
    ended = ServiceProcess(instance, log, print)
    log.write_text('{"event": "serving"}\n{"event": "cannot_start", "error": "the port is taken"}\n')
    assert ended.why(1) == "cannot start: the port is taken"
    assert ended.last_lines() == []
    log.write_text("Traceback\n\nZeroDivisionError\n")
    assert ended.why(1) == f"ended with exit code 1; its log is {log}"
    assert ended.last_lines() == ["Traceback", "ZeroDivisionError"]
    assert ended.why(-9) == f"was ended by SIGKILL; its log is {log}"
