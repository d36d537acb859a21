"""What the long run is made of: its own client of gRPC, who throws, and what it finds wrong."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import grpc
import grpc.aio
import pytest

from omnipoly.rules.codes import Code
from omnipoly.runtime import failures, refusals
from omnipoly.runtime.failures import Failure
from tests.services.conftest import MakeDatabase
from tests.services.gateway.calling import SECRET, Stack
from tests.services.hostile.http2 import LOST, WELL, Connection, End
from tests.services.hostile.methods import RPCS
from tests.services.hostile.stage import platform
from tests.services.hostile.storm import Storm, Watched
from tests.services.hostile.throwing import Thrower
from tests.services.waiting import eventually

LARGE = b"x" * 200_000
"""More than HTTP/2 takes at once."""


async def _echo(data: bytes, context: Any) -> bytes:
    return data


async def _refuse(data: bytes, context: Any) -> bytes:
    await failures.abort(context, refusals.failure(Code.UNKNOWN_TABLE, data.decode()))


async def _abort(data: bytes, context: Any) -> bytes:
    await context.abort(grpc.StatusCode.INTERNAL, "näh %")
    raise AssertionError


async def _headers(data: bytes, context: Any) -> bytes:
    return repr(dict(context.invocation_metadata())).encode()


async def _never(data: bytes, context: Any) -> bytes:
    await asyncio.Event().wait()
    raise AssertionError


async def _talk(_requests: object, context: Any) -> None:
    while (data := await context.read()) is not grpc.aio.EOF:  # type: ignore[attr-defined]
        await context.write(data)
        await context.write(data[:1])


@pytest.fixture(scope="module")
async def server() -> AsyncIterator[str]:
    """One of the library's own; its address."""
    running = grpc.aio.server(options=[("grpc.so_reuseport", 0), ("grpc.http2.bdp_probe", 0)])
    methods: dict[str, Any] = {
        name: grpc.unary_unary_rpc_method_handler(behaviour)
        for name, behaviour in (
            ("Echo", _echo),
            ("Refuse", _refuse),
            ("Abort", _abort),
            ("Headers", _headers),
            ("Never", _never),
        )
    }
    methods["Wait"] = grpc.stream_stream_rpc_method_handler(_never)
    methods["Talk"] = grpc.stream_stream_rpc_method_handler(_talk)
    running.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("x", methods),))
    port = running.add_insecure_port("127.0.0.1:0")
    await running.start()
    yield f"127.0.0.1:{port}"
    await running.stop(None)


@pytest.fixture
async def connection(server: str) -> AsyncIterator[Connection]:
    one = await Connection.open(server, "a.token", within_s=5)
    yield one
    one.close()


async def test_answers_come_whole(connection: Connection) -> None:
    many = [b"", b"a", LARGE, *(bytes((number,)) * number * 40 for number in range(200))]
    assert await asyncio.gather(*(connection.ask("/x/Echo", one) for one in many)) == many
    assert not connection.streams
    said = (await connection.ask("/x/Headers", b"")).decode()
    assert "'authorization': 'Bearer a.token'" in said


async def test_failures_come_with_their_reasons(connection: Connection) -> None:
    for sentence in ("Not here.", "Nor here.", "Not here."):
        with pytest.raises(Failure) as caught:
            await connection.ask("/x/Refuse", sentence.encode())
        failure = caught.value
        assert (failure.status.name, failure.reason, failure.sentence) == ("NOT_FOUND", "unknown_table", sentence)
    with pytest.raises(Failure, match="näh %") as caught:
        await connection.ask("/x/Abort", b"")
    assert caught.value.status is grpc.StatusCode.INTERNAL
    with pytest.raises(Failure) as caught:
        await connection.ask("/x/Nothing", LARGE)
    assert caught.value.status is grpc.StatusCode.UNIMPLEMENTED
    assert await connection.ask("/x/Echo", b"on") == b"on"


async def test_streams_are_written_read_and_dropped(connection: Connection) -> None:
    for dropped in (False, True):
        heard: list[bytes] = []
        ended: list[End] = []
        stream = connection.start("/x/Talk", None, heard.append, ended.append)
        for message in (b"abc", LARGE, b""):
            connection.say(stream, message)
        if dropped:
            await eventually(lambda heard=heard: len(heard) == 6)
            connection.drop(stream)
        else:
            connection.said(stream)
            await eventually(lambda ended=ended: ended)
        assert heard == [b"abc", b"a", LARGE, b"x", b"", b""]
        assert ended == ([] if dropped else [WELL])
    assert not connection.streams


async def test_what_one_stream_is_not_given_holds_no_other_up(connection: Connection) -> None:
    """More than the server takes at once, on a stream that is not read, and on one that is ended in the middle."""
    ended: list[End] = []
    stream = connection.start("/x/Wait", None, lambda _: None, ended.append)
    for _ in range(50):
        connection.say(stream, LARGE)
        assert await connection.ask("/x/Echo", b"on") == b"on"
    assert connection._waiting
    asked = asyncio.gather(*(connection.ask("/x/Nothing", 10 * LARGE) for _ in range(10)), return_exceptions=True)
    echoes = asyncio.gather(*(connection.ask("/x/Echo", b"on") for _ in range(10)))
    assert await echoes == [b"on"] * 10
    assert {str(one.status) for one in await asked if isinstance(one, Failure)} == {"StatusCode.UNIMPLEMENTED"}
    assert not ended
    connection.drop(stream)


async def test_a_connection_that_is_lost_ends_its_calls() -> None:
    async def hang_up(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"\0\0\0\x04\0\0\0\0\0")
        await reader.readuntil(b"/x/Echo")
        writer.close()

    listening = await asyncio.start_server(hang_up, "127.0.0.1", 0)
    async with listening:
        port = listening.sockets[0].getsockname()[1]
        connection = await Connection.open(f"127.0.0.1:{port}")
        for _ in range(2):  # the second finds it closed
            with pytest.raises(Failure) as caught:
                await connection.ask("/x/Echo", b"")
            assert caught.value.status is LOST


async def test_who_is_never_answered_is_told(server: str) -> None:
    connection = await Connection.open(server, within_s=0.2)
    with pytest.raises(Failure) as caught:
        await connection.ask("/x/Never", b"")
    assert caught.value.status in {grpc.StatusCode.DEADLINE_EXCEEDED, grpc.StatusCode.CANCELLED}
    connection.close()


# --- who throws


@pytest.fixture(scope="module")
async def running(make_module_database: MakeDatabase, nats_url: str) -> AsyncIterator[Stack]:
    async with platform(await make_module_database("omnipolyd.table.migrations"), nats_url) as up:
        yield up


@pytest.fixture
async def thrower(running: Stack) -> AsyncIterator[Thrower]:
    one = Thrower(running.gateway.address, running.table.address, SECRET, "7")
    task = asyncio.create_task(one.run())
    yield one
    await one.close()
    task.cancel()
    await asyncio.wait((task,))


@pytest.mark.parametrize("name", ["PlayService.Roll", "PlayService.Play", "WatchService.Watch"])
async def test_each_message_is_thrown_and_its_answer_looked_at(thrower: Thrower, name: str) -> None:
    came = await thrower.throw(RPCS[name], 150, "seed")
    assert (came["thrown"], came["faulty"], came["faults"]) == (150, 0, [])
    if name != "PlayService.Play":  # there some are answered with more than one message, and some with none
        assert sum(came["statuses"].values()) == 150
    assert "INVALID_ARGUMENT bad_request" in came["statuses"]
    await thrower.still_well()


async def test_improper_answers_are_faults(thrower: Thrower) -> None:
    thrower.look(WELL, b"")
    thrower.look(End(grpc.StatusCode.NOT_FOUND, "unknown_table", ""), b"")
    assert not thrower.faults
    thrower.look(End(grpc.StatusCode.INTERNAL, "internal", "it broke"), b"one")
    thrower.look(End(grpc.StatusCode.NOT_FOUND, "", "no reason"), b"two")
    assert [fault.message for fault in thrower.faults] == [b"one", b"two"]
    assert thrower.statuses["INTERNAL internal"] == 1


async def test_errors_in_a_log_and_a_process_that_ends_are_faults(tmp_path: Path) -> None:
    (tmp_path / "loud.py").write_text(
        "import sys\n"
        """print('{"event": "serving", "level": "info", "address": "x:1"}', file=sys.stderr)\n"""
        """print('{"event": "odd", "level": "warning"}', file=sys.stderr)\n"""
        """print('{"event": "unexpected_error", "level": "error"}', file=sys.stderr)\n"""
        "raise SystemExit('Traceback')\n"
    )
    process = await Watched.start("loud", "loud", PYTHONPATH=str(tmp_path))
    assert isinstance(process, Watched)
    await process.ended()
    storm = Storm({"loud": process}, [])
    assert storm.what_is_wrong() == [
        'loud has logged: {"event": "unexpected_error", "level": "error"}',
        "loud has logged: Traceback",
        "loud has ended",
    ]
    assert process.warnings == {"odd": 1}
