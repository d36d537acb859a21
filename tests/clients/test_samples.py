"""Every piece of code in docs/clients runs, against real services; every message there is one."""

from __future__ import annotations

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
def written(folder: Path, language: str, what: str, suffix: str, address: str) -> list[Path]:
    """Each page's pieces of a language as a program in a folder."""
    found = []
    for page in pages():
        if text := program(SAMPLES, page.name, language, what, address):
            found.append(folder / f"{page.stem}{suffix}")
            found[-1].write_text(text, "utf-8")
    return found


async def ran(folder: Path, *command: object, **environment: str) -> None:
    """Runs a command in a folder, to its end and well."""
    ended = await running.run(["env", "-C", str(folder), *map(str, command)], environment)
    assert ended.code == 0, f"{ended.out}{ended.err}"


async def test_pieces_in_python(platform: Stack, stubs: Path, tmp_path: Path) -> None:
    """The pages at the same time: each is a client of its own."""
    files = written(tmp_path, "python", "run", ".py", platform.gateway.address)
    await ran(tmp_path, sys.executable, HERE / "awaiting.py", *files, PYTHONPATH=str(stubs))


async def test_pieces_with_the_library(platform: Stack, tmp_path: Path) -> None:
    files = written(tmp_path, "python", "library run", ".py", platform.gateway.address)
    await ran(tmp_path, sys.executable, HERE / "awaiting.py", *files)


async def test_pieces_in_javascript(platform: Stack, tmp_path: Path) -> None:
    node = shutil.which("node")
    assert node, "The pieces in JavaScript need Node 18 or newer (Debian: apt-get install nodejs npm)."
    (tmp_path / "protos").symlink_to(ROOT / "protos")
    (tmp_path / "node_modules").symlink_to(HERE / "node/node_modules")
    for file in written(tmp_path, "js", "run", ".mjs", platform.gateway.address):
        await ran(tmp_path, node, file, GOOGLE=str(STATUS))


async def test_scripts(platform: Stack, stubs: Path, tmp_path: Path) -> None:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    for file in written(tmp_path, "sh", "run", ".sh", platform.gateway.address):
        folder = tmp_path / file.stem
        folder.mkdir()
        for name in ("protos", "tests"):
            (folder / name).symlink_to(ROOT / name)
        if "mkdir -p stubs" not in file.read_text("utf-8"):
            (folder / "stubs").symlink_to(stubs)
        await ran(folder, "bash", "-e", file, PATH=path)
