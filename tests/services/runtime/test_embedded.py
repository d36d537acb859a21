from __future__ import annotations

import asyncio
import os
import shutil
import signal
import stat
import subprocess
import sys
from pathlib import Path

import asyncpg
import nats
import pytest

from omnipoly.runtime import children, embedded
from omnipoly.runtime.children import Child
from omnipoly.runtime.embedded import EmbeddedNats, EmbeddedPostgres
from omnipoly.runtime.errors import StartError
from tests.services.waiting import eventually

as_root = pytest.mark.skipif("os.geteuid() != 0", reason="what is done for root alone")

OWNER = """
import sys
from pathlib import Path
from omnipoly.runtime.embedded import EmbeddedNats, EmbeddedPostgres

servers = [EmbeddedPostgres(Path(sys.argv[1]) / "postgres"), EmbeddedNats(Path(sys.argv[1]) / "nats")]
if sys.argv[2] == "ephemeral":
    servers = [EmbeddedPostgres(Path(sys.argv[1]), ephemeral=True), EmbeddedNats(Path(sys.argv[1]), ephemeral=True)]
for server in servers:
    server.start()
    print(server.pid, server._child._guard.pid, flush=True)
sys.stdin.read()
"""


@pytest.fixture
def folder(data_folder: Path) -> Path:
    return data_folder


async def _query(url: str, sql: str) -> object:
    connection = await asyncpg.connect(url)
    try:
        return await connection.fetchval(sql)
    finally:
        await connection.close()


def _uid(pid: int) -> int:
    return Path(f"/proc/{pid}").stat().st_uid


def _program(pid: int) -> Path:
    return Path(f"/proc/{pid}/exe").readlink()


def _is_folder(path: str) -> bool:
    return Path(path).is_dir()


def _alive(pid: int) -> bool:
    return "Z" not in _state(pid)


def _state(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return "Z"


# --- Postgres


async def test_data_stays_between_runs_and_fsync_is_on(folder: Path) -> None:
    with EmbeddedPostgres(folder / "postgres") as server:
        url = server.url
        assert await _query(url, "SHOW fsync") == "on"
        assert await _query(url, "SHOW synchronous_commit") == "on"
        assert await _query(url, "SHOW listen_addresses") == ""
        await _query(url, "CREATE TABLE kept AS SELECT 7 AS n")
    assert server.pid == 0
    with EmbeddedPostgres(folder / "postgres") as again:
        assert again.url == url
        assert await _query(url, "SELECT n FROM kept") == 7
        assert again.start() == url  # already


async def test_ephemeral_data_is_deleted() -> None:
    with EmbeddedPostgres() as server:
        path = server._folder.path  # type: ignore[union-attr]
        assert path.exists()
    assert not path.exists()


async def test_nobody_gets_in_without_the_password(folder: Path) -> None:
    with EmbeddedPostgres(folder / "postgres") as server:
        assert stat.S_IMODE((folder / "postgres").stat().st_mode) == 0o700
        assert stat.S_IMODE((folder / "postgres/password").stat().st_mode) == 0o600
        with pytest.raises(asyncpg.InvalidPasswordError):
            await _query(server.url.replace(folder.joinpath("postgres/password").read_text(), "guess"), "SELECT 1")


@as_root
async def test_as_root_it_runs_as_somebody_else(folder: Path) -> None:
    with EmbeddedPostgres(folder / "postgres") as server:
        assert _uid(server.pid) == children.unprivileged().uid  # type: ignore[union-attr]
        assert (folder / "postgres/pgdata").stat().st_uid != 0


@as_root
async def test_as_root_a_folder_behind_a_closed_one_is_one_line(folder: Path) -> None:
    (folder / "closed").mkdir(mode=0o700)
    with pytest.raises(StartError, match=f"{folder}/closed lets nobody through") as caught:
        EmbeddedPostgres(folder / "closed/postgres").start()
    assert "\n" not in str(caught.value)
    assert not (folder / "closed/postgres").exists()


@as_root
async def test_as_root_programs_behind_a_closed_folder_are_copied(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Path] = []

    def closed(path: Path, user: object) -> Path | None:
        asked.append(path)
        return Path("/root") if "site-packages" in str(path) else None

    monkeypatch.setattr(embedded, "closed_parent", closed)
    with EmbeddedPostgres(folder / "postgres") as server:
        assert asked
        assert _program(server.pid).is_relative_to(folder)
        assert await _query(server.url, "SELECT 1") == 1


async def test_a_path_too_long_for_a_socket(folder: Path) -> None:
    with EmbeddedPostgres(folder / ("long" * 25) / "postgres") as server:
        assert await _query(server.url, "SELECT 1") == 1
        assert str(folder) not in server.url
        sockets = server.url.rpartition("host=")[2]
        assert _is_folder(sockets)
    assert not _is_folder(sockets)


async def test_one_owner_at_a_time(folder: Path) -> None:
    with EmbeddedPostgres(folder / "postgres"), pytest.raises(StartError, match="is in use by another Omnipoly"):
        EmbeddedPostgres(folder / "postgres").start()
    EmbeddedPostgres(folder / "postgres").stop()  # never started: nothing to do


async def test_an_initdb_cut_short_is_made_again(folder: Path) -> None:
    (folder / "postgres/pgdata.new").mkdir(parents=True)
    (folder / "postgres/pgdata.new/PG_VERSION").write_text("18")
    with EmbeddedPostgres(folder / "postgres") as server:
        assert await _query(server.url, "SELECT 1") == 1


async def test_data_of_another_version_is_refused(folder: Path) -> None:
    with EmbeddedPostgres(folder / "postgres"):
        pass
    (folder / "postgres/pgdata/PG_VERSION").write_text("15\n")
    with pytest.raises(StartError, match="was made by PostgreSQL 15, this is 18"):
        EmbeddedPostgres(folder / "postgres").start()


async def test_why_it_does_not_start_is_said(folder: Path) -> None:
    with EmbeddedPostgres(folder / "postgres"):
        pass
    with (folder / "postgres/pgdata/postgresql.conf").open("a") as file:
        file.write("no_such_setting = 1\n")
    with pytest.raises(StartError, match=r"the embedded PostgreSQL did not start: .*postgresql\.conf"):
        EmbeddedPostgres(folder / "postgres").start()


# --- NATS


async def test_nats_keeps_its_port_and_its_store_and_wants_its_token(folder: Path) -> None:
    with EmbeddedNats(folder / "nats") as server:
        url = server.url
        client = await nats.connect(url)
        await client.jetstream().add_stream(name="kept", subjects=["kept"])
        await client.close()
        reader, writer = await asyncio.open_connection("127.0.0.1", int(url.rpartition(":")[2]))
        writer.write(b'CONNECT {"auth_token": "guess"}\r\n')
        await reader.readline()  # INFO
        assert b"Authorization Violation" in await reader.readline()
        writer.close()
        await writer.wait_closed()
    with EmbeddedNats(folder / "nats") as server:
        assert server.url == url
        client = await nats.connect(url)
        assert (await client.jetstream().stream_info("kept")).config.subjects == ["kept"]
        await client.close()


async def test_a_port_taken_meanwhile_is_another(folder: Path) -> None:
    with EmbeddedNats(folder / "one") as one:
        port = one.url.rpartition(":")[2]
        (folder / "two").mkdir()
        (folder / "two/port").write_text(port)
        with EmbeddedNats(folder / "two") as two:
            assert two.url.rpartition(":")[2] != port


async def test_a_killed_nats_comes_back_where_it_was(folder: Path) -> None:
    with EmbeddedNats(folder / "nats") as server:
        url, pid = server.url, server.pid
        server.kill()
        assert server.pid == 0
        assert server.start() == url
        assert server.pid != pid


# --- An owner that is killed


def _own(folder: Path, how: str) -> tuple[subprocess.Popen[str], list[tuple[int, int]]]:
    """A process with both servers, and the numbers of each and of its guard."""
    owner = subprocess.Popen(
        [sys.executable, "-c", OWNER, str(folder), how], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    lines = [owner.stdout.readline() for _ in range(2)]  # type: ignore[union-attr]
    return owner, [(int(line.split()[0]), int(line.split()[1])) for line in lines]


def _kill(owner: subprocess.Popen[str]) -> None:
    owner.kill()
    owner.communicate()


@pytest.mark.parametrize("how", ["kept", "ephemeral"])
async def test_servers_go_with_an_owner_that_is_killed(folder: Path, how: str) -> None:
    owner, processes = _own(folder, how)
    assert all(_alive(pid) and _alive(guard) for pid, guard in processes)
    _kill(owner)
    await eventually(lambda: not any(_alive(pid) or _alive(guard) for pid, guard in processes))
    if how == "ephemeral":
        assert os.listdir(folder) == []
    else:
        with EmbeddedPostgres(folder / "postgres") as server:
            assert await _query(server.url, "SELECT 1") == 1


async def test_orphans_are_stopped_by_the_next_start(folder: Path) -> None:
    owner, processes = _own(folder, "kept")
    for _, guard in processes:
        os.kill(guard, signal.SIGKILL)
    _kill(owner)
    assert all(_alive(pid) for pid, _ in processes)
    with EmbeddedPostgres(folder / "postgres") as server, EmbeddedNats(folder / "nats") as bus:
        assert not any(_alive(pid) for pid, _ in processes)
        assert await _query(server.url, "SELECT 1") == 1
        client = await nats.connect(bus.url)
        await client.close()


def _stranger() -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE)


async def test_a_pid_file_left_behind_by_a_power_cut_harms_nobody(folder: Path) -> None:
    with EmbeddedPostgres(folder / "postgres"):
        pass
    stranger = _stranger()
    (folder / "postgres/pgdata/postmaster.pid").write_text(f"{stranger.pid}\n{folder}/postgres/pgdata\n0\n5432\n")
    if os.geteuid() == 0:
        shutil.chown(folder / "postgres/pgdata/postmaster.pid", "nobody")
    with EmbeddedPostgres(folder / "postgres") as server:
        assert await _query(server.url, "SELECT 1") == 1
    assert stranger.poll() is None
    stranger.kill()
    stranger.communicate()


def test_what_a_child_has_said_is_looked_for_in_all_of_it(tmp_path: Path) -> None:
    """Not in its last line alone, and not in what one before it has said."""
    log = tmp_path / "log"
    log.write_text("of another run: the disk is full\n", "utf-8")
    child = Child(
        ["/bin/sh", "-c", "echo a block of shared memory is in use; echo said by a hook in the fork"],
        folder=tmp_path,
        log=log,
        pid_file=tmp_path / "pid",
        stop_signal=signal.SIGTERM,
        user=None,
        environment={},
        remove_folder=False,
    )
    assert not child.wait_ready(lambda: False, 20)
    assert child.log_tail() == "said by a hook in the fork"
    assert child.said("shared memory")
    assert not child.said("disk")
    child.stop()
