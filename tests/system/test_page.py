"""The page of an `omnipolyd up`: served, served again after a crash of Envoy, gone at the end."""

from __future__ import annotations

import asyncio
import os
import signal
from email.message import Message
from pathlib import Path
from urllib.request import urlopen

from omnipolyd.page import files
from tests.services.waiting import eventually
from tests.system.conftest import MakeStack
from tests.system.stack import START_S, alive, below


def look(address: str) -> tuple[Message, bytes]:
    """What is served there."""
    with urlopen(address, timeout=5) as answer:
        return answer.headers, answer.read()


async def test_it_is_served_beside_the_gateway(make_stack: MakeStack) -> None:
    stack = make_stack("--page-port", "0", "--replicas", "bots=0")
    began = below(stack.pid)
    (envoy,) = [process for process in began if process.name == "envoy"]
    address = stack.page
    for path, kind in (("", "text/html"), ("app.js", "text/javascript"), (files.CONTRACTS, "application/octet-stream")):
        headers, body = await asyncio.to_thread(look, address + path)
        assert headers["content-type"].startswith(kind)
        assert "default-src 'self'" in headers["content-security-policy"]
        assert body
    assert stat_of(stack.data / "page") == 0o700
    os.kill(envoy.pid.number, signal.SIGKILL)
    await eventually(lambda: "the page is served again" in stack.errors, START_S)
    assert (await asyncio.to_thread(look, address))[1]
    began = [*began, *below(stack.pid)]
    assert stack.stop() == 0
    assert not [process for process in began if alive(process)]


def stat_of(path: Path) -> int:
    """The bits of who may do what there."""
    return path.stat().st_mode & 0o777
