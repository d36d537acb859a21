"""Row 44: a service that stops, or is killed, and starts again. What was answered stands, what was not is done once."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack

import pytest

from omnipoly.rules import actions as act
from omnipoly.rules.events import ClocksMoved
from omnipoly.rules.ring import Game
from omnipoly.rules.state import Phase, State
from omnipoly.runtime.failures import Failure
from omnipoly.runtime.link import LinkLost
from omnipoly.runtime.standstill import LEAST_S
from omnipoly.wire import actions, commits
from omnipoly.wire.gen.table.v1 import table_pb2 as pb
from tests.services.conftest import MakeDatabase
from tests.services.table.calling import Caller, identity, replay, unique_id
from tests.services.table.conftest import Serve
from tests.services.table.past import begun, now_ms
from tests.services.table.playing import Picture, play
from tests.services.table.replicas import Child, serving
from tests.services.waiting import eventually

ANN = "guest:ann"

Children = Callable[[], Awaitable[Child]]


async def act_until_answered(
    caller: Callable[[], Caller], table: str, who: str, action: act.Action, command_id: str
) -> tuple[list[bytes], bool]:
    """What a gateway does: the same command with the same id, wherever the service is, until there is an answer."""
    async with asyncio.timeout(30):
        while True:
            try:
                answer = await caller().act(table, who, action, command_id=command_id)
                return list(answer.commits), answer.duplicate
            except LinkLost:
                await asyncio.sleep(0.01)
            except Failure as failure:
                if failure.reason != "unavailable":
                    raise


async def test_stopped_in_the_middle_of_everything(log_url: str, nats_url: str, game: Game) -> None:
    """Tables are played while replicas come and go under them; each command takes effect once."""
    async with AsyncExitStack() as stack:
        running = await stack.enter_async_context(serving(log_url, nats_url))
        tables = [await running.caller.open(ANN, unseated=True) for _ in range(4)]
        for table in tables:
            for _ in range(3):
                await running.caller.act(table, ANN, act.AddBot())
            await running.caller.act(table, ANN, act.Start())
        going = True
        done: dict[str, list[str]] = {table: [] for table in tables}

        async def keep_playing(table: str) -> None:
            picture = await Picture.take(running.caller, table, game)
            while going and not picture.over:
                who, action = picture.next_action()
                command_id = unique_id()
                bodies, duplicate = await act_until_answered(lambda: running.caller, table, who, action, command_id)
                assert duplicate or commits.decode(bodies[0], game).version == picture.version + 1
                picture.apply(bodies)
                done[table].append(command_id)

        players = [asyncio.create_task(keep_playing(table)) for table in tables]
        for _ in range(3):
            so_far = sum(map(len, done.values()))
            await eventually(lambda so_far=so_far: sum(map(len, done.values())) > so_far + 40)
            await stack.aclose()
            running = await stack.enter_async_context(serving(log_url, nats_url))
        going = False
        await asyncio.gather(*players)
        for table in tables:
            log = [commits.decode(body, game) for body in await running.caller.log(table)]
            replay([*await running.caller.log(table)], game)
            assert [commit.command_id for commit in log if commit.actor.startswith("bot:")] == done[table]


@pytest.fixture
async def children(log_url: str, nats_url: str) -> AsyncIterator[Children]:
    started: list[Child] = []

    async def start() -> Child:
        started.append(await Child.start(log_url, nats_url))
        return started[-1]

    yield start
    for child in started:
        await child.kill()


def left_ms(s: State, now_ms: int) -> list[int]:
    """What is left of each open decision's clock."""
    return [at - now_ms if at else 0 for at in s.deadline_ms]


async def test_killed_in_the_middle_of_everything(children: Children, game: Game) -> None:
    child = await children()
    caller = child.caller
    table = await caller.started(game, bots=3)
    picture = await Picture.take(caller, table, game)
    await play([caller], picture, until=lambda s: s.phase is Phase.THROW and s.round > 0)
    # several commands are under way when it dies
    who, action = picture.next_action()
    command_id = unique_id()
    sent = [
        asyncio.create_task(caller.act(table, who, action, command_id=command_id)),
        *(asyncio.create_task(caller.act(table, ANN, act.Refuse(number))) for number in range(3)),
    ]
    await asyncio.sleep(0)
    before, before_ms = picture.state.copy(), time.time_ns() // 1_000_000
    await child.kill()
    await asyncio.gather(*sent, return_exceptions=True)

    after = (await children()).caller
    bodies, _ = await act_until_answered(lambda: after, table, who, action, command_id)
    log = await after.log(table)
    state = replay(log, game)
    assert sum(commits.decode(body, game).command_id == command_id for body in log) == 1
    assert commits.decode(bodies[0], game).command_id == command_id
    # what had been answered stands, to the byte
    assert replay(log[: picture.version], game) == before
    # and whose clock ran has at least what they had
    now_ms = time.time_ns() // 1_000_000
    assert all(
        left >= had - (now_ms - before_ms) - 5
        for left, had in zip(left_ms(state, now_ms), left_ms(before, before_ms), strict=True)
    )
    picture = await Picture.take(after, table, game)
    await play([after], picture, most=50)
    replay(await after.log(table), game)


async def test_the_same_dice_after_a_kill(children: Children, game: Game) -> None:
    """Who kills the service does not get another throw: it is the seed's, by its number."""
    child = await children()
    table = await child.caller.started(game, bots=1)
    command_id = unique_id()
    sent = asyncio.create_task(child.caller.act(table, ANN, act.Roll(), command_id=command_id))
    await asyncio.sleep(0)
    await child.kill()
    await asyncio.gather(sent, return_exceptions=True)
    again = await children()
    first, _ = await act_until_answered(lambda: again.caller, table, ANN, act.Roll(), command_id)
    second, duplicate = await act_until_answered(lambda: again.caller, table, ANN, act.Roll(), command_id)
    assert duplicate
    assert second == first


async def test_a_down_time_does_not_count(serve: Serve, log_url: str, nats_url: str, game: Game) -> None:
    """The last heartbeat before the stop says since when; the first one after the start writes it down."""
    async with serving(log_url, nats_url) as first:
        past = await begun(first, game, started_ms=now_ms() - 20_000)
        assert await first.caller.state(past.table, game) == past.state
        assert not await first.sql("SELECT FROM outages")
        await first.sql("UPDATE heartbeat SET at = at - interval '10 s'")  # as if the stop took so long
    second = await serve()
    (row,) = await second.sql("SELECT from_at, to_at FROM outages")
    away_ms = round(row["to_at"].timestamp() * 1000) - round(row["from_at"].timestamp() * 1000)
    assert away_ms >= 10_000
    await second.caller.act(past.table, ANN, act.Roll())
    log = await second.caller.log(past.table)
    events = [event for body in log for event in commits.decode(body, game).events]
    assert [event.by_ms for event in events if isinstance(event, ClocksMoved)] == [away_ms]
    after = replay(log, game)
    assert after.prompt[1] == past.state.prompt[1]
    assert after.deadline_ms[1] == past.state.deadline_ms[1] + away_ms


async def test_it_does_not_start_on_another_schema(make_database: MakeDatabase, nats_url: str) -> None:
    with pytest.raises(Exception, match="migrate"):
        async with serving(await make_database(), nats_url):
            pytest.fail("it started")


async def test_what_came_while_it_stood_still(children: Children, game: Game) -> None:
    """A process that is stopped finds a command in its socket whose caller has long given up: it is not played."""
    child = await children()
    caller = child.caller
    table = await caller.started(game, bots=1)
    request = pb.ActRequest(
        table=table, identity=identity(ANN), command_id="given-up", action=actions.to_proto(act.Roll())
    )
    child.process.send_signal(signal.SIGSTOP)
    stopped = time.monotonic()
    try:
        with pytest.raises(Failure) as caught:
            await caller.link.call("/omnipoly.table.v1.TableService/Act", request.SerializeToString(), 1.0)
        assert caught.value.reason == "unavailable"
        await eventually(lambda: time.monotonic() > stopped + LEAST_S + 0.5)
    finally:
        child.process.send_signal(signal.SIGCONT)
    # what comes after it is played, and the same again is a new command
    await caller.view(table)
    assert len(await caller.log(table)) == 3
    answer = await caller.act(table, ANN, act.Roll(), command_id="given-up")
    assert not answer.duplicate
    assert answer.version == 4
