"""A whole small platform with bots, and Envoy before its gateway."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from omnipoly.runtime.app import running
from omnipolyd.page import files
from omnipolyd.page.envoy import Envoy
from tests.services.bots.stack import Stack, bots, stack
from tests.services.conftest import (  # noqa: F401 - fixtures
    MakeDatabase,
    _databases,
    _environment,
    _logs,
    make_database,
    make_module_database,
    nats_url,
    postgres_url,
)

EXAMPLE = Path(__file__).parents[1] / "clients/browser"


@pytest.fixture(scope="module")
async def platform(make_module_database: MakeDatabase, nats_url: str) -> AsyncIterator[Stack]:  # noqa: F811
    """Table, clock, presence, gateway, and bots that do not think long; guests may watch."""
    url = await make_module_database("omnipolyd.table.migrations")
    async with stack(url, nats_url, guests_watch=True) as up, running(bots(up)):
        yield up


@pytest.fixture(scope="module")
async def site(platform: Stack, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[str]:
    """Where the page is."""
    async with _served(platform, tmp_path_factory.mktemp("page"), [files.STATIC]) as address:
        yield address


@pytest.fixture(scope="module")
async def example(platform: Stack, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[str]:
    """Where the example client is."""
    async with _served(platform, tmp_path_factory.mktemp("example"), [EXAMPLE, files.STATIC]) as address:
        yield address


class _served:  # noqa: N801 - used as a context manager
    def __init__(self, platform: Stack, folder: Path, site: list[Path]) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self._port = probe.getsockname()[1]
        self._envoy = Envoy(folder, ("127.0.0.1", self._port), [platform.gateway.address], site)

    async def __aenter__(self) -> str:
        await asyncio.to_thread(self._envoy.start)
        return f"http://127.0.0.1:{self._port}/"

    async def __aexit__(self, *_: object) -> None:
        await asyncio.to_thread(self._envoy.stop)
