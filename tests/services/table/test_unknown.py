"""Appends that end in anything but an answer: looked up, never assumed. The database is cut off by a proxy."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable

import asyncpg
import pytest

from omnipoly.rules import actions as act
from omnipoly.rules.ring import Game
from omnipoly.runtime.failures import Failure
from omnipoly.wire import commits
from omnipoly.wire.gen.table.v1 import table_pb2 as pb
from omnipolyd.table import asking, outages, store
from tests.services.proxy import Cut, Proxy
from tests.services.table.calling import replay, unique_id
from tests.services.table.conftest import Serve
from tests.services.table.hearing import Ear
from tests.services.table.playing import Picture, play
from tests.services.waiting import eventually

ANN, BOB = "guest:ann", "guest:bob"


@pytest.mark.parametrize("cut", Cut)
async def test_an_append_that_is_cut(serve: Serve, proxy: Proxy, ear: Ear, game: Game, cut: Cut) -> None:
    """Wherever it is cut: the command takes effect once, is answered, and its commit is published."""
    replica = await serve(proxy.url)
    caller = replica.caller
    table = await caller.started(game, bots=2)
    for _ in range(3):
        picture = await Picture.take(caller, table, game)
        who, action = picture.next_action()
        command_id = f"cut-{unique_id()}"
        trap = proxy.cut_at(command_id.encode(), cut)
        answer = await caller.act(table, who, action, command_id=command_id)
        assert trap.done.is_set()
        assert answer.version == picture.version + 1
        picture.apply(answer.commits)
        again = await caller.act(table, who, action, command_id=command_id)
        assert again.duplicate
        assert list(again.commits) == list(answer.commits)
    log = await caller.log(table)
    assert len(log) == picture.version
    assert replay(log, game) == picture.state
    await eventually(lambda: len(ear.commits[table]) == len(log))
    assert [ear.commits[table][version] for version in range(1, len(log) + 1)] == log


@pytest.mark.parametrize("cut", Cut)
async def test_all_tables_of_a_batch(serve: Serve, proxy: Proxy, ear: Ear, game: Game, cut: Cut) -> None:
    replica = await serve(proxy.url)
    caller = replica.caller
    tables = await asyncio.gather(*(caller.open(ANN) for _ in range(24)))
    held = proxy.hold(b"the-first-of-all")
    trap = proxy.cut_at(b"in-the-batch-7", cut)
    first = asyncio.create_task(caller.act(tables[0], ANN, act.AddBot(), command_id="the-first-of-all"))
    await held.sprung.wait()
    # while the log is held up the others gather, and then go in one statement
    rest = [
        asyncio.create_task(caller.act(table, ANN, act.AddBot(), command_id=f"in-the-batch-{number}"))
        for number, table in enumerate(tables[1:])
    ]
    await eventually(lambda: replica.tables._log.waiting == len(rest))
    held.released.set()
    answers = await asyncio.gather(first, *rest)
    assert trap.done.is_set()
    assert [answer.version for answer in answers] == 24 * [2]
    for table, answer in zip(tables, answers, strict=True):
        log = await caller.log(table)
        assert len(log) == 2
        assert [log[1]] == list(answer.commits)
        await eventually(lambda table=table: len(ear.commits[table]) == 2)
        assert ear.commits[table][2] == log[1]


async def test_what_is_nobodys_command_is_published_too(
    serve: Serve, proxy: Proxy, ear: Ear, game: Game, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A presence report has no command id to be looked up by: it is done once by its revision, and told."""
    replica = await serve(proxy.url)
    caller = replica.caller
    table = await caller.started(game, bots=1)
    trap = proxy.cut_at(table.encode(), Cut.AFTER)
    report = pb.ReportRequest(table=table, revision=5, persons=[pb.PersonPresence(person=ANN, status=2)])
    answer = await caller.call("Report", report)
    assert trap.done.is_set()
    log = await caller.log(table)
    assert answer.version == len(log) == 4
    kinds = [type(event).__name__ for event in commits.decode(log[-1], game).events]
    assert kinds.count("Disconnected") == 1
    await eventually(lambda: len(ear.commits[table]) == len(log))
    assert ear.commits[table][4] == log[3]


async def test_prompts_of_a_commit_that_was_looked_up(serve: Serve, proxy: Proxy, ear: Ear, game: Game) -> None:
    replica = await serve(proxy.url)
    caller = replica.caller
    table = await caller.open(ANN)
    for action in (act.AddBot(), act.SetOptions(clock_s=30)):
        await caller.act(table, ANN, action)
    proxy.cut_at(b"start-it", Cut.AFTER)
    answer = await caller.act(table, ANN, act.Start(), command_id="start-it")
    await eventually(lambda: any(asked.version == answer.version for asked in ear.prompts[table]))
    (asked,) = (asked for asked in ear.prompts[table] if asked.version == answer.version)
    assert [prompt.person for prompt in asked.prompts] == [ANN]


@pytest.mark.parametrize("cut", Cut)
async def test_an_opening_that_is_cut(serve: Serve, proxy: Proxy, ear: Ear, cut: Cut) -> None:
    replica = await serve(proxy.url)
    caller = replica.caller
    command_id = unique_id() + "-to-be-cut"
    # seen twice: the look-up whether it is known goes by first
    looked_up, opened = proxy.hold(command_id.encode()), None
    opening = asyncio.create_task(caller.open(ANN, command_id=command_id))
    await looked_up.sprung.wait()
    opened = proxy.cut_at(command_id.encode(), cut)
    looked_up.released.set()
    table = await opening
    assert opened.done.is_set()
    assert await caller.open(ANN, command_id=command_id) == table
    assert len(await caller.log(table)) == 1
    await eventually(lambda: 1 in ear.commits[table])
    await caller.act(table, ANN, act.AddBot())


async def test_an_append_that_lives_on_after_its_connection(
    serve: Serve, proxy: Proxy, ear: Ear, log_url: str, game: Game
) -> None:
    """Looked up in vain, because it still waits in the server; decided anew; then the first one is carried out."""
    replica = await serve(proxy.url)
    caller = replica.caller
    table = await caller.started(game, bots=1)
    blocker, watcher = await asyncpg.connect(log_url), await asyncpg.connect(log_url)
    waiting = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
    try:
        async with blocker.transaction():
            await blocker.execute("SELECT FROM heads WHERE table_id = $1 FOR UPDATE", table)
            asked = asyncio.create_task(caller.act(table, ANN, act.Roll(), command_id="lives-on"))
            report = pb.ReportRequest(table=table, revision=3, persons=[pb.PersonPresence(person=ANN, status=2)])
            reported = asyncio.create_task(caller.call("Report", report))
            await eventually(lambda: _is(watcher, waiting, 1))
            proxy.cut_all()
            await eventually(lambda: _is(watcher, waiting, 2))
        answer, report_answer = await asyncio.gather(asked, reported)
    finally:
        await blocker.close()
        await watcher.close()
    log = await caller.log(table)
    replay(log, game)
    assert [commits.decode(body, game).command_id for body in log].count("lives-on") == 1
    assert commits.decode(answer.commits[0], game).command_id == "lives-on"
    assert report_answer.version == len(log) == 5
    await eventually(lambda: len(ear.commits[table]) == len(log))


async def _is(connection: asyncpg.Connection, query: str, wanted: int) -> bool:
    return bool(await connection.fetchval(query) == wanted)


async def test_a_whole_game_over_a_bad_line(serve: Serve, proxy: Proxy, game: Game) -> None:
    """All connections are cut again and again while bots play: nothing is lost, doubled or refused."""
    replica = await serve(proxy.url)
    caller = replica.caller
    table = await caller.started(game, bots=3)
    picture = await Picture.take(caller, table, game)
    going = True

    async def cut() -> int:
        cuts = 0
        while going:
            enough = picture.version + 3
            await eventually(lambda enough=enough: picture.version >= enough or not going)
            proxy.cut_all()
            cuts += 1
        return cuts

    cutting = asyncio.create_task(cut())
    await play([caller], picture, most=60)
    going = False
    assert await cutting > 5
    assert replay(await caller.log(table), game) == picture.state


# --- away for longer --------------------------------------------------------------------------------------------------


async def unavailable(asked: asyncio.Future[object]) -> Failure:
    with pytest.raises(Failure) as caught:
        await asked
    assert (caught.value.status.name, caught.value.reason) == ("UNAVAILABLE", "unavailable")
    assert caught.value.retry_after_s is not None
    return caught.value


@pytest.mark.parametrize("how", ["refused", "swallowed"])
async def test_away_for_longer_than_anybody_waits(
    serve: Serve, proxy: Proxy, ear: Ear, game: Game, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    """UNAVAILABLE, nothing pretended; afterwards all goes on. `swallowed`: no error either, nobody answers."""
    monkeypatch.setattr(store, "ANSWER_S", 0.4)
    monkeypatch.setattr(store, "PULSE_S", 0.2)
    monkeypatch.setattr(outages, "PULSE_S", 0.05)
    replica = await serve(proxy.url)
    caller = replica.caller
    tables = [await caller.started(game, bots=1) for _ in range(3)]
    cold, other = await caller.started(game, bots=1), await caller.started(game, bots=1)
    replica.forget(cold)
    before = [(await caller.view(table)).version for table in tables]

    await proxy.stop() if how == "refused" else proxy.freeze()
    short = {"nanos": 150_000_000}
    asked: list[Callable[[], object]] = [
        *(lambda table=table: caller.act(table, ANN, act.Roll(), command_id="away", timeout=short) for table in tables),
        lambda: caller.act(cold, ANN, act.Roll(), command_id="away", timeout=short),
        lambda: caller.act(other, ANN, act.Pay(), timeout=short),
        lambda: caller.open(ANN, timeout=short),
    ]
    failures = await asyncio.gather(*(unavailable(ask()) for ask in asked))  # type: ignore[arg-type]
    assert all("try again" in failure.sentence for failure in failures)
    for method, request in {
        "Read": pb.ReadRequest(table=tables[0]),
        "Commits": pb.CommitsRequest(table=tables[0]),
        "Export": pb.ExportRequest(table=tables[0]),
        "Heads": pb.HeadsRequest(tables=tables),
        "List": pb.ListRequest(),
        "ListHeads": pb.ListHeadsRequest(),
    }.items():
        body = request.SerializeToString()
        method = f"/omnipoly.table.v1.TableService/{method}"
        late = asyncio.create_task(caller.link.call(method, body, 0.3))
        with pytest.raises(Failure) as caught:
            await late
        assert caught.value.status.name in {"UNAVAILABLE", "DEADLINE_EXCEEDED"}
    assert all(len(ear.commits[table]) <= version for table, version in zip(tables, before, strict=True))

    await proxy.start() if how == "refused" else proxy.thaw()
    answers = await asyncio.gather(
        *(caller.act(table, ANN, act.Roll(), command_id="away") for table in (*tables, cold))
    )
    for table, answer in zip((*tables, cold), answers, strict=True):
        log = await caller.log(table)
        replay(log, game)
        assert sum(commits.decode(body, game).command_id == "away" for body in log) == 1
        assert commits.decode(answer.commits[0], game).command_id == "away"
        await eventually(lambda table=table, log=log: len(ear.commits[table]) == len(log))
    await play([caller], await Picture.take(caller, cold, game), most=20)


async def test_a_command_whose_time_is_up_is_not_started(serve: Serve, proxy: Proxy, game: Game) -> None:
    replica = await serve(proxy.url)
    caller = replica.caller
    table = await caller.open(ANN)
    held = proxy.hold(b"holds-all-up")
    first = asyncio.create_task(caller.act(table, ANN, act.AddBot(), command_id="holds-all-up"))
    await held.sprung.wait()
    late = asyncio.create_task(
        caller.act(table, ANN, act.AddBot(), command_id="too-late", timeout={"nanos": 30_000_000})
    )
    patient = asyncio.create_task(caller.act(table, ANN, act.Contribute("patience")))
    await eventually(lambda: len(replica.memory(table).queue) == 2)
    deadline = replica.memory(table).queue[0].deadline
    await eventually(lambda: asyncio.get_running_loop().time() > deadline)
    held.released.set()
    assert (await first).version == 2
    with pytest.raises(Failure) as caught:
        await late
    assert (caught.value.status.name, caught.value.reason) == ("DEADLINE_EXCEEDED", "unavailable")
    assert (await patient).version == 3
    assert not (await caller.act(table, ANN, act.AddBot(), command_id="too-late")).duplicate


# --- one bad row ------------------------------------------------------------------------------------------------------


async def test_a_row_that_the_server_refuses_hurts_one_table(serve: Serve, proxy: Proxy, game: Game) -> None:
    """A constraint that one row breaks: the rest of its batch is stored, and the table itself goes on."""
    replica = await serve(proxy.url)
    caller = replica.caller
    tables = await asyncio.gather(*(caller.open(ANN) for _ in range(12)))
    await replica.sql("ALTER TABLE commits ADD CONSTRAINT no_bad_one CHECK (command_id <> 'the-bad-one')")
    held = proxy.hold(b"waits-for-all")
    first = asyncio.create_task(caller.act(tables[0], ANN, act.AddBot(), command_id="waits-for-all"))
    await held.sprung.wait()
    rest = [
        asyncio.create_task(
            caller.act(table, ANN, act.AddBot(), command_id="the-bad-one" if number == 5 else f"good-{number}")
        )
        for number, table in enumerate(tables[1:])
    ]
    await eventually(lambda: replica.tables._log.waiting == len(rest))
    held.released.set()
    answers = await asyncio.gather(first, *rest, return_exceptions=True)
    bad = answers.pop(6)
    assert isinstance(bad, Failure)
    assert (bad.status.name, bad.reason) == ("INTERNAL", "internal")
    assert "bad-one" not in bad.sentence
    assert bad.metadata["error_id"] in bad.sentence
    assert all(answer.version == 2 for answer in answers)  # type: ignore[union-attr]
    assert len(await caller.log(tables[6])) == 1
    await caller.act(tables[6], ANN, act.AddBot())


async def test_an_append_that_ends_in_something_unforeseen(
    serve: Serve, game: Game, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is no answer: the command is looked up, and no table stands still for it."""
    replica = await serve()
    caller = replica.caller
    tables = [await caller.started(game, bots=1) for _ in range(2)]
    append, written = replica.tables._log._store.append, []

    async def stumbles(connection: asyncpg.Connection, entries: list[store.Entry]) -> list[str]:
        written.append(len(entries))
        moved = await append(connection, entries)
        if len(written) <= 2:
            raise AttributeError("an error of the driver's own")
        return moved

    monkeypatch.setattr(replica.tables._log._store, "append", stumbles)
    for table in tables:
        for _ in range(2):
            picture = await Picture.take(caller, table, game)
            who, action = picture.next_action()
            picture.apply((await caller.act(table, who, action)).commits)
        assert replay(await caller.log(table), game) == picture.state
    assert len(written) == 4


async def test_a_query_that_fails_after_its_caller_gave_up() -> None:
    """Nobody is left to be told, and that is no fault."""
    said: list[dict[str, object]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: said.append(context))
    begun, fails, others = asyncio.Event(), asyncio.Event(), asyncio.all_tasks()

    async def query() -> None:
        begun.set()
        await fails.wait()
        raise ConnectionResetError

    asked = asyncio.create_task(asking.ask(query))
    await begun.wait()
    asked.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asked
    fails.set()
    await eventually(lambda: asyncio.all_tasks() <= others)
    gc.collect()
    assert not said


async def test_a_server_that_only_reads_for_a_while(serve: Serve, log_url: str, game: Game) -> None:
    """As after a failover: nothing is stored, nobody is told so; the commands wait, and go through once it is over."""
    replica = await serve()
    caller = replica.caller
    table = await caller.open(ANN)
    await caller.view(table)
    name = log_url.partition("?")[0].rpartition("/")[2]
    await replica.sql(f'ALTER DATABASE "{name}" SET default_transaction_read_only = on')
    try:
        async with replica.app.database.acquire() as connection:
            await connection.execute("SET default_transaction_read_only = on")
        waiting = asyncio.create_task(caller.act(table, ANN, act.AddBot(), command_id="waits"))
        await eventually(lambda: replica.memory(table).unsure_after)
    finally:
        admin = await asyncpg.connect(log_url)
        await admin.execute("SET default_transaction_read_only = off")
        await admin.execute(f'ALTER DATABASE "{name}" RESET default_transaction_read_only')
        await admin.close()
    assert (await waiting).version == 2
