"""Every piece of code in docs/clients runs, against real services; every message there is one."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
from pathlib import Path

import pytest
from google.protobuf import symbol_database, text_format

import omnipoly.wire.gen.gateway.v1.lobby_pb2
import omnipoly.wire.gen.gateway.v1.play_pb2
import omnipoly.wire.gen.gateway.v1.sessions_pb2
import omnipoly.wire.gen.gateway.v1.watch_pb2  # noqa: F401 - so that their messages are known
from tests.clients import running
from tests.clients.samples import Sample, pages, program, samples
from tests.clients.stubs import ROOT, STATUS
from tests.services.bots.stack import Stack

HERE = Path(__file__).parent
SAMPLES = samples()
BIN = Path(sys.executable).parent


def test_every_piece_says_what_becomes_of_it() -> None:
    known = {"python": {"run", "library run"}, "js": {"run"}, "sh": {"run", "by hand"}, "text": {""}}
    odd = [
        (one.page, one.language, one.what)
        for one in SAMPLES
        if one.language != "textproto" and one.what not in known.get(one.language, ())
    ]
    assert odd == []
    assert {one.language for one in SAMPLES} == {*known, "textproto"}


@pytest.mark.parametrize("one", [one for one in SAMPLES if one.language == "textproto"], ids=lambda one: one.page)
def test_messages_are_what_they_say(one: Sample) -> None:
    message = symbol_database.Default().GetSymbol(one.what)()
    text_format.Parse(one.text, message)
    assert message.ByteSize()


@pytest.mark.needs("node")
async def test_every_piece_runs(platform: Stack, stubs: Path, tmp_path: Path) -> None:
    address = platform.gateway.address
    few = asyncio.Semaphore(3)
    for name in ("protos", "tests"):
        (tmp_path / name).symlink_to(ROOT / name)
    (tmp_path / "stubs").symlink_to(stubs)

    async def run(what: str, text: str, suffix: str, command: list[str], **environment: str) -> list[str]:
        if not text:
            return []
        path = (HERE / "node/node_modules" if suffix == ".mjs" else tmp_path) / f"{what}{suffix}"
        path.write_text(text, "utf-8")
        # a script that makes stubs makes them in a folder of its own
        folder = tmp_path if "mkdir -p stubs" not in text else tmp_path / what
        folder.mkdir(exist_ok=True)
        if folder != tmp_path:
            (folder / "protos").symlink_to(ROOT / "protos")
        async with few:
            ended = await running.run(["env", "-C", str(folder), *command, str(path)], environment)
        return [] if ended.code == 0 else [f"{what}{suffix}: {ended.out}{ended.err}"]

    python = [sys.executable, str(HERE / "awaiting.py")]
    node = shutil.which("node")
    assert node, "The pieces in JavaScript need Node 18 or newer (Debian: apt-get install nodejs npm)."
    path = f"{BIN}{os.pathsep}{os.environ['PATH']}"
    async with asyncio.TaskGroup() as group:
        tasks = []
        for page in pages():

            def of(language: str, what: str, page: Path = page) -> str:
                return program(SAMPLES, page.name, language, what, address)

            tasks += [
                group.create_task(run(page.stem, of("python", "run"), ".py", python, PYTHONPATH=str(stubs))),
                group.create_task(run(f"{page.stem}-library", of("python", "library run"), ".py", python)),
                group.create_task(run(page.stem, of("js", "run"), ".mjs", [node], GOOGLE=str(STATUS))),
                group.create_task(run(page.stem, of("sh", "run"), ".sh", ["bash", "-e"], PATH=path)),
            ]
    assert [line for task in tasks for line in task.result()] == []
