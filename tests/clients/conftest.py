"""A whole small platform with bots, and what clients outside the repository's own packages need to run against it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from omnipoly.runtime.app import running
from tests.clients.stubs import generate
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


@pytest.fixture(scope="module")
async def platform(make_module_database: MakeDatabase, nats_url: str) -> AsyncIterator[Stack]:  # noqa: F811
    """Table, clock, presence, gateway, and bots that do not think long."""
    url = await make_module_database("omnipolyd.table.migrations")
    async with stack(url, nats_url) as up, running(bots(up)):
        yield up


@pytest.fixture(scope="session")
async def stubs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of stubs for PYTHONPATH, made as docs/clients says."""
    folder = tmp_path_factory.mktemp("stubs")
    await generate(folder)
    return folder
